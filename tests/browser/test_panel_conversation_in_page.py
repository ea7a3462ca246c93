"""The panel in real pages: one conversation, wherever and whenever it is shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chat import HELD, LOAD, MESSAGES, PANEL, Chat, prompts, with_panel
from logged import Emulator, Settings
from nbconvert import HTMLExporter
from rig import Book, cell, wait

DRAFT = """words => window.heard.some(([direction, data]) =>
  direction === 'send' && data.method === 'update' && data.state.draft === words)"""
FILLS = """root => {
  const view = root.closest('.jp-LinkedOutputView').getBoundingClientRect();
  const own = root.getBoundingClientRect();
  const prompt = root.querySelector('textarea').getBoundingClientRect();
  return Math.abs(view.height - own.height) < 20 && own.width > view.width - 20
    && prompt.top >= view.top && prompt.bottom <= Math.min(view.bottom, innerHeight)
    && own.bottom <= view.bottom + 1;
}"""
SLOW = """if (sessionStorage.getItem('slow')) {
  sessionStorage.removeItem('slow');
  window.inTime = AbortSignal.timeout;
  AbortSignal.timeout = () => {
    const late = new AbortController();
    queueMicrotask(() => late.abort());
    return late.signal;
  };
}"""
SAID = "The panel's conversation, as saved:"
SAVED = "JSON.stringify(notebook.widgets[1].model.outputs.toJSON()).includes(given)"
FILL = """
import chatmagic
from dataclasses import replace
session = chatmagic.current_session()
last = session.conversation.turns[-1]
for number in range(%d):
    session.conversation.add(replace(last, number=0, owner=None, entry="python"))
