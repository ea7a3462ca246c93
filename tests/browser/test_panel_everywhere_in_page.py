"""The panel in real pages: for everybody, in both front ends, with its gauge."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from chat import HELD, LOAD, MESSAGES, PANEL, Chat, heard
from contrast import CONTRAST
from rig import wait

from chatmagic.emulator.server import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator
    from rig import Book

    from chatmagic.emulator.server import Emulator


HOSTILE = (
    'echo:<script>window.hit=1</script><img src=x onerror="window.hit=2">'
    "![i](http://evil.example/i.png) [j](javascript:alert(1)) "
    '<b style="position:fixed">b</b> \u202e $\\href{javascript:1}{x}$'
)

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
FOCUSED = """(node => node.getAttribute('aria-label') || node.title || node.textContent)(
document.activeElement)"""


def test_for_everybody(lab: Callable[..., Book], service: Emulator) -> None:
    """Roles and names, contrast in both themes, 320 pixels, the other direction."""
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
    right = "node => getComputedStyle(node.querySelector('p')).direction"
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
    # The keyboard reaches everything, from the prompt on, and leaves again.
    chat.box.focus()
    seen = []
    for _ in range(60):
        book.page.keyboard.press("Tab")
        seen.append(book.page.evaluate(FOCUSED))
        if seen[-1] == "Clear the conversation":
            break
    assert seen[:2] == ["Send", "Conversation"]
    log = {"Copy this code", "Put this code into a new cell", "Copy the reply", "Edit the prompt"}
    assert log <= set(seen[2 : seen.index("Settings in force")])
    assert seen[-4:-2] == ["Put all turns of the panel into the notebook", "Undo"]
    book.page.keyboard.press("Tab")
    assert not chat.root.locator(":focus").count()
    chat.box.press("Shift+Tab")
    assert not chat.root.locator(":focus").count()
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


@pytest.mark.parametrize("front", ["lab", "notebook7"])
def test_headings_are_in_order(
    front: str, request: pytest.FixtureRequest, service: Emulator
) -> None:
    """A reply's headings stand below their turn's, and no level is left out on the way."""
    del service
    book: Book = request.getfixturevalue(front)([LOAD, PANEL])
    book.run(0)
    book.run(1)
    chat = Chat(book)
    chat.ask("echo:# A title")
    chat.ask("echo:## Another\n\n#### Its part")
    levels = chat.root.locator("h1, h2, h3, h4, h5, h6").evaluate_all(
        "all => all.map(one => Number(one.tagName[1]))"
    )
    assert levels == [2, 3, 4, 3, 4, 4, 5]


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
    # In a page that goes the other way, too, the figure stands before what it counts.
    assert gauge.locator(".cm-figure").evaluate(LEFT_TO_RIGHT)
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
    assert "As of" in gauge.inner_text()
    assert " ago" in gauge.inner_text()
    book.page.evaluate("() => { performance.now = window.own; }")
    assert heard(book.page) == []


LIMITED = """
from dataclasses import replace
from datetime import timedelta
import chatmagic, chatmagic.protocol.ratelimit
asked = chatmagic.current_session()
tracker = asked._clients.latest.credit_tracker
seen = asked.credits.seen_at
limit = chatmagic.protocol.ratelimit.RequestLimit(100, 93, seen + timedelta(hours=1), seen)
tracker.state = replace(tracker.state, requests=limit)
"""


def test_the_gauge_tells_requests_until_their_window_ends(lab: Callable[..., Book]) -> None:
    """In a line of their own, which goes when it says nothing any more."""
    book = lab([LOAD, "%chat echo:a", LIMITED, "%chat_credits --live", "%chat echo:b"])
    book.run_all()
    requests = book.page.locator(".cm-large .cm-requests")
    requests.get_by_text("93 of 100 requests left in this window").wait_for()
    book.page.locator(".cm-large").get_by_text("98 credits left").wait_for()
    # An hour passes in a third of a second, whenever the figures were drawn last.
    book.page.evaluate(
        "window.own = performance.now.bind(performance); performance.now = () => own() * 1e4"
    )
    requests.get_by_text("requests").wait_for(state="detached")
    book.page.evaluate("() => { performance.now = window.own; }")


@pytest.mark.parametrize(
    ("left", "least", "most"),
    [(0, 0, 0.02), (1, 0.001, 0.02), (50, 0.48, 0.52), (99, 0.97, 0.999), (100, 1, 1)],
)
def test_in_forced_colours_the_live_bar_is_as_full_as_it_is(
    left: int, least: float, most: float, lab: Callable[..., Book], service: Emulator
) -> None:
    """As painted; the bar of ``%chat_credits`` is made of characters, which are text."""
    service.settings = Settings(cost=100 - left)
    book = lab([LOAD, "%chat echo:x", "%chat_credits --live"])
    book.run_all()
    # Until the figures are there, the bar is not divided.
    book.until("document.querySelector('.cm-large .cm-fill')?.style.width")
    book.page.emulate_media(forced_colors="active")
    painted = _painted(book.page.locator(".cm-large .cm-bar"))
    book.page.emulate_media(forced_colors=None)
    assert least <= painted <= most


def _painted(bar: Locator) -> float:
    """Give the share of a bar that is dark, its borders apart."""
    return float(bar.page.evaluate(DARK, base64.b64encode(bar.screenshot()).decode()))


def test_a_date_of_another_year_shows_it(lab: Callable[..., Book], service: Emulator) -> None:
    """By the service's clock, and not by this one."""
    service.settings = Settings(now=datetime(2024, 12, 31, 12, tzinfo=UTC))
    book = lab([LOAD, "%chat echo:x", "%chat_credits --live"])
    book.run_all()
    reset = book.page.locator(".cm-large .cm-reset")
    reset.get_by_text("2025").wait_for()
    service.settings = Settings(now=datetime(2024, 12, 10, 12, tzinfo=UTC))
    service.accounts = {}
    book.run(1)
    reset.get_by_text("Dec").wait_for()
    assert "2024" not in reset.inner_text()


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
