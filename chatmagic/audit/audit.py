"""Audit of notebooks and cassettes; there is no kernel, and nothing is run.

The source of a code cell determines its question, and so its output: one sealed output of that
prompt with those options, and nothing else. Each sealed output needs a source that asks for it.
Each turn must have been asked after those above it at that time. A cassette must
be readable, and must hold each exchange once. With notebooks and cassettes, each reply in a
notebook must be in a cassette.

A seal is no signature: a person who knows the code can make another one.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from chatmagic._files import open_file
from chatmagic._json import iso, shared_fields
from chatmagic.archive import notebook, output, restore
from chatmagic.archive.notebook import Notebook, NotebookCell, SavedOutput
from chatmagic.archive.table import TurnRow
from chatmagic.audit.cell_code import Asking, asking, may_display
from chatmagic.audit.cell_settings import AskedCell, Finding, Settings
from chatmagic.audit.named_turns import named_turn_findings
from chatmagic.audit.sent_values import value_findings
from chatmagic.audit.turn_order import (
    Cause,
    PlacedTurn,
    causes_of,
    followers_of,
    instruction_causes,
)
from chatmagic.cassette.file import CassetteFile
from chatmagic.cassette.interaction import Interaction
from chatmagic.conversation.cell_magics import MagicCall
from chatmagic.conversation.magic_line import typed_fields
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import Instructions, Steering
from chatmagic.conversation.turn import MAIN
from chatmagic.errors import InputError
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.secret_scanner import secret_kinds_in
from chatmagic.safe_text import columns, counted, numbered, one_line

LONGEST_NAME: Final = 100
EXCERPT: Final = 32
WIDEST: Final = 300
UNITS: Final = {"notebook": "cell", "cassette": "exchange"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(TurnRow):
    """Row of one turn of a notebook, or of one exchange of a cassette, with the checks.

    Args:
        agrees: whether the record, its output and the source of its cell agree; ``None`` for a cell
            whose code may ask.
        in_order: whether it was asked after the turns that stood above it then; ``None`` if
            unknown, or if the turn is no part of the conversation.
        reply_number: its number among the replies to its question.
        reply_count: the number of replies to its question.
    """

    agrees: bool | None = None
    in_order: bool | None = None
    reply_number: int | None = None
    reply_count: int | None = None


@dataclass(slots=True)
class Audit:
    """Findings in one notebook, or in one cassette.

    Args:
        path: the path, as it was given.
        kind: ``notebook`` or ``cassette``.
        turns: its turns, in the order of the cells or of the file.
        problems: a line for each fault.
        remarks: a line for each other notable point.
        values: a line for each private text in the file.
        unchecked: numbers of the cells whose replies could not be judged.
        copies: cells whose replies another notebook has, too, by the path of that notebook.
    """

    path: str
    kind: Literal["notebook", "cassette"] = "notebook"
    turns: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    unchecked: set[int] = field(default_factory=set)
    copies: dict[str, list[int]] = field(default_factory=dict)

    @property
    def in_order(self) -> bool | None:
        """Whether there is no problem; ``None`` if there is none where it was checked."""
        return False if self.problems else None if self.unchecked else True

    def wrong(self, place: int, words: str) -> None:
        """Add a problem of one cell, or of one exchange.

        Args:
            place: number of the cell or the exchange.
            words: the fault.
        """
        self.problems.append(f"{UNITS[self.kind]} {place}: {words}.")

    def not_checked(self, places: Sequence[int], words: str) -> None:
        """Note that some cells could not be judged, which is neither a pass nor a problem.

        Args:
            places: their numbers.
            words: the reason.
        """
        if places:
            self.unchecked |= {*places}
            self.remarks.append(f"not checked: {numbered(places, UNITS[self.kind])}: {words}.")

    def remark(self, places: Sequence[int], words: str) -> None:
        """Add a remark on some cells; none if there are no cells.

        Args:
            places: their numbers.
            words: the remark.
        """
        if places:
            self.remarks.append(f"{numbered(places, UNITS[self.kind])}: {words}.")


def audit_all(paths: Sequence[Path]) -> list[Audit]:
    """Return the audit of each file; one that cannot be read has a problem and no turns.

    Args:
        paths: notebooks and cassettes, and folders of them; the replies of the notebooks are
            compared with the cassettes.
    """
    audits: list[Audit] = []
    held: dict[str, tuple[Interaction, ...]] = {}
    notebooks: list[tuple[Audit, Notebook]] = []
    for path in (file for given in paths for file in _files(given)):
        audit = Audit(str(path), "cassette" if is_cassette(path) else "notebook")
        audits.append(audit)
        try:
            if path.is_dir():
                raise InputError(f"{path} holds no notebook and no cassette.")  # noqa: TRY301
            if is_cassette(path):
                held[one_line(path.name, LONGEST_NAME)] = _audit_cassette(path, audit)
            else:
                notebooks.append((audit, notebook.read_notebook(path)))
        except InputError as error:
            audit.problems.append(str(error))
    exchanges = [interaction for interactions in held.values() for interaction in interactions]
    for audit, read in notebooks:
        _audit_notebook(audit, read)
        # A notebook may name cassettes of its own that are not among the paths.
        named = _cassettes(read)
        if held and (not named or named & set(held)):
            audit.problems += missing(read, exchanges, ", ".join(held))
    _judge_copies(notebooks)
    return audits


def secrets_of_all(paths: Sequence[Path]) -> list[Audit]:
    """Return the audit of each file for secrets alone: a problem for each text that looks like one.

    Args:
        paths: as for :func:`audit_all`.
    """
    audits: list[Audit] = []
    for path in (file for given in paths for file in _files(given)):
        audit = Audit(str(path), "cassette" if is_cassette(path) else "notebook")
        audits.append(audit)
        try:
            texts = _texts_of(path)
        except InputError as error:
            audit.problems.append(str(error))
            continue
        kinds = ((place, name) for place, text in texts for name in secret_kinds_in(text))
        for place, name in dict.fromkeys(kinds):
            audit.wrong(place, f"it holds a text that looks like {name}")
    return audits


def _texts_of(path: Path) -> list[tuple[int, str]]:
    """Return the texts of a notebook or a cassette, with the numbers of their places."""
    if path.is_dir():
        raise InputError(f"{path} holds no notebook and no cassette.")
    if not is_cassette(path):
        return notebook.read_notebook(path).texts
    if not path.exists():
        raise InputError(f"{path} is not there.")
    held = CassetteFile(path).read_interactions()
    return [
        (place, text)
        for place, item in enumerate(held, 1)
        for text in (str(item.as_typed), item.text or "")
    ]


def _files(path: Path) -> list[Path]:
    """Return a path, or the notebooks and cassettes in a folder and those below it."""
    inside = path.rglob("*") if path.is_dir() else ()
    files = [
        file
        for file in inside
        if not any(part.startswith(".") for part in file.relative_to(path).parts)
        and (file.suffix == ".ipynb" or (file.suffix == ".jsonl" and _has_head(file)))
    ]
    return sorted(files) or [path]


def _has_head(path: Path) -> bool:
    """Return whether a file begins like a cassette; others of its kind hold rows of a map."""
    try:
        with open_file(path) as file:
            return b'"cassette"' in file.readline(WIDEST)
    except OSError:
        return False


# --- Notebooks ----------------------------------------------------------------------------------


def _audit_notebook(audit: Audit, read: Notebook) -> None:
    """Add the findings in a notebook."""
    restored = restore.restore(read, changed=True, as_recorded=True)
    audit.problems += restored.problems
    audit.remarks += restore.gaps(restored, read)
    code = asking({cell.number: cell.source for cell in read.cells})
    lost = [*read.unreadable]
    settings = Settings(read.cells, code.shows)
    agrees, commands = _compared(audit, read, code, settings, lost)
    unseen = _first_unseen(read, code, settings)
    numbers = {saved: restored.numbers.get(saved, 0) for saved, _ in read.turns}
    places = {
        saved: PlacedTurn(saved.cell, *restored.asked[number])
        for saved, number in numbers.items()
        if number in restored.asked
    }
    replies = restored.conversation.replies
    rendered = {saved: _rendered(saved, record) for saved, record in read.turns}
    for saved, record in read.turns:
        if rendered[saved] is False:
            audit.wrong(saved.cell, "its HTML or Markdown differs from its rendered reply")
        alike = [reply.number for reply in replies.get(numbers[saved], ())]
        place = places.get(saved)
        audit.turns.append(
            replace(
                Row.of_record(record),
                reply_number=next(
                    (at for at, number in enumerate(alike, 1) if number == numbers[saved]), None
                ),
                reply_count=len(alike) or None,
                cell_number=saved.cell,
                thread=None if place is None else place.window.thread,
                agrees=False if saved.fault or rendered[saved] is False else agrees[saved],
                in_order=None if place is None else _is_in_order(place, unseen),
            )
        )
    _judge_places(audit, read, places, commands, unseen=unseen, lost=lost)
    for finding in value_findings(read, code.shows):
        _add(audit, finding)
    hidden = [saved.cell for saved, agreed in agrees.items() if agreed is None]
    audit.not_checked(hidden, "their code may ask, and nothing in the file shows what")
    later = [row.cell_number or 0 for row in audit.turns if row.in_order is None and row.thread]
    words = f"they carried turns that cell {unseen} or one below it may have asked unseen"
    audit.not_checked(later, words)
    unrendered = [saved.cell for saved in rendered if rendered[saved] is None and not saved.fault]
    audit.remark(unrendered, "HTML not checked: other versions rendered it")
    practice = [saved.cell for saved, record in read.turns if record.origin == "emulator"]
    audit.remark(practice, "the emulator answered, practice only")
    audit.values += disclosures(read)


def _is_in_order(place: PlacedTurn, unseen: float) -> bool | None:
    """Return whether a turn was asked after those above it; ``None`` if some may be unseen."""
    # No output shows the turns that were asked unseen, or loaded, in a cell above.
    return place.window.carries_as(place.turn) or (None if unseen <= place.cell else False)


def _judge_places(
    audit: Audit,
    read: Notebook,
    places: Mapping[SavedOutput, PlacedTurn],
    commands: Mapping[SavedOutput, MagicCall],
    *,
    unseen: float,
    lost: Sequence[int],
) -> None:
    """Add the faults of turns that were asked elsewhere, each at its cause."""
    edited: dict[str, int] = {}
    instructions: dict[str, int] = {}
    for saved in (saved for saved in read.outputs if saved.fault):
        if saved.record is not None and saved.record.turn is not None:
            edited[saved.record.turn] = saved.cell
        if saved in places:
            edited[places[saved].turn.digest] = saved.cell
        if isinstance(saved.steering, Instructions):
            instructions[saved.steering.value.sha256] = saved.cell
    turns = [*places.values()]
    for finding in named_turn_findings(read, places, commands, unseen):
        _add(audit, finding)
        told = [place for place in turns if finding.cells == (place.cell,)]
        edited |= {place.turn.recorded_digest: place.cell for place in told}
    different = [place for place in turns if _is_in_order(place, unseen) is False]
    causes = causes_of(different, turns, edited, lost)
    causes += followers_of({saved.cell for saved in places if saved.fault}, turns)
    _tell(audit, causes)
    instructed = [place for place in turns if place.cell < unseen]
    others = [place for place in instructed if not place.window.instructs_as(place.turn)]
    _tell(audit, instruction_causes(others, instructions))


def _tell(audit: Audit, causes: Sequence[Cause]) -> None:
    """Add causes: a fault of its cell with what follows, or a remark on what follows from one."""
    for cause in causes:
        if cause.words:
            audit.wrong(cause.cell, cause.line)
        else:
            words = f"{numbered(cause.followers, 'cell')} carried it as it was when they were asked"
            audit.remark([cause.cell], words)


def _rendered(saved: SavedOutput, record: Record) -> bool | None:
    """Return whether an output is the rendering of its reply; ``None`` if that was not tried."""
    if saved.versions != output.renderer_versions() or saved.fault or saved.text is None:
        return None
    try:
        reply = restore.turn_of(record, saved.text, owner=None).reply
    except ValueError:
        return None
    shown = output.bundle(reply, record)
    return all(text == shown[kind] for kind, text in saved.rendered.items())


def _compared(
    audit: Audit, read: Notebook, code: Asking, settings: Settings, lost: list[int]
) -> tuple[dict[SavedOutput, bool | None], dict[SavedOutput, MagicCall]]:
    """Compare each cell's source with its outputs, and add the differences.

    Args:
        audit: the audit.
        read: the notebook.
        code: the cells whose code may ask.
        settings: the settings at each cell.
        lost: gets the numbers of the cells whose turn is not in the file.

    Returns:
        For each output with a record, whether a source asks for it, ``None`` for a cell whose code
        may ask; and the magics that left the outputs.
    """
    agrees: dict[SavedOutput, bool | None] = {}
    commands: dict[SavedOutput, MagicCall] = {}
    shown: dict[int, list[SavedOutput]] = defaultdict(list)
    for saved in read.outputs:
        shown[saved.cell].append(saved)
    asked: list[AskedCell] = []
    functions = [
        command for cell in read.cells for command in cell.plan.commands if not command.is_once
    ]
    for cell in read.cells:
        left = _left(cell)
        plan = cell.plan
        loose = [command for command in plan.commands if not command.is_once]
        loose = loose if cell.number in code.runs else []
        # A function that another cell defines may ask here.
        loose += functions if cell.number in code.calls else []
        for saved in shown[cell.number]:
            own = next((command for command in left if _fits(command, saved)), None)
            command = own or next((command for command in loose if _fits(command, saved)), None)
            is_hidden = command is None and cell.number in code.shows
            agrees[saved] = None if is_hidden else command is not None
            commands |= {} if command is None else {saved: command}
            typed = command.parsed() if command is not None and command.asks else None
            if command is not None and typed is not None and saved.record is not None:
                implied = {"format"} if typed.schema is not None else set()
                fields = frozenset({*typed_fields(command.line), *implied})
                asked.append(AskedCell(cell.number, saved.record, fields))
            elif agrees[saved] is False and not saved.fault:
                own = next((command for command in left if command.recorded == saved.kind), None)
                audit.wrong(cell.number, _difference(own, saved))
            left = [command for command in left if command is not own]
        is_told = cell.number in read.unreadable or any(saved.fault for saved in shown[cell.number])
        if settings.may_be_quiet(cell.number):
            left = [command for command in left if not command.asks]
        is_gone = bool(left) and not is_told
        if any(command.asks for command in left) or "reply" in cell.others:
            lost.append(cell.number)
        _judge_others(audit, cell, is_gone=is_gone)
    for finding in settings.findings(asked):
        _add(audit, finding)
    return agrees, commands


def _add(audit: Audit, finding: Finding) -> None:
    """Add a fault, or a remark."""
    if finding.is_fault:
        audit.wrong(finding.cells[0], finding.words)
    elif finding.is_checked:
        audit.remark(finding.cells, finding.words)
    else:
        audit.not_checked(finding.cells, finding.words)


def _judge_others(audit: Audit, cell: NotebookCell, *, is_gone: bool) -> None:
    """Add faults of a cell's outputs without a record, and of missing ones."""
    others, plan = cell.others, cell.plan
    is_ours = bool(plan.commands) and not plan.code
    shows = any(not command.recorded and not command.is_quiet for command in plan.commands)
    if "reply" in others and not may_display(cell.source):
        audit.wrong(cell.number, "its reply has no record: it was removed, or pasted")
    elif "output" in others and is_ours and not shows:
        audit.wrong(cell.number, "it shows something that chatmagic did not write")
    elif "error" in others and is_gone:
        audit.remark([cell.number], "it ended in an error, without a reply")
    elif is_gone and "live" not in others:
        words = "the output of its question is missing: not run, stripped, or cleared"
        audit.wrong(cell.number, words)
    if "warning" in others and is_ours:
        audit.remark([cell.number], "it shows a warning, which nothing seals")


