"""Window: the turns that a request carries at its place, and its instructions.

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain
from typing import Final

from chatmagic._cached import cached_property
from chatmagic.conversation.question import Value
from chatmagic.conversation.turn import MAIN, NOTHING, Carried, Turn
from chatmagic.models import Message


@dataclass(frozen=True, slots=True)
class QuestionPlace:
    """Place at which a question is asked.

    Args:
        owner: hash of the cell that asks; ``None`` without a cell, which is below all cells.
        execution: identity of the cell's execution; ``None`` if unknown.
        order: hashes of the page's cells from top to bottom; ``None`` if no page reports them.
        thread: name of the thread; ``None`` for the thread of the place.
        again: number of the turn whose question is asked again (rule 20); ``None`` for a new
            question.
    """

    owner: str | None = None
    execution: str | None = None
    _: KW_ONLY
    order: Sequence[str] | None = None
    thread: str | None = None
    again: int | None = None


BELOW_ALL: Final = QuestionPlace()
"""The place of a new question without a cell, in the order as run."""


@dataclass(frozen=True)
class Window:
    """Turns that a request carries at its place.

    Args:
        line: the turns of its thread in order, including hidden turns; some may stand below.
        index: number of these turns above the place.
        thread: name of the thread.
        last: largest number of turns to carry, the newest; ``None`` for all.
        hidings: by a turn's number, whether the last hiding that names the turn hides it (rule 19).
        instructions: the standing instructions there, with their text (rule 15).
        instructed_by: hash of the cell that set or ended the instructions; ``None`` for none.
        visible: the turns above that are not hidden, for a request without ``last``.
    """

    line: Sequence[Turn] = ()
    index: int = 0
    thread: str = MAIN
    last: int | None = None
    hidings: Mapping[int, bool] = field(default_factory=dict)
    instructions: Value | None = None
    instructed_by: str | None = None
    visible: Carried = NOTHING

    @property
    def above(self) -> tuple[Turn, ...]:
        """The thread's turns above the place, including hidden turns."""
        return tuple(self.line[: self.index])

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that the request carries, oldest first."""
        above = self.above
        if self.hidden_above:
            above = tuple(turn for turn in above if not self.hides(turn))
        return above if self.last is None else above[max(0, len(above) - self.last) :]

    @property
    def total(self) -> int:
        """The number of turns that the request would carry without ``last``."""
        return len(self.visible)

    @property
    def hidden_above(self) -> int:
        """The number of hidden turns of the thread above."""
        return self.index - self.total

    def hides(self, turn: Turn) -> bool:
        """Return whether a turn is hidden at this place.

        Args:
            turn: the turn.
        """
        return _is_hidden(turn, self.hidings)

    @property
    def carried(self) -> Carried:
        """The carried turns, in the form that the request's own turn keeps."""
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
        return [place for place in enumerate(self.above, 1) if place[1].number in carried]

    @property
    def from_panel(self) -> int:
        """The number of carried turns that the panel asked, and Run All does not ask again."""
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
        if own_instructions(turn) is not None:
            return True  # whatever holds at the place
        then = turn.instructions and turn.instructions.sha256
        now = self.instructions and self.instructions.sha256
        return then == now

    def without_oldest(self, count: int) -> Window:
        """Return a window without the oldest of its turns.

        Args:
            count: number of the turns that are left out.
        """
        return replace(self, last=len(self.turns) - count)

    def with_turn(self, turn: Turn) -> Window:
        """Return a window with one more turn, for a reply that is continued.

        Args:
            turn: the last carried turn.
        """
        turns = (*self.turns, turn)
        visible = self.carried.followed_by(turn.number, turn.recorded_digest)
        return replace(self, line=turns, index=len(turns), last=None, visible=visible)


ARGUMENT: Final = "ask(instructions=…)"
"""Source of the instructions of one question alone, in place of a file."""


def own_instructions(turn: Turn) -> Value | None:
    """Return the instructions of a turn's question alone; ``None`` for those of its place.

    Args:
        turn: the turn.
    """
    value = turn.instructions
    return value if value is not None and value.expression == ARGUMENT else None


