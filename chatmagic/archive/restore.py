"""Restoration of a conversation from saved records; nothing is asked again.

The cells are followed from top to bottom, as in Run All. Each turn gets its cell's place, and
undos, redos and resets are repeated. A turn that carried other turns than those above it is stale
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from chatmagic import safe_text
from chatmagic._json import with_shared_fields
from chatmagic.archive.carried_turns import CarriedTurns, record_chain
from chatmagic.archive.notebook import Notebook, SavedOutput
from chatmagic.conversation import continuation, template
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Entry
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import (
    Instructions,
    Replacement,
    Steering,
    ThreadStart,
    TurnSteering,
)
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import QuestionPlace, Window, own_instructions
from chatmagic.models import Reply, ReplyFacts
from chatmagic.safe_text import counted, numbered

SHOWN: Final = 200
QUOTED: Final = 500
"""Largest number of quoted characters of loaded instructions."""
MOST_LINES: Final = 10
"""Largest number of lines on instructions, and on values."""
NOT_KEPT: Final = (
    "the value was not kept; until the cell runs again, its prompt is sent with its name in "
    "its place."
)


@dataclass(frozen=True, slots=True)
class Restored:
    """A notebook's conversation.

    Args:
        conversation: the conversation.
        numbers: the numbers of the turns that were kept in the conversation, by their outputs.
        cells: the cells of these turns, by the turns' numbers.
        asked: each turn, by its number, with the window at its place at the time of its cell.
        problems: a line for each record that could not be used.
    """

    conversation: Conversation
    numbers: Mapping[SavedOutput, int]
    cells: Mapping[int, int]
    asked: Mapping[int, tuple[Turn, Window]]
    problems: tuple[str, ...]


def restore(
    notebook: Notebook,
    *,
    by_id: bool = True,
    changed: bool = False,
    as_recorded: bool = False,
    after: int = 0,
) -> Restored:
    """Rebuild a notebook's conversation.

    Args:
        notebook: the notebook.
        by_id: whether the front end knows a cell by its identity in the file, as JupyterLab does.
            Otherwise a turn's owner is the cell that its record names.
        changed: whether to accept changed outputs; otherwise they are left out.
        as_recorded: whether a changed turn keeps the digest by which the turns below name it.
        after: as for :class:`Conversation`.
    """
    owners = _owners(notebook, by_id=by_id)
    turns, problems = _turns(notebook, owners, changed=changed, as_recorded=as_recorded)
    replay = Replay(turns.values(), after)
    for saved in notebook.outputs:
        if saved.fault and not changed:
            continue
        if saved.record is None:
            replay.change(saved, owners.get(saved.cell))
        elif saved in turns:
            replay.add(turns[saved])
    numbers = {saved: number for number, saved in enumerate(turns, after + 1)}
    cells = {number: saved.cell for saved, number in numbers.items()}
    problems += [
        f"cell {cells[number]}: the part of the reply that it continues is in no output here, so "
        "its own was left out."
        for number in replay.lost
    ]
    return Restored(replay.conversation, numbers, cells, replay.asked, tuple(problems))


def turn_of(
    record: Record,
    text: str,
    *,
    owner: str | None,
    execution: str | None = None,
    entry: Entry = "cell",
    shown: bool = False,
) -> Turn:
    """Return the turn of a record.

    Args:
        record: the record.
        text: the reply's text.
        owner: hash of the cell that owns the turn; ``None`` without one.
        execution: identity of the cell's execution; ``None`` if unknown.
        entry: place of the question.
        shown: whether an output of a cell shows the turn.

    Raises:
        ValueError: the record's values are not those of its prompt.
    """
    values = tuple(map(template.with_known_text, record.values))
    return Turn(
        prompt=template.refill(record.prompt, values),
        reply=with_shared_fields(Reply(text), record, ReplyFacts),
        typed=record.prompt if values else None,
        values=values,
        **record.parameters,
        asked_model=record.asked_model,
        instructions=record.instructions,
        placeholder=record.placeholder,
        record=record,
        owner=owner,
        execution=execution,
        entry=entry,
        shown=shown,
    )


class Replay:
    """A conversation to which saved turns are added, one after the other.

    Args:
        turns: the turns to add, in their order, each with its record.
        after: as for :class:`Conversation`.
    """

    def __init__(self, turns: Iterable[Turn], after: int) -> None:
        """Start without any turn."""
        self.conversation = Conversation(after)
        self.asked: dict[int, tuple[Turn, Window]] = {}
        """Each turn, by its number, with the window at its place when it was added."""
        self.lost: list[int] = []
        """Numbers of the turns that were left out because their first part is missing."""
        self._carried = CarriedTurns(turns, after)

    def add(self, turn: Turn) -> None:
        """Add a turn, with the numbers of the turns that it carried; 0 is an unknown turn.

        A turn that replaced an earlier reply replaces it again, if that reply is live (rule 20). A
        turn that continued a reply is joined to it (rule 22).

        Args:
            turn: the turn, with its record.
        """
        record = cast("Record", turn.record)
        replaced = self._replaced_by(turn)
        place = QuestionPlace(
            turn.owner,
            turn.execution,
            thread=turn.thread,
            again=None if replaced is None else replaced.number,
        )
        window = self.conversation.window(place)
        turn = self._carried.carrying(turn, window.visible)
        if own_instructions(turn) is None and window.instructs_as(turn):
            turn = replace(turn, instructions=window.instructions)
        self.asked[self.conversation.added + 1] = turn, window
        again = self._number_again(turn, replaced)
        replies = () if replaced is None else self.conversation.replies[replaced.number]
        if record.continues is not None:
            first = next((r for r in replies if r.recorded_digest == record.continues), None)
            if first is None:  # Without the first part there is no whole reply.
                self.lost.append(self.conversation.added + 1)
                again = 0
            else:
                turn = continuation.joined_turn(first, turn)
        # Among equal texts, the one with the same credits.
        same = [reply for reply in replies if reply.recorded_digest == turn.recorded_digest]
        picked = max(same, key=lambda reply: reply.reply == turn.reply, default=None)
        if record.picked and picked is not None:
            self.conversation.add(Replacement(picked, owner=turn.owner, execution=turn.execution))
        else:
            self.conversation.add(replace(turn, again=again))

    def _replaced_by(self, turn: Turn) -> Turn | None:
        """Return the live turn whose reply a turn replaced, or which it continued, if any."""
        digests = cast("Record", turn.record).in_place_of
        if not digests:
            return None
        # The newest first. Among equal turns, the one with the same turns above as this one's.
        live = reversed(self.conversation.turns)
        replaced = [other for other in live if other.recorded_digest in digests]
        return max(replaced, key=lambda other: self._likeness(other, turn), default=None)

    def _number_again(self, turn: Turn, replaced: Turn | None) -> int | None:
        """Return the number of the turn whose question a turn asked again.

        Args:
            turn: the turn, with its record.
            replaced: the live turn whose reply it replaced; ``None`` for none.

        Returns:
            0 for a turn that no output here holds; ``None`` if the question stands as a first one.
        """
        record = cast("Record", turn.record)
        if replaced is not None:
            return replaced.number
        if record.continues is not None:
            return 0
        is_asked = any(other.as_typed == turn.as_typed for other in self.conversation.turns)
        return 0 if record.in_place_of and is_asked else None

    def _likeness(self, live: Turn, turn: Turn) -> int:
        """Return the likeness of a live turn to a turn from an output, from 0 to 2."""
        at = QuestionPlace(turn.owner, turn.execution, again=live.number)
        now = self.conversation.window(at, last=turn.last)
        is_below = now.carried.chain == record_chain(cast("Record", turn.record))
        return int(is_below) + int(live.parameters == turn.parameters)

    def change(self, saved: SavedOutput, owner: str | None) -> None:
        """Repeat the change of the conversation that an output records, which shows no reply.

        Args:
            saved: the output: a steering item, the deletion of a thread, an undo, redo or reset.
            owner: the owner of its cell's items; ``None`` without one.
        """
        if saved.kind == "undo":
            self.conversation.undo()
        elif saved.kind == "redo":
            self.conversation.redo()
        elif saved.kind == "reset":
            self.conversation.reset()
        elif saved.kind == "deletion":
            self.conversation.delete(cast("ThreadStart", saved.steering).name)
        else:
            item = cast("Steering", saved.steering)
            self.steer(replace(item, owner=owner, execution=f"cell {saved.cell}"))

    def steer(self, item: Steering) -> None:
        """Add a steering item; it may name one of the turns above.

        Args:
            item: the item, with its owner and execution.
        """
        if isinstance(item, TurnSteering):
            at = QuestionPlace(item.owner, item.execution)
            item = item.among(self.conversation.window(at).above)
        self.conversation.add(item)


def _turns(
    notebook: Notebook, owners: Mapping[int, str | None], *, changed: bool, as_recorded: bool
) -> tuple[dict[SavedOutput, Turn], list[str]]:
    """Return the turns of the conversation by their outputs, and the faults."""
    turns: dict[SavedOutput, Turn] = {}
    problems = [*notebook.problems]
    left_out = "" if changed else "; it was left out"
    problems += [
        f"cell {saved.cell}: {saved.fault}{left_out}." for saved in notebook.outputs if saved.fault
    ]
    for saved in notebook.outputs:
        record = saved.record
        if record is None or not record.in_history or (saved.fault and not changed):
            continue
        if saved.text is None:
            problems.append(f"cell {saved.cell}: its reply is gone, so its turn was left out.")
            continue
        owner = owners[saved.cell]
        execution = f"cell {saved.cell}"
        try:
            turn = turn_of(record, saved.text, owner=owner, execution=execution, shown=True)
        except ValueError as error:
            problems.append(f"cell {saved.cell}: its record was left out: {error}.")
            continue
        if saved.fault and not as_recorded and not turn.missing:
            # The digest in the record of an edited turn no longer fits the turn.
            turn = replace(turn, record=replace(record, turn=turn.digest))
        turns[saved] = turn
    return turns, problems


def _owners(notebook: Notebook, *, by_id: bool) -> dict[int, str | None]:
    """Return the owner of each cell's items; the record of a copied cell names another cell."""
    owners: dict[int, str | None] = {}
    taken: set[str] = set()
    for saved in notebook.outputs:
        item = saved.record or saved.steering
        if item is None or saved.cell in owners:
            continue
        wanted = (saved.own, item.owner) if by_id else (item.owner, saved.own)
        free = (owner for owner in wanted if owner is not None and owner not in taken)
        owner = next(free, None)
        owners[saved.cell] = owner
        if owner is not None:
            taken.add(owner)
    return owners


