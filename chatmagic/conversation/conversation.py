"""Turns, where they stand, what a request carries of them, and how to go back.

A conversation is an ordered list of *slots*. A slot belongs to one cell, or is a slot
of its own for a turn that no cell owns, and holds the turns that are *live* there: none,
one, or several that one execution of the cell asked. Standing instructions stand in a slot
as a turn does, and so do the start of a thread and the hiding of a turn; all that is said of
turns below holds for them, but for what rules 15, 16 and 19 say. The rules:

 1. A turn is owned by the cell that asked it, known by a hash of its identity. A turn
    that no cell owns is appended: it stands at the end, in a place of its own.
 2. A request carries the live turns of the slots before its own, and none of those after.
 3. Several asks of one execution (a loop) stay together in their slot; the later ones
    carry the earlier ones. Only a new execution of the cell replaces them. An ask whose
    execution is not known counts as an execution of its own.
 4. Running a cell again replaces its own turns, in place, and touches no other turn. A cell
    that asks no more keeps its turns.
 5. A new cell's slot is at the end or, where the page's order is given, where the page has
    the cell. The page's order also moves the other slots; one that the page does not list
    stays right behind the slot that it stood behind. Order is not a change to undo.
    Where the order as run is asked for, the slots stand as they came to be.
 6. A turn that is undone, reset or set aside leaves its slot behind, empty; there the
    cell's next turn will stand.
 7. Undo takes back the last change of any kind (ask, re-run, reset, set aside, load), restoring
    what was live before it; redo is its inverse. A new change ends what could be redone.
 8. Every step counts, also one that changes nothing: a reset of an empty conversation is a
    change, and an undo with nothing to take back needs a redo of its own. Without this a
    notebook that resets, undoes and redoes would ask differently when all of it runs again.
 9. A live turn is *stale* when the turns that its request would carry now are not the ones
    that it carried, or a cell that went along with it has run again and says or shows
    something else. That is worked out when asked for, never stored, so that undoing a
    re-run makes the later turns fresh again.
10. A request may leave out the oldest turns (``last``); a turn remembers that it did.
11. A conversation that is loaded stands in for what was live, as one change. Where nothing
    has happened yet there is nothing to go back to: there it brings its own changes along,
    so that what it undid can be done again.
12. A cell that is on no page any more has its turns set aside, once for each time that it
    goes; undone, they stay. A cell that comes back gets them back, as though they had
    never been set aside, unless it has been asked, or all was reset, in between.
13. A cell without a slot takes over the slot of the cell that the record in its outputs
    names, if that cell is on no page: the page has given it another identity, or it was
    cut and pasted. A copied cell brings the record along too, and is a new cell.
14. A cell shows what it asked last. Where that is not live in its slot, nor a turn with the
    same question and reply, its reply is *taken back*: by an undo, also of a re-run, a
    reset, or a load; or *replaced*, where another reply to its question is live in its place.
15. Instructions hold for the turns below them, up to the next ones; empty ones end those
    above. A request carries the ones that hold for its turn, however few turns it carries,
    and a turn is stale, too, when they are not the ones that it carried. A reset leaves them.
16. A turn is in the thread that it was asked in by name, else in that of the nearest start
    above it, else in ``main``. What rules 2, 9 and 10 say of turns holds within a thread, and
    so do the turns' numbers for people. A reset takes out all threads' turns and leaves the
    starts. Instructions hold for the turns below them, whatever their threads.
17. A start may be a *fork*: its thread begins anew, with so many of the first turns that the
    thread has in which the start itself stands, as they are now. Requests carry them as though
    they were the new thread's own; they stay where they stand.
18. Deleting a thread takes out, as one change, the turns that it has of its own, also where
    another thread begins with them, and leaves its starts.
19. A request leaves out the turns that are *hidden* in its place, before rule 10 counts: those
    asked so, and those that a hiding above it names, whatever their thread; the last one that
    names a turn counts, and may show it again. They keep their numbers. A hiding names the turn
    itself: asked again, its cell has a new turn, which is not hidden.
20. The question of a live turn may be asked again, also from another cell: with what stands above
    the turn, which the new one replaces where it stands, whatever cell owns that place. The cell
    that asked has a place without turns; what it asked is not set aside with it.
21. A place keeps the replies that came to each of its questions, also those that were taken back,
    up to a load; any of them can be put back, which is a change. They are counted anew each time
    that the place's own cell asks: the earlier ones count backwards, from -1.
22. A reply that ended early, or at its limit of tokens, may be continued. The request carries,
    behind what stands above the turn now, its question, what came, and an instruction to go on,
    which no later request carries. The turn with both parts takes the place of the turn, as rule
    20 says; rule 9 goes by what its first request carried. A cell that is run again continues
    what it continued before.

Together they give *Run All*: the same notebook, run from top to bottom once more in the
same conversation, sends the same requests in the same order.

Everything a conversation knows is one immutable value, put in place by one assignment: an
interrupt, wherever it strikes, leaves the conversation as it was before or as it is after,
and a reader in another thread sees one of the two. Changes come from one thread at a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from chatmagic.conversation import alternatives, history
from chatmagic.conversation.changes import Snapshot
from chatmagic.conversation.contents import ConversationContents
from chatmagic.conversation.slots import Replies, Slot, live

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from chatmagic.conversation.cell_order import Layout
    from chatmagic.conversation.changes import Change
    from chatmagic.conversation.slots import Item
    from chatmagic.conversation.turn import Turn


class Conversation(ConversationContents):
    """An ordered list of turns, by the rules at the top of this module."""

    def add(self, item: Item, *, order: Sequence[str] | None = None) -> Change:
        """Put an item where it belongs; in its cell's slot it replaces older executions' items.

        Args:
            item: what steers the turns below; or a turn, with the numbers that its
                :class:`Context` gave as ``carried``.
            order: hashes of the page's cells from top to bottom, where the page tells them.

        Returns:
            The change; its ``came`` holds a turn with its number.
        """
        self._all, change = history.added(self._all, item, order)
        return change

    def replace_reply(
        self,
        turn: Turn,
        number: int,
        *,
        asker: str | None = None,
        order: Sequence[str] | None = None,
    ) -> Change:
        """Put another reply in the place of a live turn; a change in any case (rules 8, 20, 21).

        Args:
            turn: one of its :meth:`replies`, or a new turn, with the numbers that its
                :meth:`context_of` gave as ``carried``.
            number: of the live turn.
            asker: hash of the cell that asks for it; ``None`` without one.
            order: hashes of the page's cells from top to bottom, where the page tells them.
        """
        self._all, change = alternatives.replaced(self._all, turn, number, asker, order)
        return change

    def reset(self) -> Change:
        """Take every live turn out; all else stays. Counts as a change in any case (rule 8)."""
        self._all, change = history.reset(self._all)
        return change

    def delete(self, thread: str) -> Change:
        """Take out the turns that a thread has of its own; a change in any case (rules 8, 18)."""
        self._all, change = history.deleted(self._all, thread)
        return change

    def load(self, other: Conversation) -> Change:
        """Put another conversation's items in place of the live ones (rule 11).

        Args:
            other: the other one, which stays as it is.
        """
        self._all, change = history.loaded(self._all, other._all)
        return change

    @classmethod
    def of(cls, items: Iterable[Item]) -> Self:
        """Return a conversation of these items, of which no change can be taken back.

        Args:
            items: in their order, each turn with its number: 1, 2, …; no cell shows any of them.
        """
        held: dict[str | int, list[Item]] = {}
        for item in items:
            held.setdefault(len(held) if item.owner is None else item.owner, []).append(item)
        slots = tuple(
            Slot(key, each[0].owner, tuple(each)) for key, each in enumerate(held.values())
        )
        conversation = cls()
        conversation._all = Snapshot(slots, next_number=len(live(slots)) + 1)
        conversation.forget_changes()
        return conversation

    def forget_changes(self) -> None:
        """Keep what is live alone: no change can be taken back, and no cell shows any of them."""
        kept = tuple(
            replace(slot, newest=None, replies=tuple(Replies((), (turn,)) for turn in slot.turns))
            for slot in self._all.slots
        )
        self._all = Snapshot(kept, next_number=self._all.next_number)

    def set_aside(self, owners: Collection[str]) -> Change | None:
        """Take out what is live of cells that are gone from the page; their slots stay.

        Returns:
            The change, or ``None`` if nothing of theirs is live: then nothing changed.
        """
        self._all, change = history.set_aside(self._all, owners)
        return change

    def undo(self) -> Change | None:
        """Take the last change back.

        Returns:
            What went and what came back, or ``None`` if there was nothing to take back; that
            counts as a step, which :meth:`redo` goes over first (rule 8).
        """
        self._all, change = history.undone(self._all)
        return change

    def redo(self) -> Change | None:
        """Do again what the last undo took back.

        Returns:
            What went and what came back, or ``None`` if that undo had nothing to take back
            or there was none; :attr:`redo_depth` tells the two apart.
        """
        self._all, change = history.redone(self._all)
        return change

    def hand_over(self, number: int, owner: str) -> None:
        """Let a cell own a turn that no cell owned; this is not a change to undo.

        The cell takes the turn's slot: when it runs, its turn replaces this one, and no
        request carries both.

        Args:
            number: the turn's number; one that is not live is left alone.
            owner: hash of the cell.
        """
        self._all = history.handed_over(self._all, number, owner)

    def follow(self, layout: Layout) -> Change | None:
        """Let the conversation follow the pages: rules 13, 12 and 5, in this order.

        Returns:
            The change, if turns were set aside.
        """
        self._all, change = history.followed(self._all, layout)
        return change
