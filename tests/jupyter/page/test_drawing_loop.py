"""The drawing loop: first text at once, bounded updates, one drawing for all that show it."""

from __future__ import annotations

import itertools
import json
import queue
import re
import threading
from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from chatmagic.client.halt import Halt
from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page import drawing_loop
from chatmagic.jupyter.page.drawing_loop import DrawingLoop, ReplyDrawn, ReplyUnderWay, WordCount
from chatmagic.models import Reply
from chatmagic.session.events import Ask, Began, Changed, Ended, Event, Fragment, Thought

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
    monkeypatch.setattr(drawing_loop, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(drawing_loop, "BYTES_A_SECOND", float("inf"))


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
    monkeypatch.setattr(drawing_loop, "SECONDS_BETWEEN", 3600.0)
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
    monkeypatch.setattr(drawing_loop, "SECONDS_BETWEEN", 0.001)
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
    parts = [html.removesuffix(drawing_loop.PARTIAL) for html in shown.rest()]
    words = [re.sub(r"<[^>]*>|\n", "", html) for html in parts]
    assert words == ["one", "two", "one three", "one three", "two four"]


def test_the_end_is_drawn_at_once(loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a view asks for it, as its last state takes time; and once more as the last drawing."""
    monkeypatch.setattr(drawing_loop, "SECONDS_BETWEEN", 3600.0)
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


PROSE = (
    "The sample mean is a point estimate and its standard error says how far it would move "
    "if the study were done again with **other** people drawn from the same population."
)
WORDS = PROSE.split()
CODE = ("    value = function(argument, other)\n", "\n", "    return value\n")


def streamed(
    fragments: list[str], a_second: int, *, painted: bool
) -> tuple[list[tuple[float, ReplyDrawn]], int]:
    """Return what is drawn of a reply that comes at a steady pace, and when, and its bytes."""
    reply = ReplyUnderWay(Ask("why?"))
    drawings: list[tuple[float, ReplyDrawn]] = []
    now = 0.0
    for number, fragment in enumerate(fragments):
        now = number / a_second
        # What is due is drawn by its time, also between two fragments.
        while reply.due is not None and (due := max(reply.due, drawings[-1][0])) <= now:
            draw(reply, drawings, due, is_painted=painted)
        reply.add(fragment)
        if reply.due is not None and now >= reply.due:
            draw(reply, drawings, now, is_painted=painted)
    draw(reply, drawings, now, last=True, is_painted=painted)
    return drawings, sum(len(json.dumps(drawn.message)) for _, drawn in drawings)


def draw(
    reply: ReplyUnderWay, drawings: list[tuple[float, ReplyDrawn]], now: float, **how: bool
) -> None:
    """Draw what has come."""
    drawn = reply.draw(now, **how)
    assert drawn is not None
    drawings.append((now, drawn))
    _ = drawn.html  # as it is now


def prose(count: int) -> list[str]:
    """Return so many fragments of paragraphs."""
    words = itertools.cycle(WORDS)
    return [next(words) + ("\n\n" if at % 60 == 59 else " ") for at in range(count)]


@pytest.mark.parametrize(
    ("fragments", "a_second"),
    [
        (prose(3_000), 100),
        (prose(30_000), 600),
        ([word + " " for word in WORDS * 100], 600),
        (["```python\n", *CODE * 1_000], 100),
        (["- ", *(f"{word} " if at % 9 else "\n- " for at, word in enumerate(WORDS * 100))], 600),
    ],
    ids=["slow", "long", "one paragraph", "code", "list"],
)
def test_a_page_that_paints_is_told_often_and_little(fragments: list[str], a_second: int) -> None:
    """No gap is longer than 200 ms, no second has more than ten messages, bytes are linear."""
    drawings, size = streamed(fragments, a_second, painted=True)
    times = [when for when, _ in drawings]
    assert max(later - when for when, later in itertools.pairwise(times)) <= 0.2
    assert len(drawings) <= 10 * (times[-1] + 1)
    assert [drawn.whole for _, drawn in drawings] == [True] + [False] * (len(drawings) - 1)
    assert size <= 4_000 * len(drawings)
    blocks: list[str] = []
    for _, drawn in drawings:
        blocks[drawn.keep :] = drawn.blocks
    assert blocks == drawn.reply.blocks
    assert "".join(blocks) in drawn.html


def test_other_pages_get_whole_updates_of_bounded_bytes() -> None:
    """However long the reply is."""
    drawings, _ = streamed(prose(3_000), 600, painted=False)
    whole = [(when, len(drawn.html)) for when, drawn in drawings if drawn.whole]
    for (when, size), (later, _) in itertools.pairwise(whole):
        assert later - when >= max(0.1, size / drawing_loop.BYTES_A_SECOND) - 1e-9
    assert drawings[0][1].whole
    assert drawings[-1][1].last


def test_a_page_knows_what_a_box_shows_by_its_classes() -> None:
    """By the name of the ask, which nobody can guess, and the number of the drawing."""
    reply, other = (ReplyUnderWay(Ask("why?")) for _ in range(2))
    assert reply.ask.live != other.ask.live
    reply.add("a <div class='chatmagic-live'>")
    drawn = reply.draw(0.0)
    assert drawn is not None
    assert f" chatmagic-live chatmagic-live-{reply.ask.live} chatmagic-at-0" in drawn.html
    assert drawn.html.count("<div") == 1
    assert drawn.message == {
        "kind": "paint", "live": reply.ask.live, "serial": 0, "keep": 0, "blocks": drawn.blocks,
    }  # fmt: skip
    assert reply.draw(1.0) is None


def test_nothing_is_drawn_of_a_reply_without_a_word() -> None:
    """Not even its end; the first word is due at once, whatever came before it."""
    reply = ReplyUnderWay(Ask("why?"))
    reply.add(" \n")
    assert reply.due is None
    assert reply.draw(0.0, last=True) is None
    reply.add("  word")
    assert reply.due == 0.0


@pytest.mark.parametrize("size", [1, 3, 400])
def test_thoughts_without_a_beginning_are_drawn_no_more_once_they_end(size: int) -> None:
    """The view is drawn anew with the reply alone, also for a page that paints."""
    reply = ReplyUnderWay(Ask("why?"))
    text = "They ask why.\n\nSo I add.\n</think>\n\nIt is **4**."
    drawings: list[ReplyDrawn] = []
    for begin in range(0, len(text), size):
        reply.add(text[begin : begin + size])
        if (drawn := reply.draw(float(begin), is_painted=True)) is not None:
            drawings.append(drawn)
    anew = next(drawn for drawn in drawings if "<p>It" in drawn.html)
    assert "They" not in anew.html
    drawn = drawings[-1]
    assert "They ask" not in drawn.html
    assert "think" not in drawn.html
    assert "It is <strong>4</strong>." in drawn.html


def test_a_reply_that_names_the_mark_stays() -> None:
    """In code it ends nothing."""
    reply = ReplyUnderWay(Ask("why?"))
    reply.add("Thoughts end in `</think>`.")
    drawn = reply.draw(0.0)
    assert drawn is not None
    assert "Thoughts end in" in drawn.html


def test_thoughts_are_counted_until_the_reply_begins() -> None:
    """Once a second, with the time since they began; the first word takes their place at once."""
    reply = ReplyUnderWay(Ask("why?"))
    reply.think("Let me ", 10.0)
    drawings = [reply.draw(10.0)]
    reply.think("see <b>", 10.2)
    assert reply.due == 11.0
    drawings.append(reply.draw(13.4))
    reply.think("more", 13.5)
    reply.add("Yes")
    assert (due := reply.due) is not None
    assert due < 13.6
    drawings.append(reply.draw(13.6))
    words = [re.sub("<[^>]*>", "", drawn.blocks[0]).strip() for drawn in drawings if drawn]
    assert words == ["Thinking · 0 s · 2 words", "Thinking · 3 s · 4 words", "Yes"]
    assert [drawn.keep for drawn in drawings if drawn] == [0, 0, 0]
    reply.think("late", 14.0)
    assert reply.draw(14.0) is None


@pytest.mark.parametrize("text", ["", " ", "one", " one two\n\nthree ", "a  b"])
def test_words_are_the_same_however_they_are_cut(text: str) -> None:
    """A word may come letter by letter, and no fragment is counted twice."""
    for cut in range(len(text) + 1):
        words = WordCount()
        for fragment in (text[:cut], text[cut:], *" x"):
            words.add(fragment)
        assert words.count == len(text.split()) + 1


def test_thoughts_alone_are_drawn_no_more_at_the_end(loop: DrawingLoop) -> None:
    """The last state has them folded."""
    shown = Shown(loop)
    ask = began(loop)
    loop.hear(Thought(ask, "Hm"))
    assert "Thinking" in shown.next()
    loop.hear(Ended(ask, None, None))
    assert shown.rest() == []
