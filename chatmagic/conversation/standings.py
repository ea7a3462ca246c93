"""Where live turns stand: what a request in their place would carry, and what holds there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, cast

from chatmagic.conversation.prefix import Prefix
from chatmagic.conversation.slots import Slot
from chatmagic.conversation.steering import Hiding, Instructions, ThreadStart
from chatmagic.conversation.turn import MAIN, Turn, newest, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chatmagic.conversation.request_facts import Value
    from chatmagic.conversation.slots import Item
    from chatmagic.conversation.steering import Steering


@dataclass(frozen=True, slots=True)
class Standing:
    """A live turn where it stands.

    Args:
        turn: the turn.
        thread: name of its thread.
        line: the turns of its thread in order, and what may follow below.
        index: index of the turn among them.
        numbers: numbers of the turns that a request in its place would carry.
        instructions: those that hold for it (rule 15).
        instructed_by: hash of the cell that gave them, or ended those above; ``None`` for none.
        hidden: numbers of the turns that are hidden there (rule 19).
    """

    turn: Turn
    thread: str
    line: Sequence[Turn]
    index: int
    numbers: Prefix[int]
    instructions: Value | None
    instructed_by: str | None
    hidden: frozenset[int]

    @property
    def carries_others(self) -> bool:
        """Whether the turn would carry other turns now than it did."""
        return self.turn.carried != newest(self.numbers, self.turn.last)

    @property
    def above(self) -> tuple[Turn, ...]:
        """The turns that a request in its place would carry."""
        return visible(self.line[: self.index], self.hidden)


@dataclass(slots=True)
class Above:
    """What stands above a place: each thread's turns, and what holds there.

    Args:
        lines: the turns that a request would carry, and the hidden ones, by the names of the
            threads.
        visible: the numbers of those that are not hidden, and the hidden ones as they were then.
        turns: the turns of all threads.
        thread: name of the thread that the place is in (rule 16).
        instructions: those that hold there (rule 15).
        instructed_by: as :class:`Standing` has it.
        hidden: numbers of the turns that are hidden there (rule 19).
    """

    lines: dict[str, list[Turn]] = field(default_factory=lambda: {MAIN: []})
    visible: dict[str, tuple[frozenset[int], Prefix[int]]] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    thread: str = MAIN
    instructions: Value | None = None
    instructed_by: str | None = None
    hidden: frozenset[int] = frozenset()

    def numbers(self, thread: str) -> Prefix[int]:
        """Return the numbers of the turns of a thread that a request would carry."""
        hidden, numbers = self.visible.get(thread, (None, Prefix[int]()))
        if hidden is self.hidden:
            return numbers
        line = self.lines.get(thread, ())
        return Prefix([turn.number for turn in line if turn.number not in self.hidden])

    def take(self, item: Item) -> Standing | None:
        """Go past an item; return where it stands, if it is a turn."""
        if not isinstance(item, Turn):
            self._steer(item)
            return None
        thread = item.thread or self.thread
        line = self.lines.setdefault(thread, [])
        numbers = self.numbers(thread)
        if isinstance(item.carried, Prefix) and item.carried == numbers:
            numbers = item.carried  # so that the next one is compared by its list alone
        line.append(item)
        self.turns.append(item)
        held = self.instructions, self.instructed_by, self.hidden
        standing = Standing(item, thread, line, len(line) - 1, numbers, *held)
        if item.hide:
            self.hidden |= {item.number}
        elif item.number not in self.hidden:
            numbers = numbers.followed_by((item.number,))
        self.visible[thread] = self.hidden, numbers
        return standing

    def _steer(self, item: Steering) -> None:
        if isinstance(item, Instructions):
            self.instructions, self.instructed_by = item.in_force, item.owner
        elif isinstance(item, Hiding):
            self.hidden = self.hidden - {item.turn} if item.show else self.hidden | {item.turn}
        else:
            start = cast("ThreadStart", item)
            if start.fork is not None:
                # The list of before stays with the turns that stand in it.
                self.lines[start.name] = self.lines[self.thread][: start.fork]
                self.visible.pop(start.name, None)
            self.thread = start.name
            self.lines.setdefault(start.name, [])

    def numbered(self, item: Item) -> Item:
        """Go past an item, and return it; a hiding with the number that its turn has there."""
        if isinstance(item, Hiding):
            line = enumerate(self.lines[self.thread], 1)
            item = replace(item, number=next((n for n, t in line if t.number == item.turn), 0))
        self.take(item)
        return item


def above(slots: Sequence[Slot], passed: Above | None = None) -> Above:
    """Return what stands in these slots, for a place below them all.

    Args:
        slots: the slots.
        passed: what stands in those before them, which stays as it is; ``None`` for none.
    """
    if passed is None:
        passed = Above()
    else:
        lines = {name: [*line] for name, line in passed.lines.items()}
        seen, turns = {**passed.visible}, [*passed.turns]
        passed = replace(passed, lines=lines, visible=seen, turns=turns)
    for slot in slots:
        for item in slot.items:
            passed.take(item)
    return passed


def standings(slots: Sequence[Slot]) -> Iterator[Standing]:
    """Yield the live turns of these slots in their order, each where it stands."""
    passed = Above()
    for slot in slots:
        for item in slot.items:
            if (standing := passed.take(item)) is not None:
                yield standing


def of_thread(slots: Sequence[Slot], name: str) -> tuple[Slot, ...]:
    """Return the slots with one thread's turns alone, also those that it begins with."""
    numbers = {turn.number for turn in above(slots).lines.get(name, ())}

    def kept(item: Item) -> tuple[Item, ...]:
        if not isinstance(item, Turn):
            return () if isinstance(item, ThreadStart) else (item,)
        if item.number not in numbers:
            return ()
        # What was asked by name in the thread that this one begins with is of this one here.
        return (item if item.thread in {None, name} else replace(item, thread=name),)

    begin = Slot(-1, None, (ThreadStart(name),))
    own = (replace(slot, items=tuple(chain.from_iterable(map(kept, slot.items)))) for slot in slots)
    return (begin, *own)
