"""Audit of notebooks and cassettes; there is no kernel, and nothing is run.

A notebook is in order when each record and its output are as they were sealed, each turn was
asked after those that stand above it and with the question that its cell holds now, and every
record can be read. A cassette is in order when it
can be read and each request carried what stands above it. Given both, each reply that a
notebook shows is to be in a cassette.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from chatmagic.archive import notebook_file, output, restore
from chatmagic.audit import cassettes as audit_cassette
from chatmagic.audit import disclosures, findings
from chatmagic.audit.findings import Audit
from chatmagic.conversation import instructions, question, threads
from chatmagic.conversation.turn import MAIN, carries_others, is_instructed_otherwise
from chatmagic.errors import InputError
from chatmagic.text import numbered, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from chatmagic.archive.notebook_file import AskingCell, Notebook, SavedOutput
    from chatmagic.archive.restore import Restored
    from chatmagic.cassette.interaction import Interaction
    from chatmagic.conversation.record import Record
    from chatmagic.conversation.turn import Turn

LONGEST_NAME: Final = 100
_QUIET: Final = "ChatMagics.quiet"
_MAY_REPEAT: Final = re.compile(r"\(|\b(?:for|while)\b")


def audit_all(paths: Sequence[Path]) -> list[Audit]:
    """Return the audit of each file; one that cannot be read has a problem and no turns.

    Args:
        paths: notebooks and cassettes; what notebooks show is compared with the cassettes.
    """
    cassettes = [path for path in paths if audit_cassette.is_cassette(path)]
    cassette_audits = {path: audit_cassette.audit(path) for path in cassettes}
    held = [interaction for _, holds in cassette_audits.values() for interaction in holds]
    names = " and ".join(one_line(path.name, LONGEST_NAME) for path in cassette_audits)
    return [
        cassette_audits[path][0] if path in cassette_audits else _audit(path, names, held)
        for path in paths
    ]


def _audit(path: Path, names: str, held: Sequence[Interaction]) -> Audit:
    """Return the audit of one notebook."""
    try:
        read = notebook_file.read(path)
    except InputError as error:
        return Audit(str(path), (), (str(error),), (), ())
    restored = restore.restore(read, changed=True)
    turns = _turns(read, restored)
    problems = [*restored.problems, *_edited(read), *_without_record(read), *_gone(read)]
    problems += [*_not_done(read), *_instructed_otherwise(read, restored)]
    problems += [
        f"cell {turn.cell}: its HTML or Markdown differs from what its reply is rendered as."
        for turn in turns
        if turn.rendered is False
    ]
    problems += audit_cassette.missing(read, held, names) if names else []
    remarks = restore.gaps(restored, read)
    if others := [turn.cell for turn in turns if turn.sealed and turn.rendered is None]:
        remarks.append(f"{numbered(others, 'cell')}: HTML not checked: other versions rendered it.")
    return Audit(str(path), turns, tuple(problems), tuple(remarks), disclosures.lines(read))


def _turns(read: Notebook, restored: Restored) -> tuple[findings.Row, ...]:
    order = _order(read, restored)
    # Also of a turn that was taken back below; main is not named.
    names = {number: name for number, name in restored.threads.items() if name != MAIN}
    rows = []
    for index, (saved, record) in enumerate(read.turns):
        number = restored.numbers.get(index)
        rows.append(
            findings.Row.of(
                record,
                cell=saved.cell,
                prompt=record.prompt,
                model_asked=record.asked_model,
                sealed=not saved.fault,
                rendered=_rendered(saved, record),
                in_order=None if number is None else order.get(number, True),
                thread=names.get(number or 0),
            )
        )
    return tuple(rows)


def _rendered(saved: SavedOutput, record: Record) -> bool | None:
    """Return whether a reply is rendered as it stands; ``None`` where that was not tried."""
    if saved.versions != output.versions() or saved.fault or saved.text is None:
        return None
    try:
        reply = restore.turn_of(record, saved.text, owner=None).reply
    except ValueError:
        return None
    shown = output.bundle(reply, record)
    # A release before this one saved no Markdown.
    is_written = saved.markdown in (None, shown["text/markdown"])
    return bool(shown["text/html"] == saved.html and is_written)


def _edited(read: Notebook) -> list[str]:
    """Return a line for each cell whose question is another one than the one that was asked."""
    asked: dict[int, list[str]] = defaultdict(list)
    for saved, record in read.turns:
        asked[saved.cell].append(record.prompt.rstrip("\n"))
    lines = []
    for cell in read.asking:
        were, now = asked[cell.number], question.of(cell.source)
        if were and (_is_edited(cell.source, were) if now is None else now.prompt not in were):
            lines.append(f"cell {cell.number}: its question was edited after it was asked.")
        elif now is not None and len(were) > 1:
            lines.append(f"cell {cell.number}: it asks once, and shows {len(were):,} replies.")
    return lines


def _instructed_otherwise(read: Notebook, restored: Restored) -> list[str]:
    """Return a line for each cell with another thread, or other instructions than were sent."""
    sources = dict(reversed(read.texts))
    lines = [
        f"cell {saved.cell}: its instructions were edited after it ran."
        for saved in read.outputs
        if isinstance(saved.steering, instructions.Instructions)
        and (typed := instructions.typed_in(sources[saved.cell])) is not None
        and typed != saved.steering.text
    ]
    lines += [
        f"cell {saved.cell}: its thread was edited after it ran."
        for saved in read.outputs
        if saved.kind == "thread"
        and saved.steering is not None
        and (begun := threads.typed_in(sources[saved.cell])) is not None
        and begun.reads != saved.steering.reads
    ]
    # What a load brings, no output of this notebook tells.
    first_load = min((cell.number for cell in read.asking if cell.loads), default=None)
    conversation = restored.conversation
    held = zip(conversation, conversation.instructions, strict=False)
    return lines + [
        f"cell {restored.cells[turn.number]}: it was asked with other instructions than those "
        "that stand above it."
        for turn, now in held
        if (first_load is None or restored.cells[turn.number] < first_load)
        and is_instructed_otherwise(turn, now)
    ]


def _is_edited(source: str, asked: Sequence[str]) -> bool:
    """Return whether a cell with several lines that ask has one that was asked otherwise."""
    now = _now(source)
    # A line may not have come to its turn, and a function that is called may ask as well.
    return bool(now) and not now <= set(asked) and not set(asked) <= now


def _now(source: str) -> set[str]:
    """Return the prompts of a cell with several lines that ask, but for the quiet ones."""
    return {asked.prompt for asked in question.each(source) if not asked.quiet}


def _without_record(read: Notebook) -> list[str]:
    """Return a line for each cell that shows its reply, and whose record is gone."""
    return [
        f"cell {cell.number}: its reply has no record: removed, or saved before the reply had "
        "ended."
        for cell in read.asking
        if cell.bare and (question.of(cell.source) or _now(cell.source))
    ]


def _gone(read: Notebook) -> list[str]:
    """Return a line where nothing tells of an answer, or for each cell that lost its output."""
    silent = [cell for cell in read.asking if cell.is_silent]
    asked = [question.of(cell.source) for cell in silent]
    if read.outputs:
        return [
            f"cell {cell.number}: it was run, and its output is gone: stripped, or cleared."
            for cell in silent
            if cell.ran and _shows(cell, read)
        ]
    if all(now is not None and now.quiet for now in asked):
        return []
    return ["no cell that asks has an output: the notebook was never run, or it was stripped."]


def _not_done(read: Notebook) -> list[str]:
    """Return a line for each cell that shows more undos, redos or resets than it does."""
    # Of each cell the source comes first.
    sources = dict(reversed(read.texts))
    shown = Counter((saved.cell, saved.kind) for saved in read.outputs if saved.kind != "turn")
    return [
        f"cell {cell}: it shows {kind} more often than it asks for it."
        for (cell, kind), count in shown.items()
        # What a loop or a function does cannot be counted.
        if not _MAY_REPEAT.search(sources[cell])
        and sources[cell].count(f"chat_{_COMMANDS.get(kind, kind)}") < count
    ]


_COMMANDS: Final = {"deletion": "thread", "hiding": "hide", "pick": "retry"}
"""The commands that do what a record tells, where they are not named like it."""


def _shows(cell: AskingCell, read: Notebook) -> bool:
    """Return whether a cell asks one question and shows what is answered."""
    if cell.retries:
        return True
    now = question.of(cell.source)
    return now is not None and not now.quiet and not any(_QUIET in text for _, text in read.texts)


def _order(read: Notebook, restored: Restored) -> dict[int, bool | None]:
    """Return by turns' numbers whether the order is the cells'; ``None`` where that is unknown."""
    cells = restored.cells
    loads = [cell.number for cell in read.asking if cell.loads]
    quiet = [
        cell.number
        for cell in read.asking
        if cell.loads or (cell.is_quiet and not _shows(cell, read))
    ]
    in_order: dict[int, bool | None] = {}
    for each in restored.conversation.standings:
        turn = each.turn
        # A cell below may have brought another reply to what stands above it since.
        turns = restored.above[turn.number]
        fits = not carries_others(turn, turns)
        own = cells[turn.number]
        # A load puts what it brings in place of all above it, or brings the same again.
        above = (
            [other for other in turns if cells[other.number] >= begin]
            for begin in (0, *(cell for cell in loads if cell <= own))
        )
        untold = not fits and any(_is_untold(some, turn, cells, quiet) for some in above)
        in_order[turn.number] = None if untold else fits
    return in_order


def _is_untold(
    above: Sequence[Turn],
    turn: Turn,
    cells: Mapping[int, int],
    quiet: Sequence[int],
) -> bool:
    """Return whether a turn carried those above it, and others of cells that do not show them."""
    known = [number for number in turn.carried if number]
    # Of those that no digest tells, some may stand above.
    is_part = turn.last is not None or (turn.record is not None and turn.record.earlier)
    newest = len(known) if is_part else len(above)
    if known != [other.number for other in above[len(above) - newest :]]:
        return False
    gaps: set[tuple[int, int]] = set()
    begin, is_gap = 0, False
    for number in (*turn.carried, turn.number):
        if number:
            if is_gap:
                gaps.add((begin, cells[number]))
            begin = max(begin, cells[number])
        is_gap = not number
    return all(any(begin <= number <= end for number in quiet) for begin, end in gaps)
