"""The panel in real pages: driven by keys and clicks, as a person does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chat import HELD, LOAD, MESSAGES, PANEL, Chat, prompts, with_panel
from logged import Emulator, Settings
from rig import Book, wait

SLOW = Settings(delay=0.1)
AT_END = "node => node.scrollHeight - node.scrollTop - node.clientHeight < 2"

IN_SIGHT = """(([own, view]) => own.top >= view.top && own.bottom <= view.bottom + 1)(
  [notebook.widgets[given].node, notebook.node.querySelector('.jp-WindowedPanel-outer')]
  .map(one => one.getBoundingClientRect()))"""

# A cell that runs until the test has made this file.
HOLDS = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.02)"


@pytest.mark.release
def test_the_keys_of_the_hand(lab: Callable[..., Book], service: Emulator) -> None:
    """Enter, Shift+Enter, arrows, Escape; no key reaches the notebook; nothing empty is sent."""
    book, chat = with_panel(lab, "1")
    cells = book.ids()
    chat.box.press("Enter")
    assert chat.status == "Nothing is typed yet."
    chat.box.type("echo:one")
    chat.box.press("Shift+Enter")
    chat.box.type("two")
    assert chat.box.input_value() == "echo:one\ntwo"
    composing = "node => node.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', %s}))"
    chat.box.evaluate(composing % "isComposing: true, bubbles: true")
    chat.box.evaluate(composing % "keyCode: 229, bubbles: true")
    # Sending says so at once.
    assert chat.status == "Nothing is typed yet."
    assert service.requests == []
    chat.box.press("Enter")
    chat.until("Complete")
    assert chat.focused()
    assert chat.box.input_value() == ""
    chat.ask("echo:three")
    for key, value in (
        ("ArrowUp", "echo:three"),
        ("ArrowUp", "echo:one\ntwo"),
        ("ArrowUp", "echo:one\ntwo"),
        ("ArrowDown", "echo:three"),
        ("ArrowDown", ""),
    ):
        chat.box.press(key)
        assert chat.box.input_value() == value
    # Keys on a button are not the notebook's either: d d deletes a cell there, b makes one.
    chat.button("Copy the reply").focus()
    for key in ("b", "d", "d", "a", "x", "Shift+Enter", "Escape"):
        chat.page.keyboard.press(key)
    assert chat.focused()  # Escape brings the focus back
    # The page's own shortcuts work from the prompt; what types, edits or runs a cell is its own.
    chat.box.press_sequentially("some words")
    book.write(2, "2")
    assert book.js("return panel.context.model.dirty")
    chat.box.press("Control+s")
    book.until("!panel.context.model.dirty")
    assert chat.focused()
    for key in ("Control+Enter", "Alt+Enter", "Control+Shift+ArrowUp", "Control+Shift+Backspace"):
        chat.box.press(key)
    chat.box.press("Control+a")
    chat.box.press("Control+x")
    assert chat.box.input_value() == ""
    chat.box.press("Control+z")
    assert chat.box.input_value()
    assert book.ids() == cells
    assert book.js("return notebook.widgets[2].model.executionCount") is None
    assert prompts(service) == [["echo:one\ntwo"], ["echo:one\ntwo", "echo:three"]]
    _choose_a_model(chat, service)
    assert book.ids() == cells


def _choose_a_model(chat: Chat, service: Emulator) -> None:
    """Choose a model by keys, which are the field's own; its name is text."""
    settings = chat.root.locator(".cm-settings")
    settings.locator("summary").click()
    field = settings.get_by_role("combobox", name="Model")
    assert field.get_attribute("placeholder") == "none is named"
    field.press_sequentially("'b<b>dd</b>'")
    field.press("Enter")
    chat.until("Model of the panel's questions: b<b>dd</b>.")
    assert field.evaluate("node => node === document.activeElement")
    assert field.input_value() == "b<b>dd</b>"
    assert settings.locator("summary").inner_text() == "Current settings, model b<b>dd</b>"
    chat.ask("echo:four")
    assert service.requests[-1].body["model"] == "b<b>dd</b>"
    assert "model b<b>dd</b>" in chat.turns.last.locator(".cm-notes").inner_text()
    options = "node => Array.from(node.list.options, ({value}) => value)"
    assert field.evaluate(options) == ["b<b>dd</b>"]
    assert settings.locator("b").count() == 0
    field.fill("half")
    field.press("Escape")
    assert chat.focused()
    assert field.input_value() == "b<b>dd</b>"
    field.fill("")
    field.press("Tab")
    chat.until("Model of the panel's questions: the model of the cells.")
    chat.ask("echo:five")
    assert "model" not in service.requests[-1].body


