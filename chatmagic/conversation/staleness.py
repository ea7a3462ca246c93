"""Causes of stale turns, and the marks of cells (rules 9, 14 and 20).

The rules are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from chatmagic._cached import cached_property
from chatmagic.conversation.slots import Slot, position_below, reply_of
from chatmagic.conversation.state import State
from chatmagic.conversation.steering import Item, Replacement
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Window


@dataclass(frozen=True, slots=True)
class Cause:
    """Cause of a stale turn.

    Args:
        words: the cause as a clause: ``because cell [3] was run again``.
        owner: hash of the cell that is the cause; ``None`` without a cell.
    """

    words: str
    owner: str | None = None


class Causes:
    """Causes of stale live turns, each computed on demand.

    Args:
        now: the conversation, with the turns of all threads.
        cells: for each cell that has run, the digest of its present text for a request.
        label: function that returns a cell's name for people by its hash.
    """

    def __init__(self, now: State, cells: Mapping[str, str], label: Callable[[str], str]) -> None:
        """Keep the state; compute nothing yet."""
        self.now = now
        self._cells = cells
        self._label = label

    def cause_of(self, number: int) -> Cause | None:
        """Return the cause for a live turn; ``None`` if the turn is not stale, or not live.

        Args:
            number: the turn's number.
        """
        if number not in self._windows:
            return None
        turn, window = self._windows[number]
        if not window.carries_as(turn):
            return self._by_turns(turn, window)
        if not window.instructs_as(turn):
            return Cause("because the instructions above it have changed", window.instructed_by)
        cell = turn.changed_cell(self._cells)
        if cell is None:
            return None
        return Cause(f"because {self._label(cell)}, sent along with it, has changed", cell)

    def by_cell(self, *, following: bool = False) -> dict[str, Cause]:
        """Return the cause for the first stale turn of each cell that has one.

        Args:
            following: whether to include turns that become stale when these are asked again. They
                have the cause of the turn that they carry.
        """
        causes: dict[str, Cause] = {}
        by_question: dict[int, Cause] = {}
        slots = {turn.first: slot for slot in self.now.slots for turn in slot.turns}
        for question, (turn, _) in self._replies.items():
            # Another cell may have asked for the current reply.
            owners = [
                owner
                for owner in (slots[question].owner, turn.owner)
                if owner is not None and owner not in causes
            ]
            cause = self.cause_of(turn.number) if owners or following else None
            if cause is None and following:
                cause = self._cause_of_carried(turn, by_question)
            if cause is not None:
                by_question[question] = cause
                causes |= dict.fromkeys(owners, cause)
        return causes

    def _cause_of_carried(self, turn: Turn, by_question: Mapping[int, Cause]) -> Cause | None:
        """Return the cause of the first stale turn that a turn carried; ``None`` for none.

        Args:
            turn: the turn.
            by_question: the causes that are known, by the number of the question's first turn.
        """
        if not by_question:
            return None
        questions = map(self.now.question_of, turn.carried)
        causes = (by_question.get(question) for question in questions if question is not None)
        return next((cause for cause in causes if cause is not None), None)

    @cached_property
    def _replies(self) -> dict[int, tuple[Turn, Window]]:
        """The current replies with their windows, by the number of the question's first turn."""
        return position_below(self.now.slots).replies

    @cached_property
    def _windows(self) -> dict[int, tuple[Turn, Window]]:
        """The same by the turn's own number."""
        return {turn.number: (turn, window) for turn, window in self._replies.values()}

    def _by_turns(self, turn: Turn, window: Window) -> Cause:
        """Return the cause from the first turn that its request would gain or lose now."""
        window = replace(window, last=turn.last)
        would_carry = {other.number for other in window.turns}
        carried = frozenset(turn.carried)
        known = self.now.asked
        lost = [known.get(number) for number in turn.carried if number not in would_carry]
        new = next((other for other in window.turns if other.number not in carried), None)
        if new is not None:
            known_lost = [other for other in lost if other is not None]
            return self._by_new(turn, new, known_lost, window)
        if not lost:
            return Cause("because the turns above it stand in another order now")
        first_lost = lost[0]
        if first_lost is None:
            return Cause("because it carried a turn that is not known here")
        return self._cause(self._where(first_lost, window), first_lost)

    def _by_new(self, turn: Turn, new: Turn, lost: list[Turn], window: Window) -> Cause:
        """Return the cause from a new turn, by the turn that it replaces.

        Args:
            turn: the stale turn.
            new: the new turn, which the stale one did not carry.
            lost: the turns that the stale one carried, and would not carry now.
            window: the turns that its request would carry now.
        """
        old = next((other for other in lost if other.first == new.first), None)
        # Cells that asked the lost turns, or their questions first: one of them may have run again.
        questions = [self.now.asked.get(other.first) for other in lost]
        owners = {other.owner for other in (*lost, *questions) if other is not None}
        if old is None and (new.owner is None or new.owner not in owners):
            return self._by_added(turn, new, lost, window)
        if new.number < turn.number:
            return self._cause("{} has another reply now", new)
        if old is None:
            is_cell = new.entry == "cell"
            clause = "{} was run again" if is_cell else "a question of {} was asked again"
            return self._cause(clause, new)
        is_more = new.is_continued
        clause = "a reply of {} was continued" if is_more else "a question of {} was asked again"
        return replace(self._cause(clause, old), owner=new.owner)

    def _by_added(self, turn: Turn, new: Turn, lost: list[Turn], window: Window) -> Cause:
        """Return the cause from a new turn that replaces none; the arguments of `_by_new`."""
        known = self.now.asked
        carried = [known[number] for number in new.carried if number in known]
        if any(other.owner == turn.owner or other.first == turn.first for other in carried):
            return self._cause("{} was moved above it", new)
        if new.number > turn.number:
            is_cell = new.entry == "cell"
            return self._cause("{} above it was run since" if is_cell else "{} asked since", new)
        if window.hidings.get(new.number) is False:
            return self._cause("the turn of {} is no longer hidden", new)
        # With `last`, an older turn moves up for one that is lost.
        visible = {other.number for other in replace(window, last=None).turns}
        absent = next((other for other in lost if other.number not in visible), None)
        if absent is not None:
            return self._cause(self._where(absent, window), absent)
        return self._cause("the turn of {} stands above it now", new)

    def _where(self, lost: Turn, window: Window) -> str:
        """Return words on a turn that was carried and would not be carried now."""
        if lost.number in {turn.number for turn in window.above}:
            return "the turn of {} is hidden now"
        if lost.first not in self._replies:
            return "the turn of {} was taken out of the conversation"
        if self._replies[lost.first][1].thread != window.thread:
            return "the turn of {} is in another thread than this one now"
        return "the turn of {} stands below it now"

    def _cause(self, clause: str, turn: Turn) -> Cause:
        """Return the cause from a clause, with the name of the cell that asked a turn."""
        place = turn.asker or ("" if turn.owner is None else self._label(turn.owner))
        return Cause(f"because {clause.format(place or 'a cell')}", turn.owner)

    def _current(self, item: Item | None) -> Item | None:
        """Return the current turn with the question of an item; any other item as it is."""
        turn = reply_of(item)
        return item if turn is None else self._replies.get(turn.first, (None,))[0]

    def marks(self) -> dict[str, str]:
        """Return the marks of cells, by their hashes.

        Returns:
            ``stale``, ``replaced`` or ``taken back``; for a steering item ``taken back`` with its
            kind.
        """
        marks = dict.fromkeys(self.by_cell(), "stale")
        for slot in self.now.slots:
            mark = self._mark_of(slot)
            if slot.owner is not None and mark is not None:
                marks[slot.owner] = mark
        return marks

    def _mark_of(self, slot: Slot) -> str | None:
        """Return the mark of a cell that shows another item than the live ones; else ``None``."""
        newest = slot.newest
        current = self._current(reply_of(newest))
        items = (*map(self._current, slot.items), current)
        if newest is None or any(item and item.reads == newest.reads for item in items):
            return None
        if isinstance(newest, Turn | Replacement):
            return "taken back" if current is None else "replaced"
        return f"{newest.kind} taken back"
