"""Turns, their places, the turns that a request carries, and undo.

A conversation is an ordered list of *slots*. A slot belongs to one cell, or to one turn without a
cell. It holds the turns that are *live* there: none, one, or several that one execution of the cell
asked. A slot may also hold standing instructions, the start of a thread, the hiding of a turn, or a
reply that stands for an earlier one. All rules about turns apply to these, too, except rules 15,
16, 19 and 20. The rules:

 1. The cell that asked a turn owns it. A cell is known by a hash of its identity. A turn without a
    cell stands at the end, in a slot of its own.
 2. A request carries the live turns of the slots before its own, and none of those after it.
 3. Several asks of one execution (a loop) stay together in their slot; the later ones carry the
    earlier ones. Only a new execution of the cell replaces them. An ask whose execution is unknown
    counts as an execution of its own.
 4. Running a cell again replaces its own turns, in place, and no other turn. A cell that no longer
    asks keeps its turns.
 5. A new cell's slot is at the end or, if the page's order is given, at the cell's place in the
    page. The page's order also moves the other slots. A slot that the page does not list stays
    right after its predecessor. A new order is no change to undo.
 6. A turn that is undone, reset or left out leaves its slot empty. The cell's next turn takes this
    slot.
 7. Undo takes back the last change of any kind (ask, re-run, reset, left out, load) and restores
    the turns that were live before it. Redo is its inverse. A new change clears the changes that
    could be redone.
 8. Every step counts, even without an effect: a reset of an empty conversation is a change, and an
    undo with nothing to take back needs its own redo. Otherwise a notebook with resets, undos and
    redos would send other requests in a second run.
 9. A live turn is *stale* if its request would carry other turns now. It is also stale if a cell
    that was sent along has run again with another source or output. This is computed on demand and
    never stored, so an undo of a re-run makes the later turns fresh again.
10. A request may leave out the oldest turns (``last``); the turn records that.
11. Loading a conversation replaces the live turns, as one change. If nothing has happened yet, the
    loaded conversation brings its own changes, so that the changes that it undid can be redone.
12. When a cell leaves all pages, its turns are left out, once for each time that it leaves. If
    that is undone, the turns stay. A cell that comes back gets its turns back, as if they had never
    been left out. It gets none if it has asked, or all was reset, in between.
13. The record in a cell's outputs may name another cell. A cell without a slot takes over the slot
    of that other cell, if the other cell is on no page: the page has given it another identity, or
    it was cut and pasted. A copied cell has the record, too, but is a new cell.
14. A cell shows the reply to its last question. The reply is *taken back* if neither that turn nor
    an equal one is live, after an undo (also of a re-run), a reset or a load. It is *replaced* if
    another reply to the question is live (rule 21).
15. Instructions apply to the turns below them, up to the next instructions. Empty instructions end
    those above. A request carries the instructions that apply to its turn, however few turns it
    carries. A turn is also stale if it carried other instructions. A reset keeps instructions.
16. A turn is in the thread that it was asked in by name, otherwise in the thread of the nearest
    start above it, otherwise in ``main``. Rules 2, 9 and 10 apply within a thread, and so do the
    turns' numbers for people. A reset removes all threads' turns and keeps the starts. Instructions
    apply to the turns below them in every thread.
17. A start may be a *fork*: its thread begins with a number of the first turns of the thread in
    which the start stands, in their present state. Requests carry these turns as if they belonged
    to the new thread; they stay in their slots.
18. Deleting a thread removes, as one change, the turns of its own, even if another thread begins
    with them. The thread's starts stay.
19. A request leaves out the turns that are *hidden* at its place, before rule 10 counts: turns that
    were asked hidden, and turns that a hiding above names, in every thread. The last hiding that
    names a turn counts, and it may show the turn again. Hidden turns keep their numbers. A hiding
    names the turn itself: when its cell asks again, the new turn is not hidden.
20. The question of a turn may be asked again from a cell below it. The request carries the turns
    above the question, in their state at that cell; rule 9 uses the same turns. The new turn is in
    the cell's slot. Requests below this slot carry it in the place of the earlier turn; requests
    above carry the earlier one. The last such turn counts, and only it is live. Without a cell, as
    in the panel, the new turn is in the slot of the turn that it replaces.
21. A turn that asks again names the first turn with its question. The replies to a question are
    those of all turns that name the same first turn, including turns that were taken back. Any of
    them can be put back, as in rule 20. If the question's own cell runs again, it asks a new
    question, for which no earlier reply stands.
22. A reply that ended early, or at its limit of tokens, may be continued. The request carries the
    turns above the question as in rule 20, the question, the reply so far, and an instruction to go
    on, which no later request carries. A turn with both parts stands for the turn, as in rule 20;
    rule 9 uses the turns that its first request carried. A second part that begins the reply again
    and then differs stands alone, without the first.

Together the rules ensure *Run All*: a second run of the same notebook from top to bottom, in the
same conversation, sends the same requests in the same order.

The state of a conversation is one immutable value, replaced by one assignment. So an interrupt, or
a reader in another thread, finds the state before a change or the state after it. Only one thread
at a time makes changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Self

from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.page_following import followed
from chatmagic.conversation.positions import Positions
from chatmagic.conversation.slots import Slot, live, pass_by, reply_of
from chatmagic.conversation.staleness import Causes
from chatmagic.conversation.state import Change, State
from chatmagic.conversation.steering import Item, Replacement
from chatmagic.conversation.turn import IN_NOTEBOOK, Turn
from chatmagic.conversation.window import BELOW_ALL, Position, QuestionPlace, Window
from chatmagic.errors import InputError


def _in_notebook(_cell: str) -> str:
    """Return the name of a cell for people where its number is unknown."""
    return IN_NOTEBOOK


class Conversation:
    """An ordered list of turns, by the rules at the top of this module.

    Args:
        after: the number before the first turn's number. A conversation for :meth:`load` begins
            after the turns that are there.
    """

    def __init__(self, after: int = 0) -> None:
        """Start without any turn."""
        self._now = State(next_number=after + 1)
        self.cells: Mapping[str, str] = {}
        """For each cell that has run, the digest of its present text for a request."""
        self.label: Callable[[str], str] = _in_notebook
        """Function that returns a cell's name for people by its hash."""
        self._thread: str | None = None
        self._positions = Positions()

    @classmethod
    def from_items(cls, items: Iterable[Item]) -> Self:
        """Return a conversation of these items, without changes to undo.

        Args:
            items: the items in order, each turn with its number.
        """
        by_slot: list[list[Item]] = []
        of_cell: dict[str, list[Item]] = {}
        for item in items:
            if item.owner is not None and item.owner in of_cell:
                of_cell[item.owner].append(item)
                continue
            by_slot.append([item])
            if item.owner is not None:
                of_cell[item.owner] = by_slot[-1]
        slots = tuple(Slot(key, items[0].owner, tuple(items)) for key, items in enumerate(by_slot))
        asked = {turn.number: turn for turn in live(slots).values()}
        conversation = cls()
        conversation._now = State(slots, next_number=max(asked, default=0) + 1, asked=asked)
        return conversation

    def __repr__(self) -> str:
        """Return the counts only, which are the same in every run."""
        return f"<Conversation: turns: {len(self)}, stale: {len(self.stale_turns())}>"

    def __len__(self) -> int:
        """Count the live turns."""
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        """Go through the live turns in their order."""
        return iter(self.turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The live turns in order; with one thread selected, its turns with those of its fork."""
        place = self._below()
        if self._thread is not None:
            return tuple(place.lines.get(self._thread, ()))
        return tuple(turn for turn, _ in place.replies.values())

    @property
    def slots(self) -> tuple[tuple[str | None, tuple[Item, ...]], ...]:
        """The owner and the live items of each slot, in order; some slots are empty (rule 6).

        The current turn stands in its question's slot. A hiding has the present number of its turn
        at its place; 0 if the turn is not there.
        """
        place = Position()
        turns = live(self._now.slots)
        slots = []
        for slot in self._now.slots:
            items: list[Item] = []
            for item in slot.items:
                if isinstance(item, Replacement):
                    continue
                now = turns[item.first] if isinstance(item, Turn) else item.numbered(place)
                items.append(now)
                pass_by(place, now)
            slots.append((slot.owner, tuple(items)))
        return tuple(slots)

    @property
    def windows(self) -> tuple[tuple[Turn, Window], ...]:
        """The live turns in order, each with the window of a request in its place (rule 16)."""
        return tuple(self._below().replies.values())

    @property
    def threads(self) -> dict[str, tuple[Turn, ...]]:
        """The turns of each thread by its name, with those of its fork; main is first."""
        return {name: tuple(line) for name, line in self._below().lines.items()}

    @property
    def added(self) -> int:
        """The number of the turn that was added last; 0 for none."""
        return self._now.next_number - 1

    @property
    def undo_depth(self) -> int:
        """The number of changes that :meth:`undo` can take back."""
        return len(self._now.history.done)

    @property
    def redo_depth(self) -> int:
        """The number of changes that :meth:`redo` can redo; empty steps do not count."""
        return len(self._now.history.undone)

    def of_thread(self, name: str) -> Self:
        """Return a view of this conversation with the turns of one thread only.

        Args:
            name: name of the thread.
        """
        thread = copy(self)
        thread._thread = name  # noqa: SLF001 - its own
        return thread

    @property
    def known_turns(self) -> Mapping[int, Turn]:
        """All turns that were ever added, by number: they are live, or can be restored."""
        return self._now.asked

    @property
    def replies(self) -> dict[int, tuple[Turn, ...]]:
        """The replies to the question of each known turn, oldest first, by its number (rule 21)."""
        by_question: dict[int, tuple[Turn, ...]] = {}
        for turn in self._now.asked.values():
            by_question[turn.first] = (*by_question.get(turn.first, ()), turn)
        return {number: by_question[turn.first] for number, turn in self._now.asked.items()}

    def current_turn_of(self, owner: str) -> Turn | None:
        """Return the live turn with a reply to the question that a cell shows, if there is one.

        Args:
            owner: hash of the cell.
        """
        newest = next((slot.newest for slot in self._now.slots if slot.owner == owner), None)
        turn = reply_of(newest)
        return None if turn is None else live(self._now.slots).get(turn.first)

    def window(self, at: QuestionPlace = BELOW_ALL, *, last: int | None = None) -> Window:
        """Return the window of a request, without changing the conversation.

        Args:
            at: the place of its question.
            last: largest number of turns to carry, the newest; ``None`` for all.

        Raises:
            InputError: ``last`` is not a whole number from 0 up, or the repeated question has no
                current reply above the place.
        """
        if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 0):
            raise InputError(
                f"last is a whole number, 0 or more, not {last!r}.",
                hint="Leave it out to send all turns.",
            )
        position = self._positions.of_question(self._now, at)
        question = self._now.question_of(at.again)
        if question is None:
            return position.window(at.thread, last)
        return replace(position.asked_again(question), last=last)

    def thread_at(self, at: QuestionPlace) -> str:
        """Return the name of a request's thread, which its window has, too.

        Args:
            at: the place of its question.

        Raises:
            InputError: the repeated question has no current reply above the place.
        """
        position = self._positions.of_question(self._now, at)
        question = self._now.question_of(at.again)
        if question is None:
            return at.thread or position.thread
        return position.replies[question][1].thread

    def above(self, at: QuestionPlace) -> tuple[Turn, ...]:
        """Return the turns of a thread above a place, including hidden turns.

        Args:
            at: the place of a new question.
        """
        position = self._positions.of_question(self._now, at)
        return tuple(position.lines.get(at.thread or position.thread, ()))

    def causes(self, layout: Layout | None = None) -> Causes:
        """Return the causes for which live turns are stale (rule 9), and the marks of cells.

        Args:
            layout: a new order of the cells, for the causes after following it; ``None`` for the
                present one.
        """
        now = self._now if layout is None else followed(self._now, layout)[0]
        return Causes(now, self.cells, self.label)

    def stale_turns(self) -> tuple[Turn, ...]:
        """Return the stale turns among the live ones, in their order (rule 9)."""
        causes = self.causes()
        return tuple(turn for turn in self.turns if causes.cause_of(turn.number) is not None)

    def _below(self) -> Position:
        """Return the position below all turns, for reading."""
        return self._positions.below(self._now.slots)

    def add(self, item: Item, *, order: Sequence[str] | None = None) -> Change:
        """Put an item into its slot, where it replaces the items of older executions.

        Args:
            item: a steering item, or a turn with its :attr:`Window.carried`. A turn that asks a
                question again becomes a replacement. A replacement puts one of the :attr:`replies`
                back (rule 21).
            order: hashes of the page's cells from top to bottom, if the page reports them.

        Returns:
            The change; its ``came`` holds the turn with its number.
        """
        self._now, change = self._now.with_new_item(item, order)
        return change

    def reset(self) -> Change:
        """Remove every live turn and nothing else; always a change (rule 8)."""
        self._now, change = self._now.without("reset", live(self._now.slots))
        return change

    def delete(self, thread: str) -> Change:
        """Remove a thread's own turns; always a change (rules 8, 18).

        Args:
            thread: name of the thread.
        """
        own = {turn.first for turn, window in self.windows if window.thread == thread}
        self._now, change = self._now.without("deletion", own)
        return change

    def load(self, other: Conversation) -> Change:
        """Replace the live items by those of another conversation (rule 11).

        Args:
            other: the other conversation, which is not changed. Its turn numbers are larger than
                :attr:`added`.
        """
        self._now, change = self._now.loaded(other._now)
        return change

    def undo(self) -> Change | None:
        """Take back the last change.

        Returns:
            The turns that went and came back; ``None`` if there was nothing to take back. That
            counts as a step, too, which :meth:`redo` takes back first (rule 8).
        """
        self._now, change = self._now.undone()
        return change

    def redo(self) -> Change | None:
        """Redo the change that the last undo has undone.

        Returns:
            The turns that went and came back; ``None`` if there was no undo, or if it had nothing
            to take back. :attr:`redo_depth` distinguishes the two.
        """
        self._now, change = self._now.redone()
        return change

    def hand_over(self, number: int, owner: str) -> None:
        """Make a cell the owner of a turn without one; this is not a change to undo.

        The cell takes the turn's slot. When the cell runs, its turn replaces this one, so no
        request carries both.

        Args:
            number: the turn's number; a turn that is not live is ignored.
            owner: hash of the cell.
        """
        self._now = self._now.with_owner(number, owner)

    def follow(self, layout: Layout) -> Change | None:
        """Follow the pages by rules 13, 12 and 5, in this order.

        Args:
            layout: the order of the cells.

        Returns:
            The change, if turns were left out.
        """
        self._now, change = followed(self._now, layout)
        return change


def reply_name(turn: Turn, replies: Sequence[Turn]) -> str:
    """Return the position of a turn's reply among the replies to its question, in words.

    Args:
        turn: the turn.
        replies: all replies to the question.
    """
    numbers = [reply.number for reply in replies]
    return f"reply {numbers.index(turn.number) + 1} of {len(numbers)}"
