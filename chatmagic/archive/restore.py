"""Restoration of a conversation from saved records; nothing is asked again.

The cells are gone through from top to bottom, as Run All would: each turn is put where its
cell puts it, and what was undone, done again or reset is so again. A turn that carried
others than those that now stand above it is stale, as it was before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from chatmagic import text
from chatmagic._json import shared
from chatmagic.archive.carried import CarriedTurns
from chatmagic.conversation import continuation, formats, template
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.hiding import Hiding
from chatmagic.conversation.prefix import Prefix, grown
from chatmagic.conversation.threads import ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, ReplyFacts
from chatmagic.text import counted, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from chatmagic.archive.notebook_file import Notebook
    from chatmagic.conversation.record import Record
    from chatmagic.conversation.steering import Steering

SHOWN: Final = 200
NOT_KEPT: Final = (
    "the value was not kept; until the cell runs again, its prompt is sent with its name in "
    "its place."
)


_STEPS: Final[Mapping[str, Callable[[Conversation], object]]] = {
    "undo": Conversation.undo,
    "redo": Conversation.redo,
    "reset": Conversation.reset,
}


@dataclass(frozen=True, slots=True)
class Restored:
    """A notebook's conversation.

    Args:
        conversation: it.
        numbers: the numbers of the turns that were kept in the conversation, by their places
            among the notebook's turns.
        cells: the cells of these turns, by the turns' numbers.
        threads: the threads in which they were asked, by the turns' numbers.
        above: the turns that stood above each of them when its cell was gone through.
        problems: a line for each record that could not be put to use.
    """

    conversation: Conversation
    numbers: Mapping[int, int]
    cells: Mapping[int, int]
    threads: Mapping[int, str]
    above: Mapping[int, Sequence[Turn]]
    problems: tuple[str, ...]


def restore(notebook: Notebook, *, by_id: bool = True, changed: bool = False) -> Restored:
    """Rebuild a notebook's conversation.

    Args:
        notebook: as it was read.
        by_id: whether the front end knows a cell by its identity on disk, as JupyterLab
            does; otherwise a turn's owner is the one that its record names.
        changed: whether what is not as it was sealed is taken as it stands; otherwise it is
            left out.
    """
    owners = _owners(notebook, by_id=by_id)
    turns, problems = _turns(notebook, owners, changed=changed)
    replay = Replay(turns.values())
    index = -1
    for saved in notebook.outputs:
        # A reply is counted also where it is left out.
        index += saved.record is not None
        if saved.fault and not changed:
            continue
        if saved.record is not None:
            if index in turns:
                replay.add(turns[index])
        elif isinstance(saved.steering, ThreadStart) and saved.kind == "deletion":
            replay.conversation.delete(saved.steering.name)
        elif (item := saved.steering) is not None:
            owner, execution = owners[saved.cell], f"cell {saved.cell}"
            replay.steer(replace(item, owner=owner, execution=execution))
        else:
            _STEPS[saved.kind](replay.conversation)
    replies = notebook.replies
    cells = {number: replies[index][0].cell for number, index in enumerate(turns, 1)}
    problems += [
        f"cell {cells[number]}: the part of the reply that it continues is in no output here, so "
        "its own was left out."
        for number in replay.lost
    ]
    asked = [index for index, (_, record) in enumerate(replies) if not record.picked]
    numbers = {index: number for number, index in enumerate(turns, 1)}
    numbers = {place: numbers[index] for place, index in enumerate(asked) if index in numbers}
    return Restored(
        replay.conversation, numbers, cells, replay.threads, replay.above, tuple(problems)
    )


def turn_of(record: Record, text: str, **place: Any) -> Turn:
    """Return the turn that a record tells of.

    Args:
        record: its record.
        text: the reply's text.
        **place: what no record keeps: the turn's owner, execution and entry.

    Raises:
        ValueError: the record's values are not those of its prompt.
    """
    values = tuple(map(formats.recalled, record.values))
    return Turn(
        prompt=template.refill(record.prompt, values),
        reply=Reply(text, **shared(record, ReplyFacts)),
        typed=record.prompt if values else None,
        values=values,
        **record.parameters,
        asked_model=record.asked_model,
        instructions=record.instructions,
        record=record,
        **place,
    )


class Replay:
    """A conversation to which saved turns are added, one after the other.

    Args:
        turns: those that will be added, in their order, each with its record.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        """Start without any turn."""
        self.conversation = Conversation()
        self.threads: dict[int, str] = {}
        """The threads in which turns were asked, by the turns' numbers."""
        self.above: dict[int, Sequence[Turn]] = {}
        """The turns that stood above each turn when it was added."""
        self.lost: list[int] = []
        """The numbers of the turns that were left out: what they continued is not there."""
        self._carried = CarriedTurns(turns)
        self._shared: Prefix[Turn] = Prefix()

    def add(self, turn: Turn) -> None:
        """Add a turn, with the numbers of those that it carried; 0 is one that is not known.

        One that came in place of an earlier reply does so again, if that is live (rule 20), and
        one that continued a reply is joined to it (rule 22).
        """
        record = cast("Record", turn.record)
        earlier = record.in_place_of
        turns = reversed(self.conversation.turns if earlier else ())
        olds = [each for each in turns if each.recorded_digest in earlier]
        # Of equal turns, the one that stood below what this one's request carried.
        old = max(olds, key=lambda each: self._likeness(each, turn)).number if olds else 0
        if earlier and not old:
            alike = (each.as_typed == turn.as_typed for each in self.conversation.turns)
            earlier = earlier if any(alike) else ()  # No output holds the reply that it replaced.
        stand = (
            self.conversation.context_of(old)
            if old
            else self.conversation.context(turn.owner, turn.execution, thread=turn.thread)
        )
        numbers = stand.numbers
        turn = self._carried.carrying(turn, numbers, self._carried.digests(numbers))
        if record.continues is not None:
            turn, old = self._joined(turn, old)
        number = self.conversation.added + 1
        self.above[number] = self._shared = grown(self._shared, stand.turns, Prefix)
        self.threads[number] = stand.thread
        if not earlier and record.continues is None:
            self.conversation.add(turn)
            return
        asker = turn.owner
        if record.picked:
            known = self.conversation.replies(old)
            same = [each for each in known if each.recorded_digest == turn.recorded_digest]
            # Of equal texts, the one with the same credits.
            turn = max(same, key=lambda each: each.reply == turn.reply, default=turn)
        self.conversation.replace_reply(turn, old, asker=asker)

    def _joined(self, turn: Turn, old: int) -> tuple[Turn, int]:
        """Return a turn with what it continues, and the number of the turn that it replaces."""
        continued = cast("Record", turn.record).continues
        for each in self.conversation.replies(old):
            if each.recorded_digest == continued:
                return continuation.joined(each, turn), old
        # Without what it continues it is no reply.
        self.lost.append(self.conversation.added + 1)
        return turn, 0

    def _likeness(self, live: Turn, turn: Turn) -> int:
        """Return in how much a live turn is asked as one from an output was; 2 is in all."""
        now = self.conversation.context_of(live.number, last=turn.last).numbers
        carried = self._carried.listed(cast("Record", turn.record)).carried
        is_below = carried == self._carried.digests(now)
        return is_below + (live.parameters == turn.parameters)

    def steer(self, item: Steering) -> None:
        """Add what steers the turns below it; a hiding names one of those above."""
        if isinstance(item, Hiding):
            item = item.among(self.conversation.context(item.owner, item.execution).line)
        self.conversation.add(item)


