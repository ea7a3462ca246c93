"""What a turn tells a request and a record, and what a request carries."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from talks import abc, ask

from chatmagic._json import digest, turn_digest
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.turn import Turn, carries_others, changed_cell, newest
from chatmagic.models import Message, Reply


def test_a_turn_tells_what_a_request_and_a_record_need() -> None:
    """State, messages and digest."""
    turn = Turn(prompt="p", reply=Reply("r", state="cut off"))
    assert turn.state == "cut off"
    assert turn.messages == (Message("user", "p"), Message("assistant", "r"))
    assert turn.digest == turn_digest("p", "r")
    assert hash(turn) == hash(dataclasses.replace(turn))


def test_a_context_tells_numbers_digests_and_messages() -> None:
    """What the request, the turn and its record keep of the turns that are carried."""
    talk = abc()
    ask(talk, "q", entry="panel")
    context = talk.context()
    a, b, c, q = talk
    assert context.numbers == (1, 2, 3, 4)
    assert context.digests == tuple(turn.digest for turn in talk)
    assert context.messages == (*a.messages, *b.messages, *c.messages, *q.messages)
    assert context.from_panel == 1
    assert context.shown == frozenset()
    shown = dataclasses.replace(context, turns=(a, dataclasses.replace(b, shown=True)))
    assert shown.shown == {b.digest}
    assert talk.context(last=1).from_panel == 1
    assert talk.context("a").from_panel == 0


def test_a_record_keeps_what_was_typed_and_the_digests() -> None:
    """The prompt as typed where values were put in, else as sent; the values come along."""
    turn = Turn(prompt="p 1", reply=Reply("r", model="m", took=2), owner="o")
    record = turn.to_record(["before"], "asked")
    assert (record.prompt, record.carried, record.request) == ("p 1", ("before",), "asked")
    assert (record.owner, record.model, record.took) == ("o", "m", 2)
    assert (record.reply, record.turn) == (digest("r"), turn.digest)
    filled = dataclasses.replace(turn, typed="p {{ x }}", values=(Value.of("x", "1"),))
    assert filled.to_record([], "asked").prompt == "p {{ x }}"
    assert filled.to_record([], "asked").values == filled.values


def test_records_name_a_turn_as_its_own_record_does() -> None:
    """A prompt whose values were not kept is another text than the one that was sent."""
    turn = Turn(prompt="p {{ x }}", typed="p {{ x }}", reply=Reply("r"))
    record = turn.to_record([], "cd" * 32)
    assert replace(turn, record=record).recorded_digest == turn.digest
    sent = replace(record, turn="ab" * 32)
    assert replace(turn, record=sent).recorded_digest == "ab" * 32
    assert replace(turn, record=replace(record, turn=None)).recorded_digest == turn.digest


@pytest.mark.parametrize(
    ("carried", "last", "stale"),
    [((1, 2), None, False), ((2,), None, True), ((2,), 1, False), ((), 0, False), ((), 1, True)],
)
def test_a_turn_is_stale_that_would_carry_others_now(
    carried: tuple[int, ...], last: int | None, *, stale: bool
) -> None:
    """What its request would leave out anyway does not count."""
    first, second = (Turn(prompt="p", reply=Reply("r"), number=number) for number in (1, 2))
    turn = dataclasses.replace(first, number=3, carried=carried, last=last)
    assert carries_others(turn, (first, second)) == stale


@pytest.mark.parametrize(("now", "stale"), [("1", False), ("2", True), (None, False)])
def test_a_turn_is_stale_when_a_cell_that_went_along_has_changed(
    now: str | None, *, stale: bool
) -> None:
    """Known by the digest of the cell; one that has not run here tells nothing."""
    values = Value.of("x", "7"), Value.of("load", "1", "cell", "a"), Value.of("", "e", "error")
    turn = Turn(prompt="p", reply=Reply("r"), values=values)
    cells = {"b": digest("0")} if now is None else {"a": digest(now)}
    assert changed_cell(turn, cells) == ("a" if stale else None)


def test_the_newest_are_the_last() -> None:
    """More than there are is all of them."""
    three = (1, 2, 3)
    assert [newest(three, last) for last in (None, 0, 2, 9)] == [three, (), (2, 3), three]