def _left(cell: NotebookCell) -> list[MagicCall]:
    """Return the magics of a cell that must each leave a record."""
    return [command for command in cell.plan.commands if command.is_once and command.recorded]


def _fits(command: MagicCall, saved: SavedOutput) -> bool:
    """Return whether a magic leaves such an output."""
    record = saved.record
    if command.recorded != saved.kind or record is None or record.picked:
        return command.recorded == saved.kind and _is_typed(command, saved.steering)
    if not command.asks:
        is_rest = record.continues is not None
        return bool(record.in_place_of) and is_rest == (command.name == "chat_continue")
    parsed = command.parsed(record.parameters)
    if parsed is None or record.in_place_of or parsed.prompt != record.prompt.rstrip("\n"):
        return False
    has_values = any(value.kind is None for value in record.values)
    # A question for JSON takes the nearest schema above it.
    asked = parsed.parameters
    if parsed.format == "json" and record.parameters.get("schema") is not None:
        asked.setdefault("schema", record.parameters["schema"])
    return asked == record.parameters and not (parsed.raw and has_values)


def _is_typed(command: MagicCall, steering: Steering | None) -> bool:
    """Return whether a magic has the text of an output, if the output has one."""
    if re.search(r"(?<!\S)(?:\S*=)?[${]\w", command.line):
        return True  # a variable may hold any word
    if isinstance(steering, Instructions):
        file = steering.value.expression
        typed = Instructions.of_text(command.body or "").text
        return file in command.line if file else steering.text == typed
    words = re.sub("[=\"']|--delete\\b", " ", command.line).split()
    return steering is None or sorted(words) == sorted(steering.source.split()[1:])


