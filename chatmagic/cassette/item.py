"""A request to look up in a cassette, and a recorded interaction with its uses."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from chatmagic.archive.interaction import Interaction

RefreshOutcome = Literal["kept", "changed", "new", "not asked again"]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A request to look up, with the cell that makes it.

    Args:
        asked: the request, as it would be recorded.
        execution: identity of the cell's execution; ``None`` counts as a new execution.
    """

    asked: Interaction
    execution: str | None = None

    @property
    def owner(self) -> str | None:
        """Hash of the cell that asks; ``None`` if it is unknown."""
        return self.asked.owner

    @property
    def execution_key(self) -> object:
        """Value that two requests share if one execution made both.

        All requests without a cell share one.
        """
        if self.owner is None:
            return None
        return self.execution or self


@dataclass(slots=True, eq=False)
class CassetteItem:
    """A recorded interaction in this kernel; two equal ones are two items.

    Args:
        recorded: the interaction.
        outcome: its state in a refresh by this kernel.
        uses: number of uses by the latest execution of each cell.
        owners: the cells whose earlier execution used it.
        was_saved: whether the file has held it as it is.
    """

    recorded: Interaction
    outcome: RefreshOutcome = "not asked again"
    uses: Counter[str | None] = field(default_factory=Counter)
    owners: set[str | None] = field(default_factory=set)
    was_saved: bool = False

    @property
    def is_fresh(self) -> bool:
        """Whether no cell has used it here."""
        return not self.uses and not self.owners

    def is_own(self, query: Query) -> bool:
        """Return whether the cell of a query recorded this item, or used it earlier.

        Args:
            query: the request.
        """
        own = query.owner
        return own is not None and (own == self.recorded.owner or own in self.owners)

    def replace(self, recorded: Interaction) -> None:
        """Take a new reply in place of the recorded one; the cell that recorded it stays.

        Args:
            recorded: the interaction with the new reply.
        """
        if self.outcome != "new":
            is_same = self.recorded.text == recorded.text and self.outcome != "changed"
            self.outcome = "kept" if is_same else "changed"
        owner = recorded.owner or self.recorded.owner
        self.recorded = dataclasses.replace(recorded, owner=owner)
        self.was_saved = False
