"""The drawing loop: first text at once, bounded updates, one drawing for all that show it."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from chatmagic.client.halt import Halt
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page import reply_under_way
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.events import Began, Changed, Ended, Event, Fragment, Thought

PATIENCE = 60.0


class Shown:
    """Something that shows replies; keeps what it is shown, and by which thread.

    Args:
        loop: joined at once.
    """

    def __init__(self, loop: DrawingLoop) -> None:
        """Join."""
        self.loop = loop
        self.drawings: queue.Queue[tuple[Ask, str]] = queue.Queue()
        self.threads: set[threading.Thread] = set()
        loop.join(self.show)

    def show(self, event: Event | ReplyDrawn) -> None:
        """Keep a drawing."""
        self.threads.add(threading.current_thread())
        if isinstance(event, ReplyDrawn):
            self.drawings.put((event.ask, event.html))

    def next(self) -> str:
        """Wait for the next drawing."""
        return self.drawings.get(timeout=PATIENCE)[1]

    def rest(self) -> list[str]:
        """Return what else was drawn when all that was put into the loop is done."""
        done = threading.Event()
        self.loop.put(done.set)
        assert done.wait(PATIENCE)
        return [self.drawings.get()[1] for _ in range(self.drawings.qsize())]


@pytest.fixture
def loop() -> Iterator[DrawingLoop]:
    """Give a drawing loop."""
    made = DrawingLoop()
    yield made
    made.close()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every fragment be drawn."""
    monkeypatch.setattr(reply_under_way, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(reply_under_way, "BYTES_A_SECOND", float("inf"))


def began(loop: DrawingLoop) -> Ask:
    """Let an ask begin."""
    ask = Ask("why?")
    loop.hear(Began(ask, (), (), Halt()))
    return ask


def test_who_joins_in_the_loop_hears_what_waits_there(loop: DrawingLoop) -> None:
    """As the bridge does, which opens behind a drawing, and says how the reply ended."""
    shown, gate = Shown(loop), threading.Event()
    inside: list[Event | ReplyDrawn] = []
    outside: list[Event | ReplyDrawn] = []
    loop.put(gate.wait)
    loop.put(lambda: loop.join_in_order(inside.append))
    loop.hear(Changed())
    loop.join_in_order(outside.append)
    gate.set()
    shown.rest()
    assert (inside, outside) == ([Changed()], [])


def test_a_burst_is_few_drawings(loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first fragment is drawn at once; two thousand that follow are drawn together."""
    monkeypatch.setattr(reply_under_way, "SECONDS_BETWEEN", 3600.0)
    shown = Shown(loop)
    ask = began(loop)
    loop.hear(Fragment(ask, "first "))
    assert "first" in shown.next()
    for number in range(2000):
        loop.hear(Fragment(ask, f"word{number} "))
    assert shown.rest() == []


def test_a_later_fragment_is_drawn_without_another(
    loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came is drawn a pause later, also when nothing follows it."""
    monkeypatch.setattr(reply_under_way, "SECONDS_BETWEEN", 0.001)
    shown = Shown(loop)
    ask = began(loop)
    for word in ("one", "one two", "one two three"):
        loop.hear(Fragment(ask, f"{word.split()[-1]} "))
        assert word in shown.next()


@pytest.mark.usefixtures("eager")
def test_all_are_shown_the_same_drawing_by_one_thread(loop: DrawingLoop) -> None:
    """A cell and a panel: the text is made HTML once, in one worker's thread."""
    cell, panel = Shown(loop), Shown(loop)
    ask = began(loop)
    for word in ("one", "two"):
        loop.hear(Fragment(ask, f"*{word}* "))
    for _ in range(2):
        asked, html = cell.drawings.get(timeout=PATIENCE)
        other = panel.drawings.get(timeout=PATIENCE)[1]
        assert asked is ask
        assert html is other  # made once
    assert "<em>one</em> <em>two</em>" in html
    (worker,) = cell.threads | panel.threads
    assert worker.daemon


@pytest.mark.usefixtures("eager")
def test_a_reply_that_goes_on_in_a_block_of_code_is_drawn_as_code(loop: DrawingLoop) -> None:
    """Its own text does not tell that it is."""
    shown = Shown(loop)
    part = Turn(prompt="why?", reply=Reply("So:\n```python\nx = "))
    ask = Ask("why?", again=1, part=part)
    loop.hear(Began(ask, (), (), Halt()))
    loop.hear(Fragment(ask, "1\n# two\n"))
    html = shown.next()
    assert "<pre" in html
    assert "<h1" not in html


def test_one_that_fails_silences_no_other(loop: DrawingLoop) -> None:
    """A page that went away ends neither the loop nor what the others are shown."""

    def broken(_: object) -> None:
        raise OSError

    loop.join(broken)
    shown = Shown(loop)
    for _ in range(2):
        ask = began(loop)
        loop.hear(Fragment(ask, "text"))
        assert "text" in shown.next()


@pytest.mark.usefixtures("eager")
def test_one_that_has_left_is_shown_nothing(loop: DrawingLoop) -> None:
    """Leaving waits for the drawing under way, so that what is shown then stays."""
    inside, go_on, left = threading.Event(), threading.Event(), threading.Event()

    def slow(event: Event | ReplyDrawn) -> None:
        if isinstance(event, ReplyDrawn):
            inside.set()
            assert go_on.wait(PATIENCE)

    def leave() -> None:
        loop.leave(slow)
        left.set()

    loop.join(slow)
    ask = began(loop)
    loop.hear(Fragment(ask, "text"))
    assert inside.wait(PATIENCE)
    leaving = threading.Thread(target=leave)
    leaving.start()
    assert not left.is_set()
    go_on.set()
    leaving.join(PATIENCE)
    assert left.is_set()
    inside.clear()
    shown = Shown(loop)
    loop.hear(Fragment(ask, "more"))
    assert "textmore" in shown.next()
    assert not inside.is_set()


def test_a_reply_that_cannot_be_drawn_ends_all_the_same(
    loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are told its events, as if it had been drawn."""
    events: queue.Queue[Event | ReplyDrawn] = queue.Queue()
    loop.join(events.put)
    monkeypatch.setattr("chatmagic.render.live_markdown.LiveMarkdown.feed", lambda *_: 1 / 0)
    ask = began(loop)
    loop.hear(Fragment(ask, "one"))
    loop.hear(Ended(ask, None, None))
    kinds = [type(events.get(timeout=PATIENCE)) for _ in range(3)]
    assert kinds == [Began, Fragment, Ended]


@pytest.mark.usefixtures("eager")
def test_several_replies_are_drawn_at_the_same_time(loop: DrawingLoop) -> None:
    """Each by itself; one that has ended is drawn no more."""
    shown = Shown(loop)
    first, second = began(loop), began(loop)
    for ask, text in ((first, "one"), (second, "two"), (first, " three")):
        loop.hear(Fragment(ask, text))
    loop.hear(Changed())
    loop.hear(Ended(first, None, None))
    for ask in (first, second):
        loop.hear(Fragment(ask, " four"))
    parts = [html.removesuffix(reply_under_way.PARTIAL) for html in shown.rest()]
    words = [re.sub(r"<[^>]*>|\n", "", html) for html in parts]
    assert words == ["one", "two", "one three", "one three", "two four"]


def test_the_end_is_drawn_at_once(loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a view asks for it, as its last state takes time; and once more as the last drawing."""
    monkeypatch.setattr(reply_under_way, "SECONDS_BETWEEN", 3600.0)
    events: list[ReplyDrawn] = []
    loop.join(lambda event: events.append(event) if isinstance(event, ReplyDrawn) else None)
    shown = Shown(loop)
    ask = began(loop)
    for text in ("one", " two", " three"):
        loop.hear(Fragment(ask, text))
    loop.draw(ask)
    assert "one two three" in shown.rest()[-1]
    loop.hear(Ended(ask, None, None))
    shown.rest()
    assert [(drawn.last, drawn.blocks != []) for drawn in events] == [
        (False, True), (False, True), (True, False),
    ]  # fmt: skip


@pytest.mark.usefixtures("eager")
def test_a_page_that_paints_gets_one_whole_update(loop: DrawingLoop) -> None:
    """As long as it paints; where it can say so only behind its cell, the next replies."""
    drawn: list[ReplyDrawn] = []
    loop.join(lambda event: drawn.append(event) if isinstance(event, ReplyDrawn) else None)
    shown = Shown(loop)

    def whole(*texts: str) -> list[bool]:
        drawn.clear()
        for text in texts:
            loop.hear(Fragment(ask, text))
        shown.rest()
        return [each.whole for each in drawn]

    ask = began(loop)
    assert whole("a ", "b ", "c ") == [True, True, True]
    loop.painted()
    assert whole("d ", "e" * 8_000, "f") == [False, False, False]
    loop.hear(Ended(ask, None, None))
    assert whole() == [False]
    ask = began(loop)
    assert whole("a ", "b ") == [True, False]


def test_no_thread_is_started_for_nobody(loop: DrawingLoop) -> None:
    """Where nothing shows what streams, as for a machine, nothing is kept and nothing drawn."""
    ask = began(loop)
    loop.hear(Fragment(ask, "text"))
    assert Shown(loop).rest() == []


def test_a_start_that_was_interrupted_is_made_up_for(
    loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C as the first ask begins does not leave later ones undrawn."""
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Shown(loop)
    shown = Shown(loop)
    ask = began(loop)
    loop.hear(Fragment(ask, "text"))
    assert "text" in shown.next()


def test_thoughts_alone_are_drawn_no_more_at_the_end(loop: DrawingLoop) -> None:
    """The last state has them folded."""
    shown = Shown(loop)
    ask = began(loop)
    loop.hear(Thought(ask, "Hm"))
    assert "Thinking" in shown.next()
    loop.hear(Ended(ask, None, None))
    assert shown.rest() == []