def _difference(command: MagicCall | None, saved: SavedOutput) -> str:
    """Return the difference between an output and the magic that may have left it, in words."""
    if command is None or saved.record is None or not command.asks:
        noun = "reply" if saved.record is not None else saved.kind
        return f"its source does not ask for the {noun} below it: edited, moved, or pasted"
    parsed = command.parsed(saved.record.parameters)
    is_same = parsed is not None and parsed.prompt == saved.record.prompt.rstrip("\n")
    return f"its {'options were' if is_same else 'question was'} edited after it was asked"


def _cassettes(read: Notebook) -> set[str]:
    """Return the names of the cassettes that a notebook's cells insert."""
    commands = [command for cell in read.cells for command in cell.plan.commands]
    lines = [command.line for command in commands if command.name == "chat_cassette"]
    words = [Path(word.strip("'\"")) for line in lines for word in line.split()]
    return {path.name for path in words if is_cassette(path)}


def _first_unseen(read: Notebook, code: Asking, settings: Settings) -> float:
    """Return the number of the first cell that may have asked without an output; infinity for none.

    It asks quietly, from Python, by a load, or its output went elsewhere.
    """
    names = {"chat_panel", "chat_load"}
    shown = {saved.cell for saved, _ in read.turns}
    for cell in read.cells:
        commands = cell.plan.commands
        is_quiet = settings.may_be_quiet(cell.number) and any(command.asks for command in commands)
        if (
            is_quiet
            or any(command.is_quiet or command.name in names for command in commands)
            or cell.number in code.asks | (code.captures - shown)
            or "live" in cell.others
        ):
            return cell.number
    return math.inf


