"""Turns that a request carried, each with the one before it as its parent, as a commit has one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, overload

from chatmagic._json import chain_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


class Carried(Sequence[int]):
    """Last turn that a request carried, and its parent: those that the request carried before it.

    It reads as a tuple of the turns' numbers, oldest first; a turn that is not known has the
    number 0, and so have, as one, the first turns of a record that lists the newest alone. Requests
    of one conversation share their parents, so a turn holds one value, however many it carried.

    Args:
        parent: those before; ``None`` for an empty list.
        number: the turn's number; 0 is a turn that is not known.
        digest: the digest by which records name the turn; ``None`` for several that are not known.
        total: how many turns these are.
        chain: their chain digest, where it is known already.
    """

    __slots__ = ("_chain", "digest", "number", "parent", "size", "total")

    def __init__(
        self,
        parent: Carried | None = None,
        number: int = 0,
        digest: str | None = None,
        total: int = 0,
        chain: str | None = None,
    ) -> None:
        """Keep what is given."""
        self.parent, self.number, self.digest = parent, number, digest
        self.total = total
        self.size: int = 0 if parent is None else parent.size + 1
        """How many numbers it reads as."""
        self._chain = chain

    @classmethod
    def of(cls, turns: Iterable[tuple[int, str]]) -> Carried:
        """Return turns by their numbers and digests, oldest first.

        Args:
            turns: their numbers and digests, oldest first.
        """
        carried = NOTHING
        for number, digest in turns:
            carried = carried.followed_by(number, digest)
        return carried

    @classmethod
    def unknown(cls, total: int, chain: str | None) -> Carried:
        """Return first turns that a record does not list.

        Args:
            total: how many.
            chain: their chain digest.
        """
        return cls(NOTHING, 0, None, total, chain)

    def followed_by(self, number: int, digest: str) -> Carried:
        """Return these turns and one more.

        Args:
            number: its number.
            digest: its digest.
        """
        return Carried(self, number, digest, self.total + 1)

    @property
    def chain(self) -> str | None:
        """Chain digest of these turns; ``None`` for none."""
        missing = []
        for each in self._backwards():
            if each._chain is not None:  # noqa: SLF001 - its own
                break
            missing.append(each)
        for each in reversed(missing):
            before = None if each.parent is None else each.parent._chain  # noqa: SLF001
            each._chain = chain_digest(before, each.digest or "")  # noqa: SLF001
        return self._chain

    @property
    def digests(self) -> tuple[str, ...]:
        """Their digests, oldest first, but for those that are not known."""
        digests = [each.digest for each in self._backwards() if each.digest is not None]
        return tuple(reversed(digests))

    @property
    def root(self) -> Carried:
        """Those of the first turns that are not known by their digests; empty for none."""
        return next((each for each in self._backwards() if each.digest is None), NOTHING)

    def newest(self, last: int | None) -> Carried:
        """Return the newest turns.

        Args:
            last: how many at most; ``None`` is all of them.
        """
        if last is None or last >= self.size:
            return self
        newest = [*islice(self._backwards(), last)]
        return Carried.of((each.number, each.digest or "") for each in reversed(newest))

    def listed(self, shown: Collection[str]) -> tuple[tuple[str, ...], int, str | None]:
        """Return what a record lists of these turns, so that it stays short.

        Args:
            shown: digests of the turns that a cell shows; the newest of them is the first that is
                listed. Where there is none, all are.

        Returns:
            The digests of the newest turns, oldest first, how many there are before them, and the
            chain digest of these.
        """
        digests: list[str] = []
        before = NOTHING
        for each in self._backwards():
            if each.digest is None:
                before = each
                break
            digests.append(each.digest)
            if each.digest in shown:
                before = each.parent or NOTHING
                break
        return tuple(reversed(digests)), before.total, before.chain

    def renumbered(self, new: Callable[[int], int], known: dict[int, Carried]) -> Carried:
        """Return the same turns with other numbers.

        Args:
            new: returns the number that takes the place of a turn's.
            known: those that were renumbered before, by the identities of what they were made of;
                empty at first. What they were made of has to live as long.
        """
        missing = []
        made = NOTHING
        for each in self._backwards():
            if id(each) in known:
                made = known[id(each)]
                break
            missing.append(each)
        for each in reversed(missing):
            made = Carried(made, new(each.number), each.digest, each.total, each._chain)  # noqa: SLF001
            known[id(each)] = made
        return made

    def _backwards(self) -> Iterator[Carried]:
        """Yield this and its parents, but for the empty list."""
        each: Carried | None = self
        while each is not None and each.parent is not None:
            yield each
            each = each.parent

    def __len__(self) -> int:
        """Count the numbers."""
        return self.size

    def __iter__(self) -> Iterator[int]:
        """Go through the numbers, oldest first."""
        return iter([each.number for each in self._backwards()][::-1])

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        """Return a number, or a tuple of some."""
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        """Return whether another one, or a tuple, has the same numbers."""
        if isinstance(other, tuple):
            return len(other) == self.size and tuple(self) == other
        if not isinstance(other, Carried) or other.size != self.size:
            return False
        # Most requests share their parents.
        pairs = zip(self._backwards(), other._backwards(), strict=True)
        for mine, its in pairs:
            if mine is its:
                return True
            if mine.number != its.number:
                return False
        return True

    def __hash__(self) -> int:
        """Return the hash of a tuple of the numbers."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return that of a tuple of the numbers."""
        return repr(tuple(self))


NOTHING = Carried()
"""No turns."""
