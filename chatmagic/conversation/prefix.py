"""Beginnings of lists that grow: each turn carries those before it, and all share one list.

Tuples of them would take the square of their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from chatmagic._json import chain_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_T = TypeVar("_T")


class Prefix(Sequence[_T]):
    """First items of a list that grows; it reads as a tuple of them does."""

    __slots__ = ("_count", "_items")

    def __init__(self, items: Iterable[_T] = ()) -> None:
        """Begin a list."""
        self._items = [*items]
        self._count = len(self._items)

    def followed_by(self, more: Sequence[_T]) -> Self:
        """Return these items and more, which share the list unless it goes on otherwise."""
        end = self._count + len(more)
        if len(self._items) == self._count:
            self._items.extend(more)
        # Another thread may have been first; what stands in the list never changes.
        if self._items[self._count : end] != [*more]:
            return type(self)([*self, *more])
        return self._share(end)

    def first(self, count: int) -> Self:
        """Return the first items alone, in the same list."""
        return self._share(count)

    def _share(self, count: int) -> Self:
        other = object.__new__(type(self))
        other._items, other._count = self._items, count
        return other

    def shares(self, other: Prefix[_T]) -> bool:
        """Return whether another one is of the same list."""
        return self._items is other._items

    def mapped(self, change: Callable[[_T], _T], known: Known[_T]) -> Prefix[_T]:
        """Return the items changed; those of one list share a list again.

        Args:
            change: returns what takes the place of an item.
            known: what was changed so before, empty at first, with what it was made of.
        """
        # What it was made of holds the list, so no other one gets its identity.
        _, longest = known.get(id(self._items), (self, Prefix[_T]()))
        new = self._items[len(longest) : self._count]
        longest = longest.followed_by([*map(change, new)])
        known[id(self._items)] = self, longest
        return longest.first(self._count)

    def __len__(self) -> int:
        """Count the items."""
        return self._count

    def __iter__(self) -> Iterator[_T]:
        """Go through the items."""
        return iter(self._items[: self._count])

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, index: int | slice) -> _T | tuple[_T, ...]:
        """Return an item, or a tuple of some."""
        if isinstance(index, slice):
            return tuple([self._items[at] for at in range(*index.indices(self._count))])
        return self._items[range(self._count)[index]]

    def __eq__(self, other: object) -> bool:
        """Return whether another one, or a tuple, has the same items."""
        if isinstance(other, Prefix) and self.shares(other):
            return self._count == other._count
        if not isinstance(other, Prefix | tuple) or len(other) != self._count:
            return False
        return self._items[: self._count] == [*other]

    def __hash__(self) -> int:
        """Return the hash of a tuple of the items."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return that of a tuple of the items."""
        return repr(tuple(self))


_Kind = TypeVar("_Kind", bound=Prefix[Any])


Known = dict[int, tuple[Prefix[_T], Prefix[_T]]]
"""What lists were changed to, by their identity: a beginning of the list, and the same changed."""


class Digests(Prefix[str]):
    """Digests of turns that a request carries, and the chain digests of the first of them."""

    __slots__ = ("_chains",)

    def __init__(self, items: Iterable[str] = ()) -> None:
        """Begin a list."""
        super().__init__(items)
        self._chains: list[str | None] = [None]

    def _share(self, count: int) -> Self:
        other = super()._share(count)
        other._chains = self._chains  # noqa: SLF001 - its own
        return other

    def chain(self, count: int) -> str | None:
        """Return the chain digest of the first digests; each is worked out once for all lists."""
        chains = self._chains
        if count >= (known := len(chains)):
            more = [chains[known - 1]]
            for digest in self._items[known - 1 : count]:
                more.append(chain_digest(more[-1], digest))
            # Another thread may have put the same there meanwhile.
            chains[known - 1 : count + 1] = more
        return chains[count]


def grown(before: Sequence[Any], items: Sequence[Any], kind: type[_Kind]) -> _Kind:
    """Return items as a list's beginning, and share the list with an earlier one if that fits.

    Args:
        before: what may be the first of the items, as of an earlier request.
        items: the items.
        kind: the class of the result.
    """
    if isinstance(before, kind) and [*before] == [*items[: len(before)]]:
        return before.followed_by(items[len(before) :])
    return kind(items)
