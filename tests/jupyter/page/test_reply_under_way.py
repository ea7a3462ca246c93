"""A reply under way: its drawings, their pace and their size."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from chatmagic.jupyter.page import reply_under_way
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn, ReplyUnderWay, WordCount
from chatmagic.session.ask import Ask

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
        assert later - when >= max(0.1, size / reply_under_way.BYTES_A_SECOND) - 1e-9
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
