"""What a conversation holds, to read: its turns, where they stand, what a request would carry.

The rules that are named are those of :mod:`chatmagic.conversation.conversation`.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from chatmagic.conversation import alternatives, history
from chatmagic.conversation.changes import Snapshot
from chatmagic.conversation.marks import marks
from chatmagic.conversation.slots import Replies, of_execution, with_slot
from chatmagic.conversation.staleness import Causes
from chatmagic.conversation.standings import Above, above, of_thread, standings
from chatmagic.conversation.turn import Context, Turn, newest, visible
from chatmagic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chatmagic.conversation.cell_order import Layout
    from chatmagic.conversation.marks import Mark
    from chatmagic.conversation.request_facts import Value
    from chatmagic.conversation.slots import Item, Slot
    from chatmagic.conversation.standings import Standing


def _in_notebook(_cell: str) -> str:
    return history.IN_NOTEBOOK


class ConversationContents:
    """Contents of a conversation, to read."""

    def __init__(self) -> None:
        """Start without any turn."""
        self._all = Snapshot()
        self.cells: Mapping[str, str] = {}
        """For each cell that has run, the digest of what would go along of it now."""
        self.label: Callable[[str], str] = _in_notebook
        """Returns a cell's name for people by its hash."""
        self._whole: Snapshot | None = None
        self._passed: tuple[tuple[Slot, ...], Above] = (), Above()

    def __repr__(self) -> str:
        """Return the counts, and nothing that differs from run to run."""
        return f"<Conversation: turns: {len(self)}, stale: {len(self.stale_turns())}>"

    def __len__(self) -> int:
        """Count the live turns."""
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        """Go through the live turns in their order."""
        return iter(self.turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The live turns in their order."""
        return tuple(self._above(self._all.slots).turns)

    @property
    def slots(self) -> tuple[tuple[str | None, tuple[Item, ...]], ...]:
        """The owner and the live items of each slot, in order; some hold none (rule 6).

        A hiding has the number that its turn has there now; 0 where it is not there.
        """
        passed = Above()
        return tuple(
            (slot.owner, tuple(map(passed.numbered, slot.items))) for slot in self._all.slots
        )

    @property
    def instructions(self) -> tuple[Value | None, ...]:
        """The instructions that hold for each live turn, and at last below them all (rule 15)."""
        slots = self._all.slots
        below = self._above(slots).instructions
        return (*(each.instructions for each in standings(slots)), below)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The live turns in their order, each where it stands (rule 16)."""
        return tuple(standings(self._all.slots))

    @property
    def threads(self) -> dict[str, tuple[Turn, ...]]:
        """The turns of each thread, with those that it begins with, by its name; main is first."""
        return {name: tuple(line) for name, line in self._above(self._all.slots).lines.items()}

    @property
    def hidden(self) -> frozenset[int]:
        """The numbers of the turns that are hidden below all (rule 19)."""
        return self._above(self._all.slots).hidden

    @property
    def added(self) -> int:
        """How many turns were ever added."""
        return self._all.next_number - 1

    @property
    def undo_depth(self) -> int:
        """How many changes :meth:`undo` can take back."""
        return len(self._all.done)

    @property
    def redo_depth(self) -> int:
        """How many changes :meth:`redo` can bring back, however many steps it needs (rule 8)."""
        return len(self._all.undone)

    def of_thread(self, name: str) -> Self:
        """Return one thread as a conversation of its own, to read."""
        thread = copy(self)
        vars(thread).update(
            _whole=self._all, _all=replace(self._all, slots=of_thread(self._all.slots, name))
        )
        return thread

    def known_turns(self) -> dict[int, Turn]:
        """Return by number the turns that are live, and those that can still be brought back."""
        return history.known_turns(self._all)

    def known_instructions(self) -> dict[str, Value]:
        """Return by digest the instructions that are live, or can still be brought back."""
        return history.known_instructions(self._all)

    def context(
        self,
        owner: str | None = None,
        execution: str | None = None,
        *,
        last: int | None = None,
        order: Sequence[str] | None = None,
        thread: str | None = None,
    ) -> Context:
        """Return what a request would carry; nothing is changed.

        Args:
            owner: hash of the cell that asks; ``None`` without one.
            execution: which execution of the cell this is.
            last: carry only so many turns, the newest; ``None`` is all of them.
            order: hashes of the page's cells from top to bottom, where the page tells them.
            thread: name of the thread; ``None`` is that of the place.

        Raises:
            InputError: ``last`` is not a whole number from 0 up.
        """
        if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 0):
            raise InputError(
                f"last is a whole number, 0 or more, not {last!r}.",
                hint="Leave it out to send all turns.",
            )
        slots, index = with_slot(self._all.slots, owner, order)
        own = replace(slots[index], items=of_execution(slots[index], execution))
        place = above((own,), self._above(slots[:index]))
        thread = thread or place.thread
        line = tuple(place.lines.get(thread, ()))
        turns = visible(line, place.hidden)
        return Context(tuple(newest(turns, last)), len(turns), place.instructions, thread, line)

    def context_of(self, number: int, *, last: int | None = None) -> Context:
        """Return what a request would carry that asks the question of a live turn again (rule 20).

        Args:
            number: the turn's number.
            last: carry only so many turns, the newest; ``None`` is all of them.

        Raises:
            InputError: it is not live.
        """
        for each in self.standings:
            if each.turn.number == number:
                turns, line = each.above, tuple(each.line[: each.index])
                total = len(turns)
                return Context(
                    tuple(newest(turns, last)), total, each.instructions, each.thread, line
                )
        raise InputError("That turn is not in the conversation any more. Nothing was sent.")

    def all_replies(self) -> dict[int, Replies]:
        """Return the replies to the question of each live turn, by its number (rule 21)."""
        known = alternatives.in_force(self._whole or self._all)
        return {turn.number: replies for turn, replies in known.values()}

    def replies(self, number: int) -> Replies:
        """Return the replies to the question of a live turn (rule 21).

        Args:
            number: the turn's; there are none of one that is not live.
        """
        return self.all_replies().get(number, Replies())

    def in_force(self, owner: str) -> Turn | None:
        """Return the live turn with a reply to the question whose reply a cell shows, if any."""
        newest = next((slot.newest for slot in self._all.slots if slot.owner == owner), None)
        number = newest.number if isinstance(newest, Turn) else 0
        turn, _ = alternatives.in_force(self._all).get(number, (None, None))
        return turn

    def marks(self, layout: Layout | None = None) -> dict[str, Mark]:
        """Return what is to be known of what cells show, by their hashes (rules 9 and 14).

        Args:
            layout: how the cells stand, for what would be if the conversation followed it,
                which it does not yet.
        """
        now = self._all if layout is None else history.followed(self._all, layout)[0]
        return marks(now, self.causes(layout))

    def causes(self, layout: Layout | None = None) -> Causes:
        """Return what made live turns stale (rule 9); the layout is as :meth:`marks` has it."""
        now = self._whole or self._all
        now = now if layout is None else history.followed(now, layout)[0]
        return Causes(now, self.cells, self.label)

    def _above(self, slots: tuple[Slot, ...]) -> Above:
        """Return what stands in slots, to read; what stood in the first of them before is kept."""
        before, passed = self._passed
        if slots[: len(before)] != before:
            before, passed = (), Above()
        if len(slots) > len(before):
            passed = above(slots[len(before) :], passed)
            self._passed = slots, passed
        return passed

    def stale_turns(self) -> tuple[Turn, ...]:
        """Return the live turns that would be asked otherwise now, in their order (rule 9)."""
        causes = self.causes()
        return tuple(turn for turn in self.turns if causes.of(turn.number) is not None)
