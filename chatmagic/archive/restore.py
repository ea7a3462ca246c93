"""A notebook's records to the conversation they tell of, without asking anything again.

The cells are gone through from top to bottom, as Run All would: each turn is put where its
cell puts it, and what was undone, done again or reset is so again. A turn that carried
others than those that now stand above it is stale, as it was before.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from chatmagic import text
from chatmagic._json import chain_of, turn_digest
from chatmagic.archive import archive
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import newest
from chatmagic.text import counted, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chatmagic.archive.notebook_file import Notebook, SavedOutput
    from chatmagic.conversation.record import Record
    from chatmagic.conversation.turn import Turn

SHOWN: Final = 200
NOT_KEPT: Final = (
    "the value was not kept; until the cell runs again, its prompt is sent with the expression "
    "in its place."
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
        numbers: the number of each turn, by its place among the notebook's turns; ``None``
            for a turn that was not kept in the conversation, or cannot be.
        problems: a line for each record that could not be put to use.
    """

    conversation: Conversation
    numbers: tuple[int | None, ...]
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
    turns, problems = _turns(notebook, by_id=by_id, changed=changed)
    replay = _Replay(notebook, turns)
    index = -1
    for saved in notebook.outputs:
        # A turn is counted also where it is left out.
        index += saved.kind == "turn"
        if saved.fault and not changed:
            continue
        if saved.kind == "turn" and index in turns:
            replay.add(index)
        elif saved.kind != "turn":
            _STEPS[saved.kind](replay.conversation)
    places = range(len(notebook.turns))
    numbers = tuple(map(replay.numbers.get, places))
    return Restored(replay.conversation, numbers, tuple(problems))


class _Replay:
    """A conversation to which a notebook's turns are added, one after the other.

    Args:
        notebook: as it was read.
        turns: the turns that were kept, by their places among the notebook's turns.
    """

    def __init__(self, notebook: Notebook, turns: Mapping[int, Turn]) -> None:
        self.conversation = Conversation()
        # Turns are numbered in the order in which they are added, so their numbers are known.
        self.numbers = {index: number for number, index in enumerate(turns, 1)}
        self._turns = turns
        self._records = [record for _, record in notebook.turns]
        saved_turns = notebook.turns
        self._digests = {index: _digest(saved_turns[index], turn) for index, turn in turns.items()}
        self._known: dict[str, list[int]] = defaultdict(list)
        for index, digest in self._digests.items():
            self._known[digest].append(self.numbers[index])
        self._by_number = {self.numbers[index]: digest for index, digest in self._digests.items()}
        self._lists: dict[str, list[tuple[str, ...]]] = defaultdict(list)

    def add(self, index: int) -> None:
        """Add a turn, with the numbers of those that it carried."""
        turn = self._turns[index]
        context = self.conversation.context(turn.owner, turn.execution).numbers
        above = [self._by_number[number] for number in context]
        record = _listed(self._records[index], self._lists, above)
        if not record.earlier:
            self._lists[self._digests[index]].append(record.carried)
        now = newest(context, turn.last)
        stand = tuple(self._by_number[number] for number in now)
        # Most turns carried what stands above them.
        same = record.carried == stand
        carried = now if same else _numbers(record.carried, self._known, now)
        # One 0 stands for all those that no digest tells.
        carried = (0, *carried) if record.earlier else carried
        self.conversation.add(replace(turn, carried=carried, record=record))


def _turns(notebook: Notebook, *, by_id: bool, changed: bool) -> tuple[dict[int, Turn], list[str]]:
    """Return the turns that were kept in the conversation, by their places, and what failed."""
    turns: dict[int, Turn] = {}
    left_out = "" if changed else "; it was left out"
    faulty = [saved for saved in notebook.outputs if saved.fault]
    problems = [f"cell {saved.cell}: {saved.fault}{left_out}." for saved in faulty]
    problems = [*notebook.problems, *problems]
    owners = _owners(notebook, by_id=by_id)
    for index, (saved, record) in enumerate(notebook.turns):
        if not record.in_history or (saved.fault and not changed):
            continue
        if saved.text is None:
            problems.append(f"cell {saved.cell}: its reply is gone, so its turn was left out.")
            continue
        try:
            turns[index] = archive.turn_of(
                record,
                saved.text,
                owner=owners[saved.cell],
                execution=f"cell {saved.cell}",
                shown=True,
            )
        except ValueError as error:
            problems.append(f"cell {saved.cell}: its record was left out: {error}.")
    return turns, problems


