"""One question with its reply, and what a later request carries of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from chatmagic._json import digest, shared, turn_digest
from chatmagic.conversation.carried import NOTHING, Carried
from chatmagic.conversation.record import Record
from chatmagic.conversation.request_facts import NO_PARAMETERS, RequestFacts, Value
from chatmagic.models import Message, ReplyFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from chatmagic.models import Reply, State

MAIN: Final = "main"
"""The thread of a turn below no start of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(RequestFacts):
    """One question and its reply.

    Args:
        reply: the reply, whole or as far as it came.
        number: its number in its conversation, never used twice; 0 until it is added.
        carried: the turns that its request carried.
        instructions: the standing instructions that its request carried, without their text.
        record: what its output keeps of it.
    """

    reply: Reply
    number: int = 0
    carried: Carried = NOTHING
    instructions: Value | None = None
    record: Record | None = field(default=None, compare=False, repr=False)
    # Worked out once: each later request asks for them.
    _asked: Message | None = field(default=None, init=False, compare=False, repr=False)
    _replied: Message | None = field(default=None, init=False, compare=False, repr=False)
    _digest: str | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def state(self) -> State:
        """``complete``, ``interrupted`` or ``cut off``."""
        return self.reply.state

    @property
    def messages(self) -> tuple[Message, Message]:
        """The two messages by which a later request carries this turn (fact 2)."""
        if self._asked is None or self._replied is None:
            asked, replied = Message("user", self.prompt), Message("assistant", self.reply.text)
            object.__setattr__(self, "_asked", asked)
            object.__setattr__(self, "_replied", replied)
            return asked, replied
        return self._asked, self._replied

    @property
    def digest(self) -> str:
        """The digest by which a later request's record names this turn."""
        if self._digest is None:
            digest = turn_digest(self.prompt, self.reply.text)
            object.__setattr__(self, "_digest", digest)
            return digest
        return self._digest

    @property
    def recorded_digest(self) -> str:
        """The digest by which records name this turn; that of its own record is the older."""
        # A prompt whose values were not kept is another text now.
        recorded = None if self.record is None else self.record.turn
        return recorded or self.digest

    @property
    def reads(self) -> tuple[str, ...]:
        """What its cell shows of it: the prompt as typed, and the reply."""
        return self.as_typed, self.reply.text

    def to_record(self, request: str, shown: Collection[str] = ()) -> Record:
        """Return the turn's record, with its values.

        Args:
            request: digest of the canonical request.
            shown: digests of the turns that a cell shows.
        """
        digests, earlier, chain = self.carried.listed(shown)
        return Record(
            **shared(self.reply, ReplyFacts),
            prompt=self.as_typed,
            values=self.values,
            owner=self.owner,
            carried=digests,
            earlier=earlier,
            chain=chain,
            request=request,
            reply=digest(self.reply.text),
            parameters=self.parameters or NO_PARAMETERS,
            turn=self.digest,
            asked_model=self.asked_model,
            instructions=self.instructions,
        )

    def changed_cell(self, cells: Mapping[str, str]) -> str | None:
        """Return a cell that went along with it and says or shows something else now, if any.

        Args:
            cells: for each cell that has run, the digest of what would go along of it now.
        """
        carried = {value.cell: value.sha256 for value in self.values if value.cell is not None}
        changed = (cell for cell, sha256 in carried.items() if cells.get(cell, sha256) != sha256)
        return next(changed, None)
