"""The chat panel in real pages: driven by keys and clicks, as a person does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from contrast import CONTRAST

from chatmagic.emulator import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator
    from rig import Book

    from chatmagic.emulator import Emulator

LOAD = "%load_ext chatmagic"
PANEL = "%chat_panel"
SLOW = Settings(delay=0.1)
HELD = Settings(fault="hold", fault_after=12)
ENDED = "Complete|Interrupted"
HOSTILE = (
    'echo:<script>window.hit=1</script><img src=x onerror="window.hit=2">'
    "![i](http://evil.example/i.png) [j](javascript:alert(1)) "
    '<b style="position:fixed">b</b> \u202e $\\href{javascript:1}{x}$'
)

FOCUSED = "document.activeElement.getAttribute('aria-label') || document.activeElement.tagName"

MESSAGES = """
  window.heard = [];
  panel.sessionContext.session.kernel.anyMessage.connect((_, {msg, direction}) => {
    if (msg.header.msg_type === 'comm_msg') window.heard.push([direction, msg.content.data]);
  });
"""

# What keeps the line awake, and what the bridge says, which opens after the first reply.
OTHERS = {"ping", "pong", "tell", "cells", "say", "marks"}

AT_END = "node => node.scrollHeight - node.scrollTop - node.clientHeight < 2"
DRAFT = """words => window.heard.some(([direction, data]) =>
  direction === 'send' && data.method === 'update' && data.state.draft === words)"""


class Chat:
    """A panel in a page."""

    def __init__(self, book: Book, which: int = 0) -> None:
        """Wait until it is drawn and has been told everything."""
        self.book = book
        self.page = book.page
        self.root = book.page.locator(".chatmagic-panel").nth(which)
        self.root.locator(".cm-badge").wait_for()
        self.box = self.root.get_by_role("textbox", name="Prompt")
        self.log = self.root.get_by_role("log", name="Conversation")
        self.turns = self.root.get_by_role("article")

    @property
    def status(self) -> str:
        """What the status region says."""
        return self.root.get_by_role("status").text_content() or ""

    def until(self, words: str) -> str:
        """Wait until the status region says something that begins so."""
        self.page.wait_for_function(
            "([node, words]) => new RegExp('^(' + words + ')').test(node.textContent)",
            arg=[self.root.get_by_role("status").element_handle(), words],
        )
        return self.status

    def until_ready(self) -> None:
        """Wait until nothing is under way."""
        self.page.wait_for_function(
            "node => !node.classList.contains('cm-busy')", arg=self.root.element_handle()
        )

    def send(self, text: str) -> None:
        """Type and press Enter."""
        self.box.fill(text)
        self.box.press("Enter")

    def ask(self, text: str) -> str:
        """Ask, and wait for the end."""
        count = self.turns.count()
        self.send(text)
        self.page.wait_for_function(
            "([node, count]) => node.querySelectorAll('.cm-turn:not(.cm-live)').length > count",
            arg=[self.root.element_handle(), count],
        )
        self.until_ready()
        return self.status

    def button(self, name: str) -> Locator:
        """Find the last button of a name."""
        return self.root.get_by_role("button", name=name).last

    def focused(self) -> bool:
        """Tell whether the prompt has the focus."""
        return bool(self.box.evaluate("node => node === document.activeElement"))

    def streaming(self) -> None:
        """Wait until a reply streams."""
        self.root.locator(".cm-live .cm-reply p").first.wait_for()

    def rest(self) -> float:
        """How far the log is from its end, in pixels."""
        measured = "node => node.scrollHeight - node.scrollTop - node.clientHeight"
        return float(self.log.evaluate(measured))


def prompts(service: Emulator) -> list[list[str]]:
    """Give the questions that each request carried."""
    return [
        [message["content"] for message in one.body["messages"] if message["role"] == "user"]
        for one in service.requests
    ]


def test_two_views_agree(lab: Callable[..., Book]) -> None:
    """A second panel, and a view of the output beside the notebook.

    It comes first: in a page that has been loaded again JupyterLab's own command hangs.
    """
    book = lab([LOAD, PANEL, PANEL])
    book.run_all()
    one, two = Chat(book, 0), Chat(book, 1)
    one.ask("echo:hello")
    two.until("Complete, 1 word")
    book.select(1)
    book.command("notebook:create-output-view")
    book.page.wait_for_function("document.querySelectorAll('.chatmagic-panel').length === 3")
    views = [Chat(book, which) for which in range(3)]
    for view in views:
        view.turns.first.wait_for()
        assert "hello" in view.turns.first.inner_text()
    beside = next(
        view
        for view in views
        if view.root.locator("xpath=ancestor::*[contains(@class,'jp-LinkedOutputView')]").count()
    )
    beside.ask("echo:from beside")
    for view in views:
        view.turns.nth(1).wait_for()
    book.page.evaluate("document.querySelectorAll('.jp-LinkedOutputView').forEach(n => n.remove())")


def test_one_conversation_with_the_cells(lab: Callable[..., Book], service: Emulator) -> None:
    """Cells appear with their number, the panel's turns go along, and each is said once."""
    book = lab([LOAD, "%%chat\necho:from a cell", PANEL, "%%chat\necho:and back"])
    for index in range(3):
        book.run(index)
    chat = Chat(book)
    assert "You, in cell [2]" in chat.turns.first.inner_text()
    said = book.page.evaluate_handle(
        """node => { const said = [];
        const note = () => said.push([node.textContent, node.getAttribute('aria-live')]);
        new MutationObserver(note).observe(node, {childList: true});
        return said; }""",
        chat.root.get_by_role("status").element_handle(),
    )
    chat.send("echo:**Good** morning, $x^2$")
    chat.until("Complete, 3 words")
    spoken = ["Sending.", "Reply started.", "Complete, 3 words."]
    assert said.json_value() == [[words, "polite"] for words in spoken]
    chat.root.locator(".cm-reply mjx-container").wait_for()  # typeset
    assert "$x^2$" in chat.turns.last.locator(".cm-text").inner_text()  # as typed
    assert chat.turns.last.locator("strong").inner_text() == "Good"
    book.start(3)
    chat.until("Complete, 2 words")
    # The bridge says it for a screen reader; here it is only shown.
    shown = [["Reply to cell [4] started.", "off"], ["Complete, 2 words.", "off"]]
    assert said.json_value()[3:] == shown
    assert prompts(service)[-1][:2] == ["echo:from a cell", "echo:**Good** morning, $x^2$"]
    assert "took about 1" in chat.turns.last.inner_text()
    assert book.front.heard.fetched == []
    assert book.front.heard.errors == []


