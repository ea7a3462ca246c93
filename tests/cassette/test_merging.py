"""What another writer of a cassette did to it is done here too, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.merging import merged, missing, numbered
from chatmagic.models import Message
from chatmagic.protocol.wire import Request


def one(prompt: str, owner: str | None = None) -> Interaction:
    """Give an exchange."""
    return Interaction.asked(Request((Message("user", prompt),)), text=f"re {prompt}", owner=owner)


A, B, C, D = map(one, "abcd")


def test_equal_exchanges_have_numbers() -> None:
    """Two of them are two."""
    assert [*numbered([A, A, B]).values()] == [A, A, B]
    assert missing([A, A, B], [B, A]) == (A,)
    assert len(merged([A], [A], [A, A])) == 2
    assert merged([A, A], [A, A], [A]) == [(0, A)]


def test_what_is_new_there_stands_behind_what_it_stood_behind() -> None:
    """And at the beginning, where nothing held here precedes it."""
    assert merged([A], [A, B], [C, A, D]) == [(None, C), (0, A), (None, D), (1, B)]
    assert merged([], [], [A, B]) == [(None, A), (None, B)]


def test_what_was_taken_out_there_goes_and_what_was_taken_out_here_stays_so() -> None:
    """What is only here was never there, so it stays."""
    assert merged([A, B], [A, B, C], [B]) == [(1, B), (2, C)]
    assert merged([A, B], [B], [A, B, C]) == [(0, B), (None, C)]
    assert merged([A, B], [A, B], [A, D]) == [(0, A), (None, D)]


def test_marks_are_those_of_whoever_changed_them() -> None:
    """Here, if both did."""
    old, own = replace(A, superseded=True), replace(A, owner="x")
    assert merged([A], [A], [old]) == [(0, old)]
    assert merged([A], [own], [old]) == [(0, own)]
    assert merged([A], [own], [A]) == [(0, own)]
