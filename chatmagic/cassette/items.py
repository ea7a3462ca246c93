"""The interactions of one cassette in this kernel, and which of them each cell has asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chatmagic.cassette.interaction import Interaction
    from chatmagic.models import Message

RefreshOutcome = Literal["kept", "changed", "new", "failed", "not asked"]


@dataclass(frozen=True, slots=True)
class Query:
    """A request to look up, with the cell that makes it.

    Args:
        asked: the request, as it would be recorded.
        execution: identity of the cell's execution; ``None`` is an execution of its own.
        order: hashes of the notebook's cells from top to bottom; ``None`` where not known.
        messages: what is sent, for a message that tells what differs.
    """

    asked: Interaction
    execution: str | None = None
    order: tuple[str, ...] | None = None
    messages: Sequence[Message] = ()

    @property
    def owner(self) -> str | None:
        """Hash of the cell that asks; ``None`` where it is not known."""
        return self.asked.owner


@dataclass(slots=True, eq=False)
class Item:
    """A recorded interaction in this kernel; two equal ones are two items.

    Args:
        recorded: the interaction.
        original: what was recorded in its place before this kernel; ``None`` for a new one.
        outcome: what a refresh by this kernel made of it.
        answered: whether it answered a request of this kernel.
    """

    recorded: Interaction
    original: Interaction | None = None
    outcome: RefreshOutcome = "not asked"
    answered: bool = False


@dataclass(slots=True)
class LatestRun:
    """Latest execution of a cell.

    Args:
        execution: its identity.
        used: items that it has asked or recorded, oldest first.
        given: items that answered any execution of the cell.
    """

    execution: str | None = None
    used: dict[Item, None] = field(default_factory=dict)
    given: dict[Item, None] = field(default_factory=dict)


class Items:
    """The items of one cassette in their order, and the latest execution of each cell.

    Args:
        interactions: in the order recorded.
    """

    def __init__(self, interactions: Iterable[Interaction]) -> None:
        """Begin with nothing asked."""
        self.all = [Item(recorded, recorded) for recorded in interactions]
        self._cells: dict[str, LatestRun] = {}
        self._last: Item | None = None

    def cell(self, query: Query) -> LatestRun:
        """Return the cell's latest execution, begun anew where this is another one."""
        if query.owner is None:
            return LatestRun()
        cell = self._cells.get(query.owner)
        if cell is None or query.execution is None or cell.execution != query.execution:
            given = cell.given if cell is not None else {}
            cell = self._cells[query.owner] = LatestRun(query.execution, given=given)
        return cell

    def own(self, cell: LatestRun, query: Query) -> list[Item]:
        """Return the cell's own items that this execution has not asked yet."""
        owner = query.owner
        if owner is None:
            return []
        own = [item for item in self.all if item.recorded.owner == owner]
        return [item for item in own if item not in cell.used]

    def unused(self, cell: LatestRun, query: Query, items: Sequence[Item]) -> list[Item]:
        """Return what the cell has not asked yet of these items, the superseded last."""
        given = [item for item in cell.given if item not in cell.used]
        unused = dict.fromkeys([*self.own(cell, query), *given])
        among = set(items)
        return sorted(
            (item for item in unused if item in among), key=lambda item: item.recorded.superseded
        )

    def equal(self, query: Query) -> list[Item]:
        """Return what answers this very request; superseded errors only where nothing else does."""
        equal = [item for item in self.all if item.recorded.answers(query.asked)]
        standing = [item for item in equal if not item.recorded.superseded]
        replies = [i for i in equal if i.recorded.superseded and i.recorded.is_reply]
        return [*standing, *replies] or equal

    def same_place(self, cell: LatestRun, query: Query) -> list[Item]:
        """Return what stands at the same place and was not asked yet (rule 3), best first."""
        if query.owner is not None:
            free = self.own(cell, query)
            free += [i for i in self.all if not i.answered and i.recorded.owner is None]
        else:
            # The panel takes no cell's place; where a program asks, no cells are known.
            cells = {*(query.order or ()), *self._cells}
            free = [i for i in self.all if not i.answered and i.recorded.owner not in cells]
        return sorted(
            (item for item in free if item.recorded.as_typed == query.asked.as_typed),
            key=lambda i: (not i.recorded.answers(query.asked), i.recorded.superseded),
        )

    def outdated(self, cell: LatestRun, query: Query) -> list[Item]:
        """Return what the cell recorded before, stands, and is not asked by this execution."""
        return [item for item in self.own(cell, query) if not item.recorded.superseded]

    def give(self, item: Item, cell: LatestRun) -> Interaction:
        """Mark an item that answers, or that was recorded, as asked by a cell."""
        item.answered = True
        # The latest is the last, so that of equal ones the next is the next.
        cell.used.pop(item, None)
        cell.used[item] = None
        cell.given.setdefault(item)
        self._last = item
        return item.recorded

    def new_place(self, query: Query) -> int:
        """Return the index for a new cell: as in the notebook, else behind the latest answer."""
        owner, order = query.owner, query.order or ()
        if owner in order:
            below = order[order.index(owner) :]
            indices = (at for at, item in enumerate(self.all) if item.recorded.owner in below)
            return next(indices, len(self.all))
        return len(self.all) if self._last is None else self.index(self._last) + 1

    def following(self) -> list[Item]:
        """Return all items in their order, from the one behind the latest answer on."""
        start = 0 if self._last is None else self.index(self._last) + 1
        return [*self.all[start:], *self.all[:start]]

    def index(self, item: Item) -> int:
        """Return an item's index; a removed one counts as the last."""
        return self.all.index(item) if item in self.all else len(self.all) - 1