def _owners(notebook: Notebook, *, by_id: bool) -> dict[int, str | None]:
    """Return the owner of each cell's turns; a copied cell has a record that names another cell."""
    owners: dict[int, str | None] = {}
    taken: set[str] = set()
    for saved, record in notebook.turns:
        if saved.cell not in owners:
            wanted = (saved.own, record.owner) if by_id else (record.owner, saved.own)
            free = (owner for owner in wanted if owner is not None and owner not in taken)
            owner = owners[saved.cell] = next(free, None)
            taken |= {owner} if owner else set()
    return owners


def _digest(saved_record: tuple[SavedOutput, Record], turn: Turn) -> str:
    """Return the digest by which later records name the turn."""
    saved, record = saved_record
    # A prompt whose values were not kept is another text now; its record knows better.
    known = saved.agrees and (not saved.fault or turn.missing)
    return record.turn if record.turn and known else turn_digest(turn.prompt, turn.reply.text)


def _listed(
    record: Record, lists: Mapping[str, Sequence[tuple[str, ...]]], above: Sequence[str]
) -> Record:
    """Return a record that lists all turns its request carried, where these can be found out.

    Args:
        record: as it was read: of the earlier turns it has the number and the chain digest.
        lists: what turns carried, by the turns' digests.
        above: digests of the turns that stand above it now.
    """
    count, first = record.earlier, record.carried[:1]
    if not count:
        return record
    # Its predecessor carried the same, or it stands as it stood; a replaced one is left out.
    candidates = [listed[-count:] for digest in first for listed in lists.get(digest, ())]
    ends = [end for end, digest in enumerate(above) if (digest,) == first]
    ends += [len(above), len(above) - 1]
    candidates += [tuple(above[max(0, end - count) : max(0, end)]) for end in ends]
    for listed in candidates:
        if len(listed) == count and chain_of(listed) == record.chain:
            return replace(record, carried=(*listed, *record.carried), earlier=0, chain=None)
    return record


def _numbers(
    carried: Sequence[str], known: dict[str, list[int]], context: Sequence[int]
) -> tuple[int, ...]:
    """Find the turns that a request carried: those above where they fit, else any, else 0."""
    here = set(context)
    fitting: dict[str, Iterator[int]] = {}
    numbers = []
    for digest in carried:
        candidates = known.get(digest, [0])
        if digest not in fitting:
            # Of several equal turns each is carried once, in their order.
            fitting[digest] = iter([number for number in candidates if number in here])
        numbers.append(next(fitting[digest], candidates[0]))
    return tuple(numbers)


def summary(restored: Restored, notebook: Notebook) -> list[str]:
    """Return in words what was restored and what was not, a line each."""
    conversation = restored.conversation
    count, stale = len(conversation), len(conversation.stale_turns())
    what = f"{counted(count, 'turn')}{f' ({stale:,} stale)' if stale else ''}"
    lines = [f"Restored {what} from {notebook.path.name} as last saved. Nothing was sent."]
    live = {turn.number: turn for turn in conversation}
    changed = []
    for (saved, _), number in zip(notebook.turns, restored.numbers, strict=True):
        turn = live.get(number or 0)
        if turn is None:
            continue
        if not saved.agrees:
            changed.append(saved.cell)
        if turn.missing:
            lines.append(f"cell {saved.cell}: {named(turn)}: {NOT_KEPT}")
    if changed:
        lines.append(
            f"{numbered(changed, 'cell')}: the reply was changed by hand; it is sent as it is."
        )
    return [*lines, *restored.problems, *gaps(restored, notebook)]


def gaps(restored: Restored, notebook: Notebook) -> list[str]:
    """Return in words what the conversation lacks because no output of the file holds it."""
    live = {turn.number: turn for turn in restored.conversation}
    turns = [
        (saved.cell, live[number])
        for (saved, _), number in zip(notebook.turns, restored.numbers, strict=True)
        if number in live
    ]
    lines = [notebook.missing] if notebook.missing else []
    if lacking := [cell for cell, turn in turns if 0 in turn.carried]:
        lines.append(
            f"{numbered(lacking, 'cell')} carried a turn that no output here holds: asked "
            "with --quiet, from Python or in a panel, or asked again since."
        )
    return lines


def named(turn: Turn) -> str:
    """Return the expressions of a turn whose values were not kept."""
    return text.one_line(", ".join(f"{{{{ {name} }}}}" for name in turn.missing), SHOWN)
