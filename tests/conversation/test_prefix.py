"""Beginnings of lists: they read as tuples, and share their items."""

from __future__ import annotations

import tracemalloc

import pytest

from chatmagic._json import chain_of, digest
from chatmagic.conversation.prefix import Digests, Known, Prefix, grown


def test_it_reads_as_a_tuple() -> None:
    """Its items, its length, its parts, what it equals, and what it shows."""
    three = Prefix((1, 2, 3))
    assert (len(three), [*three], three[1], three[-1], three[1:]) == (3, [1, 2, 3], 2, 3, (2, 3))
    assert three == (1, 2, 3)
    assert three == Prefix([1, 2, 3])
    assert three not in [(1, 2), (1, 2, 4), [1, 2, 3], Prefix((1, 2))]
    assert hash(three) == hash((1, 2, 3))
    assert repr(three) == "(1, 2, 3)"
    with pytest.raises(IndexError):
        _ = three.first(1)[1]


def test_one_that_goes_on_shares_the_list() -> None:
    """Two that go on otherwise do not see each other's items."""
    none: Prefix[int] = Prefix()
    one = none.followed_by((1,))
    two, other = one.followed_by((2, 3)), one.followed_by((9,))
    items = [[*each] for each in (none, one, two, other, two.first(2))]
    assert items == [[], [1], [1, 2, 3], [1, 9], [1, 2]]
    assert one.followed_by((2,)) == two.first(2)
    assert two.first(1) == one
    assert one.followed_by((2, 3, 4)) == (1, 2, 3, 4)


def test_a_thousand_beginnings_take_little_more_than_the_longest() -> None:
    """As tuples they would take a hundred times as much."""
    tracemalloc.start()
    try:
        beginnings = [Prefix[int]()]
        for number in range(1_000):
            beginnings.append(grown(beginnings[-1], range(number), Prefix))
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert beginnings[-1] == tuple(range(999))
    assert size < 300_000
    assert grown(beginnings[-1], (5, 6), Prefix) == (5, 6)
    assert grown((1,), (1, 2), Prefix) == (1, 2)


def test_chains_are_those_of_the_digests() -> None:
    """For any count, in any order, also of those that share the list."""
    items = [digest(str(number)) for number in range(5)]
    first = Digests(items[:3])
    longer = first.followed_by(items[3:])
    for count in (2, 0, 5, 3):
        assert longer.chain(count) == chain_of(items[:count])
    assert first.chain(3) == longer.chain(3)


def test_changed_beginnings_share_a_list_again() -> None:
    """Each item of the list is changed once, for as many beginnings as there are."""
    one = Prefix((1,))
    three = one.followed_by((2, 3))
    known: Known[int] = {}
    changed: list[int] = []

    def ten_more(number: int) -> int:
        changed.append(number)
        return number + 10

    first, second, third = (each.mapped(ten_more, known) for each in (one, three, three.first(2)))
    assert [[*each] for each in (first, second, third)] == [[11], [11, 12, 13], [11, 12]]
    assert first.shares(second)
    assert third.shares(second)
    assert changed == [1, 2, 3]
    assert Prefix((5,)).mapped(ten_more, known) == (15,)
