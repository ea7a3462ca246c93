"""Turns, where they stand, what a request carries of them, and how to go back.

A conversation is an ordered list of *places*. A place belongs to one cell, or is a place
of its own for a turn that no cell owns, and holds the turns that are *live* there: none,
one, or several that one execution of the cell asked. The rules:

 1. A turn is owned by the cell that asked it, known by a hash of its identity. A turn
    that no cell owns is appended: it stands at the end, in a place of its own.
 2. A request carries the live turns of the places before its own, and none of those after.
 3. Several asks of one execution (a loop) stay together in their place; the later ones
    carry the earlier ones. Only a new execution of the cell replaces them. An ask whose
    execution is not known counts as an execution of its own.
 4. Running a cell again replaces its own turns, in place, and touches no other turn. A cell
    that asks no more keeps its turns.
 5. A new cell's place is at the end or, where the page's order is given, where the page has
    the cell. The page's order also moves the other places; one that the page does not list
    stays right behind the place that it stood behind. Order is not a change to undo.
    Where the order as run is asked for, the places stand as they came to be.
 6. A turn that is undone, reset or set aside leaves its place behind, empty; there the
    cell's next turn will stand.
 7. Undo takes back the last change of any kind (ask, re-run, reset, set aside, load), restoring
    what was live before it; redo is its inverse. A new change ends what could be redone.
 8. Every step counts, also one that changes nothing: a reset of an empty conversation is a
    change, and an undo with nothing to take back needs a redo of its own. Without this a
    notebook that resets, undoes and redoes would ask differently when all of it runs again.
 9. A live turn is *stale* when the turns that its request would carry now are not the ones
    that it carried. That is worked out when asked for, never stored, so that undoing a
    re-run makes the later turns fresh again.
10. A request may leave out the oldest turns (``last``); a turn remembers that it did.
11. A conversation that is loaded stands in for what was live, as one change. Where nothing
    has happened yet there is nothing to go back to: there it brings its own changes along,
    so that what it undid can be done again.
12. A cell that is on no page any more has its turns set aside, once for each time that it
    goes; undone, they stay. A cell that comes back gets them back, as though they had
    never been set aside, unless it has been asked, or all was reset, in between.
13. A cell without a place takes over the place of the cell that the record in its outputs
    names, if that cell is on no page: the page has given it another identity, or it was
    cut and pasted. A copied cell brings the record along too, and is a new cell.

Together they give *Run All*: the same notebook, run from top to bottom once more in the
same conversation, sends the same requests in the same order.

Everything a conversation knows is one immutable value, put in place by one assignment: an
interrupt, wherever it strikes, leaves the conversation as it was before or as it is after,
and a reader in another thread sees one of the two. Changes come from one thread at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from chatmagic.digests import digest, turn_digest
from chatmagic.errors import InputError
from chatmagic.record import Record
from chatmagic.wire import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from chatmagic.page import Layout
    from chatmagic.record import Value
    from chatmagic.wire import Reply, State

Entry = Literal["cell", "panel", "python"]
Kind = Literal["ask", "re-run", "reset", "set aside", "load"]

UNDO_DEPTH: Final = 1000
"""How many changes can be taken back; older ones are final."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and its reply.

    Args:
        prompt: the question as it was sent.
        reply: the reply, whole or as far as it came.
        number: its number in its conversation, never used twice; 0 until it is added.
        owner: hash of the cell that owns it; ``None`` without one.
        execution: what tells one execution of the cell from another; ``None`` is unknown.
        entry: where it was asked: in a ``cell``, in the ``panel``, or from ``python``.
        asker: who asked it, in words.
        carried: numbers of the turns that its request carried, oldest first; 0 is a turn that
            is not known here.
        typed: the question as typed, with its ``{{ }}``; ``None`` where nothing was put in.
        values: what was put in.
        max_tokens: the request's limit on generated tokens; ``None`` where not set.
        temperature: the request's sampling temperature; ``None`` where not set.
        last: at most this many turns were to be carried; ``None`` where not set.
        stream: whether the reply was asked for as a stream.
        took: about how many credits it took, as far as known.
        record: what its output keeps of it.
    """

    prompt: str
    reply: Reply
    number: int = 0
    owner: str | None = None
    execution: str | None = None
    entry: Entry = "cell"
    asker: str = ""
    carried: tuple[int, ...] = ()
    typed: str | None = None
    values: tuple[Value, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    last: int | None = None
    stream: bool = True
    took: int | None = None
    record: Record | None = field(default=None, compare=False, repr=False)

    @property
    def state(self) -> State:
        """``complete``, ``interrupted`` or ``cut off``."""
        return self.reply.state

    @property
    def messages(self) -> tuple[Message, Message]:
        """The two messages by which a later request carries this turn (interface §2.1)."""
        return Message("user", self.prompt), Message("assistant", self.reply.text)

    @property
    def digest(self) -> str:
        """The digest by which a later request's record names this turn."""
        return turn_digest(self.prompt, self.reply.text)

    @property
    def missing(self) -> tuple[str, ...]:
        """The expressions whose values were not kept, so that the prompt only names them."""
        return tuple(value.expression for value in self.values if value.text is None)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were set, as a record keeps them."""
        given = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "last": self.last,
            "stream": None if self.stream else False,
        }
        return {name: value for name, value in given.items() if value is not None}

    def to_record(self, carried: Iterable[str], request: str) -> Record:
        """Give the turn's record, with its values.

        Args:
            carried: digests of the turns that its request carried, oldest first.
            request: digest of the canonical request.
        """
        reply = self.reply
        return Record(
            prompt=self.prompt if self.typed is None else self.typed,
            values=self.values,
            state=reply.state,
            owner=self.owner,
            carried=tuple(carried),
            request=request,
            reply=digest(reply.text),
            parameters=self.parameters,
            model=reply.model,
            usage=reply.usage,
            credits=reply.credits,
            took=self.took,
            finish_reason=reply.finish_reason,
            date=reply.date,
            origin=reply.origin,
            turn=self.digest,
            refusal=reply.refusal,
            recorded=reply.recorded,
            by_order=reply.by_order,
        )


@dataclass(frozen=True, slots=True)
class Context:
    """What a request carries of the conversation.

    Args:
        turns: the turns it carries, oldest first.
        total: how many there would be without ``last``.
    """

    turns: tuple[Turn, ...]
    total: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The turns' numbers, for :attr:`Turn.carried`."""
        return tuple(turn.number for turn in self.turns)

    @property
    def digests(self) -> tuple[str, ...]:
        """The turns' digests, for the new turn's record."""
        return tuple(turn.digest for turn in self.turns)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turns' messages, oldest first."""
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def from_panel(self) -> int:
        """How many of the turns were asked in the panel, where Run All will not ask them."""
        return sum(turn.entry == "panel" for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Change:
    """What one step did to the live turns, for a message about it.

    Args:
        kind: the kind of change that was done, taken back, or done again.
        went: the turns that were live before the step and are not now, in their order.
        came: the turns that are live since the step, in their order.
    """

    kind: Kind
    went: tuple[Turn, ...]
    came: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A place: its key for life, the cell it belongs to, and what is live there.

    ``earlier`` are the cells that it belonged to before (rule 13).
    """

    key: int
    owner: str | None
    turns: tuple[Turn, ...] = ()
    earlier: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Step:
    """A change that can be gone back over: the turns of the places that it touched, by key.

    A load also changes the order; ``orders`` is the places' keys before and after it.
    """

    kind: Kind
    before: Mapping[int, tuple[Turn, ...]]
    after: Mapping[int, tuple[Turn, ...]]
    orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class _All:
    """Everything that a conversation knows.

    ``void`` counts the undos that had nothing to take back and await a redo (rule 8);
    ``away`` are the cells that are gone, and whose turns have been set aside (rule 12).
    """

    places: tuple[_Place, ...] = ()
    done: tuple[_Step, ...] = ()
    undone: tuple[_Step, ...] = ()
    void: int = 0
    next_number: int = 1
    away: frozenset[str] = frozenset()


class Conversation:
    """An ordered list of turns, by the rules at the top of this module.

    Args:
        name: what people call it.
    """

    def __init__(self, name: str = "main") -> None:
        """Begin without any turn."""
        self.name = name
        self._all = _All()

    @classmethod
    def of(
        cls, places: Iterable[tuple[str | None, Sequence[Turn]]], added: int, name: str = "main"
    ) -> Self:
        """Give a conversation as :attr:`places` and :attr:`added` told it, without its changes.

        Args:
            places: the owner of each place, ``None`` without one, and the turns there, with
                their numbers.
            added: how many turns were ever added.
            name: what people call it.

        Raises:
            ValueError: a cell has two places, or the numbers make no sense.
        """
        made = cls(name)
        held = tuple(_Place(key, owner, tuple(turns)) for key, (owner, turns) in enumerate(places))
        owners = [place.owner for place in held if place.owner is not None]
        numbers = [turn.number for turn in _live(held)]
        carried = [number for turn in _live(held) for number in turn.carried]
        if len(set(owners)) < len(owners):
            raise ValueError("a cell has two places")
        if len(set(numbers)) < len(numbers) or not all(0 < number <= added for number in numbers):
            raise ValueError("its turns are not numbered one by one")
        if not all(0 <= number <= added for number in carried):
            raise ValueError("a turn carried one that never was")
        made._all = _All(held, next_number=added + 1)
        return made

    def __repr__(self) -> str:
        """Say the name and the length, and nothing that differs from run to run."""
        return f"<Conversation {self.name!r}: turns: {len(self)}, stale: {len(self.stale_turns())}>"

    def __len__(self) -> int:
        """Count the live turns."""
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        """Go through the live turns in their order."""
        return iter(self.turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The live turns in their order."""
        return _live(self._all.places)

    @property
    def places(self) -> tuple[tuple[str | None, tuple[Turn, ...]], ...]:
        """The owner and the live turns of each place, in order; some hold none (rule 6)."""
        return tuple((place.owner, place.turns) for place in self._all.places)

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

    def position(self, turn: Turn) -> int | None:
        """Tell where a turn stands among the live ones, from 1; ``None`` if it is not live."""
        turns = self.turns
        return turns.index(turn) + 1 if turn in turns else None

    def context(
        self,
        owner: str | None = None,
        execution: str | None = None,
        *,
        last: int | None = None,
        order: Sequence[str] | None = None,
    ) -> Context:
        """Work out what a request would carry, without changing anything.

        Args:
            owner: hash of the cell that asks; ``None`` without one.
            execution: which execution of the cell this is.
            last: carry only so many turns, the newest; ``None`` is all of them.
            order: hashes of the page's cells from top to bottom, where the page tells them.

        Raises:
            InputError: ``last`` is not a whole number from 0 up.
        """
        if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 0):
            raise InputError(
                f"The number of turns to carry must be a whole number from 0 up, not {last!r}.",
                hint="Leave it out to carry all of them.",
            )
        places, index = _with_place(self._all.places, owner, order)
        turns = _live(places[:index]) + _of_execution(places[index], execution)
        return Context(_newest(turns, last), len(turns))

    def add(self, turn: Turn, *, order: Sequence[str] | None = None) -> Change:
        """Put a turn where it belongs; in its cell's place it replaces older executions' turns.

        Args:
            turn: the turn, with the numbers that its :class:`Context` gave as ``carried``.
            order: hashes of the page's cells from top to bottom, where the page tells them.

        Returns:
            The change; its ``came`` holds the turn with its number.
        """
        now = self._all
        places, index = _with_place(now.places, turn.owner, order)
        place = places[index]
        kept = _of_execution(place, turn.execution)
        turns = (*kept, replace(turn, number=now.next_number))
        kind: Kind = "ask" if kept == place.turns else "re-run"
        then, change = _changed(replace(now, places=places), kind, {place.key: turns})
        self._all = replace(then, next_number=now.next_number + 1)
        return change

    def reset(self) -> Change:
        """Take every live turn out; the places stay. Counts as a change in any case (rule 8)."""
        now = self._all
        self._all, change = _changed(
            now, "reset", {place.key: () for place in now.places if place.turns}
        )
        return change

    def load(self, other: Conversation) -> Change:
        """Put another conversation's turns in place of the live ones (rule 11).

        Args:
            other: the other one, which stays as it is.
        """
        now, then = self._all, other._all
        if now == _All() and then.done:
            self._all = then
            return Change("load", (), self.turns)
        keys: dict[str | None, int] = {
            place.owner: place.key for place in now.places if place.owner is not None
        }
        held = {place.key: place for place in now.places}
        after: dict[int, tuple[Turn, ...]] = {place.key: () for place in now.places if place.turns}
        for place in then.places:
            key = keys.get(place.owner, len(held))
            # Its own order counts, so what was there before moves behind it.
            held[key] = held.pop(key, _Place(key, place.owner))
            after[key] = tuple(_renumbered(turn, now.next_number - 1) for turn in place.turns)
        moved = len(held) - len(then.places)
        places = tuple(held.values())
        places = (*places[moved:], *places[:moved])
        orders = tuple(place.key for place in now.places), tuple(place.key for place in places)
        done, change = _changed(replace(now, places=places), "load", after, orders)
        self._all = replace(done, next_number=now.next_number + other.added)
        return replace(change, went=_live(now.places))

    def set_aside(self, owners: Collection[str]) -> Change | None:
        """Take out the live turns of cells that are gone from the page; their places stay.

        Args:
            owners: hashes of those cells.

        Returns:
            The change, or ``None`` if none of them has a live turn: then nothing changed.
        """
        self._all, change = _set_aside(self._all, owners)
        return change

    def undo(self) -> Change | None:
        """Take the last change back.

        Returns:
            What went and what came back, or ``None`` if there was nothing to take back; that
            counts as a step, which :meth:`redo` goes over first (rule 8).
        """
        now = self._all
        if not now.done:
            self._all = replace(now, void=now.void + 1)
            return None
        step = now.done[-1]
        places = now.places if step.orders is None else _ordered(now.places, step.orders[0])
        places, change = _moved(places, step.kind, step.before)
        self._all = replace(now, places=places, done=now.done[:-1], undone=(*now.undone, step))
        return change

    def redo(self) -> Change | None:
        """Do again what the last undo took back.

        Returns:
            What went and what came back, or ``None`` if that undo had nothing to take back
            or there was none; :attr:`redo_depth` tells the two apart.
        """
        now = self._all
        if now.void or not now.undone:
            self._all = replace(now, void=max(0, now.void - 1))
            return None
        step = now.undone[-1]
        places = now.places if step.orders is None else _ordered(now.places, step.orders[1])
        places, change = _moved(places, step.kind, step.after)
        self._all = replace(now, places=places, done=(*now.done, step), undone=now.undone[:-1])
        return change

    def hand_over(self, number: int, owner: str) -> None:
        """Let a cell own a turn that no cell owned; this is not a change to undo.

        The cell takes the turn's place: when it runs, its turn replaces this one, and no
        request carries both.

        Args:
            number: the turn's number; one that is not live is left alone.
            owner: hash of the cell.
        """
        now = self._all

        def handed(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
            return tuple(
                replace(turn, owner=owner, entry="cell", asker="a cell that has not run yet")
                if turn.number == number
                else turn
                for turn in turns
            )

        places = tuple(
            replace(place, owner=owner, turns=handed(place.turns))
            if any(turn.number == number for turn in place.turns)
            else place
            for place in now.places
        )

        def redone(step: _Step) -> _Step:
            before, after = (
                {key: handed(turns) for key, turns in side.items()}
                for side in (step.before, step.after)
            )
            return _Step(step.kind, before, after)

        done, undone = (tuple(map(redone, steps)) for steps in (now.done, now.undone))
        self._all = replace(now, places=places, done=done, undone=undone)

    def arrange(self, order: Sequence[str]) -> None:
        """Let the places follow the page (rule 5); this is not a change to undo.

        Args:
            order: hashes of the page's cells from top to bottom.
        """
        now = self._all
        self._all = replace(now, places=_arranged(now.places, order))

    def follow(self, layout: Layout) -> Change | None:
        """Let the conversation follow the pages: rules 13, 12 and 5, in this order.

        Args:
            layout: how the cells stand.

        Returns:
            The change, if turns were set aside.
        """
        self._all, change = _followed(self._all, layout)
        return change

    def stale_owners(self, layout: Layout | None = None) -> frozenset[str]:
        """Give the hashes of the cells with a turn that would be asked otherwise now (rule 9).

        Args:
            layout: how the cells stand, for what would be if the conversation followed it,
                which it does not yet.
        """
        now = self._all if layout is None else _followed(self._all, layout)[0]
        owners = [place.owner for place in now.places for _ in place.turns]
        turns = _live(now.places)
        stale = (owner for index, owner in enumerate(owners) if _is_stale(turns, index))
        return frozenset(owner for owner in stale if owner is not None)

    def stale(self, turn: Turn) -> bool:
        """Tell whether a live turn would be asked otherwise now (rule 9); others never are."""
        turns = self.turns
        return turn in turns and _is_stale(turns, turns.index(turn))

    def stale_turns(self) -> tuple[Turn, ...]:
        """Give the live turns that would be asked otherwise now, in their order (rule 9)."""
        turns = self.turns
        return tuple(turn for index, turn in enumerate(turns) if _is_stale(turns, index))


def _renumbered(turn: Turn, by: int) -> Turn:
    """Move a turn's number, and those it carried; 0 stands for a turn that is not known."""
    carried = tuple(number + by if number else 0 for number in turn.carried)
    return replace(turn, number=turn.number + by, carried=carried)


def _live(places: Sequence[_Place]) -> tuple[Turn, ...]:
    return tuple(turn for place in places for turn in place.turns)


def _newest(items: tuple[_T, ...], last: int | None) -> tuple[_T, ...]:
    return items if last is None else items[max(0, len(items) - last) :]


def _is_stale(turns: tuple[Turn, ...], index: int) -> bool:
    turn = turns[index]
    now = _newest(turns[:index], turn.last)
    return turn.carried != tuple(other.number for other in now)


def _of_execution(place: _Place, execution: str | None) -> tuple[Turn, ...]:
    """Give the place's turns that belong to this execution (rule 3)."""
    if execution is None:
        return ()
    return tuple(turn for turn in place.turns if turn.execution == execution)


def _with_place(
    places: tuple[_Place, ...], owner: str | None, order: Sequence[str] | None
) -> tuple[tuple[_Place, ...], int]:
    """Give the places, arranged, with one for the owner's next turn, and say which it is."""
    if order is not None:
        places = _arranged(places, order)
    owners = [place.owner for place in places]
    if owner is not None and owner in owners:
        return places, owners.index(owner)
    index = len(places)
    if owner is not None and order is not None and owner in order:
        below = set(order[order.index(owner) :])
        index = next((i for i, other in enumerate(owners) if other in below), index)
    return (*places[:index], _Place(len(places), owner), *places[index:]), index


def _arranged(places: tuple[_Place, ...], order: Sequence[str]) -> tuple[_Place, ...]:
    """Sort the places as the page does; one not on the page goes with the one before it."""
    on_page: dict[str | None, int] = {owner: rank for rank, owner in enumerate(order)}
    return _sorted(places, [on_page.get(place.owner) for place in places])


def _ordered(places: tuple[_Place, ...], keys: Sequence[int]) -> tuple[_Place, ...]:
    """Sort the places as they stood once; a newer one goes with the one before it."""
    stood = {key: rank for rank, key in enumerate(keys)}
    return _sorted(places, [stood.get(place.key) for place in places])


def _sorted(places: tuple[_Place, ...], given: Sequence[int | None]) -> tuple[_Place, ...]:
    """Sort the places by their ranks; one without goes with the one before it."""
    ranks: dict[int, int] = {}
    last = -1
    for place, rank in zip(places, given, strict=True):
        last = ranks[place.key] = last if rank is None else rank
    return tuple(sorted(places, key=lambda place: ranks[place.key]))


def _followed(now: _All, layout: Layout) -> tuple[_All, Change | None]:
    if layout.order is None:
        # What was loaded has an order of its own, which counts.
        loaded = any(step.orders is not None for step in now.done)
        places = now.places if loaded else sorted(now.places, key=lambda place: place.key)
        return replace(now, places=tuple(places)), None
    now = _taken_over(now, layout)
    owners = {place.owner for place in now.places if place.owner is not None}
    for owner in (now.away - layout.gone) & owners:
        now = _brought_back(now, owner)
    now, change = _set_aside(now, layout.gone - now.away)
    return replace(now, places=_arranged(now.places, layout.order), away=layout.gone), change


def _set_aside(now: _All, owners: Collection[str]) -> tuple[_All, Change | None]:
    after: dict[int, tuple[Turn, ...]] = {
        place.key: () for place in now.places if place.turns and place.owner in owners
    }
    return _changed(now, "set aside", after) if after else (now, None)


def _taken_over(now: _All, layout: Layout) -> _All:
    """Give places of cells that are gone to the cells whose records name them (rule 13)."""
    places, away = list(now.places), now.away
    taken = {place.owner for place in places}
    for cell, named in layout.named.items():
        if cell in taken:
            continue
        for index, place in enumerate(places):
            owner = place.owner
            if owner is None or owner in layout.present or named not in {owner, *place.earlier}:
                continue
            places[index] = replace(place, owner=cell, earlier=place.earlier | {owner})
            # What was set aside with the cell that is gone comes back with this one.
            away = away | {cell} if owner in away else away
            break
    return replace(now, places=tuple(places), away=away)


def _brought_back(now: _All, owner: str) -> _All:
    """Give a cell back what was set aside when it went (rule 12)."""
    place = next(place for place in now.places if place.owner == owner)
    index = next(
        (
            index
            for index in reversed(range(len(now.done)))
            if now.done[index].kind == "reset" or place.key in now.done[index].after
        ),
        None,
    )
    if index is None or now.done[index].kind != "set aside":
        return now
    step = now.done[index]
    turns = step.before[place.key]
    before, after = (
        {key: turns for key, turns in side.items() if key != place.key}
        for side in (step.before, step.after)
    )
    left = (replace(step, before=before, after=after),) if after else ()
    places, _ = _moved(now.places, step.kind, {place.key: turns})
    done = (*now.done[:index], *left, *now.done[index + 1 :])
    return replace(now, places=places, done=done)


def _changed(
    now: _All,
    kind: Kind,
    after: Mapping[int, tuple[Turn, ...]],
    orders: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> tuple[_All, Change]:
    """Do something new: put these turns into these places, and remember it for undo."""
    before = {place.key: place.turns for place in now.places if place.key in after}
    places, change = _moved(now.places, kind, after)
    done = (*now.done, _Step(kind, before, after, orders))[-UNDO_DEPTH:]
    return replace(now, places=places, done=done, undone=(), void=0), change


def _moved(
    places: tuple[_Place, ...], kind: Kind, turns: Mapping[int, tuple[Turn, ...]]
) -> tuple[tuple[_Place, ...], Change]:
    """Put these turns into these places, by key, and say which went and which came."""
    moved = tuple(
        replace(place, turns=turns[place.key]) if place.key in turns else place for place in places
    )
    before, after = _live(places), _live(moved)
    was, now = ({turn.number for turn in live} for live in (before, after))
    went = tuple(turn for turn in before if turn.number not in now)
    came = tuple(turn for turn in after if turn.number not in was)
    return moved, Change(kind, went, came)
