"""The asks under way, and the asides: asks that failed or were not kept.

Not for several threads: the drawing loop's thread owns it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from chatmagic.jupyter.panel import snapshot
from chatmagic.session.events import failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.client.halt import Halt
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.panel import messages
    from chatmagic.jupyter.reply_under_way import Drawn
    from chatmagic.session.events import Answer, Ask

MOST_ASIDES: Final = 50
NOT_KEPT: Final = "Not kept: this question was asked without history."

Stage = Literal["asked", "sending", "waiting", "began"]


@dataclass(slots=True)
class PendingAsk:
    """An ask that is not over.

    Args:
        key: its number.
        ask: what is asked.
        stage: ``asked`` until the page says go, ``sending``, ``waiting`` for another ask, or
            ``began``.
        note: what there is to say of it.
        after: number of the turn behind which it stands; ``None`` is the end.
        replaces: numbers of the turns that its turn will replace.
        halt: stops it; ``None`` until it is known.
        drawn: what pages were shown of its reply.
        thread: name of the thread that it is asked in; empty until it has begun.
    """

    key: int
    ask: Ask
    stage: Stage = "asked"
    note: str = ""
    after: int | None = None
    replaces: Sequence[int] = ()
    halt: Halt | None = None
    drawn: Drawn | None = None
    thread: str = ""

    @property
    def mine(self) -> bool:
        """Whether the panel asked it."""
        return self.ask.entry == "panel"

    def place(self, turns: Sequence[Turn]) -> None:
        """Find the place of its turn among the live ones, and the turns that it replaces."""
        owner, execution = self.ask.owner, self.ask.execution
        own = [turn for turn in turns if owner and turn.owner == owner]
        if own:
            self.after = own[-1].number
            self.replaces = [turn.number for turn in own if turn.execution != execution]

    def values(self) -> messages.Pending:
        """Return it as a page draws it."""
        return {
            "key": self.key,
            **snapshot.prompt(self.ask.as_typed, self.ask.asker, self.ask.entry),
            "stage": self.stage,
            "note": self.note,
            "after": self.after,
            "replaces": list(self.replaces),
            "html": "" if self.drawn is None else self.drawn.html,
        }


class PendingAsks(dict[int, PendingAsk]):
    """The asks under way by their keys, and the asides."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self.asides: list[snapshot.Aside] = []
        self._numbers = itertools.count(1)

    def of(self, ask: Ask) -> PendingAsk | None:
        """Return the entry of an ask, unless it is over."""
        return next((pending for pending in self.values() if pending.ask is ask), None)

    def add(self, ask: Ask) -> PendingAsk:
        """Add an ask."""
        pending = PendingAsk(next(self._numbers), ask)
        self[pending.key] = pending
        return pending

    def put_aside(
        self,
        pending: PendingAsk,
        answer: Answer | None,
        error: BaseException | None,
        conversation: Conversation,
    ) -> None:
        """Keep what the conversation does not show of an ask that is over.

        Args:
            pending: the ask.
            answer: its reply, whole or in part.
            error: what ended it early.
            conversation: as it is now.
        """
        kept = answer is not None and pending.ask.history
        what, hint = (NOT_KEPT, "") if error is None else failure(error)
        turns = conversation.turns
        typed = "" if kept else pending.ask.as_typed
        entry: messages.Entry = {
            "id": -next(self._numbers),
            "version": "",
            **snapshot.prompt(typed, pending.ask.asker, pending.ask.entry),
            "notes": [],
            "took": None,
            "reply": (
                None if answer is None or kept else snapshot.reply(answer.reply, pending.ask.format)
            ),
            "problem": {"what": what, "hint": hint, "failed": error is not None},
            "replies": [],
        }
        after = pending.after or (turns[-1].number if turns else 0)
        self.asides = [*self.asides, snapshot.Aside(after, entry)][-MOST_ASIDES:]