def test_the_keys_of_the_hand(lab: Callable[..., Book], service: Emulator) -> None:
    """Enter, Shift+Enter, arrows, Escape; no key reaches the notebook; nothing empty is sent."""
    book = lab([LOAD, PANEL, "1"])
    book.run(0)
    book.run(1)
    chat = Chat(book)
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
    for key in ("b", "d", "d", "a", "Escape"):
        chat.page.keyboard.press(key)
    assert book.ids() == cells
    assert chat.focused()  # Escape brings the focus back
    assert prompts(service) == [["echo:one\ntwo"], ["echo:one\ntwo", "echo:three"]]


def test_a_draft_survives(lab: Callable[..., Book]) -> None:
    """Another rendering, the cell run again, and a browser that is reloaded."""
    book = lab([LOAD, PANEL])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    book.js(MESSAGES)
    chat.box.fill("half a question")
    book.page.wait_for_function(DRAFT, arg="half a question")
    book.run(1)
    chat = Chat(book)
    assert chat.box.input_value() == "half a question"
    chat.ask("echo:hello")
    chat.box.fill("half another")
    book.page.wait_for_function(DRAFT, arg="half another")
    book.save()
    book.reload()
    chat = Chat(book)
    assert chat.box.input_value() == "half another"
    assert "hello" in chat.turns.first.inner_text()
    # What is saved follows, too, though the kernel can't reach it any more.
    chat.ask("echo:after the reload")
    book.until(
        "JSON.stringify(notebook.widgets[1].model.outputs.toJSON()).includes('after the reload')"
    )


def test_stop_and_wait(lab: Callable[..., Book], service: Emulator) -> None:
    """At once while either streams; a waiting ask says for whom, and can be taken back."""
    book = lab([LOAD, PANEL, "%%chat\nlong", "import time; time.sleep(3)"])
    book.run(0)
    book.run(1)
    chat = Chat(book)
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
    book.until("notebook.widgets[2].model.executionState !== 'running'")
    assert "what came is kept" in book.text(2)
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


def test_stop_interrupts_where_the_kernel_does_not_hear(
    lab: Callable[..., Book], service: Emulator
) -> None:
    """A panel that has not yet spoken to a kernel that is busy tells the front end."""
    book = lab([LOAD, PANEL, "%%chat\nlong"])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    service.settings = HELD
    book.start(2)
    chat.streaming()
    # Nothing that the page says arrives.
    book.js(
        "const kernel = panel.sessionContext.session.kernel;"
        "kernel.sendShellMessage = () => ({done: Promise.resolve(), dispose() {}});"
    )
    chat.button("Stop").click()
    chat.until("Interrupted after")
    assert "ChatInterrupted" in book.text(2)


