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
    reset, or a load; or *replaced*, where another reply to its question is live (rule 21).
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
21. A turn that asks again names the first turn with its question. The replies to a question are
    those of the turns that name the same one, also of those that were taken back; any of them can
    be put back, which is a change. The question's own cell, run again, asks a new one.
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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Final, Self

from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.slots import (
    Change,
    ChangeKind,
    Slot,
    State,
    arranged,
    live,
    pass_by,
    place_below,
    with_slot,
)
from chatmagic.conversation.staleness import Causes
from chatmagic.conversation.steering import Item
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import Position, Window
from chatmagic.errors import InputError

IN_NOTEBOOK: Final = "a cell of the notebook"


def _in_notebook(_cell: str) -> str:
    return IN_NOTEBOOK


class Conversation:
    """An ordered list of turns, by the rules at the top of this module."""

    def __init__(self) -> None:
        """Start without any turn."""
        self._now = State()
        self.cells: Mapping[str, str] = {}
        """For each cell that has run, the digest of what would go along of it now."""
        self.label: Callable[[str], str] = _in_notebook
        """Returns a cell's name for people by its hash."""
        self._thread: str | None = None
        self._passed: tuple[tuple[Slot, ...], Position] = (), Position()

    @classmethod
    def from_items(cls, items: Iterable[Item]) -> Self:
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
        asked = {turn.number: turn for turn in live(slots)}
        conversation = cls()
        conversation._now = State(slots, next_number=max(asked, default=0) + 1, asked=asked)
        return conversation

    # --- what it holds ---------------------------------------------------------------------------

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
        """The live turns in their order; of one thread, with those that it begins with."""
        place = self._below()
        turns = place.turns if self._thread is None else place.lines.get(self._thread, ())
        return tuple(turns)

    @property
    def slots(self) -> tuple[tuple[str | None, tuple[Item, ...]], ...]:
        """The owner and the live items of each slot, in order; some hold none (rule 6).

        A hiding has the number that its turn has there now; 0 where it is not there.
        """
        place, slots = Position(), []
        for slot in self._now.slots:
            items: list[Item] = []
            for item in slot.items:
                items.append(item if isinstance(item, Turn) else item.numbered(place))
                pass_by(place, item)
            slots.append((slot.owner, tuple(items)))
        return tuple(slots)

    @property
    def windows(self) -> tuple[tuple[Turn, Window], ...]:
        """The live turns in order, each with what a request in its place carries (rule 16)."""
        return tuple(self._now.windows())

    @property
    def threads(self) -> dict[str, tuple[Turn, ...]]:
        """The turns of each thread, with those that it begins with, by its name; main is first."""
        return {name: tuple(line) for name, line in self._below().lines.items()}

    @property
    def hidden(self) -> frozenset[int]:
        """The numbers of the turns that are hidden below all (rule 19)."""
        return self._below().hidden

    @property
    def instructions(self) -> Value | None:
        """The instructions that hold below all (rule 15)."""
        return self._below().instructions

    @property
    def added(self) -> int:
        """How many turns were ever added."""
        return self._now.next_number - 1

    @property
    def undo_depth(self) -> int:
        """How many changes :meth:`undo` can take back."""
        return len(self._now.done)

    @property
    def redo_depth(self) -> int:
        """How many changes :meth:`redo` can bring back, however many steps it needs (rule 8)."""
        return len(self._now.undone)

    def of_thread(self, name: str) -> Self:
        """Return the same with the turns of one thread alone, to read.

        Args:
            name: the thread's.
        """
        thread = copy(self)
        thread._thread = name  # noqa: SLF001 - its own
        return thread

    @property
    def known_turns(self) -> Mapping[int, Turn]:
        """All turns that were ever added, by number: they are live, or can be brought back."""
        return self._now.asked

    @property
    def replies(self) -> dict[int, tuple[Turn, ...]]:
        """The replies to the question of each live turn, oldest first, by its number (rule 21)."""
        return self._now.replies()

    def in_force(self, owner: str) -> Turn | None:
        """Return the live turn with a reply to the question whose reply a cell shows, if any.

        Args:
            owner: hash of the cell.
        """
        newest = next((slot.newest for slot in self._now.slots if slot.owner == owner), None)
        question = newest.first if isinstance(newest, Turn) else None
        return next((turn for turn in self.turns if turn.first == question), None)

    # --- what a request carries, and what is stale -----------------------------------------------

    def window(
        self,
        owner: str | None = None,
        execution: str | None = None,
        *,
        last: int | None = None,
        order: Sequence[str] | None = None,
        thread: str | None = None,
    ) -> Window:
        """Return the window of a request, without a change.

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
        slots, index = with_slot(self._now.slots, owner, order)
        own = replace(slots[index], items=slots[index].of_execution(execution))
        return place_below((own,), self._below(slots[:index])).window(thread, last)

    def window_of(self, number: int, *, last: int | None = None) -> Window:
        """Return the window of a request that asks the question of a live turn again (rule 20).

        Args:
            number: the turn's number.
            last: carry only so many turns, the newest; ``None`` is all of them.

        Raises:
            InputError: it is not live.
        """
        for turn, window in self._now.windows():
            if turn.number == number:
                return replace(window, last=last)
        raise InputError("That turn is not in the conversation any more. Nothing was sent.")

    def marks(self, layout: Layout | None = None) -> dict[str, str]:
        """Return the marks of cells, by their hashes (rules 9 and 14).

        Args:
            layout: how the cells stand, for what would be if the conversation followed it,
                which it does not yet.
        """
        return self.causes(layout).marks()

    def causes(self, layout: Layout | None = None) -> Causes:
        """Return the causes for which live turns are stale (rule 9).

        Args:
            layout: as :meth:`marks` has it.
        """
        now = self._now if layout is None else _followed(self._now, layout)[0]
        return Causes(now, self.cells, self.label)

    def stale_turns(self) -> tuple[Turn, ...]:
        """Return the stale turns among the live ones, in their order (rule 9)."""
        causes = self.causes()
        return tuple(turn for turn in self.turns if causes.cause_of(turn.number) is not None)

    def _below(self, slots: tuple[Slot, ...] | None = None) -> Position:
        """Return the place below slots, to read; ``None`` is all of them.

        What stood in the first of them before is kept.
        """
        slots = self._now.slots if slots is None else slots
        before, place = self._passed
        if slots[: len(before)] != before:
            before, place = (), Position()
        if len(slots) > len(before):
            place = place_below(slots[len(before) :], place)
            self._passed = slots, place
        return place

    # --- what changes it -------------------------------------------------------------------------

    def add(self, item: Item, *, order: Sequence[str] | None = None) -> Change:
        """Put an item where it belongs; in its cell's slot it replaces older executions' items.

        Args:
            item: what steers the turns below; or a turn, with what its :class:`Window` gave as
                ``carried``.
            order: hashes of the page's cells from top to bottom, where the page tells them.

        Returns:
            The change; its ``came`` holds a turn with its number.
        """
        now = self._now
        if isinstance(item, Turn):
            item = replace(item, number=now.next_number)
            if old := now.asked.get(item.again or 0):
                # What the cell of its place asks on in this execution carries it, too (rule 3).
                item = replace(item, again=old.first, execution=old.execution)
            now = replace(now, asked={**now.asked, item.number: item})
            if item.again is not None:
                self._now, change = now.with_reply("retry", item, item.owner, order)
                return change
            now = replace(now, next_number=now.next_number + 1)
        now, slot = now.with_newest(item, item.owner, order)
        kept = slot.of_execution(item.execution)
        asked: ChangeKind = "ask" if kept == slot.items else "re-run"
        kind = asked if isinstance(item, Turn) else item.kind
        self._now, change = now.changed(kind, {slot.key: (*kept, item)})
        return change

    def pick(
        self, number: int, *, cell: str | None = None, order: Sequence[str] | None = None
    ) -> Change:
        """Put back one of the :attr:`replies` of a live turn; a change in any case (rules 8, 21).

        Args:
            number: the number of the turn with the reply.
            cell: hash of the cell that shows it, which gets a place, too; ``None`` without one.
            order: hashes of the page's cells from top to bottom, where the page tells them.
        """
        turn = self._now.asked[number]
        self._now, change = self._now.with_reply("pick", turn, cell, order)
        return change

    def reset(self) -> Change:
        """Take every live turn out; all else stays. Counts as a change in any case (rule 8)."""
        numbers = {turn.number for turn in live(self._now.slots)}
        self._now, change = self._now.without("reset", numbers)
        return change

    def delete(self, thread: str) -> Change:
        """Take out the turns that a thread has of its own; a change in any case (rules 8, 18).

        Args:
            thread: its name.
        """
        own = {turn.number for turn, window in self.windows if window.thread == thread}
        self._now, change = self._now.without("deletion", own)
        return change

    def load(self, other: Conversation) -> Change:
        """Put another conversation's items in place of the live ones (rule 11).

        Args:
            other: the other one, which stays as it is.
        """
        self._now, change = _loaded(self._now, other._now)
        return change

    def undo(self) -> Change | None:
        """Take the last change back.

        Returns:
            What went and what came back, or ``None`` if there was nothing to take back; that
            counts as a step, which :meth:`redo` goes over first (rule 8).
        """
        now = self._now
        if not now.done:
            self._now = replace(now, void=now.void + 1)
            return None
        step = now.done[-1]
        then, change = now.moved(step.kind, step.before)
        self._now = replace(then, done=now.done[:-1], undone=(*now.undone, step))
        return change

    def redo(self) -> Change | None:
        """Do again what the last undo took back.

        Returns:
            What went and what came back, or ``None`` if that undo had nothing to take back
            or there was none; :attr:`redo_depth` tells the two apart.
        """
        now = self._now
        if now.void or not now.undone:
            self._now = replace(now, void=max(0, now.void - 1))
            return None
        step = now.undone[-1]
        then, change = now.moved(step.kind, step.after)
        self._now = replace(then, done=(*now.done, step), undone=now.undone[:-1])
        return change

    def hand_over(self, number: int, owner: str) -> None:
        """Let a cell own a turn that no cell owned; this is not a change to undo.

        The cell takes the turn's slot: when it runs, its turn replaces this one, and no
        request carries both.

        Args:
            number: the turn's number; one that is not live is left alone.
            owner: hash of the cell.
        """
        now = self._now
        if all(turn.number != number for turn in now.turns):
            return
        turn = replace(now.asked[number], owner=owner, entry="cell", asker=IN_NOTEBOOK, shown=True)
        slots = tuple(
            # The cell has asked nothing yet.
            replace(slot.with_reply(turn), owner=owner, newest=None)
            if turn.first in slot.questions
            else slot
            for slot in now.slots
        )
        self._now = replace(now, slots=slots, asked={**now.asked, number: turn})

    def follow(self, layout: Layout) -> Change | None:
        """Let the conversation follow the pages: rules 13, 12 and 5, in this order.

        Args:
            layout: how the cells stand.

        Returns:
            The change, if turns were set aside.
        """
        self._now, change = _followed(self._now, layout)
        return change


def reply_name(turn: Turn, replies: Sequence[Turn]) -> str:
    """Return in words which of the replies to its question a turn has.

    Args:
        turn: the turn.
        replies: all of them.
    """
    numbers = [each.number for each in replies]
    return f"reply {numbers.index(turn.number) + 1} of {len(numbers)}"


def _loaded(now: State, other: State) -> tuple[State, Change]:
    """Put another conversation's turns and instructions in place of the live ones (rule 11)."""
    if now == State() and other.done:
        return other, Change("load", (), other.turns)
    other = other.renumbered(now.next_number - 1)
    keys = {slot.owner: slot.key for slot in now.slots if slot.owner is not None}
    held = {slot.key: slot for slot in now.slots}
    after: dict[int, tuple[Item, ...]] = {}
    for slot in other.slots:
        key = len(held) if slot.owner is None else keys.get(slot.owner, len(held))
        held.setdefault(key, Slot(key, slot.owner, newest=slot.newest))
        after[key] = slot.items
    # Its own order counts, so what was there before moves behind it.
    after |= {slot.key: () for slot in now.slots if slot.key not in after}
    now = replace(
        now,
        slots=tuple(held.values()),
        next_number=other.next_number,
        asked={**now.asked, **other.asked},
    )
    return now.changed("load", after)