def missing(read: Notebook, held: Sequence[Interaction], names: str) -> list[str]:
    """Return a line for each whole reply of a notebook that no cassette holds as it is shown.

    Args:
        read: the notebook.
        held: the exchanges of all cassettes.
        names: the cassettes' names.
    """
    recorded = {(item.request, item.text, *_ended(item)) for item in held}
    every = {item.text for item in held if item.is_reply}
    return [
        f"cell {saved.cell}: its reply, with this text, model, end and tokens, is not in {names}."
        for saved, record in read.turns
        # A reply that was cut off is in no cassette. A reply by order answered another request.
        if record.state == "complete"
        and not saved.fault
        and not (record.by_order and saved.text in every)
        # In a hand-out the emulator answers requests that are not recorded.
        and record.origin != "emulator"
        and (record.request, saved.text, *_ended(record)) not in recorded
    ]


def _ended(interaction: Record | Interaction) -> tuple[object, ...]:
    """Return the facts of a reply from a service, without those about time."""
    return interaction.model, interaction.finish_reason, interaction.usage


def _judge_copies(files: Sequence[tuple[Audit, Notebook]]) -> None:
    """Add a fault for each reply of a service that stands in two cells, of one file or of two.

    The same request, reply, date, credits and duration are one answer. A replay and the emulator
    repeat theirs.
    """
    answers: dict[tuple[object, ...], dict[Path, tuple[Audit, int]]] = defaultdict(dict)
    # A file may be given twice, by its name and by its folder.
    unique = {read.path.resolve(): (audit, read) for audit, read in reversed(files)}
    for path, (audit, read) in unique.items():
        for saved, record in read.turns:
            if record.origin != "live" or record.date is None:
                continue
            facts = record.request, record.reply, record.date, record.credits, record.seconds
            holders = answers[facts]
            _, first = holders.setdefault(path, (audit, saved.cell))
            if first != saved.cell:
                audit.wrong(saved.cell, f"its reply is that of cell {first}")
    for holders in answers.values():
        for path, (audit, cell) in holders.items():
            for other in holders.keys() - {path}:
                audit.copies.setdefault(holders[other][0].path, []).append(cell)
    for audit, _ in files:
        for name, cells in sorted(audit.copies.items()):
            places = numbered(sorted(cells), UNITS[audit.kind])
            words = "has the same replies of a service, of the same requests and dates"
            audit.problems.append(f"{places}: {one_line(name, LONGEST_NAME)} {words}.")


