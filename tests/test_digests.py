"""Digests are the same for the same value, here and in a year."""

from __future__ import annotations

import hashlib

import pytest

from chatmagic import _json


class TestDigests:
    """Digests are the same for the same value, here and in a year."""

    def test_of_a_text_and_of_json(self) -> None:
        """A text is hashed as it stands, JSON in its canonical form."""
        assert _json.digest("é") == hashlib.sha256("é".encode()).hexdigest()
        canonical = hashlib.sha256('{"a":"é","b":[1,2]}'.encode()).hexdigest()
        assert _json.digest({"b": [1, 2], "a": "é"}) == canonical

    def test_a_lone_surrogate_can_be_hashed(self) -> None:
        """Text that cannot be UTF-8 has a digest of its own."""
        assert _json.digest("\ud800") != _json.digest("\ufffd")

    def test_of_a_turn(self) -> None:
        """Prompt and reply both count, and where one ends."""
        assert (
            len({_json.turn_digest(*pair) for pair in [("ab", "c"), ("a", "bc"), ("abc", "")]}) == 3
        )

    @pytest.mark.parametrize("text", ["", '"\\\n\x00é', "\ud83d\ude00" * 100_000, "a\ud800"])
    def test_of_a_turn_is_that_of_its_json(self, text: str) -> None:
        """Worked out in parts, it is the digest of the whole all the same."""
        assert _json.turn_digest(text, text * 2) == _json.digest([text, text * 2])

    def test_of_a_chain(self) -> None:
        """Each turn's counts, and their order; one more turn needs only the last chain digest."""
        first = _json.chain_digest(None, "a")
        assert _json.chain_digest(first, "b") == _json.digest([first, "b"])
        assert _json.chain_of("ab") == _json.chain_digest(first, "b")
        assert _json.chain_of("b", first) == _json.chain_of("ab")
        assert _json.chain_of("") is None
        swapped = _json.chain_digest(_json.chain_digest(None, "b"), "a")
        assert len({first, _json.chain_digest(first, "b"), swapped}) == 3
