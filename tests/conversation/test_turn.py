"""What a turn tells a request and a record, and what a request carries."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest
from talks import abc, ask

from chatmagic._json import digest, turn_digest
from chatmagic.conversation.prefix import Digests, Prefix
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.turn import Turn, carries_others, changed_cell, newest
from chatmagic.models import Credits, Message, Reply, Usage

if TYPE_CHECKING:
    from chatmagic.conversation.record import Record


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


USAGE: Final = Usage(10, 5, 15)
CREDITS: Final = Credits(50, 40, 10, None, datetime(2026, 5, 4, tzinfo=UTC))
TOLD: Final = Turn(
    prompt="p 1",
    typed="p {{ x }}",
    values=(Value.of("x", "1"),),
    owner="o",
    temperature=1,
    carried=(1,),
    reply=Reply("r", model="m", took=2, usage=USAGE, credits=CREDITS, state="cut off"),
)
OTHER_KIND: Final[Any] = 15.0
CHANGES: Final[list[dict[str, Any]]] = [
    {"request": "asked"},
    {"request": "AB" * 32},
    {"reply": "cd" * 31 + " ab"},
    {"request": "cd" * 31},
    {"turn": None},
    {"turn": "other"},
    {"prompt": "other"},
    {"owner": "other"},
    {"took": None},
    {"usage": replace(USAGE, total_tokens=OTHER_KIND)},
    {"by_order": 0},
    {"parameters": {"temperature": 1.0}},
    {"picked": True},
    {"continues": "ef" * 32},
    {"earlier": 3},
    {"carried": ("ab" * 32,)},
    {"carried": ()},
    {"carried": Digests(["ab" * 32, "cd" * 32])},
    {"carried": Digests(["ab" * 32, "cd" * 32]).first(1)},
    {"carried": Digests(["ab" * 32]).followed_by(["cd" * 32])},
]
RECORD: Final = TOLD.to_record(Digests(["ab" * 32]), "cd" * 32)


@pytest.mark.parametrize(
    "record", [RECORD, RECORD.bare, *(replace(RECORD, **change) for change in CHANGES)]
)
def test_a_turn_gives_back_its_record_as_it_is(record: Record) -> None:
    """Whatever of it is the turn's own, also by kind; so does one that is changed or pickled."""
    turn = replace(TOLD, record=record)
    loaded = pickle.loads(pickle.dumps(turn))  # noqa: S301 - made here
    for each in (turn, replace(turn, number=3, last=2), copy.copy(turn), loaded):
        assert repr(each.record) == repr(record)
        assert each.record == record
        assert each.recorded_digest == (record.turn or TOLD.digest)
        assert each.digest == TOLD.digest


def test_turns_share_the_lists_of_what_they_carried() -> None:
    """Each tells its own part of them, also where it is changed or pickled."""
    numbers, digests = Prefix([1, 2, 3]), Digests(["ab" * 32, "cd" * 32, "ef" * 32])
    turns = []
    for count in (1, 2):
        turn = replace(TOLD, temperature=None, carried=numbers.first(count))
        turns.append(replace(turn, record=turn.to_record(digests.first(count), "cd" * 32)))
        loaded = pickle.loads(pickle.dumps(turns[-1]))  # noqa: S301 - made here
        for each in (turns[-1], replace(turns[-1], number=7), copy.copy(turns[-1]), loaded):
            assert each.carried == (1, 2)[:count]
            assert each.record is not None
            assert each.record.carried == digests[:count]
            assert each.record.parameters == {}
    first, second = ({id(each) for each in gc.get_referents(turn)} for turn in turns)
    assert first & second >= {id(numbers), id(digests)}


def test_a_turn_keeps_nothing_of_a_record_that_it_tells_itself() -> None:
    """Of many turns most of it would be kept twice."""
    assert not any(each is RECORD for each in gc.get_referents(replace(TOLD, record=RECORD)))
    other = RECORD.bare
    assert any(each is other for each in gc.get_referents(replace(TOLD, record=other)))


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
