"""A reply in the making: what each chunk adds to it."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from chatmagic.models import Credits, Reply, Usage
from chatmagic.protocol.reply_builder import JOINED_AT, ReplyBuilder
from chatmagic.protocol.wire import Chunk

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made(*chunks: Chunk) -> tuple[list[str], Reply]:
    """Give what each chunk adds, and the reply that they make."""
    builder = ReplyBuilder()
    added = [builder.add(chunk) for chunk in chunks]
    return [*added, builder.rest()], builder.reply("complete")


def test_nothing_is_an_empty_reply() -> None:
    """Before anything has come there is no text, and nothing has begun."""
    builder = ReplyBuilder()
    assert not builder.begun
    assert builder.reply("interrupted") == Reply("", state="interrupted")


def test_each_fact_is_the_latest_that_was_told() -> None:
    """Text and refusal grow; model, finish reason and usage are the last that were told."""
    builder = ReplyBuilder()
    builder.credits, builder.date = Credits(9, 8, 1, None, NOW), NOW
    builder.add(Chunk("Hel", model="a", usage=Usage(1)))
    builder.add(Chunk("lo", model="b", usage=Usage(2), finish_reason="stop"))
    builder.add(Chunk(refusal="I will "))
    builder.add(Chunk(refusal="not."))
    assert builder.begun
    assert builder.reply("complete") == Reply(
        "Hello",
        model="b",
        finish_reason="stop",
        usage=Usage(2),
        credits=builder.credits,
        refusal="I will not.",
        date=NOW,
    )


def test_the_choice_that_speaks_first_is_the_reply() -> None:
    """What another choice says, and how it ends, is left out; its usage is the request's."""
    added, reply = made(
        Chunk(index=2),
        Chunk("Hel", index=1),
        Chunk("Other", index=0, finish_reason="length", usage=Usage(3)),
        Chunk("lo", index=1, finish_reason="stop"),
    )
    assert added == ["", "Hel", "", "lo", ""]
    assert (reply.text, reply.finish_reason, reply.usage) == ("Hello", "stop", Usage(3))


def test_a_message_at_the_end_adds_only_what_is_new() -> None:
    """Some servers end a stream with a message that says all of it again."""
    assert made(Chunk("Hel"), Chunk("lo"), Chunk("Hello", whole=True))[1].text == "Hello"
    assert made(Chunk("Hel"), Chunk("Hello", whole=True))[0] == ["Hel", "lo", ""]
    assert made(Chunk("Hello", whole=True), Chunk("!", whole=True))[1].text == "Hello!"


def test_half_a_pair_waits_for_its_other_half() -> None:
    """A surrogate pair that is cut between two fragments comes as one character."""
    assert made(Chunk("a\ud83d"), Chunk("\ude00b"))[0] == ["a", "😀b", ""]
    assert made(Chunk("a\ud83d"), Chunk(finish_reason="stop"))[0] == ["a", "", "\ufffd"]
    assert made(Chunk("a\ud83d"))[0] == ["a", "\ufffd"]


@given(st.lists(st.text(max_size=4)))
def test_the_text_is_the_fragments(pieces: list[str]) -> None:
    """However it is cut: what is given out piece by piece is the reply's text."""
    added, reply = made(*(Chunk(piece) for piece in pieces))
    assert "".join(added) == reply.text == "".join(pieces)


def test_a_long_text_is_joined_on_the_way() -> None:
    """Beyond the limit the pieces are put together, and none is lost."""
    piece = "x" * (JOINED_AT // 2)
    assert made(*(Chunk(piece) for _ in range(5)))[1].text == piece * 5
