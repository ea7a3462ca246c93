"""What steers the turns below a cell without being a turn: what its kinds have in common.

The kinds are listed in :data:`chatmagic.conversation.slots.STEERING`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from chatmagic._json import digest, fields_from_json, fields_to_json
from chatmagic.conversation.record import VERSION, kind_of, owner_from

if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["instructions", "thread", "hiding"]


@dataclass(frozen=True, slots=True)
class Steering(ABC):
    """Item in the slot of a cell that holds for the turns below.

    Args:
        owner: hash of the cell that owns it; ``None`` without one.
        execution: what tells one execution of the cell from another; ``None`` is unknown.
    """

    _: KW_ONLY
    owner: str | None = None
    execution: str | None = None

    kind: ClassVar[Kind]
    """The kind, as records and messages name it."""

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote, or any other value from an untrusted file.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: it is no such record.
        """
        kind_of(value)
        facts = value.get(cls.kind) if isinstance(value, Mapping) else None
        if not isinstance(value, Mapping) or not isinstance(facts, Mapping):
            raise ValueError(f"its {cls.kind!r} cannot be read")
        owner = value.get("owner")
        owner = None if owner is None else owner_from(owner)
        return cls(**cls.facts_from(facts), owner=owner)

    @classmethod
    def facts_from(cls, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Read :attr:`facts`; a ``ValueError`` says what is wrong with them."""
        return fields_from_json(cls, facts)

    @property
    def facts(self) -> dict[str, Any]:
        """What files keep of it."""
        return fields_to_json(self)

    @property
    def facts_digest(self) -> str:
        """Digest of what files keep of it."""
        return digest(self.facts)

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The source of the cell that gives it."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What it does, in words."""

    @property
    def text(self) -> str:
        """A text that it holds, which its output shows below the words; empty for none."""
        return ""

    def to_json(self, kind: str = "") -> dict[str, Any]:
        """Return its record, as an output's metadata keep it.

        Args:
            kind: what its cell did, where that is not to give it.
        """
        place = {} if self.owner is None else {"owner": self.owner}
        return {"version": VERSION, "kind": kind or self.kind, **place, self.kind: self.facts}