@dataclass(slots=True)
class Position:
    """Place in a conversation: the turns above it by thread, and the steering there.

    Args:
        lines: the turns above, including hidden ones, by thread name.
        visible: the visible turns of each thread, with the hidings for which this holds.
        replies: by the number of each question's first turn, in order: the current turn, and the
            window of a request with the question.
        thread: name of the thread of the place (rule 16).
        instructions: as in :class:`Window`.
        instructed_by: as in :class:`Window`.
        hidings: as in :class:`Window`.
    """

    lines: dict[str, list[Turn]] = field(default_factory=lambda: {MAIN: []})
    visible: dict[str, tuple[Mapping[int, bool], Carried]] = field(default_factory=dict)
    replies: dict[int, tuple[Turn, Window]] = field(default_factory=dict)
    thread: str = MAIN
    instructions: Value | None = None
    instructed_by: str | None = None
    hidings: Mapping[int, bool] = field(default_factory=dict)

    def copy(self) -> Position:
        """Return a copy that can move below other items."""
        lines = {name: [*line] for name, line in self.lines.items()}
        return replace(self, lines=lines, visible={**self.visible}, replies={**self.replies})

    def window(self, thread: str | None = None, last: int | None = None) -> Window:
        """Return the window of a request at this place.

        Args:
            thread: name of the thread; ``None`` for the thread of the place.
            last: largest number of turns to carry, the newest; ``None`` for all.
        """
        thread = thread or self.thread
        line = self.lines.get(thread, [])
        return Window(
            line=line,
            index=len(line),
            thread=thread,
            last=last,
            hidings=self.hidings,
            instructions=self.instructions,
            instructed_by=self.instructed_by,
            visible=self._visible(thread),
        )

    def add(self, turn: Turn) -> None:
        """Move below a turn with a question of its own.

        Args:
            turn: the turn, with its number.
        """
        thread = turn.thread or self.thread
        line = self.lines.setdefault(thread, [])
        window = self.window(thread, turn.last)
        if turn.carried == window.visible:
            # Then the next turn has the same parent, and the comparison ends there.
            window = replace(window, visible=turn.carried)
        visible = window.visible
        line.append(turn)
        self.replies[turn.first] = turn, window
        if not window.hides(turn):
            visible = visible.followed_by(turn.number, turn.recorded_digest)
        self.visible[thread] = self.hidings, visible

    def put(self, turn: Turn) -> None:
        """Put a turn in the place of the turn above that has its question, if there is one.

        Args:
            turn: the turn, with its number.
        """
        if turn.first not in self.replies:
            return
        window = self.asked_again(turn.first)
        old = self.replies[turn.first][0]
        self.replies[turn.first] = turn, replace(window, last=turn.last)
        for name, line in self.lines.items():
            index = _last_index(line, old)
            if index is not None:
                self._replace_visible(name, old, turn)
                # The windows of the turns above keep the old list.
                self.lines[name] = [*line[:index], turn, *line[index + 1 :]]

    def _replace_visible(self, thread: str, old: Turn, new: Turn) -> None:
        """Put a turn in the place of another one among the visible turns of a thread."""
        if _is_hidden(old, self.hidings) or _is_hidden(new, self.hidings):
            self.visible.pop(thread, None)  # they are selected again at the next use
            return
        visible = self._visible(thread).replaced(old.number, new.number, new.recorded_digest)
        self.visible[thread] = self.hidings, visible

    def asked_again(self, question: int) -> Window:
        """Return the window of a request that repeats a question from above.

        It carries the turns above the question, with the replies that are current here (rule 20).

        Args:
            question: number of the first turn with the question.
        """
        window = self.replies[question][1]
        above = tuple(self.replies[turn.first][0] for turn in window.above)
        if above == window.above:
            return window
        shown = (turn for turn in above if not window.hides(turn))
        visible = Carried.from_turns((turn.number, turn.recorded_digest) for turn in shown)
        return replace(window, line=above, visible=visible)

    def begin(self, name: str, fork: int | None) -> None:
        """Begin a thread, or continue it (rules 16 and 17).

        Args:
            name: name of the thread.
            fork: number of turns of the thread above with which it begins; ``None`` to continue it.
        """
        if fork is not None:
            # A new list, as windows of earlier turns keep the old one.
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
        return next((number for number, other in line if other.number == turn), 0)

    def _visible(self, thread: str) -> Carried:
        """Return the visible turns of a thread, which are kept while the hidings are the same."""
        hidings, visible = self.visible.get(thread, (None, NOTHING))
        if hidings is self.hidings:
            return visible
        line = self.lines.get(thread, ())
        turns = (turn for turn in line if not _is_hidden(turn, self.hidings))
        return Carried.from_turns((turn.number, turn.recorded_digest) for turn in turns)


def _last_index(line: Sequence[Turn], turn: Turn) -> int | None:
    """Return the index of the last entry that is this very turn; ``None`` for none."""
    return next((index for index in reversed(range(len(line))) if line[index] is turn), None)


def _is_hidden(turn: Turn, hidings: Mapping[int, bool]) -> bool:
    """Return whether the last hiding of a turn hides it, or its own option without one."""
    return hidings.get(turn.number, turn.hide)
