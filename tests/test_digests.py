"""Digests are the same for the same value, here and in a year."""

from __future__ import annotations

import hashlib

import pytest

from chatmagic import digests


class TestDigests:
    """Digests are the same for the same value, here and in a year."""

    def test_of_a_text_and_of_json(self) -> None:
        """A text is hashed as it stands, JSON in its canonical form."""
        assert digests.digest("é") == hashlib.sha256("é".encode()).hexdigest()
        canonical = hashlib.sha256('{"a":"é","b":[1,2]}'.encode()).hexdigest()
        assert digests.digest({"b": [1, 2], "a": "é"}) == canonical

    def test_a_lone_surrogate_can_be_hashed(self) -> None:
        """Text that cannot be UTF-8 has a digest of its own."""
        assert digests.digest("\ud800") != digests.digest("\ufffd")

    def test_of_a_turn(self) -> None:
        """Prompt and reply both count, and where one ends."""
        assert (
            len({digests.turn_digest(*pair) for pair in [("ab", "c"), ("a", "bc"), ("abc", "")]})
            == 3
        )

    @pytest.mark.parametrize("text", ["", '"\\\n\x00é', "\ud83d\ude00" * 100_000, "a\ud800"])
    def test_of_a_turn_is_that_of_its_json(self, text: str) -> None:
        """Worked out in parts, it is the digest of the whole all the same."""
        assert digests.turn_digest(text, text * 2) == digests.digest([text, text * 2])

    def test_of_a_chain(self) -> None:
        """Each turn's counts, and their order; one more turn needs only the last chain digest."""
        first = digests.chain_digest(None, "a")
        assert digests.chain_digest(first, "b") == digests.digest([first, "b"])
        assert digests.chain_of("ab") == digests.chain_digest(first, "b")
        assert digests.chain_of("b", first) == digests.chain_of("ab")
        assert digests.chain_of("") is None
        swapped = digests.chain_digest(digests.chain_digest(None, "b"), "a")
        assert len({first, digests.chain_digest(first, "b"), swapped}) == 3