# --- Cassettes ----------------------------------------------------------------------------------

_LEFT: Final = "x-ratelimit-remaining"


def is_cassette(path: Path) -> bool:
    """Return whether a file is a cassette by its name, which is any but a notebook's.

    Args:
        path: the file's path.
    """
    return path.suffix.lower() not in {".ipynb", ".json"}


def _audit_cassette(path: Path, audit: Audit) -> tuple[Interaction, ...]:
    """Add the findings in a cassette, and return its exchanges."""
    if not path.exists():
        raise InputError(f"{path} is not there.")
    file = CassetteFile(path)
    held = file.read_interactions()
    if file.is_merged:
        audit.remarks.append("it has the marks of a merge conflict, and both halves were read.")
    earlier: dict[str, list[Interaction]] = defaultdict(list)
    for place, interaction in enumerate(held, 1):
        same = earlier[interaction.request]
        # Two replies leave different credits; two errors, or replies without figures, may be equal.
        is_told = any(name.lower() == _LEFT for name, _ in interaction.headers)
        if interaction.is_reply and is_told and interaction in same:
            audit.wrong(place, "it stands above once more")
        same.append(interaction)
        known = {
            **shared_fields(interaction, Interaction),
            **crediting.reply_facts(interaction.headers, datetime.now(UTC)),
            "state": "complete",
        }
        if not interaction.is_reply:
            known |= {"state": "error", "finish_reason": f"HTTP {interaction.status}"}
        known |= {"cell_number": place, "prompt": interaction.as_typed, "agrees": True}
        audit.turns.append(Row.of_facts(known))
    return held