@pytest.mark.release
def test_stop_and_wait(lab: Callable[..., Book], service: Emulator) -> None:
    """At once while either streams; one that waits says for which, and can be taken back."""
    book, chat = with_panel(lab, "%%chat\nlong", HOLDS)
    service.settings = HELD
    chat.send("long")
    chat.streaming()
    book.start(2)  # the cell waits for the panel
    book.until("notebook.widgets[2].outputArea.node.innerText.includes('the panel')")
    chat.box.press("Escape")
    chat.until("Interrupted after|Reply to cell")
    chat.streaming()
    chat.send("echo:next")
    assert chat.until("Waiting").startswith("Waiting for the reply to cell [")
    chat.box.press("Escape")
    chat.until("Interrupted before")
    assert chat.box.input_value() == "echo:next"
    chat.box.press("Escape")
    chat.until("Interrupted after")
    book.ended(2)
    assert "the text so far is kept" in book.text(2)
    assert chat.root.get_by_text("Interrupted: this reply is not complete.").count() == 2
    assert len(service.requests) == 2
    # The kernel is busy with something else: the panel asks all the same.
    service.settings = Settings()
    chat.until_ready()
    book.start(3)
    book.until("notebook.widgets[3].model.executionState === 'running'")
    chat.box.press("Enter")
    chat.until("Complete, 1 word")
    assert book.js("return notebook.widgets[3].model.executionState") == "running"
    (book.front.server.folder / "go").touch()
    book.ended(3)
    # The kernel does not hear, as one that is busy may not: the panel tells the front end.
    service.settings = HELD
    book.start(2)
    chat.streaming()
    book.js(
        "const kernel = panel.sessionContext.session.kernel;"
        "kernel.sendShellMessage = msg => ({msg, done: new Promise(() => {}), dispose() {}});"
    )
    chat.button("Stop").click()
    chat.until("Interrupted after")
    book.ended(2)
    assert "ChatInterrupted" in book.text(2)


@pytest.mark.release
def test_the_log_follows_unless_the_reader_scrolls(
    lab: Callable[..., Book], service: Emulator
) -> None:
    """To the newest text; for who has scrolled up a button leads down."""
    book, chat = with_panel(lab)
    down = chat.root.get_by_role("button", name="Go to the newest text")
    chat.ask("markdown")
    chat.root.locator("mjx-container").first.wait_for()
    wait(
        book.page,
        "node => node.scrollHeight > node.clientHeight + 100",
        arg=chat.log.element_handle(),
    )
    wait(book.page, AT_END, arg=chat.log.element_handle())
    assert not down.is_visible()
    # What grows by itself, as formulas do, is followed, too.
    last = chat.turns.last.locator(".cm-reply")
    for height in ("4000px", ""):
        last.evaluate("(node, height) => { node.style.minHeight = height; }", height)
        wait(book.page, AT_END, arg=chat.log.element_handle())
    service.settings = SLOW
    chat.send("long")
    chat.streaming()
    wait(book.page, AT_END, arg=chat.log.element_handle())
    chat.log.hover()
    book.page.mouse.wheel(0, -200)
    down.wait_for()
    place = chat.log.evaluate("node => node.scrollTop")
    shown = chat.root.locator(".cm-live .cm-reply").inner_text()
    wait(
        book.page,
        "([node, shown]) => node.querySelector('.cm-live .cm-reply').innerText !== shown",
        arg=[chat.root.element_handle(), shown],
    )
    chat.box.press("Escape")
    chat.until("Interrupted after")
    chat.until_ready()
    assert abs(chat.log.evaluate("node => node.scrollTop") - place) < 2
    down.click()
    down.wait_for(state="hidden")
    assert chat.rest() < 2