def test_the_log_follows_unless_the_reader_scrolls(
    lab: Callable[..., Book], service: Emulator
) -> None:
    """To the newest text; for who has scrolled up a button leads down."""
    book = lab([LOAD, PANEL])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    down = chat.root.get_by_role("button", name="Go to the newest text")
    chat.ask("markdown")
    chat.root.locator("mjx-container").first.wait_for()
    book.page.wait_for_function(
        "node => node.scrollHeight > node.clientHeight + 100", arg=chat.log.element_handle()
    )
    book.page.wait_for_function(AT_END, arg=chat.log.element_handle())
    assert not down.is_visible()
    # What grows by itself, as formulas do, is followed, too.
    last = chat.turns.last.locator(".cm-reply")
    for height in ("4000px", ""):
        last.evaluate("(node, height) => { node.style.minHeight = height; }", height)
        book.page.wait_for_function(AT_END, arg=chat.log.element_handle())
    service.settings = SLOW
    chat.send("long")
    chat.streaming()
    assert chat.rest() < 2
    chat.log.hover()
    book.page.mouse.wheel(0, -200)
    down.wait_for()
    place = chat.log.evaluate("node => node.scrollTop")
    shown = chat.root.locator(".cm-live .cm-reply").inner_text()
    book.page.wait_for_function(
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
    chat.button("Put this code into a new cell").click()
    chat.until("Put into a new cell")
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
    chat.until("Took back the new reply")
    chat.button("Redo").click()
    chat.until("Put back the new reply")
    assert chat.focused()
    chat.button("Clear").click()
    chat.until("A new conversation begins")
    chat.root.get_by_text("Nothing has been asked yet").wait_for()
    chat.button("Undo").click()
    chat.until("Took back the reset")
    chat.turns.nth(1).wait_for()
    assert chat.turns.locator(".cm-text").all_inner_texts() == texts


def test_turns_of_the_panel_become_cells(lab: Callable[..., Book], service: Emulator) -> None:
    """Below the cell whose turn stands above; Run All asks each once, and so does a new kernel."""
    book = lab([LOAD, PANEL, "%%chat\necho:above", "%%chat\necho:below"])
    for index in range(3):
        book.run(index)
    chat = Chat(book)
    chat.ask("echo:first")
    chat.ask("echo:second")
    book.run(3)
    chat.button("Put all turns").click()
    chat.until("Put into the notebook as 2 cells")
    sources = "return notebook.widgets.map(cell => cell.model.sharedModel.getSource().slice(12))"
    assert book.js(sources) == ["atmagic", "", "above", "first", "second", "below"]
    assert book.text(3) == "first"
    assert "first" in book.shown(3)
    chat.root.get_by_text("You, in a cell that has not run yet").nth(1).wait_for()
    assert chat.root.get_by_role("button", name="Ask again").count() == 0
    del service.requests[:]
    book.run_all()
    expected = [
        ["echo:above"],
        ["echo:above", "echo:first"],
        ["echo:above", "echo:first", "echo:second"],
        ["echo:above", "echo:first", "echo:second", "echo:below"],
    ]
    assert prompts(service) == expected
    bodies = [one.body for one in service.requests]
    del service.requests[:]
    book.restart()
    book.run_all()
    assert [one.body for one in service.requests] == bodies


def test_a_failure_is_shown_where_it_happened(lab: Callable[..., Book], service: Emulator) -> None:
    """In the log and the status, with the prompt back in its place; the gauge knows.

    What is asked afterwards stands below it, as it does in a view that opens later.
    """
    book = lab([LOAD, PANEL])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    service.settings = Settings(credits=1)
    chat.ask("echo:fine")
    chat.send("echo:too much")
    failed = chat.root.locator(".cm-failed")
    failed.wait_for()
    assert "No credits left" in failed.inner_text()
    assert chat.until("No credits left")
    assert chat.box.input_value() == "echo:too much"
    gauge = chat.root.get_by_role("group", name="Credits")
    assert "no credits left of 1" in gauge.inner_text()
    assert gauge.get_attribute("data-level") == "empty"
    service.settings = Settings(credits=9, fault="cut", fault_after=4)
    chat.send("this breaks")
    chat.root.get_by_text("Cut off: this reply is not complete.").wait_for()
    assert failed.count() == 2
    chat.until_ready()
    service.settings = Settings()
    chat.ask("echo:later")
    order = chat.root.locator(".cm-text, .cm-what").all_inner_texts()
    asked = ["echo:fine", "echo:too much", order[2], "this breaks", order[4], "echo:later"]
    assert order == asked
    book.run(1)
    chat = Chat(book)
    chat.turns.nth(4).wait_for()
    assert chat.root.locator(".cm-text, .cm-what").all_inner_texts() == order


def test_without_its_kernel_a_notebook_shows_the_conversation(
    lab: Callable[..., Book], service: Emulator
) -> None:
    """The panel hides the saved output while it lives, and says when it has lost its kernel."""
    book = lab([LOAD, PANEL])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    chat.ask("echo:**kept**")
    saved = book.page.locator(".chatmagic-saved")
    saved.wait_for(state="attached")
    assert not saved.is_visible()
    book.save()
    service.settings = HELD
    chat.send("long")
    chat.streaming()
    book.js("await panel.sessionContext.restartKernel()")
    chat.until("This panel has lost its kernel")
    assert not chat.button("Stop").is_visible()  # what streamed has no end any more
    chat.send("still typed")
    assert chat.box.input_value() == "still typed"
    book.reload()
    saved.locator("strong", has_text="kept").wait_for()
    assert saved.is_visible()
    assert "needs a live page" in saved.inner_text()


def test_what_is_hostile_stays_text(lab: Callable[..., Book]) -> None:
    """Nothing runs, is fetched or navigates, while it streams and at its end."""
    book = lab([LOAD, PANEL])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    chat.ask(HOSTILE)
    assert book.page.evaluate("window.hit") is None
    inside = "script, img, iframe, form, style, object, embed, link, base, meta, [onerror]"
    assert chat.root.locator(inside).count() == 0
    links = chat.root.locator("a").evaluate_all("all => all.map(one => one.href)")
    assert all(re.match("https?:", link) for link in links)
    assert "<script>" in chat.turns.first.locator(".cm-text").inner_text()
    assert "\u202e" not in chat.root.inner_text()
    assert book.front.heard.fetched == []


def test_for_everybody(lab: Callable[..., Book], service: Emulator) -> None:
    """Roles and names, headings, contrast in both themes, 320 pixels, the other direction."""
    book = lab([LOAD, PANEL])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    chat.ask("markdown")
    chat.ask("echo:שלום עולם")
    service.settings = Settings(credits=1)
    chat.send("echo:fails")
    chat.root.locator(".cm-failed").wait_for()
    assert chat.log.get_attribute("aria-live") == "off"
    assert chat.root.get_by_role("region", name="Chat").or_(chat.root).count() >= 1
    for name in ("Send", "Undo", "Redo", "Clear the conversation", "Copy the reply"):
        assert chat.root.get_by_role("button", name=name).count()
    levels = chat.root.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.map(one => Number(one.tagName[1]))"
    )
    assert levels
    assert min(levels) >= 4
    right = "node => getComputedStyle(node.querySelector('[dir=auto]')).direction"
    hebrew = chat.turns.nth(1).locator(".cm-reply")
    assert hebrew.evaluate(right) == "rtl"
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        book.front.theme(theme)
        assert chat.root.evaluate(CONTRAST) == []
    chat.root.evaluate("node => { node.parentElement.style.width = '320px'; }")
    wide = "node => [node, ...node.querySelectorAll('.cm-log, .cm-head, .cm-composer')]"
    wide += ".map(one => one.scrollWidth - one.clientWidth)"
    assert max(chat.root.evaluate(wide)) <= 0
    chat.root.evaluate("node => { node.parentElement.style.width = ''; }")
    # The keyboard reaches everything, in the order of the page.
    chat.root.locator("summary").focus()
    seen = []
    for _ in range(40):
        book.page.keyboard.press("Tab")
        seen.append(book.page.evaluate(FOCUSED))
        if seen[-1] == "Send":
            break
    assert seen[0] == "Conversation"
    assert {"Copy this code", "Edit the prompt", "Prompt", "Send"} <= set(seen)
    book.page.emulate_media(reduced_motion="reduce")
    service.settings = Settings(delay=0.3)
    chat.send("long")
    waiting = chat.root.locator(".cm-waiting").first
    waiting.wait_for(state="attached")
    animation = "node => getComputedStyle(node, '::after').animationName"
    assert waiting.evaluate(animation) == "none"
    book.page.emulate_media(reduced_motion=None)
    chat.box.press("Escape")
    chat.until_ready()