# --- Private texts of a file ---------------------------------------------------------------------

_GIVEN_AWAY: Final = {
    "path {}": re.compile(
        r"(?<![\w/.:])((?:/(?:home|Users|root|mnt|tmp|var|opt|data)/|[A-Z]:\\)[^\s\"'<>|:;,)\]}]+)"
    ),
    # The text before an @ is a name and a password.
    "host {}": re.compile(r"https?://(?:[^\s\"'<>)\]}/?#]*@)?([\w.-]+)"),
    "perhaps an API key: the text sets one": re.compile(
        r"CHATMAGIC_API_KEY[\"']?\]?\s*[=,]\s*[\"']?[^\s\"'{]{8}"
    ),
}
"""Patterns of private texts, by the words for them."""


def disclosures(read: Notebook) -> list[str]:
    """Return a line for each secret, path, host or value in a file.

    Args:
        read: the notebook.
    """
    lines: list[str] = []
    for saved in read.outputs:
        values = () if saved.record is None or saved.record.picked else saved.record.values
        # The cell contains the typed text anyway.
        if isinstance(saved.steering, Instructions) and saved.steering.value.expression:
            values = (saved.steering.value,)
        for value in values:
            name = f"{'value of ' if value.kind is None else ''}{value.as_typed}"
            kept = "its size and digest" if value.text is None else "all of it"
            size = counted(value.size, "character")
            lines.append(f"cell {saved.cell}: {name} ({size}): {kept}")
    places: dict[str, list[int]] = defaultdict(list)
    for number, text in read.texts:
        parts = [
            words.format(*match.groups())
            for words, pattern in _GIVEN_AWAY.items()
            for match in pattern.finditer(text)
        ]
        for words in [
            *parts,
            *(f"a text that looks like {name}" for name in secret_kinds_in(text)),
        ]:
            places[words].append(number)
    lines += [f"{numbered(cells, 'cell')}: {words}" for words, cells in places.items()]
    return lines


