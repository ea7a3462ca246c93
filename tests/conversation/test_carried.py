"""Turns that a request carried: they read as their numbers, and share their parents."""

from __future__ import annotations

import tracemalloc

import pytest

from chatmagic._json import chain_of, digest
from chatmagic.conversation.carried import NOTHING, Carried

DIGESTS = tuple(digest(str(number)) for number in range(1, 6))
FIVE = Carried.of(enumerate(DIGESTS, 1))
UNKNOWN = Carried.unknown(2, chain_of(DIGESTS[:2])).followed_by(0, DIGESTS[2])


def test_it_reads_as_a_tuple() -> None:
    """Its numbers, its length, its parts, what it equals, and what it shows."""
    three = Carried.of(enumerate(DIGESTS[:3], 1))
    assert (len(three), [*three], three[1], three[-1], three[1:]) == (3, [1, 2, 3], 2, 3, (2, 3))
    others = [(1, 2), (1, 2, 4), [1, 2, 3], FIVE, Carried.of(enumerate(DIGESTS[:3], 2)), NOTHING]
    assert three not in others
    assert three == (1, 2, 3)
    assert hash(three) == hash((1, 2, 3))
    assert repr(three) == "(1, 2, 3)"
    assert three.parent == (1, 2)
    assert tuple(NOTHING) == ()
    with pytest.raises(IndexError):
        _ = three[3]


def test_equal_ones_made_apart_are_equal() -> None:
    """And so are those that go on from one parent."""
    assert Carried.of(enumerate(DIGESTS, 1)) == FIVE
    assert FIVE.followed_by(6, "a") == FIVE.followed_by(6, "b")
    assert FIVE.followed_by(6, "a") != FIVE.followed_by(7, "a")


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
    assert FIVE.listed(shown) == (DIGESTS[5 - listed :], len(before), chain_of(before))


def test_a_record_lists_those_behind_the_unknown() -> None:
    """The unknown stay before them."""
    assert UNKNOWN.listed(()) == (DIGESTS[2:3], 2, chain_of(DIGESTS[:2]))


def test_renumbered_ones_share_their_parents_again() -> None:
    """Each is changed once, however many go on from it."""
    changed: list[int] = []

    def ten_more(number: int) -> int:
        changed.append(number)
        return number + 10

    known: dict[int, Carried] = {}
    six = FIVE.followed_by(6, "6" * 64)
    new = [each.renumbered(ten_more, known) for each in (FIVE, six, FIVE, NOTHING)]
    assert [tuple(each)[-1:] for each in new] == [(15,), (16,), (15,), ()]
    assert new[1].parent is new[0]
    assert changed == [1, 2, 3, 4, 5, 6]
    assert (new[0].chain, new[0].digests) == (FIVE.chain, DIGESTS)


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
