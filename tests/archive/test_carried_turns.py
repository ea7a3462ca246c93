"""Turns that saved turns carried, known by the digests in their records."""

from __future__ import annotations

from typing import Any

import pytest
from saved_notebooks import page, read, record

from chatmagic._json import chain_digest, turn_digest
from chatmagic.archive import restore
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Carried


def restored(*cells: Any, by_id: bool = True) -> Conversation:
    """Give the conversation that these cells tell."""
    return restore.restore(read(cells), by_id=by_id).conversation


def test_what_a_request_carried_is_known_by_its_digests() -> None:
    """Of two equal turns the one above; one that is not there is not known."""
    same = record("same", "again")
    digests = (same.turn, same.turn)
    talk = restored(
        page("same", "again"), page("same", "again"), page("x", carried=digests),
        page("y", carried=("0" * 64,)),
    )  # fmt: skip
    assert [turn.carried for turn in talk] == [(), (), (1, 2), (0,)]
    assert [turn.prompt for turn in talk.stale_turns()] == ["same", "y"]
    quiet = "0" * 64
    talk = restored(
        page("same", "again"), page("same", "again", carried=digests[:1]),
        page("x", carried=(*digests, quiet)),
    )  # fmt: skip
    assert [turn.carried for turn in talk] == [(), (1,), (1, 2, 0)]


def test_the_work_grows_with_the_turns_below_an_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each list of turns continues the one above it, so that only its newest turn is looked up."""
    pages: list[Any] = []
    chains: list[str | None] = [None]
    before: tuple[str, ...] = ()
    for at in range(80):
        earlier = max(at - 1, 0), chains[max(at - 1, 0)]
        pages.append(page(f"p{at}", "r", carried=before, earlier=earlier))
        before = (turn_digest(f"p{at}", "r"),)
        chains.append(chain_digest(chains[-1], *before))
    made = 0
    real = Carried.followed_by

    def followed_by(turns: Carried, number: int, digest: str) -> Carried:
        nonlocal made
        made += 1
        return real(turns, number, digest)

    monkeypatch.setattr(Carried, "followed_by", followed_by)
    counts = []
    for count in (40, 80):
        made = 0
        talk = restored(*pages[:1], *pages[2:count])
        counts.append(made)
        assert [0 in turn.carried for turn in talk] == [False, *[True] * (count - 2)]
    assert counts[1] < counts[0] * 2.2