def summary(restored: Restored, notebook: Notebook) -> list[str]:
    """Return lines on the restored turns, and on those that were left out.

    Args:
        restored: the notebook's conversation.
        notebook: the notebook.
    """
    conversation = restored.conversation
    count = len(conversation)
    stale = len(conversation.stale_turns())
    size = f"{counted(count, 'turn')}{f' ({stale:,} stale)' if stale else ''}"
    lines = [f"Restored {size} from {notebook.path.name} as last saved. Nothing was sent."]
    lines += [
        f"cell {restored.cells[turn.number]}: {named(turn)}: {NOT_KEPT}"
        for turn in conversation
        if turn.missing
    ]
    lines += speaking(conversation)
    return [*lines, *restored.problems, *gaps(restored, notebook)]


def gaps(restored: Restored, notebook: Notebook) -> list[str]:
    """Return lines on turns of the conversation that no output of the file holds.

    Args:
        restored: the notebook's conversation.
        notebook: the notebook.
    """
    lines = [notebook.missing] if notebook.missing else []
    lacking = [restored.cells[turn.number] for turn in restored.conversation if 0 in turn.carried]
    if lacking:
        lines.append(
            f"{numbered(lacking, 'cell')} carried a turn that no output here holds: asked "
            "with --quiet, from Python or in a panel, or asked again since."
        )
    return lines