_ = session.changes.make(lambda conversation: None)
"""


@pytest.mark.release
def test_two_views_agree(lab: Callable[..., Book]) -> None:
    """A second panel, and a view of the output beside the notebook."""
    book = lab([LOAD, PANEL, PANEL])
    book.run_all()
    one, two = Chat(book, 0), Chat(book, 1)
    one.ask("echo:hello")
    two.until("Complete, 1 word")
    book.select(1)
    book.command("notebook:create-output-view")
    wait(book.page, "document.querySelectorAll('.chatmagic-panel').length === 3")
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
    # It fills its view, and its prompt is in sight, however short that is.
    size = book.page.viewport_size
    assert size
    for height in (300, 500, 900):
        book.page.set_viewport_size({**size, "height": height})
        wait(book.page, FILLS, arg=beside.root.element_handle())
    book.page.set_viewport_size(size)
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
    asked = chat.turns.last.locator(".cm-text")
    assert "$x^2$" in asked.inner_text()  # as typed
    assert asked.locator("strong").inner_text() == "Good"
    assert chat.turns.last.locator(".cm-reply strong").inner_text() == "Good"
    book.until("notebook.model[Symbol.for('chatmagic.bridge')]")
    book.start(3)
    chat.until("Complete, 2 words")
    # The bridge says it for a screen reader; here it is only shown.
    shown = [["Reply to cell [4] started.", "off"], ["Complete, 2 words.", "off"]]
    assert said.json_value()[3:] == shown
    assert prompts(service)[-1][:2] == ["echo:from a cell", "echo:**Good** morning, $x^2$"]
    assert "cost about 1 credit" in chat.turns.last.inner_text()
    mine = chat.turns.nth(1)
    mine.get_by_role("button", name="Ask again").click()
    replies = mine.get_by_role("group", name="Replies")
    replies.get_by_text("2 of 2").wait_for()
    book.screenshot("replies")
    sizes = replies.get_by_role("button").evaluate_all(
        "all => all.map(({offsetWidth, offsetHeight}) => [offsetWidth, offsetHeight])"
    )
    assert sizes[0] == sizes[1]
    replies.get_by_role("button", name="Earlier reply").click()
    replies.get_by_text("1 of 2").wait_for()
    assert book.front.heard.fetched == []
    assert book.front.heard.errors == []


@pytest.mark.release
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
    chat.root.get_by_text("You, in a cell of the notebook").nth(1).wait_for()
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


@pytest.mark.release
def test_a_draft_survives(lab: Callable[..., Book], service: Emulator) -> None:
    """Another rendering, the cell run again, and a browser that is reloaded; however quick.

    The page that is loaded again is so slow that anywidget gives the widgets up. In it no widget
    is told of a kernel's end; a panel misses it.
    """
    book = lab([LOAD, "1", PANEL])
    book.page.add_init_script(SLOW)
    book.run(0)
    book.run(2)
    book.select(2)
    # Nothing that waits for a time comes to its end before the cell is drawn anew.
    book.js(
        "window.later = window.setTimeout; window.setTimeout = (act, ms, ...rest) =>"
        " window.later(act, ms === 400 ? 60000 : ms, ...rest)"
    )
    Chat(book).box.fill("typed a moment ago")
    book.command("notebook:move-cell-up")
    assert Chat(book).box.input_value() == "typed a moment ago"
    book.js(MESSAGES)
    Chat(book).box.fill("and left")
    Chat(book).box.evaluate("node => node.blur()")
    wait(book.page, DRAFT, arg="and left")
    book.js("window.setTimeout = window.later")
    chat = Chat(book)
    chat.box.fill("half a question")
    wait(book.page, DRAFT, arg="half a question")
    book.run(1)
    chat = Chat(book)
    assert chat.box.input_value() == "half a question"
    chat.ask("echo:hello")
    chat.box.fill("half another")
    wait(book.page, DRAFT, arg="half another")
    book.save()
    book.js("sessionStorage.setItem('slow', '1')")
    book.reload()
    chat = Chat(book)
    book.js("AbortSignal.timeout = window.inTime")
    assert chat.box.input_value() == "half another"
    assert "hello" in chat.turns.first.inner_text()
    # What is saved follows, too, though the kernel can't reach it any more.
    chat.ask("echo:after the reload")
    book.until(SAVED, "after the reload")
    service.settings = HELD
    chat.send("long")
    chat.streaming()
    book.js(
        "window.later = window.setTimeout; window.setTimeout = (act, ms, ...rest) =>"
        " window.later(act, ms === 3000 ? 100 : ms, ...rest);"
        "await panel.sessionContext.shutdown()"
    )
    chat.until("This panel has lost its kernel")
    assert not chat.button("Stop").is_visible()
    book.js("window.setTimeout = window.later")


@pytest.mark.release
def test_a_failure_is_shown_where_it_happened(lab: Callable[..., Book], service: Emulator) -> None:
    """In the log and the status, with the prompt back in its place; the gauge knows.

    What is asked afterwards stands below it, as it does in a view that opens later.
    """
    book, chat = with_panel(lab)
    service.settings = Settings(credits=1)
    chat.ask("echo:fine")
    chat.send("echo:too much")
    failed = chat.root.locator(".cm-failed")
    failed.wait_for()
    assert failed.locator(".cm-what").inner_text().splitlines() == [
        "No credits left (HTTP 429).",
        "Ask again after the reset.",
    ]
    assert chat.until("No credits left")
    assert chat.box.input_value() == "echo:too much"
    gauge = chat.root.get_by_role("group", name="Credits")
    assert "0 of 1 credits left" in gauge.inner_text()
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


def exported_outputs(book: Book) -> str:
    """Return the text of a saved notebook's outputs, as an HTML export without a network has it."""
    exported, _ = HTMLExporter().from_filename(str(book.front.server.folder / book.path))
    tab = book.page.context.new_page()
    tab.route("**/*", lambda route: route.abort())
    tab.set_content(exported, wait_until="domcontentloaded")
    outputs = "".join(tab.locator(".jp-OutputArea").all_inner_texts())
    tab.close()
    return outputs


