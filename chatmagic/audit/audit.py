"""Audit of notebooks and cassettes; there is no kernel, and nothing is run.

A notebook is in order when each record and its output are as they were sealed, each turn was
asked after those that stand above it and with the question that its cell holds now, and every
record can be read. A cassette is in order when it can be read, holds each exchange once, and each
request carried what stands above it. Given both, each reply that a notebook shows is to be in a
cassette. What a notebook gives away beside what its cells say is told, too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from chatmagic._json import shared_fields
from chatmagic.archive import notebook, output, restore
from chatmagic.audit.findings import Audit, Row
from chatmagic.cassette.file import CassetteFile
from chatmagic.conversation import chat_cell
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import MAIN
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts, ReplyFacts
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.known_secrets import key_shapes_in
from chatmagic.text import counted, numbered, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from chatmagic.archive.notebook import AskingCell, Notebook, SavedOutput
    from chatmagic.archive.restore import Restored
    from chatmagic.cassette.file import Interaction
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
    cassettes = [path for path in paths if is_cassette(path)]
    cassette_audits = {path: _audit_cassette(path) for path in cassettes}
    held = [interaction for _, holds in cassette_audits.values() for interaction in holds]
    names = " and ".join(one_line(path.name, LONGEST_NAME) for path in cassette_audits)
    return [
        cassette_audits[path][0] if path in cassette_audits else _audit(path, names, held)
        for path in paths
    ]


def _audit(path: Path, names: str, held: Sequence[Interaction]) -> Audit:
    """Return the audit of one notebook."""
    try:
        read = notebook.read(path)
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
    problems += missing(read, held, names) if names else []
    remarks = restore.gaps(restored, read)
    if others := [turn.cell for turn in turns if turn.sealed and turn.rendered is None]:
        remarks.append(f"{numbered(others, 'cell')}: HTML not checked: other versions rendered it.")
    return Audit(str(path), turns, tuple(problems), tuple(remarks), disclosures(read))


def _turns(read: Notebook, restored: Restored) -> tuple[Row, ...]:
    order = _order(read, restored)
    # Also of a turn that was taken back below; main is not named.
    names = {number: name for number, name in restored.threads.items() if name != MAIN}
    rows = []
    for place, saved, record in read.placed_turns:
        number = restored.numbers.get(place)
        rows.append(
            Row.of(
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
        were, now = asked[cell.number], chat_cell.question_of(cell.source)
        if were and (_is_edited(cell.source, were) if now is None else now.prompt not in were):
            lines.append(f"cell {cell.number}: its question was edited after it was asked.")
        elif now is not None and len(were) > 1:
            lines.append(f"cell {cell.number}: it asks once, and shows {len(were):,} replies.")
    return lines


def _instructed_otherwise(read: Notebook, restored: Restored) -> list[str]:
    """Return a line for each cell with another thread, or other instructions than were sent."""
    sources = dict(reversed(read.texts))
    lines = [
        f"cell {saved.cell}: its {saved.kind} {'was' if saved.kind == 'thread' else 'were'} edited "
        "after it ran."
        for saved in read.outputs
        if saved.steering is not None
        and saved.kind == saved.steering.kind
        and (typed := saved.steering.typed_in(sources[saved.cell])) is not None
        and typed.reads != saved.steering.reads
    ]
    # What a load brings, no output of this notebook tells.
    first_load = min((cell.number for cell in read.asking if cell.loads), default=None)
    conversation = restored.conversation
    return lines + [
        f"cell {restored.cells[turn.number]}: it was asked with other instructions than those "
        "that stand above it."
        for turn, window in conversation.windows
        if (first_load is None or restored.cells[turn.number] < first_load)
        and not window.instructs_as(turn)
    ]


def _is_edited(source: str, asked: Sequence[str]) -> bool:
    """Return whether a cell with several lines that ask has one that was asked otherwise."""
    now = _now(source)
    # A line may not have come to its turn, and a function that is called may ask as well.
    return bool(now) and not now <= set(asked) and not set(asked) <= now


def _now(source: str) -> set[str]:
    """Return the prompts of a cell with several lines that ask, but for the quiet ones."""
    return {asked.prompt for asked in chat_cell.questions_of(source) if not asked.quiet}


def _without_record(read: Notebook) -> list[str]:
    """Return a line for each cell that shows its reply, and whose record is gone."""
    return [
        f"cell {cell.number}: its reply has no record: removed, or saved before the reply had "
        "ended."
        for cell in read.asking
        if cell.bare and (chat_cell.question_of(cell.source) or _now(cell.source))
    ]


def _gone(read: Notebook) -> list[str]:
    """Return a line where nothing tells of an answer, or for each cell that lost its output."""
    silent = [cell for cell in read.asking if cell.is_silent]
    asked = [chat_cell.question_of(cell.source) for cell in silent]
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
    now = chat_cell.question_of(cell.source)
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
    for turn in restored.conversation:
        # A cell below may have brought another reply to what stands above it since.
        stood = restored.above[turn.number]
        fits = turn.carried == stood.newest(turn.last)
        own = cells[turn.number]
        # A load puts what it brings in place of all above it, or brings the same again.
        above = (
            [number for number in stood if cells[number] >= begin]
            for begin in (0, *(cell for cell in loads if cell <= own))
        )
        untold = not fits and any(_is_untold(some, turn, cells, quiet) for some in above)
        in_order[turn.number] = None if untold else fits
    return in_order


def _is_untold(
    above: Sequence[int],
    turn: Turn,
    cells: Mapping[int, int],
    quiet: Sequence[int],
) -> bool:
    """Return whether a turn carried those above it, and others of cells that do not show them."""
    known = [number for number in turn.carried if number]
    # Of those that no digest tells, some may stand above.
    is_part = turn.last is not None or turn.carried.root.total > 0
    newest = len(known) if is_part else len(above)
    if known != above[len(above) - newest :]:
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


_LEFT: Final = "x-ratelimit-remaining"


def is_cassette(path: Path) -> bool:
    """Return whether a file is a cassette, by its name: one of any name but a notebook's.

    Args:
        path: the file's path.
    """
    return path.suffix.lower() not in {".ipynb", ".json"}


def _audit_cassette(path: Path) -> tuple[Audit, tuple[Interaction, ...]]:
    """Return the audit of one cassette; one that cannot be read has a problem and no exchanges.

    Returns:
        What was found, and what the cassette holds.
    """
    file = CassetteFile(path)
    try:
        held = file.read()
        failed = "" if file.exists() else f"{path} is not there."
    except InputError as error:
        held, failed = (), str(error)
    if failed:
        return Audit(str(path), (), (failed,), (), (), kind="cassette"), ()
    problems, remarks = _doubles(held)
    result = Audit(
        str(path), _exchanges(held), tuple(problems), tuple(remarks), (), kind="cassette"
    )
    return result, held


def missing(read: Notebook, held: Sequence[Interaction], names: str) -> list[str]:
    """Return a line for each whole reply of a notebook that no cassette holds as it is shown.

    Args:
        read: the notebook.
        held: the exchanges of all cassettes.
        names: the cassettes' names, in words.
    """
    recorded = {(item.request, item.text, *_ended(item)) for item in held}
    every = {item.text for item in held if item.is_reply}
    return [
        f"cell {saved.cell}: {names} does not hold its reply with this text, model, end and tokens."
        for saved, record in read.turns
        # A reply that was cut off is in no cassette, and one by its place answered another request.
        if record.state == "complete"
        and not (record.by_order and saved.text in every)
        and (record.request, saved.text, *_ended(record)) not in recorded
    ]


def _ended(interaction: Record | Interaction) -> tuple[object, ...]:
    """Return what a service told of its reply, but for what tells the time."""
    return interaction.model, interaction.finish_reason, interaction.usage


def _exchanges(held: Sequence[Interaction]) -> tuple[Row, ...]:
    first: dict[str, int] = {}
    for place, interaction in enumerate(held):
        if (turn := interaction.turn) is not None:
            first.setdefault(turn, place)
    rows = []
    for place, interaction in enumerate(held):
        date = crediting.date(interaction.headers)
        facts = ReplyFacts(
            **shared_fields(interaction, BodyFacts),
            took=interaction.took,
            credits=None if date is None else crediting.from_headers(interaction.headers, date),
            date=date,
            origin=interaction.origin,
        )
        failed = {"state": "error", "finish_reason": f"HTTP {interaction.status}"}
        rows.append(
            Row.of(
                facts,
                **({} if interaction.is_reply else failed),
                cell=place + 1,
                prompt=interaction.as_typed,
                model_asked=interaction.asked_model,
                sealed=None,
                rendered=None,
                in_order=_in_order(place, interaction, first),
            )
        )
    return tuple(rows)


def _in_order(place: int, interaction: Interaction, first: Mapping[str, int]) -> bool | None:
    """Return whether the turns that a request carried stand above it; ``None`` is not known."""
    stand = [first.get(turn) for turn in interaction.before]
    if any(other is not None and other >= place for other in stand):
        return False
    return None if None in stand else True


def _doubles(held: Sequence[Interaction]) -> tuple[list[str], list[str]]:
    """Return a line for each exchange that stands twice, and for requests with many answers."""
    same: dict[str, list[int]] = defaultdict(list)
    problems: list[str] = []
    remarks: list[str] = []
    for place, interaction in enumerate(held):
        earlier = next((n for n in same[interaction.request] if held[n] == interaction), None)
        if earlier is not None:
            # Two replies leave other credits; two errors, or where none are told, may be equal.
            names = {name.lower() for name, _ in interaction.headers}
            copied = interaction.is_reply and _LEFT in names
            line = f"exchange {place + 1}: it is exchange {earlier + 1} once more."
            (problems if copied else remarks).append(line)
        same[interaction.request].append(place)
    remarks += [
        f"{numbered([n + 1 for n in places], 'exchange')} answer the same request, in this order."
        for places in same.values()
        if len({held[place].text for place in places}) > 1
    ]
    return problems, remarks


_PATH: Final = re.compile(
    r"(?<![\w/.:])((?:/(?:home|Users|root|mnt|tmp|var|opt|data)/|[A-Z]:\\)[^\s\"'<>|:;,)\]}]+)"
)
# What stands before an @ is a name and a password.
_ADDRESS: Final = re.compile(r"https?://(?:[^\s\"'<>)\]}/?#]*@)?([\w.-]+)")
_KEY: Final = re.compile(r"CHATMAGIC_API_KEY[\"']?\]?\s*[=,]\s*[\"']?[^\s\"'{]{8}")
_FINDERS: Final[tuple[Callable[[str], Iterable[str]], ...]] = (
    lambda text: (f"path {match[1]}" for match in _PATH.finditer(text)),
    lambda text: (f"host {match[1]}" for match in _ADDRESS.finditer(text)),
    lambda text: ["perhaps an API key: the text sets one"] if _KEY.search(text) else [],
    lambda text: (f"what looks like {name}" for name in key_shapes_in(text)),
)
"""Each returns in words what one text of a notebook gives away."""


def disclosures(read: Notebook) -> tuple[str, ...]:
    """Return a line for each secret, path, host or value that a file would give away.

    Args:
        read: the notebook.
    """
    lines: list[str] = []
    for saved, record in read.turns:
        for value in record.values:
            size = counted(value.size, "character")
            kept = "its size and digest" if value.text is None else "all of it"
            what = f"{'value of ' if value.kind is None else ''}{value.as_typed}"
            lines.append(f"cell {saved.cell}: {what} ({size}): {kept}")
    lines += [
        f"cell {saved.cell}: {saved.steering.value.as_typed} "
        f"({counted(saved.steering.value.size, 'character')}): all of it"
        for saved in read.outputs
        # What was typed, the cell says anyway.
        if isinstance(saved.steering, Instructions) and saved.steering.value.expression
    ]
    for find in _FINDERS:
        places: dict[str, list[int]] = {}
        for number, text in read.texts:
            for words in find(text):
                places.setdefault(words, []).append(number)
        lines += [f"{numbered(cells, 'cell')}: {words}" for words, cells in places.items()]
    if read.timed:
        lines.append(f"{numbered(read.timed, 'cell')}: when the cell ran, in its metadata")
    return tuple(lines)
