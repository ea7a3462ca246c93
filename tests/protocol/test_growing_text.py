"""Texts of a reply that grow by fragments."""

from __future__ import annotations

import pytest

from chatmagic.protocol.api_key import REMOVED, Secret
from chatmagic.protocol.growing_text import (
    MOST_PIECES,
    GrowingText,
    RedactedText,
    SizeLimit,
    SurrogateJoiner,
)

KEY = "sk-private-0123"


@pytest.mark.parametrize("count", [0, 1, MOST_PIECES, 3 * MOST_PIECES + 1])
def test_a_text_is_its_fragments(count: int) -> None:
    """Also where they are joined before the end, and where it is read in between."""
    text = GrowingText()
    for _ in range(count):
        text.append("ab")
        assert text.whole()[-2:] == "ab"
    assert (text.whole(), text.length) == ("ab" * count, 2 * count)


def test_a_text_is_cut_at_its_limit() -> None:
    """By its bytes, and never within a letter; what follows is left out, and counted."""
    limit = SizeLimit(4)
    assert [limit.cut("aé"), limit.is_exceeded] == ["aé", False]
    assert [limit.cut("é"), limit.is_exceeded] == ["", True]
    assert [limit.cut("more"), limit.size] == ["", 9]
    assert SizeLimit(None).cut("é" * 99) == "é" * 99


def test_half_of_a_pair_waits_for_the_other() -> None:
    """A character that is cut in two is whole again; one that stays half is no text."""
    joiner = SurrogateJoiner()
    assert [joiner.feed(part) for part in ("a\ud83d", "\ude42b\ud83d", "")] == ["a", "🙂b", ""]
    assert [joiner.rest(), joiner.rest()] == ["\ufffd", ""]
    joiner.feed("\ud83d")
    joiner.drop()
    assert [joiner.feed("é"), joiner.rest()] == ["é", ""]


@pytest.mark.parametrize("size", [1, 4, 99])
def test_a_key_is_removed_however_it_is_divided(size: int) -> None:
    """Its beginning waits for the rest of it, and is a part of the text if none comes."""
    text = RedactedText([Secret(KEY)])
    whole = f"one {KEY} two sk"
    added = [text.add(whole[at : at + size]) for at in range(0, len(whole), size)]
    assert text.has_removed_key
    assert "".join(added) == f"one {REMOVED} two "
    assert text.length == len("".join(added))
    assert text.whole() == f"one {REMOVED} two sk"
    assert [text.rest(), text.rest()] == ["sk", ""]
    assert text.whole() == f"one {REMOVED} two sk"


def test_a_repeated_text_adds_its_end() -> None:
    """It is compared as it is kept, without a key, and with what waits behind it."""
    text = RedactedText([Secret(KEY)])
    text.add(f"one {KEY} two sk")
    assert text.new_part("one", waiting="") == "one"
    assert text.new_part("another text, which is longer than it", waiting="").startswith("another")
    assert text.new_part(f"one {KEY} two skies", waiting="") == "skies"
    assert text.whole() == f"one {REMOVED} two ", "the tail is in the other text"
    assert text.new_part(f"one {KEY} two  three", waiting=" ") == "three"