def test_the_gauge_counts_without_the_kernel(lab: Callable[..., Book]) -> None:
    """It follows every request; between them the page counts down by itself."""
    book = lab([LOAD, "%chat_credits --live", "%%chat\necho:one"])
    book.run(0)
    book.run(1)
    gauge = book.page.get_by_role("group", name="Credits").first
    gauge.get_by_text("unknown").first.wait_for()
    assert not book.page.locator(".chatmagic-saved").first.is_visible()
    book.run(2)
    gauge.get_by_text("99 credits left").wait_for()
    assert "99 of 100 credits left" in gauge.inner_text()
    assert "resets in " in gauge.inner_text()
    book.js(MESSAGES)
    node = gauge.element_handle()
    # Its own count is called, as the second's timer does, with the page's clock put forward.
    before = gauge.locator(".cm-reset").inner_text()
    book.page.evaluate(
        "window.own = performance.now.bind(performance); performance.now = () => own() + 7.2e6"
    )
    book.page.wait_for_function(
        "([node, before]) => node.querySelector('.cm-reset').textContent !== before",
        arg=[node, before],
    )
    assert "As of" in gauge.inner_text()
    assert " ago" in gauge.inner_text()
    book.page.evaluate("() => { performance.now = window.own; }")
    said = [data for _, data in book.page.evaluate("window.heard")]
    assert [data for data in said if data["content"]["kind"] not in OTHERS] == []


