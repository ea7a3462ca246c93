"""The reply builder: what each chunk adds to a reply."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chatmagic.models import Credits, Usage
from chatmagic.protocol.reply_builder import JOINED_AT, ReplyBuilder
from chatmagic.protocol.wire import Chunk

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def built(*chunks: Chunk) -> ReplyBuilder:
    """Return a builder that has taken some chunks in."""
    builder = ReplyBuilder()
    for chunk in chunks:
        builder.add(chunk)
    return builder


def test_a_reply_is_its_fragments_and_the_latest_facts() -> None:
    """Each fact may come in any chunk, and once more."""
    builder = built(
        Chunk("one ", model="first"),
        Chunk("two", model="second", usage=Usage(1)),
        Chunk(finish_reason="stop", usage=Usage(1, 2, 3)),
    )
    assert (built().finish_reason, builder.finish_reason) == (None, "stop")
    builder.credits = Credits(100, 99, 1, None, NOON)
    builder.date, builder.origin, builder.held_back = NOON, "replay", True
    reply = builder.reply("complete")
    assert (reply.text, reply.model, reply.finish_reason) == ("one two", "second", "stop")
    assert (reply.usage, reply.refusal, reply.state) == (Usage(1, 2, 3), None, "complete")
    assert (reply.credits, reply.date, reply.origin) == (builder.credits, NOON, "replay")
    assert reply.held_back


@pytest.mark.parametrize(
    ("chunk", "begun"),
    [
        (Chunk(), False),
        (Chunk(model="m"), False),
        (Chunk("a"), True),
        (Chunk(finish_reason="stop"), True),
        (Chunk(usage=Usage(1)), True),
        (Chunk(refusal="No."), True),
    ],
)
def test_what_only_a_reply_holds_has_begun_one(chunk: Chunk, *, begun: bool) -> None:
    """A model alone may stand in an error, too."""
    assert built(chunk).begun is begun


def test_a_last_message_adds_only_what_is_new() -> None:
    """Some servers say the whole reply once more at the end."""
    builder = built(Chunk("one "), Chunk("two"))
    assert builder.add(Chunk("one two, three", whole=True)) == ", three"
    assert built(Chunk("one", whole=True), Chunk("one", whole=True)).text == "oneone"


def test_a_delta_may_come_by_its_content_alone() -> None:
    """Then it adds what a chunk adds that tells nothing new beside it."""
    builder = built(Chunk("", model="m"))
    assert builder.append("\ud83d") == ""
    assert builder.append("\ude00 a") == "\N{GRINNING FACE} a"
    assert builder.add(Chunk("\N{GRINNING FACE} a b", whole=True)) == " b"
    assert builder.model == builder.reply("complete").model == "m"


def test_a_usage_may_come_beside_a_content() -> None:
    """The latest that tells a count is the reply's."""
    builder = built()
    for usage in ({"total_tokens": 1}, {"total_tokens": 2}, {"total_tokens": "n"}, "n", None):
        builder.append("a", usage)
    assert (builder.text, builder.facts.usage) == ("aaaaa", Usage(total_tokens=2))


def test_a_refusal_comes_in_fragments() -> None:
    """They are joined, as the text's are."""
    assert built(Chunk(refusal="I "), Chunk(refusal="won't.")).facts.refusal == "I won't."


def test_half_of_a_pair_waits_for_the_other() -> None:
    """A character that is cut in two is whole again; one that stays half is no text."""
    builder = ReplyBuilder()
    assert [builder.add(Chunk(part)) for part in ("a\ud83d", "\ude42b\ud83d")] == ["a", "🙂b"]
    assert builder.rest() == "\ufffd"
    assert builder.rest() == ""
    assert builder.text == "a🙂b\ufffd"


def test_a_long_reply_is_whole() -> None:
    """What was joined before stays in front of what comes."""
    builder = built(Chunk("a" * JOINED_AT), Chunk("b"))
    assert builder.text == "a" * JOINED_AT + "b"
    assert built(*[Chunk("ab")] * 3).text == "ababab"