def _turns(
    notebook: Notebook, owners: Mapping[int, str | None], *, changed: bool
) -> tuple[dict[int, Turn], list[str]]:
    """Return the turns that were kept in the conversation, by their places, and what failed."""
    turns: dict[int, Turn] = {}
    left_out = "" if changed else "; it was left out"
    faulty = [saved for saved in notebook.outputs if saved.fault]
    problems = [f"cell {saved.cell}: {saved.fault}{left_out}." for saved in faulty]
    problems = [*notebook.problems, *problems]
    for index, (saved, record) in enumerate(notebook.replies):
        if not record.in_history or (saved.fault and not changed):
            continue
        if saved.text is None:
            problems.append(f"cell {saved.cell}: its reply is gone, so its turn was left out.")
            continue
        place = {"owner": owners[saved.cell], "execution": f"cell {saved.cell}", "shown": True}
        try:
            turn = turn_of(record, saved.text, **place)
        except ValueError as error:
            problems.append(f"cell {saved.cell}: its record was left out: {error}.")
            continue
        # What was changed by hand is no longer the turn that its record names.
        known = record if not saved.fault or turn.missing else replace(record, turn=turn.digest)
        turns[index] = replace(turn, record=known)
    return turns, problems


def _owners(notebook: Notebook, *, by_id: bool) -> dict[int, str | None]:
    """Return the owner of what each cell holds; the record of a copied cell names another cell."""
    owners: dict[int, str | None] = {}
    taken: set[str] = set()
    for saved in notebook.outputs:
        record = saved.record or saved.steering
        if record is not None and saved.cell not in owners:
            wanted = (saved.own, record.owner) if by_id else (record.owner, saved.own)
            free = (owner for owner in wanted if owner is not None and owner not in taken)
            owner = owners[saved.cell] = next(free, None)
            taken |= {owner} if owner else set()
    return owners


def summary(restored: Restored, notebook: Notebook) -> list[str]:
    """Return in words what was restored and what was not, a line each."""
    conversation = restored.conversation
    count, stale = len(conversation), len(conversation.stale_turns())
    what = f"{counted(count, 'turn')}{f' ({stale:,} stale)' if stale else ''}"
    lines = [f"Restored {what} from {notebook.path.name} as last saved. Nothing was sent."]
    lines += [
        f"cell {restored.cells[turn.number]}: {named(turn)}: {NOT_KEPT}"
        for turn in conversation
        if turn.missing
    ]
    return [*lines, *restored.problems, *gaps(restored, notebook)]


def gaps(restored: Restored, notebook: Notebook) -> list[str]:
    """Return in words what the conversation lacks because no output of the file holds it."""
    lines = [notebook.missing] if notebook.missing else []
    lacking = [restored.cells[turn.number] for turn in restored.conversation if 0 in turn.carried]
    if lacking:
        lines.append(
            f"{numbered(lacking, 'cell')} carried a turn that no output here holds: asked "
            "with --quiet, from Python or in a panel, or asked again since."
        )
    return lines


def named(turn: Turn) -> str:
    """Return what is not kept of a turn's values, by their names."""
    return text.one_line(", ".join(value.as_typed for value in turn.missing), SHOWN)
