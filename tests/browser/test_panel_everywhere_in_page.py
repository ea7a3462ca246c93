"""The panel in real pages: for everybody, in both front ends, with its gauge."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

import pytest
from chat import HELD, LOAD, MESSAGES, PANEL, Chat, heard, with_panel
from logged import Emulator, Settings
from playwright.sync_api import Locator
from rig import Book, wait

LEFT_TO_RIGHT = """node => {
  document.documentElement.dir = 'rtl';
  const [text, range] = [node.firstChild, document.createRange()];
  const at = place => {
    range.setStart(text, place);
    range.setEnd(text, place + 1);
    return range.getBoundingClientRect().left;
  };
  const places = [at(0), at(text.length - 1)];
  document.documentElement.dir = '';
  return places[0] < places[1];
}"""
DARK = """async png => {
  const bytes = Uint8Array.from(atob(png), one => one.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
  const {width, height} = picture;
  const canvas = new OffscreenCanvas(width, height).getContext('2d');
  canvas.drawImage(picture, 0, 0);
  // What is low is striped: all rows between the borders count.
  const {data} = canvas.getImageData(0, 3, width, height - 6);
  const rows = Array.from({length: height - 6}, (_, y) => 4 * width * y);
  const dark = Array.from({length: width}, (_, x) => rows.some(row => data[row + 4 * x] < 128));
  // The page may cut a pixel in two where the bar begins and ends.
  const inside = dark.slice(2, -2);
  return inside.filter(Boolean).length / inside.length;
}"""
DIRECTIONS = (
    "node => [...node.querySelectorAll('p, pre')].map(one => getComputedStyle(one).direction)"
)
FOCUSED = """(node => node.getAttribute('aria-label') || node.title || node.textContent)(
document.activeElement)"""


@pytest.mark.release
def test_for_everybody(lab: Callable[..., Book], service: Emulator) -> None:
    """Roles and names, 320 pixels, the other direction, the keyboard."""
    book, chat = with_panel(lab)
    chat.ask("markdown")
    chat.ask("echo:שלום\n\n```python\nprint('שלום')\n```")
    service.settings = Settings(credits=1)
    chat.send("echo:fails")
    chat.root.locator(".cm-failed").wait_for()
    assert chat.log.get_attribute("aria-live") == "off"
    assert chat.root.get_by_role("region", name="Chat").or_(chat.root).count() >= 1
    for name in ("Send", "Undo", "Redo", "Clear the conversation", "Copy the reply"):
        assert chat.root.get_by_role("button", name=name).count()
    # Code goes from left to right, also in a reply that goes the other way.
    assert chat.turns.nth(1).locator(".cm-reply").evaluate(DIRECTIONS) == ["rtl", "ltr"]
    # The prompt is as high as its text, in whatever width.
    chat.box.fill("")
    height = "node => node.offsetHeight"
    one_line = chat.box.evaluate(height)
    chat.box.fill("some words of a question " * 4)
    chat.root.evaluate("node => { node.parentElement.style.width = '320px'; }")
    grown = f"([node, least]) => ({height})(node) > 2 * least"
    wait(book.page, grown, arg=[chat.box.element_handle(), one_line])
    wide = "node => [node, ...node.querySelectorAll('.cm-log, .cm-head, .cm-composer')]"
    wide += ".map(one => one.scrollWidth - one.clientWidth)"
    assert max(chat.root.evaluate(wide)) <= 0
    chat.root.evaluate("node => { node.parentElement.style.width = ''; }")
    # Who tabs to a button sees where the focus is: blue within blue could not be seen.
    chat.box.press("Tab")
    offset = "node => parseFloat(getComputedStyle(node).outlineOffset)"
    assert chat.button("Send").evaluate(offset) > 0
    _keys_reach_everything(chat)
    book.page.emulate_media(reduced_motion="reduce")
    service.settings = Settings(delay=0.3)
    chat.send("long")
    waiting = chat.root.locator(".cm-waiting").first
    waiting.wait_for(state="attached")
    animation = "node => getComputedStyle(node, '::after').animationName"
    assert waiting.evaluate(animation) == "none"
    chat.box.press("Escape")
    chat.until_ready()


def _keys_reach_everything(chat: Chat) -> None:
    """Press Tab from the prompt on, until it leaves the panel, and go back."""
    chat.box.focus()
    seen = []
    for _ in range(60):
        chat.page.keyboard.press("Tab")
        seen.append(chat.page.evaluate(FOCUSED))
        if seen[-1] == "Clear the conversation":
            break
    assert seen[:2] == ["Send", "Conversation"]
    log = {"Copy this code", "Put this code into a new cell", "Copy the reply", "Edit the prompt"}
    assert log <= set(seen[2 : seen.index("Current settings")])
    assert seen[-4:-2] == ["Put all turns of the panel into the notebook", "Undo"]
    chat.page.keyboard.press("Tab")
    assert not chat.root.locator(":focus").count()
    chat.box.press("Shift+Tab")
    assert not chat.root.locator(":focus").count()


LIMITED = """
from datetime import timedelta
import chatmagic, chatmagic.protocol.credits
asked = chatmagic.current_session()
tracker = asked.clients.latest.credit_tracker
seen = asked.credits.seen_at
limit = chatmagic.protocol.credits.RequestLimit(100, 93, seen + timedelta(hours=1))
tracker.requests = limit
"""


@pytest.mark.release
def test_the_gauge_counts_without_the_kernel(lab: Callable[..., Book]) -> None:
    """It follows every request; between them the page counts down by itself."""
    book = lab([LOAD, PANEL, "%%chat\necho:one", LIMITED])
    book.run(0)
    book.run(1)
    gauge = book.page.get_by_role("group", name="Credits").first
    book.page.locator(".cm-gauge").first.wait_for(state="hidden")
    assert not book.page.locator(".chatmagic-saved").first.is_visible()
    book.run(2)
    gauge.get_by_text("99 of 100 credits left").wait_for()
    assert "resets in " in gauge.inner_text()
    # In a page that goes the other way, too, the figure stands before what it counts.
    assert gauge.locator(".cm-words").evaluate(LEFT_TO_RIGHT)
    # A window of requests has a line of its own, until it ends.
    book.run(3)
    book.run(2)
    requests = gauge.locator(".cm-requests")
    requests.get_by_text("93 of 100 requests left in this window").wait_for()
    gauge.get_by_text("98 of 100 credits left").wait_for()
    book.js(MESSAGES)
    node = gauge.element_handle()
    # Its own count is called, as the second's timer does, with the page's clock put forward.
    before = gauge.locator(".cm-reset").inner_text()
    book.page.evaluate(
        "window.own = performance.now.bind(performance); performance.now = () => own() + 7.2e6"
    )
    wait(
        book.page,
        "([node, before]) => node.querySelector('.cm-reset').textContent !== before",
        arg=[node, before],
    )
    assert re.search("As of .* ago", str(gauge.get_attribute("title")))
    assert requests.inner_text() == ""
    book.page.evaluate("() => { performance.now = window.own; }")
    assert heard(book.page) == []


@pytest.mark.release
def test_in_forced_colours_the_live_bar_is_as_full_as_it_is(
    lab: Callable[..., Book], service: Emulator
) -> None:
    """As painted; the bar of ``%chat_credits`` is made of characters, which are text."""
    book = lab([LOAD, PANEL, "%chat echo:x"])
    book.run(0)
    book.run(1)
    book.page.emulate_media(forced_colors="active")
    gauge = book.page.locator(".cm-gauge")
    for left, least, most in ((99, 0.97, 1), (1, 0.001, 0.04), (0, 0, 0.02)):
        service.settings, service.used = Settings(cost=100 - left), {}
        book.run(2)
        # Until the figures are there, the bar is not divided.
        gauge.get_by_text(re.compile(rf"\b{left} of 100 ")).wait_for()
        assert least <= _painted(gauge.locator(".cm-bar")) <= most, left


def _painted(bar: Locator) -> float:
    """Give the share of a bar that is dark, its borders apart."""
    return float(bar.page.evaluate(DARK, base64.b64encode(bar.screenshot()).decode()))


@pytest.mark.release
def test_in_notebook_7(notebook7: Callable[..., Book], service: Emulator) -> None:
    """The same panel: its keys, asking, stopping, cells, the gauge; it fetches nothing."""
    book = notebook7([LOAD, PANEL, "1", "%%chat\nlong"])
    for index in range(3):
        book.run(index)
    chat = Chat(book)
    cells = book.ids()
    chat.box.press_sequentially("some words")
    book.write(2, "%chat_credits")
    chat.box.press("Control+s")
    book.until("!panel.context.model.dirty")
    assert chat.focused()
    chat.box.press("Alt+Enter")
    chat.box.fill("")
    chat.ask("echo:## A title\n\n#### Its part\n\nHello\n\n```python\n1\n```\n\n$x$")
    chat.root.locator(".cm-reply mjx-container").wait_for()
    chat.button("Copy the reply").focus()
    for key in ("b", "d", "d"):
        chat.page.keyboard.press(key)
    assert book.ids() == cells
    # The prompt and the reply stand below their turn, and no level is left out on the way.
    levels = chat.root.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.map(one => Number(one.tagName[1]))"
    )
    assert levels == [2, 3, 4, 4, 5]
    book.page.get_by_text("99 of 100 credits left").first.wait_for()
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
    book.ended(5)
    assert "ChatInterrupted" in book.text(5)
    chat.send("long")
    chat.streaming()
    chat.box.press("Shift+Enter")
    assert chat.box.input_value() == "\n"
    chat.box.press("Escape")
    chat.until("Interrupted after")
    assert book.front.heard.fetched == []
    assert book.front.heard.errors == []
