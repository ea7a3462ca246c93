"""What a turn tells a request and a record."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest

from chatmagic._json import chain_digest, digest, turn_digest
from chatmagic.conversation.carried import Carried
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.turn import Turn
from chatmagic.models import Message, Reply


def test_a_turn_tells_what_a_request_and_a_record_need() -> None:
    """State, messages and digest."""
    turn = Turn(prompt="p", reply=Reply("r", state="cut off"))
    assert turn.state == "cut off"
    assert turn.messages == (Message("user", "p"), Message("assistant", "r"))
    assert turn.digest == turn_digest("p", "r")
    assert hash(turn) == hash(dataclasses.replace(turn))


def test_a_record_keeps_what_was_typed_and_the_digests() -> None:
    """The prompt as typed where values were put in, else as sent; the values come along."""
    carried = Carried.of([(1, "first"), (2, "before")])
    turn = Turn(prompt="p 1", reply=Reply("r", model="m", took=2), owner="o", carried=carried)
    record = turn.to_record("asked", {"before"})
    assert (record.prompt, record.carried, record.request) == ("p 1", ("before",), "asked")
    assert (record.earlier, record.chain) == (1, chain_digest(None, "first"))
    assert (record.owner, record.model, record.took) == ("o", "m", 2)
    assert (record.reply, record.turn) == (digest("r"), turn.digest)
    filled = dataclasses.replace(turn, typed="p {{ x }}", values=(Value.of("x", "1"),))
    assert filled.to_record("asked").prompt == "p {{ x }}"
    assert filled.to_record("asked").values == filled.values


def test_records_name_a_turn_as_its_own_record_does() -> None:
    """A prompt whose values were not kept is another text than the one that was sent."""
    turn = Turn(prompt="p {{ x }}", typed="p {{ x }}", reply=Reply("r"))
    record = turn.to_record("cd" * 32)
    assert replace(turn, record=record).recorded_digest == turn.digest
    sent = replace(record, turn="ab" * 32)
    assert replace(turn, record=sent).recorded_digest == "ab" * 32
    assert replace(turn, record=replace(record, turn=None)).recorded_digest == turn.digest


@pytest.mark.parametrize(("now", "stale"), [("1", False), ("2", True), (None, False)])
def test_a_turn_is_stale_when_a_cell_that_went_along_has_changed(
    now: str | None, *, stale: bool
) -> None:
    """Known by the digest of the cell; one that has not run here tells nothing."""
    values = Value.of("x", "7"), Value.of("load", "1", "cell", "a"), Value.of("", "e", "error")
    turn = Turn(prompt="p", reply=Reply("r"), values=values)
    cells = {"b": digest("0")} if now is None else {"a": digest(now)}
    assert turn.changed_cell(cells) == ("a" if stale else None)