def speaking(conversation: Conversation) -> list[str]:
    """Return lines on what a loaded file adds to the questions, beside the turns that it shows.

    These are its standing instructions, quoted, and the values that it kept, named.

    Args:
        conversation: the loaded conversation.
    """
    items = [item for _, slot in conversation.slots for item in slot]
    texts = [item.value.text or "" for item in items if isinstance(item, Instructions)]
    quoted = [
        f"Its instructions ({counted(len(text), 'character')}) go along with the questions below "
        f"them: “{safe_text.one_line(text, QUOTED)}”"
        for text in texts
        if text
    ]
    kept = [
        f"turn {number}: the value that the file gives {safe_text.one_line(value.as_typed, SHOWN)} "
        f"goes along ({counted(value.size, 'character')})."
        for number, turn in enumerate(conversation, 1)
        for value in turn.values
        if value.text is not None
    ]
    lines = [*_first(quoted, "more instructions"), *_first(kept, "more values")]
    undo = "%chat_undo undoes the loading, %chat_history N --request shows a request."
    return [*lines, undo] if lines else []


def _first(lines: list[str], others: str) -> list[str]:
    """Return the first lines, and one on the number of the others."""
    more = len(lines) - MOST_LINES
    if more <= 0:
        return lines
    return [*lines[:MOST_LINES], f"… and {more:,} {others}."]


def named(turn: Turn) -> str:
    """Return the names of a turn's values that were not kept.

    Args:
        turn: the turn.
    """
    return safe_text.one_line(", ".join(value.as_typed for value in turn.missing), SHOWN)