# --- The findings as text and as JSON ------------------------------------------------------------


def findings_text(audits: Sequence[Audit], *, values: bool, summary: bool = False) -> str:
    """Return the findings for a terminal: a line for each file, then a table of each.

    Args:
        audits: the audit of each file.
        values: whether to list the private texts in the files.
        summary: whether to leave out the tables.
    """
    heads = columns([_head(audit) for audit in audits])
    bodies = [] if summary else ["\n".join(_of_one(audit, values=values)) for audit in audits]
    if len(audits) == 1:
        return "\n".join([*heads, *bodies])
    counts = Counter(audit.in_order for audit in audits)
    words = [f"{counts[False]:,} of them with problems"] if counts[False] else []
    words += [f"{counts[None]:,} not checked in every cell"] if counts[None] else []
    all_words = ", ".join(words) or "no problem"
    heads = [*heads, f"{len(audits):,} files, {all_words}.", *_pairs(audits)]
    parts = [f"{one_line(a.path, WIDEST)}\n{body}" for a, body in zip(audits, bodies, strict=False)]
    return "\n\n".join(["\n".join(heads), *parts])


def problems_text(audits: Sequence[Audit]) -> str:
    """Return the problems of files for a terminal, a line each, and the number of files.

    Args:
        audits: the audit of each file.
    """
    lines = [
        f"{one_line(audit.path, WIDEST)}: {one_line(line, WIDEST)}"
        for audit in audits
        for line in audit.problems
    ]
    count = counted(len(audits), "file")
    found = counted(len(lines), "problem") if lines else "no secret"
    return "\n".join([*lines, f"{count}, {found}."])


def _pairs(audits: Sequence[Audit]) -> list[str]:
    """Return a line for each two notebooks with the same replies of a service."""
    pairs = {
        tuple(sorted((audit.path, other))): len(cells)
        for audit in audits
        for other, cells in audit.copies.items()
    }
    return [
        f"{one_line(first, WIDEST)} and {one_line(second, WIDEST)} have the same "
        f"{'reply' if count == 1 else f'{count:,} replies'} of a service."
        for (first, second), count in pairs.items()
    ]


