"""What a panel's log shows besides turns: asks under way, and what came to nothing.

Not for several threads: the desk's teller owns it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from chatmagic.jupyter.panel import messages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmagic.client.sockets import Halt
    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.turn import Turn
    from chatmagic.session.events import Answer, Ask

MOST_ASIDES: Final = 50
NOT_KEPT: Final = "Not kept: this question was asked without history."

Stage = Literal["asked", "sending", "waiting", "began"]


@dataclass(slots=True)
class UnderWay:
    """An ask that is not over.

    Args:
        key: its number.
        ask: what is asked.
        stage: ``asked`` until the page says go, ``sending``, ``waiting`` for another ask, or
            ``began``.
        note: what there is to say of it.
        after: number of the turn behind which it stands; ``None`` is the end.
        instead: numbers of the turns that its turn will replace.
        halt: stops it, where the panel asked it.
        pieces: what came of the reply.
        html: what pages were shown of it.
    """

    key: int
    ask: Ask
    stage: Stage = "asked"
    note: str = ""
    after: int | None = None
    instead: Sequence[int] = ()
    halt: Halt | None = None
    pieces: list[str] = field(default_factory=list)
    html: str = ""

    @property
    def mine(self) -> bool:
        """Whether the panel asked it."""
        return self.ask.entry == "panel"

    @property
    def prompt(self) -> str:
        """The prompt as typed."""
        return self.ask.as_typed

    def place(self, turns: Sequence[Turn]) -> None:
        """Find out where the turn will stand among the live ones, and instead of which."""
        owner, execution = self.ask.owner, self.ask.execution
        own = [turn for turn in turns if owner and turn.owner == owner]
        if own:
            self.after = own[-1].number
            self.instead = [turn.number for turn in own if turn.execution != execution]

    def values(self) -> dict[str, Any]:
        """Give it as a page draws it."""
        return {
            "key": self.key,
            "by": messages.by(self.ask.asker, self.ask.entry),
            "mine": self.mine,
            **messages.prompt(self.prompt),
            "stage": self.stage,
            "note": self.note,
            "after": self.after,
            "instead": list(self.instead),
            "html": self.html,
        }


class Log:
    """Asks under way by their keys, and asides: what failed, or was not kept."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.asides: list[dict[str, Any]] = []
        self._live: dict[int, UnderWay] = {}
        self._count = 0

    def __iter__(self) -> Iterator[UnderWay]:
        """Go through the asks under way."""
        return iter(self._live.values())

    def get(self, key: Any) -> UnderWay | None:
        """Find one by whatever a page said is its key."""
        return self._live.get(key) if isinstance(key, int) else None

    def of(self, ask: Ask) -> UnderWay | None:
        """Find the one of an ask."""
        return next((one for one in self if one.ask is ask), None)

    def add(self, ask: Ask) -> UnderWay:
        """Take note of an ask."""
        self._count += 1
        one = self._live[self._count] = UnderWay(self._count, ask)
        return one

    def drop(self, one: UnderWay) -> None:
        """Forget one that is over."""
        self._live.pop(one.key, None)

    def put_aside(
        self,
        one: UnderWay,
        answer: Answer | None,
        error: BaseException | None,
        conversation: Conversation,
    ) -> None:
        """Keep what the conversation does not show of an ask that is over.

        Args:
            one: the ask.
            answer: what came of it.
            error: what ended it early.
            conversation: as it is now.
        """
        kept = answer is not None and one.ask.history
        what, hint = (NOT_KEPT, "") if error is None else messages.failure(error)
        live = conversation.turns
        self._count += 1
        aside = {
            "after": one.after or (live[-1].number if live else 0),
            "by": messages.by(one.ask.asker, one.ask.entry),
            "mine": one.mine,
            **messages.prompt("" if kept else one.prompt),
            "what": what,
            "hint": hint,
            "failed": error is not None,
            "reply": None if answer is None or kept else messages.reply(answer.reply),
        }
        self.asides = [*self.asides, aside][-MOST_ASIDES:]
