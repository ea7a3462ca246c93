"""Turns that saved turns carried are known again, and share their lists."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import Mock

from chatmagic._json import chain_digest
from chatmagic.archive import archive
from chatmagic.archive.carried import CarriedTurns
from chatmagic.archive.restore import Replay
from chatmagic.conversation import prefix
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.hiding import Hiding
from chatmagic.conversation.prefix import Prefix
from chatmagic.conversation.threads import ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply

if TYPE_CHECKING:
    import pytest


def ask(talk: Conversation, prompt: str, last: int | None = None) -> Turn:
    """Put a turn with its record at the end of a conversation; return it with its number."""
    context = talk.context(last=last)
    turn = Turn(prompt, reply=Reply(f"to {prompt}"), carried=context.numbers, last=last)
    record = turn.to_record(context.digests, "0" * 64)
    return talk.add(replace(turn, record=record)).came[0]


def again(talk: Conversation) -> Conversation:
    """Return a conversation as it is saved and loaded."""
    return archive.load(json.loads(json.dumps(archive.dump(talk))))


def carried(talk: Conversation) -> list[tuple[int, ...]]:
    """Return what each turn of a conversation carried."""
    return [tuple(turn.carried) for turn in talk]


def test_what_was_carried_is_carried_when_loaded() -> None:
    """With threads, forks, hidden turns, and requests that carried few."""
    talk = Conversation()
    for prompt in "abc":
        ask(talk, prompt)
    talk.add(Hiding(number=2, digest=talk.turns[1].digest, turn=2, owner="h", execution="h"))
    ask(talk, "d")
    ask(talk, "e", last=1)
    talk.add(ThreadStart("side", 2, owner="t", execution="t"))
    ask(talk, "f")
    ask(talk, "g")
    loaded = again(talk)
    assert carried(loaded) == carried(talk)
    assert carried(loaded)[3:] == [(1, 3), (4,), (1,), (1, 6)]
    assert archive.dump(loaded) == archive.dump(talk)
    assert loaded.stale_turns() == ()


def test_loaded_turns_share_their_lists() -> None:
    """Those of the numbers and those of the digests: each list stands in memory once."""
    talk = Conversation()
    for number in range(20):
        ask(talk, str(number))
    *_, before, last = again(talk).turns
    for longer, shorter in (
        (last.carried, before.carried),
        (last.record and last.record.carried, before.record and before.record.carried),
    ):
        assert isinstance(longer, Prefix)
        assert isinstance(shorter, Prefix)
        assert longer.shares(shorter)


def test_what_no_digest_tells_is_one_0() -> None:
    """As of a turn that was saved without those that stood above it."""
    talk = Conversation()
    first, second, third = (ask(talk, prompt) for prompt in "abc")
    assert third.record is not None
    alone = replace(third, record=third.record.listing({second.digest}))
    known = CarriedTurns([alone])
    assert known.carrying(alone, (), known.digests(())).carried == (0, 0)
    both = CarriedTurns([first, third])
    turn = both.carrying(third, (1,), both.digests([1]))
    assert turn.carried == (1, 0)


def test_each_chain_digest_is_worked_out_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first turn was asked again, too: all below it carried what stands there no more."""
    talk = Conversation()
    for prompt in ("a", *map(str, range(60)), "b"):
        turn = Turn(
            prompt, reply=Reply(""), owner="a" if prompt in "ab" else None, execution=prompt
        )
        context = talk.context(turn.owner, prompt)
        record = turn.to_record(context.digests, "0" * 64)
        talk.add(replace(turn, carried=context.numbers, record=record))
    saved = json.loads(json.dumps(archive.dump(talk)))
    turns = [
        replace(turn, record=record)
        for turn, record in zip(
            talk, archive.records_of(talk, keep_values=False).values(), strict=True
        )
    ]
    counted = Mock(side_effect=chain_digest)
    monkeypatch.setattr(prefix, "chain_digest", counted)
    assert len(archive.load(saved).stale_turns()) == 60
    replay = Replay(turns)
    for turn in turns:
        replay.add(turn)
    assert len(replay.conversation.stale_turns()) == 60
    assert counted.call_count < 10 * len(turns)