def test_what_crosses_the_wire(lab: Callable[..., Book]) -> None:
    """With 500 turns before it, a reply takes the messages that it takes with none."""
    book = lab([LOAD, PANEL, "%config ChatMagics.last = 0", FILL])
    for index in range(3):
        book.run(index)
    chat = Chat(book)
    chat.ask("echo:warm")
    book.js(MESSAGES)
    sizes = []
    for _ in range(2):
        book.page.evaluate("window.heard.length = 0")
        chat.ask("echo:one two three")
        heard: list[Any] = book.page.evaluate("window.heard")
        sizes.append(
            [
                (direction, data["content"]["kind"], len(json.dumps(data)))
                for direction, data in heard
                if data.get("method") == "custom" and data["content"]["kind"] not in OTHERS
            ]
        )
        book.run(3)
        book.until(
            "document.querySelectorAll('.chatmagic-panel .cm-earlier:not([hidden])').length === 1"
        )
        chat.until_ready()
    few, many = sizes
    assert [one[:2] for one in few] == [one[:2] for one in many]
    assert max(abs(a[2] - b[2]) for a, b in zip(few, many, strict=True)) < 300


FILL = """
import chatmagic
from dataclasses import replace
session = chatmagic.current_session()
last = session.conversation.turns[-1]
for number in range(500):
    session.conversation.add(replace(last, number=0, owner=None, entry="python"))
_ = session.change(lambda conversation: None)
"""


def test_a_reply_drawn_once(lab: Callable[..., Book], service: Emulator) -> None:
    """`ChatMagics.stream = off`: nothing of it is shown before its end."""
    book = lab([LOAD, PANEL, "%config ChatMagics.stream = 'off'"])
    for index in range(3):
        book.run(index)
    chat = Chat(book)
    book.js(MESSAGES)
    service.settings = Settings(delay=0.01)
    chat.ask("long")
    kinds = [
        data["content"]["kind"]
        for _, data in book.page.evaluate("window.heard")
        if data.get("method") == "custom"
    ]
    assert "text" not in kinds
    assert chat.status.startswith("Complete")


def test_in_notebook_7(notebook7: Callable[..., Book], service: Emulator) -> None:
    """The same panel: asks, stops, makes cells, shows the gauge, fetches nothing."""
    book = notebook7([LOAD, PANEL, "%chat_credits --live", "%%chat\nlong"])
    for index in range(3):
        book.run(index)
    chat = Chat(book)
    chat.ask("echo:Hello\n\n```python\n1\n```\n\n$x$")
    chat.root.locator(".cm-reply mjx-container").wait_for()
    book.page.get_by_text("99 credits left").first.wait_for()
    chat.button("Put this code into a new cell").click()
    chat.until("Put into a new cell")
    chat.root.get_by_role("button", name="Put into the notebook").click()
    chat.until("Put into the notebook as 1 cell")
    assert len(book.ids()) == 6
    service.settings = HELD
    book.start(5)
    chat.streaming()
    chat.box.press("Escape")
    chat.until("Interrupted after")
    assert "ChatInterrupted" in book.text(5)
    chat.send("long")
    chat.streaming()
    chat.box.press("Shift+Enter")
    assert chat.box.input_value() == "\n"
    chat.box.press("Escape")
    chat.until("Interrupted after")
    assert book.front.heard.fetched == []
    # Notebook 7 may not fetch its own fonts for formulas.
    errors = [one for one in book.front.heard.errors if "Failed to load resource" not in one]
    assert errors == []