@pytest.mark.release
def test_without_its_kernel_a_notebook_shows_the_conversation(
    lab: Callable[..., Book], service: Emulator
) -> None:
    """In a page, in an export, and as somebody else's file; the panel says that it is lost.

    Nothing in it can be pressed in vain, and the next panel finds what was typed.
    """
    book, chat = with_panel(lab)
    chat.ask("echo:**kept**")
    saved = book.page.locator(".chatmagic-saved")
    saved.wait_for(state="attached")
    assert not saved.is_visible()
    book.until(SAVED, "<strong>kept</strong>")
    file = book.save()
    assert exported_outputs(book).strip().startswith(SAID)
    # While its kernel lives, a page may find the panel again.
    book.restart()
    book.reopen()
    saved.locator("strong", has_text="kept").last.wait_for()
    saved.wait_for()
    assert SAID in saved.inner_text()

    book.run(0)
    book.run(1)
    chat = Chat(book)
    badge = chat.root.locator(".cm-badge")
    # A connection that is made anew is no loss.
    book.js("await panel.sessionContext.session.kernel.reconnect()")
    chat.ask("echo:and after")
    assert badge.inner_text() == "live"
    service.settings = HELD
    chat.send("long")
    chat.streaming()
    chat.box.fill("half a")
    book.restart()
    chat.until("This panel has lost its kernel")
    assert not chat.button("Stop").is_visible()  # what streamed has no end any more
    assert badge.inner_text() == "no kernel"
    chat.root.get_by_text("The kernel ended before this reply did").wait_for()
    assert not chat.root.get_by_role("group", name="Credits").is_visible()
    for name in ("Send", "Undo", "Clear the conversation", "Put all turns"):
        assert chat.button(name).get_attribute("aria-disabled") == "true"
    chat.box.press("End")
    chat.box.type(" question")
    chat.button("Ask again").click()
    assert chat.status.startswith("This panel has lost its kernel")
    book.until("notebook.model[Symbol.for('chatmagic.draft')] === 'half a question'")
    service.settings = Settings()
    book.run(0)
    book.run(1)
    assert Chat(book).box.input_value() == "half a question"
    # As a file of somebody else's: nothing in it is signed here.
    other = lab([cell(one["source"], outputs=one["outputs"]) for one in file["cells"]])
    begin, _, rest = other.shown(1).partition(", or trust the notebook")
    assert begin == "The chat panel: run this cell again"
    assert "live page" not in rest
    assert "kept" in rest


@pytest.mark.release
def test_earlier_turns_are_shown_page_by_page(lab: Callable[..., Book]) -> None:
    """The reader stays where they are, but for the button that is gone; so does what is shown."""
    book = lab([LOAD, "%config ChatMagics.last = 0", "%chat echo:first", FILL % 69, PANEL])
    for index in range(5):
        book.run(index)
    chat = Chat(book)
    # A window begins anew with each page of 30: of 70 turns it has 40.
    chat.turns.nth(39).wait_for()
    assert chat.turns.count() == 40
    earlier = chat.root.get_by_role("button", name="Show earlier turns (30 more)")
    earlier.focus()
    top = chat.turns.first.element_handle()
    chat.log.evaluate("node => node.scrollTo(0, 0)")
    place = top.evaluate("node => node.getBoundingClientRect().top")
    book.page.keyboard.press("Enter")
    chat.turns.nth(69).wait_for()
    wait(
        book.page,
        "([node, place]) => Math.abs(node.getBoundingClientRect().top - place) < 60",
        arg=[top, place],
    )
    assert earlier.count() == 0
    assert chat.log.evaluate("node => node === document.activeElement")
    chat.ask("echo:one more")
    assert chat.turns.count() == 71
    assert "echo:first" in chat.turns.first.inner_text()
    # A turn that stands above the kernel's window changes in the view that shows it.
    book.write(2, "%chat echo:first, again")
    book.run(2)
    chat.turns.first.get_by_text("echo:first, again").wait_for()
    assert chat.turns.count() == 71
