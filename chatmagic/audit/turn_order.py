"""Order of the turns in a notebook: each was asked after those above it, as its record lists them.

One change of a notebook breaks what many turns below it carried. So a difference is told once, at
the cell that explains it, with the cells that follow from it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from chatmagic.conversation.question import Value
from chatmagic.conversation.turn import NOTHING, Carried, Turn
from chatmagic.conversation.window import Window
from chatmagic.safe_text import numbered

OTHER_TURNS: Final = "it was asked after other turns than those above it"
OTHER_INSTRUCTIONS: Final = "it was asked with other instructions than those that stand above it"
STANDS_ELSEWHERE: Final = (
    "moved, copied or asked again: its turn stood elsewhere, or nowhere, for the question of"
)


@dataclass(frozen=True, slots=True)
class PlacedTurn:
    """Turn with its place in the notebook.

    Args:
        cell: the number of its cell.
        turn: the turn.
        window: the window of its place at that time.
    """

    cell: int
    turn: Turn
    window: Window


@dataclass(slots=True)
class OrderCause:
    """Cell at which turns begin to differ, and the other cells that differ for the same reason.

    Args:
        cell: the number of its cell.
        words: the fault, which may name the other cells; empty if it is told already.
        followers: the numbers of the other cells.
    """

    cell: int
    words: str
    followers: list[int] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The fault with what follows from it, in words."""
        if not self.followers:
            return self.words
        others = numbered(self.followers, "cell")
        if self.words == STANDS_ELSEWHERE:
            return f"{self.words} {others}"
        was = "was" if len(self.followers) == 1 else "were"
        return f"{self.words}; so {was} {others}"


class _CarriedDigests:
    """Digests of the turns that a request carried, read list by list; most continue the last."""

    def __init__(self) -> None:
        """Begin with an empty list."""
        self.nodes: list[Carried] = []
        self.digests: list[str] = []
        self._last = NOTHING

    def take(self, turns: Carried) -> list[str]:
        """Take the next list, and return its digests that the list before it lacks.

        Args:
            turns: the list.
        """
        added = turns.added_to(self._last)
        if added is None:
            added = turns.added_to(NOTHING) or []
            self.nodes = []
            self.digests = []
        self._last = turns
        new = [node.digest for node in added if node.digest is not None]
        self.nodes += added
        self.digests += new
        return new

    def has_beginning(self, turns: Carried) -> bool:
        """Return whether the list begins with other turns, as their chain digests tell.

        Args:
            turns: the other turns.
        """
        return turns.total <= len(self.nodes) and self.nodes[turns.total - 1].chain == turns.chain


def causes_of(
    different: Iterable[PlacedTurn],
    every: Sequence[PlacedTurn],
    edited: Mapping[str, int],
    unreadable: Iterable[int],
) -> list[OrderCause]:
    """Return the causes for which requests carried other turns than those above them.

    Args:
        different: the turns of these requests, in the order of the cells.
        every: all turns of the conversation, in the order of the cells.
        edited: the cells of turns whose fault is told already, by the turns' digests, as recorded
            and as they are now.
        unreadable: numbers of the cells whose turn is not in the file, which is told already.
    """
    search = _CauseSearch(every, edited, unreadable)
    mine = _CarriedDigests()
    above = _CarriedDigests()
    for placed in different:
        mine.take(placed.turn.carried)
        above.take(placed.window.visible.newest(placed.turn.last))
        search.add(placed, _Difference.between(mine, above))
    unique = {id(cause): cause for cause in search.causes.values()}
    return [cause for cause in unique.values() if cause.words or cause.followers]


@dataclass(frozen=True, slots=True)
class _Difference:
    """Turns that a request carried and those above it, as digests.

    Args:
        all_mine: the turns that it carried.
        all_above: the turns above it.
        mine: those that it carried, without the beginning and the end that both have.
        above: those above it, without these.
    """

    all_mine: Sequence[str]
    all_above: Sequence[str]
    mine: Sequence[str]
    above: Sequence[str]

    @classmethod
    def between(cls, mine: _CarriedDigests, above: _CarriedDigests) -> Self:
        """Return the difference of two lists of turns.

        Args:
            mine: the turns that the request carried.
            above: the turns above it.
        """
        all_mine, all_above = _compared(mine, above)
        return cls(all_mine, all_above, *_differing(all_mine, all_above))

    @property
    def lacking(self) -> Counter[str]:
        """The turns that it carried and that are not above it."""
        return Counter(self.mine) - Counter(self.above)

    @property
    def added(self) -> Counter[str]:
        """The turns above it that it did not carry."""
        return Counter(self.above) - Counter(self.mine)