def _set_aside(now: State, owners: Collection[str]) -> tuple[State, Change | None]:
    """Take out what is live of cells that are gone; without any, nothing has changed."""
    after: dict[int, tuple[Item, ...]] = {
        slot.key: () for slot in now.slots if slot.items and slot.owner in owners
    }
    return now.changed("set aside", after) if after else (now, None)


def _followed(now: State, layout: Layout) -> tuple[State, Change | None]:
    """Follow the pages: rules 13, 12 and 5, in this order."""
    now = _taken_over(now, layout)
    owners = {slot.owner for slot in now.slots if slot.owner is not None}
    for owner in (now.away - layout.gone) & owners:
        now = _brought_back(now, owner)
    now, change = _set_aside(now, layout.gone - now.away)
    return replace(now, slots=arranged(now.slots, layout.order), away=layout.gone), change


def _taken_over(now: State, layout: Layout) -> State:
    """Return slots of cells that are gone to the cells whose records name them (rule 13)."""
    slots, away = list(now.slots), now.away
    taken = {slot.owner for slot in slots}
    for cell, named in layout.named.items():
        if cell in taken:
            continue
        for index, slot in enumerate(slots):
            owner = slot.owner
            if owner is None or owner in layout.present or named not in {owner, *slot.earlier}:
                continue
            slots[index] = replace(slot, owner=cell, earlier=slot.earlier | {owner})
            # What was set aside with the cell that is gone comes back with this one.
            away = away | {cell} if owner in away else away
            break
    return replace(now, slots=tuple(slots), away=away)


def _brought_back(now: State, owner: str) -> State:
    """Return a cell back what was set aside when it went (rule 12)."""
    slot = next(slot for slot in now.slots if slot.owner == owner)
    last = (
        index
        for index in reversed(range(len(now.done)))
        if now.done[index].kind == "reset" or slot.key in now.done[index].after
    )
    index = next(last, None)
    if index is None or now.done[index].kind != "set aside":
        return now
    step = now.done[index]
    others = {key: items for key, items in step.before.items() if key != slot.key}
    left = (replace(step, before=others, after=dict.fromkeys(others, ())),) if others else ()
    then, _ = now.moved(step.kind, {slot.key: step.before[slot.key]})
    return replace(then, done=(*now.done[:index], *left, *now.done[index + 1 :]))
