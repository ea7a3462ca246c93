"""What a turn tells a request and a record, and the turns that its request carried."""

from __future__ import annotations

import dataclasses
import tracemalloc
from dataclasses import replace

import pytest

from chatmagic._json import chain_digest, chain_of, digest, turn_digest
from chatmagic.conversation.question import Value
from chatmagic.conversation.turn import NOTHING, Carried, Turn
from chatmagic.models import Message, Reply

DIGESTS = tuple(digest(str(number)) for number in range(1, 6))
FIVE = Carried.from_turns(enumerate(DIGESTS, 1))
EMPTY = Turn(prompt="p", reply=Reply("r")).to_record("cd" * 32)
UNKNOWN = Carried.unknown(2, chain_of(DIGESTS[:2])).followed_by(0, DIGESTS[2])


def test_a_turn_tells_what_a_request_and_a_record_need() -> None:
    """State, messages and digest."""
    turn = Turn(prompt="p", reply=Reply("r", state="cut off"))
    assert turn.state == "cut off"
    assert turn.messages == (Message("user", "p"), Message("assistant", "r"))
    assert turn.digest == turn_digest("p", "r")
    assert hash(turn) == hash(dataclasses.replace(turn))


def test_a_record_keeps_what_was_typed_and_the_digests() -> None:
    """The prompt as typed where values were put in, else as sent; the values come along."""
    carried = Carried.from_turns([(1, "first"), (2, "before")])
    turn = Turn(prompt="p 1", reply=Reply("r", model="m", took=2), owner="o", carried=carried)
    record = turn.to_record("asked", {"before"})
    assert (record.prompt, record.carried, record.request) == ("p 1", ("before",), "asked")
    assert record.earlier == (1, chain_digest(None, "first"))
    assert (record.owner, record.model, record.took) == ("o", "m", 2)
    assert (record.reply, record.turn) == (digest("r"), turn.digest)
    filled = dataclasses.replace(turn, typed="p {{ x }}", values=(Value.of_text("x", "1"),))
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
    values = (
        Value.of_text("x", "7"),
        Value.of_text("load", "1", "cell", "a"),
        Value.of_text("", "e", "error"),
    )
    turn = Turn(prompt="p", reply=Reply("r"), values=values)
    cells = {"b": digest("0")} if now is None else {"a": digest(now)}
    assert turn.changed_cell(cells) == ("a" if stale else None)


def test_it_reads_as_a_tuple() -> None:
    """Its numbers, its length, its parts, what it equals, and what it shows."""
    three = Carried.from_turns(enumerate(DIGESTS[:3], 1))
    assert (len(three), [*three]) == (3, [1, 2, 3])
    others = [
        (1, 2),
        (1, 2, 4),
        [1, 2, 3],
        FIVE,
        Carried.from_turns(enumerate(DIGESTS[:3], 2)),
        NOTHING,
    ]
    assert three not in others
    assert three == (1, 2, 3)
    assert hash(three) == hash((1, 2, 3))
    assert repr(three) == "(1, 2, 3)"
    assert three.parent == (1, 2)
    assert FIVE.followed_by(6, "a") == FIVE.followed_by(6, "b") != FIVE.followed_by(7, "a")
    assert tuple(NOTHING) == ()


def test_the_chain_digest_names_them_all() -> None:
    """Also where the first are not known, and asked for in any order."""
    assert FIVE.chain == chain_of(DIGESTS)
    assert FIVE.parent is not None
    assert FIVE.parent.chain == chain_of(DIGESTS[:4])
    assert FIVE.followed_by(6, DIGESTS[0]).chain == chain_of([*DIGESTS, DIGESTS[0]])
    assert UNKNOWN.chain == chain_of(DIGESTS[:3])
    assert NOTHING.chain is None


def test_first_turns_that_are_not_known_are_one() -> None:
    """As many as the record says; the others have their digests."""
    assert (tuple(UNKNOWN), UNKNOWN.total, UNKNOWN.digests) == ((0, 0), 3, DIGESTS[2:3])
    assert (UNKNOWN.root.total, FIVE.root) == (2, NOTHING)


@pytest.mark.parametrize(("last", "numbers"), [(None, 5), (9, 5), (5, 5), (2, 2), (0, 0)])
def test_the_newest_are_the_last(last: int | None, numbers: int) -> None:
    """With their digests; more than there are is all of them."""
    newest = FIVE.newest(last)
    assert newest == (1, 2, 3, 4, 5)[5 - numbers :]
    assert newest.digests == DIGESTS[5 - numbers :]


@pytest.mark.parametrize(
    ("shown", "listed"),
    [((), 5), (DIGESTS[:1], 5), (DIGESTS[2:4], 2), (DIGESTS[4:], 1), (("other",), 5)],
)
def test_a_record_lists_the_newest_from_one_that_is_shown_on(
    shown: tuple[str, ...], listed: int
) -> None:
    """And tells how many there are before them, and their chain digest."""
    before = DIGESTS[: 5 - listed]
    earlier = len(before), chain_of(before)
    record = FIVE.listed_in(EMPTY, shown)
    assert record == replace(EMPTY, carried=DIGESTS[5 - listed :], earlier=earlier)


def test_a_record_lists_those_behind_the_unknown() -> None:
    """The unknown stay before them."""
    earlier = 2, chain_of(DIGESTS[:2])
    record = UNKNOWN.listed_in(EMPTY, ())
    assert record == replace(EMPTY, carried=DIGESTS[2:3], earlier=earlier)


@pytest.mark.unmeasured
def test_a_long_life_takes_little_memory_and_ends() -> None:
    """A turn holds one value, however many it carried; no depth is too deep to free or compare."""
    tracemalloc.start()
    try:
        carried = [NOTHING]
        for number in range(1, 50_000):
            carried.append(carried[-1].followed_by(number, ""))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 50_000 * 250
    assert carried[-1] == tuple(range(1, 50_000))
    assert carried[-1].chain is not None
    carried.clear()


def test_a_list_that_continues_another_has_what_was_added() -> None:
    """Each added turn is the last one of its list; any other list continues nothing."""
    three = Carried.from_turns(enumerate(DIGESTS[:3], 1))
    five = three.followed_by(4, DIGESTS[3]).followed_by(5, DIGESTS[4])
    assert five.added_to(three) == [five.parent, five]
    assert five.added_to(five) == []
    assert three.added_to(five) is None
    assert FIVE.added_to(three) is None
    added = UNKNOWN.added_to(NOTHING)
    assert added is not None
    assert [node.total for node in added] == [2, 3]


def test_a_turn_that_is_not_carried_is_not_replaced() -> None:
    """The others stay as they are; one that is there gives its place to the other."""
    carried = Carried.from_turns([(1, "a"), (2, "b"), (3, "c")])
    assert carried.replaced(4, 5, "e") is carried
    assert carried.replaced(2, 5, "e") == (1, 5, 3)
    assert carried.replaced(3, 5, "e").digests == ("a", "b", "e")
