"""When a reply under way is drawn, and how much is sent of it: counts and bytes, by a clock."""

from __future__ import annotations

import itertools
import json

import pytest

from chatmagic.jupyter.page import reply_under_way
from chatmagic.jupyter.page.reply_under_way import Drawn, ReplyUnderWay
from chatmagic.session.events import Ask
from chatmagic.text import PROSE as STYLED

PROSE = [
    "The",
    "sample",
    "mean",
    "is",
    "a",
    "point",
    "estimate",
    "and",
    "its",
    "standard",
    "error",
    "says",
    "how",
    "far",
    "it",
    "would",
    "move",
    "if",
    "the",
    "study",
    "were",
    "done",
    "again",
    "with",
    "**other**",
    "people",
    "drawn",
    "from",
    "the",
    "same",
    "population.",
]
CODE = ("    value = function(argument, other)\n", "\n", "    return value\n")


def streamed(
    fragments: list[str], a_second: int, *, painted: bool
) -> tuple[list[tuple[float, Drawn]], int]:
    """Return what is drawn of a reply that comes at a steady pace, and when, and its bytes."""
    reply = ReplyUnderWay(Ask("why?"), is_painted=painted)
    drawings: list[tuple[float, Drawn]] = []
    now = 0.0
    for number, fragment in enumerate(fragments):
        now = number / a_second
        # What is due is drawn by its time, also between two fragments.
        while reply.due is not None and (due := max(reply.due, drawings[-1][0])) <= now:
            draw(reply, drawings, due)
        reply.add(fragment)
        if reply.due is not None and now >= reply.due:
            draw(reply, drawings, now)
    draw(reply, drawings, now, last=True)
    size = sum(
        len(json.dumps(drawn.message)) * drawn.paint + len(json.dumps(drawn.update)) * drawn.whole
        for _, drawn in drawings
    )
    return drawings, size


def draw(
    reply: ReplyUnderWay, drawings: list[tuple[float, Drawn]], now: float, *, last: bool = False
) -> None:
    """Draw what has come."""
    drawn = reply.draw(now, last=last)
    assert drawn is not None
    drawings.append((now, drawn))
    _ = drawn.html  # as it is now
    reply.drew(drawn, now)


def prose(count: int) -> list[str]:
    """Return so many fragments of paragraphs."""
    words = itertools.cycle(PROSE)
    return [next(words) + ("\n\n" if at % 60 == 59 else " ") for at in range(count)]


@pytest.mark.parametrize(
    ("fragments", "a_second"),
    [
        (prose(3_000), 600),
        (prose(3_000), 100),
        (prose(30_000), 600),
        ([word + " " for word in PROSE * 100], 600),
        (["```python\n", *CODE * 1_000], 100),
        (["- ", *(f"{word} " if at % 9 else "\n- " for at, word in enumerate(PROSE * 100))], 600),
    ],
    ids=["3,000", "slow", "30,000", "one paragraph", "code", "list"],
)
def test_a_page_that_paints_is_told_often_and_little(fragments: list[str], a_second: int) -> None:
    """No gap is longer than 200 ms, no second has more than twelve messages, bytes are linear."""
    drawings, size = streamed(fragments, a_second, painted=True)
    times = [when for when, _ in drawings]
    assert max(later - when for when, later in itertools.pairwise(times)) <= 0.2
    messages = sum(drawn.paint + drawn.whole for _, drawn in drawings)
    assert messages <= 12 * (times[-1] + 1)
    assert size <= 8 * sum(map(len, fragments))
    blocks: list[str] = []
    for _, drawn in drawings:
        blocks[drawn.keep :] = drawn.blocks
    assert blocks == drawn.reply.blocks
    assert "".join(blocks) in drawn.html
    sizes = [len(drawn.update) for _, drawn in drawings if drawn.whole]
    assert max(sizes[-1], 8_000) >= min(25_000, sum(map(len, fragments)) / 2 - 200)


def test_a_whole_update_for_a_page_that_paints_is_plain_text() -> None:
    """All that came, in a box that does not say how new it is; the first word is as ever."""
    reply = ReplyUnderWay(Ask("why?"), is_painted=True)
    reply.add("# A <b>\n\n")
    first = reply.draw(0.0)
    assert first is not None
    assert (first.whole, first.update) == (True, first.html)
    reply.add("word " * 2_000)
    drawn = reply.draw(1.0)
    assert drawn is not None
    assert drawn.whole
    assert (
        f'>\n<pre style="{STYLED} content-visibility: auto;"># A &lt;b&gt;\n\nword word'
        in drawn.update
    )
    assert f' chatmagic-live-{reply.ask.live}" dir=' in drawn.update


def test_other_pages_get_whole_updates_of_bounded_bytes() -> None:
    """And what there is to paint each second, so that a page that comes can say that it does."""
    drawings, _ = streamed(prose(3_000), 600, painted=False)
    whole = [(when, len(drawn.html)) for when, drawn in drawings if drawn.whole]
    for (when, size), (later, _) in itertools.pairwise(whole):
        assert later - when >= max(0.1, size / reply_under_way.BYTES_A_SECOND) - 1e-9
    painted = [when for when, drawn in drawings if drawn.paint]
    assert max(later - when for when, later in itertools.pairwise(painted)) <= 1.2
    assert drawings[0][1].paint
    assert drawings[0][1].whole
    assert drawings[-1][1].last


def test_the_pause_grows_with_the_text() -> None:
    """The bytes a second stay bounded; a short text is drawn ten times a second at most."""
    assert reply_under_way.pause("b" * 3_000) == reply_under_way.SECONDS_BETWEEN
    size = 120_000 / reply_under_way.BYTES_A_SECOND
    assert reply_under_way.pause("ä" * 60_000) == pytest.approx(size)


def test_a_page_knows_what_a_box_shows_by_its_classes() -> None:
    """By the name of the ask, which nobody can guess, and the number of the drawing."""
    reply, other = (ReplyUnderWay(Ask("why?"), is_painted=True) for _ in range(2))
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
    """Not even its end."""
    reply = ReplyUnderWay(Ask("why?"), is_painted=True)
    reply.add(" \n")
    assert reply.due is None
    assert reply.draw(0.0, last=True) is None


def test_a_drawing_that_is_late_makes_none_behind_it_late() -> None:
    """The next one is due when it was to be, unless that is nearly now."""
    reply = ReplyUnderWay(Ask("why?"), is_painted=True)
    due = []
    for late in (0.0, 0.03, 0.0, 0.07, 0.0):
        reply.add("word ")
        assert reply.due is not None
        due.append(reply.due)
        drawn = reply.draw(reply.due)
        assert drawn is not None
        reply.drew(drawn, due[-1] + late)
    assert due == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.43])