class _CauseSearch:
    """Search for the causes of differences, from the first cell to the last.

    Args:
        every: all turns of the conversation, in the order of the cells.
        edited: as for :func:`causes_of`.
        unreadable: as for :func:`causes_of`.
    """

    def __init__(
        self,
        every: Sequence[PlacedTurn],
        edited: Mapping[str, int],
        unreadable: Iterable[int],
    ) -> None:
        """Begin with the causes that are known already."""
        lists = _CarriedDigests()
        self._carried = {digest for placed in every for digest in lists.take(placed.turn.carried)}
        self._cells: dict[str, list[int]] = defaultdict(list)
        for placed in every:
            self._cells[placed.turn.recorded_digest].append(placed.cell)
        self._lost = sorted(unreadable, reverse=True)
        edits = {cell: OrderCause(cell, "") for cell in edited.values()}
        self.causes = {digest: edits[cell] for digest, cell in edited.items()}
        """The cause of each turn that is not where a request says, by the turn's digest."""

    def add(self, placed: PlacedTurn, difference: _Difference) -> None:
        """Find the cause of a difference: a known one, or a new one.

        Args:
            placed: the turn whose request carried other turns than those above it.
            difference: of both.
        """
        differing = (*difference.lacking, *difference.added)
        unexplained = [digest for digest in differing if digest not in self.causes]
        cause = self._known(placed, difference)
        if cause is None or not (
            cause.cell == placed.cell or self._is_explained(difference, unexplained)
        ):
            cause = self._new(placed, unexplained, difference.added)
        self.causes |= dict.fromkeys(unexplained, cause)
        if cause.cell != placed.cell:
            cause.followers.append(placed.cell)

    def _is_explained(self, difference: _Difference, unexplained: Sequence[str]) -> bool:
        """Return whether the known causes explain a difference.

        They do if both lists are equal without the turns of these causes. If turns are left, they
        do if no output here shows these, and a turn of a known cause stands in their place.

        Args:
            difference: the difference.
            unexplained: digests of its turns that have no known cause.
        """
        if not unexplained:
            mine = [digest for digest in difference.mine if digest not in self.causes]
            above = [digest for digest in difference.above if digest not in self.causes]
            return mine == above
        is_shown = any(digest in self._cells for digest in unexplained)
        return not is_shown and any(digest in self.causes for digest in difference.added)

    def _known(self, placed: PlacedTurn, difference: _Difference) -> OrderCause | None:
        """Return a known cause that may explain a difference, the nearest above."""
        own = self.causes.get(placed.turn.recorded_digest)
        if own is not None and own.cell == placed.cell:
            return own
        digests = (*difference.lacking, *difference.added)
        if not digests:
            digests = (*difference.all_mine, *difference.all_above)
        known = [self.causes[digest] for digest in digests if digest in self.causes]
        if not known and not difference.mine and not difference.above:
            # It differs in turns that its record does not list.
            known = [cause for cause in self.causes.values() if cause.cell < placed.cell]
        return max(known, key=lambda cause: cause.cell, default=None)

    def _new(self, placed: PlacedTurn, new: Sequence[str], added: Mapping[str, int]) -> OrderCause:
        """Return a new cause: a cell that stands elsewhere, one that is lost, or its own."""
        cells = [cell for name in new for cell in self._cells.get(name, ())]
        moved = _moved(new, added, self._carried, cells)
        if moved is not None and moved != placed.cell:
            return OrderCause(moved, STANDS_ELSEWHERE)
        if self._lost and self._lost[-1] < placed.cell and len(new) == 1 and not cells:
            return OrderCause(self._lost.pop(), "")
        cause = OrderCause(placed.cell, OTHER_TURNS)
        self.causes[placed.turn.recorded_digest] = cause
        return cause