@pytest.mark.release
def test_what_can_be_done_with_a_turn(lab: Callable[..., Book], service: Emulator) -> None:
    """Copy, code into a cell, again, edit, undo, redo, clear; the focus comes back."""
    book = lab([LOAD, PANEL, "2"])
    book.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    read = "navigator.clipboard.readText()"
    chat.ask("echo:Look:\n\n```python\nprint(1)\nprint(2)\n```")
    chat.button("Copy the reply").click()
    chat.until("The reply is on the clipboard")
    assert book.page.evaluate(read) == "Look:\n\n```python\nprint(1)\nprint(2)\n```"
    chat.button("Copy this code").click()
    chat.until("The code is on the clipboard")
    assert book.page.evaluate(read) == "print(1)\nprint(2)\n"
    _put_code_in_sight(book, chat)
    sources = "return notebook.widgets.map(cell => cell.model.sharedModel.getSource())"
    assert book.js(sources) == [LOAD, PANEL, "print(1)\nprint(2)", "2"]
    chat.ask("echo:second")
    chat.button("Ask again").click()
    chat.until("Complete")
    chat.until_ready()
    assert prompts(service)[-1] == prompts(service)[-2]
    chat.box.fill("a draft")
    chat.root.get_by_role("button", name="Edit the prompt").first.click()
    assert chat.box.input_value().startswith("echo:Look")
    chat.box.press("Escape")
    assert chat.box.input_value() == "a draft"
    chat.root.get_by_role("button", name="Edit the prompt").first.click()
    chat.send("echo:edited")
    chat.until("Complete, 1 word")
    assert chat.box.input_value() == "a draft"
    texts = chat.turns.locator(".cm-text").all_inner_texts()
    assert texts == ["echo:edited", "echo:second"]
    assert "stale" in chat.turns.last.inner_text()
    chat.button("Undo").click()
    chat.until("Undone: the new reply")
    chat.button("Redo").click()
    chat.until("Redone: the new reply")
    assert chat.focused()
    chat.button("Clear").click()
    chat.until("A new conversation begins")
    chat.root.get_by_text("Nothing has been asked yet").wait_for()
    chat.button("Undo").click()
    chat.until("Undone: the reset")
    chat.turns.nth(1).wait_for()
    assert chat.turns.locator(".cm-text").all_inner_texts() == texts


def _put_code_in_sight(book: Book, chat: Chat) -> None:
    """Put code into a new cell, to which a small page scrolls."""
    size = book.page.viewport_size
    assert size
    book.page.set_viewport_size({**size, "height": 400})
    code = chat.button("Put this code into a new cell")
    code.scroll_into_view_if_needed()
    code.click()
    chat.until("Put into a new cell")
    book.until(IN_SIGHT, 2)
    book.page.set_viewport_size(size)


@pytest.mark.release
def test_what_is_said_is_said_once(lab: Callable[..., Book], service: Emulator) -> None:
    """Stop, however often it is pressed; and nothing of before stands under the edit banner."""
    book, chat = with_panel(lab)
    said = book.page.evaluate_handle(
        """node => { const said = [];
        const note = all => all.forEach(one => one.addedNodes.forEach(add => said.push(add.data)));
        new MutationObserver(note).observe(node, {childList: true});
        return said; }""",
        chat.root.get_by_role("status").element_handle(),
    )
    service.settings = HELD
    chat.send("long")
    chat.streaming()
    # Twice before the kernel hears it.
    chat.root.evaluate(
        "node => { const stop = node.querySelector('.cm-stop'); stop.click(); stop.click(); }"
    )
    chat.until("Interrupted after")
    chat.until_ready()
    words = said.json_value()
    assert words.count("Stopping.") == 1
    # Taken back before the kernel has offered to ask.
    said.evaluate("said => { said.length = 0; }")
    book.js(MESSAGES)
    chat.box.fill("never")
    chat.box.evaluate(
        """node => ['Enter', 'Escape'].forEach(key =>
        node.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})))"""
    )
    wait(
        book.page,
        "window.heard.some(([, data]) => data.content?.ended?.words.startsWith('Withdrawn'))",
    )
    chat.root.locator(".cm-live").wait_for(state="detached")
    service.settings = Settings()
    chat.box.fill("")
    chat.ask("echo:fine")
    assert said.json_value().count("Withdrawn before it was sent.") == 1
    chat.button("Edit the prompt").click()
    assert chat.root.locator(".cm-banner").is_visible()
    assert chat.status == ""
    tree = book.page.context.new_cdp_session(book.page).send("Accessibility.getFullAXTree")
    twice = [
        node["name"]["value"]
        for node in tree["nodes"]
        if node.get("role", {}).get("value") == "button"
        and node.get("name", {}).get("value")
        and node["name"]["value"] == node.get("description", {}).get("value")
    ]
    assert not {"Undo", "Stop", "Send", "Copy the reply"} & set(twice)
