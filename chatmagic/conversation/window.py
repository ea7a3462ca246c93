"""Window: the turns that a request carries at its place, and its instructions.

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.turn import MAIN, NOTHING, Carried, Turn
from chatmagic.models import Message


@dataclass(frozen=True, slots=True)
class Window:
    """Turns that a request carries at its place.

    Args:
        line: the turns of its thread in order, including hidden turns and turns below.
        index: how many of them stand above the place.
        thread: name of the thread.
        last: largest number of turns to carry, the newest; ``None`` for all.
        hidden: numbers of the turns that are hidden there (rule 19).
        instructions: the standing instructions there, with their text (rule 15).
        instructed_by: hash of the cell that set or ended them; ``None`` for none.
        visible: the turns above that are not hidden, for a request without ``last``.
    """

    line: Sequence[Turn] = ()
    index: int = 0
    thread: str = MAIN
    last: int | None = None
    hidden: frozenset[int] = frozenset()
    instructions: Value | None = None
    instructed_by: str | None = None
    visible: Carried = NOTHING

    @property
    def above(self) -> tuple[Turn, ...]:
        """The thread's turns above the place, including hidden turns."""
        return tuple(self.line[: self.index])

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that the request carries, oldest first."""
        above = self.above
        if self.hidden:
            above = tuple(turn for turn in above if turn.number not in self.hidden)
        return above if self.last is None else above[max(0, len(above) - self.last) :]

    @property
    def total(self) -> int:
        """The number of turns that the request would carry without ``last``."""
        return len(self.visible)

    @property
    def hidden_above(self) -> int:
        """The number of hidden turns of the thread above."""
        return self.index - self.total

    @property
    def carried(self) -> Carried:
        """The carried turns, as the request's own turn keeps them."""
        return self.visible.newest(self.last)

    @property
    def shown(self) -> frozenset[str]:
        """The digests of the carried turns that an output of a cell shows."""
        return frozenset(turn.recorded_digest for turn in self.turns if turn.shown)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turns' messages, oldest first."""
        return tuple(chain.from_iterable(turn.messages for turn in self.turns))

    @property
    def places(self) -> list[tuple[int, Turn]]:
        """The carried turns with their numbers for people, which count in their thread."""
        carried = {turn.number for turn in self.turns}
        return [each for each in enumerate(self.above, 1) if each[1].number in carried]

    @property
    def from_panel(self) -> int:
        """The number of carried turns from the panel, which Run All does not ask again."""
        return [turn.entry for turn in self.turns].count("panel")

    def carries_as(self, turn: Turn) -> bool:
        """Return whether a request with a turn's ``last`` would carry the same turns as the turn.

        Args:
            turn: the turn in this place.
        """
        return turn.carried == self.visible.newest(turn.last)

    def instructs_as(self, turn: Turn) -> bool:
        """Return whether a turn carried the text of the instructions at this place.

        Args:
            turn: the turn in this place.
        """
        then, now = (value and value.sha256 for value in (turn.instructions, self.instructions))
        return then == now

    def with_turn(self, turn: Turn) -> Window:
        """Return a window with one more turn, for a reply that is continued.

        Args:
            turn: the last carried turn.
        """
        turns = (*self.turns, turn)
        return replace(self, line=turns, index=len(turns), last=None, hidden=frozenset())


@dataclass(slots=True)
class Position:
    """Place in a conversation: the turns above it by thread, and the steering there.

    Args:
        lines: the turns that a request would carry, and the hidden ones, by thread name.
        visible: the visible turns of each thread, with the numbers of the turns that were hidden
            then.
        turns: the turns of all threads.
        thread: name of the thread of the place (rule 16).
        instructions: as in :class:`Window`.
        instructed_by: as in :class:`Window`.
        hidden: as in :class:`Window`.
    """

    lines: dict[str, list[Turn]] = field(default_factory=lambda: {MAIN: []})
    visible: dict[str, tuple[frozenset[int], Carried]] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    thread: str = MAIN
    instructions: Value | None = None
    instructed_by: str | None = None
    hidden: frozenset[int] = frozenset()

    def copy(self) -> Position:
        """Return a copy that can move below other items."""
        lines = {name: [*line] for name, line in self.lines.items()}
        return replace(self, lines=lines, visible={**self.visible}, turns=[*self.turns])

    def window(self, thread: str | None = None, last: int | None = None) -> Window:
        """Return the window of a request at this place.

        Args:
            thread: name of the thread; ``None`` for the thread of the place.
            last: largest number of turns to carry, the newest; ``None`` for all.
        """
        thread = thread or self.thread
        line = self.lines.get(thread, [])
        held = self.hidden, self.instructions, self.instructed_by
        return Window(line, len(line), thread, last, *held, self._visible(thread))

    def add(self, turn: Turn) -> Window:
        """Move below a turn; return the window of its request.

        Args:
            turn: the turn, with its number.
        """
        thread = turn.thread or self.thread
        line = self.lines.setdefault(thread, [])
        window = self.window(thread, turn.last)
        if turn.carried == window.visible:
            # Then the next turn, which has the same parent, is compared by its parent alone.
            window = replace(window, visible=turn.carried)
        visible = window.visible
        line.append(turn)
        self.turns.append(turn)
        if turn.hide:
            self.hidden |= {turn.number}
        elif turn.number not in self.hidden:
            visible = visible.followed_by(turn.number, turn.recorded_digest)
        self.visible[thread] = self.hidden, visible
        return window

    def begin(self, name: str, fork: int | None) -> None:
        """Begin a thread, or continue it (rules 16 and 17).

        Args:
            name: name of the thread.
            fork: number of turns of the thread above with which it begins; ``None`` to continue it.
        """
        if fork is not None:
            # The windows of earlier turns keep the old list.
            self.lines[name] = self.lines[self.thread][:fork]
            self.visible.pop(name, None)
        self.thread = name
        self.lines.setdefault(name, [])

    def number_of(self, turn: int) -> int:
        """Return the number for people of a turn in this thread; 0 if it is not there.

        Args:
            turn: the turn's number in the conversation.
        """
        line = enumerate(self.lines[self.thread], 1)
        return next((number for number, each in line if each.number == turn), 0)

    def _visible(self, thread: str) -> Carried:
        hidden, visible = self.visible.get(thread, (None, NOTHING))
        if hidden == self.hidden:
            return visible
        line = self.lines.get(thread, ())
        turns = (turn for turn in line if turn.number not in self.hidden)
        return Carried.from_turns((turn.number, turn.recorded_digest) for turn in turns)