def as_json(audits: Sequence[Audit], *, values: bool) -> str:
    """Return the findings as JSON: a list of files.

    Args:
        audits: one for each file.
        values: whether the values that were put into prompts are shown, too.
    """
    files = [
        {**asdict(audit), "unchecked": sorted(audit.unchecked), "in_order": audit.in_order}
        for audit in audits
    ]
    for file in files if not values else ():
        del file["values"]
    return json.dumps(files, indent=1, default=iso)


def _head(audit: Audit) -> tuple[str, ...]:
    """Return the line of one file."""
    parts = [counted(len(audit.problems), "problem").upper()] if audit.problems else []
    if audit.unchecked:
        parts.append(f"{counted(len(audit.unchecked), UNITS[audit.kind])} not checked")
    origins = Counter(row.origin or "?" for row in audit.turns)
    names = ", ".join(f"{count:,} {origin}" for origin, count in origins.items())
    return (
        one_line(audit.path, WIDEST),
        ", ".join(parts) or "no problem",
        counted(len(audit.turns), "turn") + (names and f" ({names})"),
    )


def _of_one(audit: Audit, *, values: bool) -> list[str]:
    """Return the lines on the turns of one file, and on its faults."""
    lines: list[str] = []
    if audit.turns:
        rows = [_cells(turn, UNITS[audit.kind]) for turn in audit.turns]
        if {turn.thread for turn in audit.turns} - {None, MAIN}:
            for row, turn in zip(rows, audit.turns, strict=True):
                row["thread"] = turn.thread or MAIN
        if any((turn.reply_count or 0) > 1 for turn in audit.turns):
            for row, turn in zip(rows, audit.turns, strict=True):
                count = turn.reply_count or 0
                row["reply"] = f"{turn.reply_number} of {count}" if count > 1 else ""
        grid = [tuple(rows[0]), *(tuple(row.values()) for row in rows)]
        lines += columns(grid)
    elif not audit.problems:
        lines.append("No turn of a conversation.")
    lines += [f"! {one_line(line, WIDEST)}" for line in audit.problems]
    lines += audit.remarks
    if values:
        lines.append("Private texts in the file:" if audit.values else "No values, no paths.")
        lines += [f"  {one_line(line, WIDEST)}" for line in audit.values]
    return lines


def _cells(row: Row, unit: str) -> dict[str, str]:
    """Return the cells of a turn's line, by the heads of their columns."""
    left, limit = row.credits_left, row.credits_limit
    figures = "?" if left is None else f"{left:,}" + ("" if limit is None else f" of {limit:,}")
    ended = (row.finish_reason if row.state == "complete" else row.state) or "?"
    checked = {None: "-", True: "yes", False: "NO"}
    return {
        unit: f"{row.cell_number:,}",
        "prompt": one_line(row.prompt or "", EXCERPT),
        "model": one_line(_model(row), EXCERPT),
        "tokens": _tokens(row),
        "credits": figures,
        "cost": "?" if row.took is None else f"{row.took:,}",
        "ended": one_line(ended, EXCERPT),
        "origin": row.origin or "?",
        "as asked": checked[row.agrees],
        "order": checked[row.in_order],
    }


def _tokens(row: Row) -> str:
    """Return the token counts of a turn, or their total."""
    counts = {"sent": row.prompt_tokens, "received": row.completion_tokens}
    known = [f"{count:,} {word}" for word, count in counts.items() if count is not None]
    total = "?" if row.total_tokens is None else f"{row.total_tokens:,}"
    return ", ".join(known) or total


def _model(row: Row) -> str:
    """Return the model that answered; before it the requested model, if that differs."""
    name = row.model or "?"
    return name if row.asked_model in {None, name} else f"{row.asked_model} -> {name}"