def followers_of(cells: Collection[int], every: Sequence[PlacedTurn]) -> list[OrderCause]:
    """Return the cells that carried an edited turn as it was when they were asked.

    Args:
        cells: numbers of the cells with an edited turn, whose fault is told already.
        every: all turns of the conversation, in the order of the cells.
    """
    causes: list[OrderCause] = []
    by_digest: dict[str, list[OrderCause]] = defaultdict(list)
    for placed in every:
        if placed.cell in cells:
            cause = OrderCause(placed.cell, "")
            causes.append(cause)
            by_digest[placed.turn.recorded_digest].append(cause)
    if not causes:
        return []
    carried = _CarriedDigests()
    carried_edited: list[str] = []
    """Digests of the edited turns among those that the present turn carried."""
    for placed in every:
        new = carried.take(placed.turn.carried)
        if len(new) == len(carried.digests):  # it does not continue the list before it
            carried_edited = []
        carried_edited += [digest for digest in new if digest in by_digest]
        for digest in dict.fromkeys(carried_edited):
            for cause in by_digest[digest]:
                cause.followers.append(placed.cell)
    return [cause for cause in causes if cause.followers]


def instruction_causes(
    different: Iterable[PlacedTurn], edited: Mapping[str, int]
) -> list[OrderCause]:
    """Return the causes for which requests carried other instructions than those above them.

    Args:
        different: the turns of these requests, in the order of the cells.
        edited: the cells of instructions whose fault is told already, by their digests.
    """
    causes: dict[tuple[str | None, str | None], OrderCause] = {}
    for placed in different:
        then = _digest(placed.turn.instructions)
        now = _digest(placed.window.instructions)
        cause = causes.get((then, now))
        if cause is not None:
            cause.followers.append(placed.cell)
        elif now is not None and now in edited:
            causes[then, now] = OrderCause(edited[now], "", [placed.cell])
        else:
            causes[then, now] = OrderCause(placed.cell, OTHER_INSTRUCTIONS)
    return list(causes.values())


def _moved(
    new: Sequence[str], added: Mapping[str, int], carried: Collection[str], cells: Sequence[int]
) -> int | None:
    """Return the cell of the one turn that is in another place; ``None`` if none explains it all.

    Args:
        new: digests of the turns that are not where a request says.
        added: those of them that stand above.
        carried: digests of the turns that any request carried.
        cells: numbers of the cells of ``new``.
    """
    if len(new) != 1 or not cells:
        return None
    digest = new[0]
    is_copied = len(cells) > 1
    is_moved = digest not in added or digest not in carried
    return cells[-1] if is_moved or is_copied else None


def _compared(mine: _CarriedDigests, above: _CarriedDigests) -> tuple[list[str], list[str]]:
    """Return the digests of the turns that a request carried, and of those above it.

    A record lists the newest ones, and the others by one digest. If that is of none that are known,
    only the newest are compared.

    Args:
        mine: the turns that it carried.
        above: the turns above it.
    """
    root = mine.nodes[0] if mine.nodes else NOTHING
    if root.digest is not None or not root.total:
        return mine.digests, above.digests
    if above.has_beginning(root):
        return [*above.digests[: root.total], *mine.digests], above.digests
    known = {*above.digests}
    return mine.digests, [name for name in mine.digests if name in known]


def _differing(mine: Sequence[str], above: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return two lists without the beginning and the end that both have."""
    begin = _common_beginning(mine, above)
    mine = mine[begin:]
    above = above[begin:]
    end = _common_beginning(mine[::-1], above[::-1])
    return mine[: len(mine) - end], above[: len(above) - end]


def _common_beginning(mine: Sequence[str], above: Sequence[str]) -> int:
    """Return the number of first items that two lists have in common."""
    count = 0
    for one, other in zip(mine, above, strict=False):
        if one != other:
            break
        count += 1
    return count


def _digest(instructions: Value | None) -> str | None:
    """Return the digest of instructions; ``None`` for none."""
    return None if instructions is None else instructions.sha256
