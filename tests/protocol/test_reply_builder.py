"""A reply under construction: its text, its thoughts, its facts, its limit, and no key."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chatmagic.models import Credits, Usage
from chatmagic.protocol.api_key import REMOVED, Secret
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.reply_builder import ReplyBuilder

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
        Chunk("one ", model="first", refusal="I "),
        Chunk("two", model="second", usage=Usage(1), refusal="won't."),
        Chunk(finish_reason="stop", usage=Usage(1, 2, 3)),
    )
    assert (built().finish_reason, builder.finish_reason) == (None, "stop")
    credits = Credits(100, 99, 1, None, NOON)
    reply = builder.reply("complete", "replay", {"credits": credits, "date": NOON})
    assert (reply.text, reply.model, reply.finish_reason) == ("one two", "second", "stop")
    assert (reply.usage, reply.refusal, reply.state) == (Usage(1, 2, 3), "I won't.", "complete")
    assert (reply.credits, reply.date, reply.origin) == (credits, NOON, "replay")


def test_what_only_a_reply_holds_has_begun_one() -> None:
    """A model alone may stand in an error, too."""
    telling = [Chunk("a"), Chunk(finish_reason="a"), Chunk(usage=Usage(1)), Chunk(refusal="a")]
    assert [built(chunk).begun for chunk in (Chunk(model="m"), *telling)] == [False, *[True] * 4]


def test_a_last_message_adds_only_what_is_new() -> None:
    """Some servers say the whole reply once more at the end."""
    builder = built(Chunk("one "), Chunk("two"))
    assert builder.add(Chunk("one two, three", whole=True)) == ", three"
    assert built(Chunk("one", whole=True), Chunk("one", whole=True)).text == "oneone"


def test_a_delta_may_come_by_its_content_alone() -> None:
    """Then it adds what a chunk adds that tells nothing new beside it."""
    builder = built(Chunk("", model="m", response_id="i"))
    assert builder.append("\ud83d") == ""
    assert builder.append("\ude00 a") == "\N{GRINNING FACE} a"
    assert builder.add(Chunk("\N{GRINNING FACE} a b", whole=True)) == " b"
    assert builder.names == {"id": "i", "model": "m", "system_fingerprint": None}


def test_many_fragments_are_one_text() -> None:
    """Also where they are joined before the end."""
    words = [f"{number} " for number in range(200)]
    assert built(*map(Chunk, words)).text == "".join(words)


def test_half_of_a_pair_waits_for_the_other() -> None:
    """A character that is cut in two is whole again; one that stays half is no text."""
    builder = ReplyBuilder()
    assert [builder.add(Chunk(part)) for part in ("a\ud83d", "\ude42b\ud83d")] == ["a", "🙂b"]
    assert builder.rest() == "\ufffd"
    assert builder.rest() == ""
    assert builder.text == "a🙂b\ufffd"


def test_thoughts_come_in_fragments_beside_the_text_or_in_front_of_it() -> None:
    """They are told as they come; a message that says them again at the end adds none."""
    builder, told = ReplyBuilder(), list[str]()
    builder.on_thoughts = told.append
    texts = [builder.add(Chunk(reasoning="Let "))]
    texts += [builder.append(text) for text in ("<thi", "nk>me</thi", "nk> \n", "Yes")]
    texts += [builder.add(Chunk("Yes, all.", reasoning="Let me", whole=True)), builder.rest()]
    assert texts == ["", "", "", "", "Yes", ", all.", ""]
    assert told == ["Let ", "me"]
    assert (builder.text, builder.facts.reasoning) == ("Yes, all.", "Let me")
    unended = built(Chunk("<think>Hm </th"))
    # Also where nothing more comes, and nobody asks for the rest.
    assert (unended.text, unended.facts.reasoning) == ("", "Hm </th")
    assert unended.rest() == ""
    assert (unended.text, unended.facts.reasoning) == ("", "Hm </th")
    assert [built(Chunk(text)).text for text in (" ", "<thi")] == [" ", "<thi"]


def test_thoughts_that_end_without_a_beginning_are_no_part_of_the_reply() -> None:
    """They come as its text, and the whole reply has them apart; not where others came apart."""
    whole = built(Chunk("I add.\n</think>\n\n4")).reply("complete", "live", {})
    assert (whole.text, whole.reasoning) == ("4", "I add.")
    apart = built(Chunk("a</think>b", reasoning="Hm")).reply("complete", "live", {})
    assert (apart.text, apart.reasoning) == ("a</think>b", "Hm")


def test_a_text_is_cut_at_its_limit() -> None:
    """By its bytes, and never within a letter; what follows is left out."""
    builder = ReplyBuilder(most=4)
    assert builder.append("aé") == "aé"
    assert not builder.is_full
    assert builder.append("é") == ""
    assert builder.append("more") == ""
    assert builder.is_full


def test_progress_is_what_is_new() -> None:
    """A text, a thought, a refusal, and the first reason and usage; no model, and nothing again."""
    steps = [
        Chunk(content="Hel"),
        Chunk(reasoning="x"),
        Chunk(reasoning="x"),
        Chunk(refusal="no"),
        Chunk(finish_reason="stop"),
        Chunk(usage=Usage(1, 2, 3)),
    ]
    builder = ReplyBuilder()
    for step in steps:
        before = builder.progress
        builder.add(step)
        assert builder.progress != before, step
    old = [
        Chunk(),
        Chunk(model="m"),
        Chunk(finish_reason="length"),
        Chunk(usage=Usage(4, 5, 9)),
        Chunk(content="Hel", whole=True),
    ]
    for step in old:
        before = builder.progress
        builder.add(step)
        assert builder.progress == before, step


PRIVATE = "sk-private-0123"


WITH_KEY = f"one {PRIVATE} two"


WITHOUT = f"one {REMOVED} two"


@pytest.mark.parametrize("size", [1, 4, 99])
def test_a_key_is_removed_from_every_text_of_a_reply(size: int) -> None:
    """From its text, thoughts, refusal and the names of its facts, however they are divided."""
    pieces = [WITH_KEY[at : at + size] for at in range(0, len(WITH_KEY), size)]
    builder = ReplyBuilder([Secret(PRIVATE)])
    shown: list[str] = []
    thought: list[str] = []
    builder.on_thoughts = thought.append
    shown += [builder.add(Chunk(piece, reasoning=piece, refusal=piece)) for piece in pieces]
    assert PRIVATE[: len(PRIVATE) // 2 + 1] not in builder.text
    builder.add(Chunk(model=WITH_KEY, finish_reason=WITH_KEY))
    shown.append(builder.rest())
    facts = builder.facts
    assert ("".join(shown), builder.text, "".join(thought)) == (WITHOUT, WITHOUT, WITHOUT)
    assert (facts.reasoning, facts.refusal) == (WITHOUT, WITHOUT)
    assert (facts.model, facts.finish_reason) == (WITHOUT, WITHOUT)
    assert builder.has_removed_key


def test_a_key_of_the_facts_alone_is_removed_too() -> None:
    """And noticed, though no text held it."""
    builder = ReplyBuilder([Secret(PRIVATE)])
    builder.add(Chunk("one", model=PRIVATE))
    assert (builder.facts.model, builder.text) == (REMOVED, "one")
    assert builder.has_removed_key


def test_a_whole_reply_adds_only_its_end_also_where_it_holds_a_key() -> None:
    """The fragments before it are compared as they are kept, without the key."""
    builder = ReplyBuilder([Secret(PRIVATE)])
    shown = [builder.append(f"one {PRIVATE[:4]}")]
    shown.append(builder.add(Chunk(WITH_KEY, whole=True)))
    shown.append(builder.add(Chunk("one", whole=True)))
    shown.append(builder.add(Chunk(f"other {PRIVATE} text, which is longer", whole=True)))
    assert shown == ["one ", f"{REMOVED} two", "one", f"other {REMOVED} text, which is longer"]
