"""Questions and answers in files: notebooks, cassettes and the files of maps, read alike.

The files are untrusted. Nothing in them is run, and nothing is asked. A fact that a file does not
have is ``None``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from chatmagic._files import LARGEST, open_file
from chatmagic._json import digest, json_at, shared_fields
from chatmagic.archive import notebook, restore
from chatmagic.archive.notebook import Notebook
from chatmagic.audit.audit import audit_all
from chatmagic.cassette.file import CassetteFile
from chatmagic.cassette.interaction import DIGITS, Interaction
from chatmagic.conversation.question import ASKED_FOR_THE_REST, Value
from chatmagic.conversation.record import Record
from chatmagic.conversation.steering import Instructions
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts, Origin, State
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.url import EMULATOR
from chatmagic.session.map.job_file import BEGINNING, EditedError, RowReply
from chatmagic.session.map.job_head import JobHead, head_name
from chatmagic.study.agreement import METADATA
from chatmagic.study.recorded_agreement import RecordedAgreement, agreement_from

Kind = Literal["notebook", "cassette", "map"]

UNITS: Final = {"notebook": "cell", "cassette": "exchange", "map": "row"}
"""The word for the place of a question in a file of each kind."""
NOT_SETTINGS: Final = frozenset({"model", "thread", "credit_line"})
"""Options of a question that change neither its request nor its turn's use."""
_SUFFIXES: Final = frozenset({".ipynb", ".jsonl"})
_PIECE: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(BodyFacts):
    """A question in a file, with its answer.

    Args:
        file: the file's path, as it was given.
        kind: the kind of file.
        place: number of the cell or of the exchange, from 1; of a row, from 0.
        repeat: number of the answer among those to a row, from 1.
        cell: hash of its cell; ``None`` if it is unknown.
        thread: name of its thread; ``None`` if it is unknown.
        typed: the prompt as typed, with its ``{{ }}``.
        prompt: the prompt as sent, without what stands in front; ``None`` if the file lacks it.
        prompt_digest: digest of the prompt as sent; ``None`` if it is unknown.
        values: the inserted values, and what stands in front.
        context: short names of the turns that the request carried, oldest first.
        name: short name of its own turn, by which later requests name it; ``None`` for none.
        instructions: short digest of its instructions; ``None`` for none.
        system: text of its instructions; ``None`` for none, or if the file lacks it.
        settings: the options and the fields of the request, without the model.
        asked_model: the model that was asked for; ``None`` for none.
        request: digest of the request, without its Markdown cells.
        text: the reply; ``None`` if there is none.
        error: the error in place of a reply; ``None`` for none.
        state: the end of the reply.
        origin: the source of the reply, also of a replayed one; ``None`` if it is unknown.
        is_replay: whether the reply was replayed from a recording.
        date: time of the answer, in UTC; ``None`` if it is unknown.
        is_local_time: whether ``date`` is by the clock of the asking machine.
        service: address of the service; ``None`` if the file does not have it.
        is_hidden: whether later requests leave the turn out.
        is_again: whether it is another reply to a question that was asked before.
        is_rest: whether it continues an earlier reply.
        is_described: whether the file tells the settings and the instructions.
        requests: number of requests that were sent for it; ``None`` is unknown.
        fault: the reason why the file is not as it was written here; empty for none.
    """

    file: str
    kind: Kind
    place: int
    repeat: int = 1
    cell: str | None = None
    thread: str | None = None
    typed: str = ""
    prompt: str | None = None
    prompt_digest: str | None = None
    values: tuple[Value, ...] = ()
    context: tuple[str, ...] = ()
    name: str | None = None
    instructions: str | None = None
    system: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    asked_model: str | None = None
    request: str = ""
    text: str | None = None
    error: str | None = None
    state: State = "complete"
    origin: Origin | None = None
    is_replay: bool = False
    date: datetime | None = None
    is_local_time: bool = False
    service: str | None = None
    is_hidden: bool = False
    is_again: bool = False
    is_rest: bool = False
    is_described: bool = True
    requests: int | None = None
    fault: str = ""

    @property
    def where(self) -> str:
        """Its place in words, such as ``cell 3`` or ``row 4, answer 2``."""
        words = f"{UNITS[self.kind]} {self.place:,}"
        return f"{words}, answer {self.repeat:,}" if self.repeat > 1 else words


@dataclass(slots=True)
class Source:
    """A file with questions.

    Args:
        path: the path, as it was given.
        kind: the kind of file.
        sha256: digest of its content.
        size: its size in bytes.
        asked: its questions, in their order.
        heads: the descriptions of the calls of a map, by their names.
        agreements: the agreements that a notebook shows.
        problems: a line for each fault.
        counts: numbers of what is no answered question, by the words for them.
    """

    path: str
    kind: Kind
    sha256: str = ""
    size: int = 0
    asked: list[Asked] = field(default_factory=list)
    heads: dict[str, JobHead] = field(default_factory=dict)
    agreements: list[RecordedAgreement] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        """The file's name, without its folders."""
        return Path(self.path).name


def files_in(paths: Iterable[Path]) -> list[Path]:
    """Return files, and in place of each folder the files in it that may hold questions.

    Args:
        paths: files and folders.

    Raises:
        InputError: there is no file of that name, or a folder holds none.
    """
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} is not there.")
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(file for file in path.rglob("*") if _is_shown(file.relative_to(path)))
        if not inside:
            raise InputError(f"{path} holds no notebook, no cassette and no file of a map.")
        files += inside
    return list(dict.fromkeys(files))


def _is_shown(path: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.parts)
    return path.suffix.lower() in _SUFFIXES and not is_hidden


def kind_of(path: Path) -> Kind:
    """Return the kind of a file, by its name and its beginning.

    Args:
        path: the file.

    Raises:
        InputError: it cannot be read.
    """
    if path.suffix.lower() == ".ipynb":
        return "notebook"
    try:
        with open_file(path) as file:
            return "map" if file.read(len(BEGINNING)) == BEGINNING else "cassette"
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_why(error)}.") from None


def read_source(path: Path, *, audited: bool = True) -> Source:
    """Return the questions of a file.

    Args:
        path: a notebook, a cassette, or the file of a map.
        audited: whether the faults that an audit sees are among the problems.

    Raises:
        InputError: it cannot be read, or is none of these.
    """
    source = Source(str(path), kind_of(path))
    try:
        source.sha256, source.size = _content_digest(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_why(error)}.") from None
    if source.kind == "map":
        _read_map(path, source)
    elif source.kind == "cassette":
        held = CassetteFile(path).read_interactions()
        source.asked = from_interactions(held, source.path)
    else:
        _read_notebook(notebook.read_notebook(path), source)
    if audited and source.kind != "map":
        source.problems += [line for audit in audit_all([path]) for line in audit.problems]
    return source


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or "this is not the name of a file"


def _content_digest(path: Path) -> tuple[str, int]:
    """Return the digest of a file's content, and its size."""
    hashed = hashlib.sha256()
    size = 0
    with open_file(path) as file:
        while piece := file.read(_PIECE):
            hashed.update(piece)
            size += len(piece)
    return hashed.hexdigest(), size


# --- Notebooks ----------------------------------------------------------------------------------


def _read_notebook(read: Notebook, source: Source) -> None:
    """Add the turns of a notebook."""
    restored = restore.restore(read, changed=True, as_recorded=True)
    texts: dict[str, str] = {}
    for saved in read.outputs:
        if isinstance(saved.steering, Instructions):
            texts[saved.steering.value.sha256] = saved.steering.text
        if saved.kind in {"undo", "redo", "reset"}:
            source.counts[f"commands {saved.kind}"] += 1
    window = restored.conversation.window()
    for saved, record in read.turns:
        placed = restored.asked.get(restored.numbers.get(saved, 0))
        asked = of_record(record, saved.text, source.path, saved.cell)
        hidden = record.parameters.get("hide") is True
        if placed is not None:
            turn, place = placed
            root = turn.carried.root.chain
            names = [*([] if root is None else [root]), *turn.carried.digests]
            names += [] if record.continues is None else [record.continues]
            asked = replace(asked, context=_short(names), thread=place.thread)
            live = {each.number: each for each in restored.conversation}
            now = live.get(restored.numbers.get(saved, 0))
            hidden = hidden or (now is not None and window.hides(now))
        system = None if record.instructions is None else texts.get(record.instructions.sha256)
        source.asked.append(
            replace(asked, cell=saved.own, system=system, is_hidden=hidden, fault=saved.fault)
        )
    _count_silent(read, source)
    for cell in read.cells:
        for output in cell.outputs:
            if (value := json_at(output, "metadata", METADATA)) is not None:
                _add_agreement(value, source, cell.number)


def _add_agreement(value: object, source: Source, cell: int) -> None:
    """Add the agreement of an output of a cell."""
    try:
        source.agreements.append(agreement_from(value, f"{source.name}, cell {cell}"))
    except ValueError:
        source.problems.append(f"cell {cell}: its agreement cannot be read, and was left out.")


def _count_silent(read: Notebook, source: Source) -> None:
    """Count the cells of a notebook that ask, and have no reply."""
    shown = {saved.cell for saved, _ in read.turns}
    for cell in read.cells:
        if cell.number in shown or not cell.plan.asks:
            continue
        if "error" in cell.others:
            source.counts["cells whose question failed"] += 1
        else:
            source.counts["cells whose question has no reply in the file"] += 1
    quiet = sum(command.is_quiet for cell in read.cells for command in cell.plan.commands)
    source.counts["quiet questions, whose replies are not in the file"] += quiet


def of_record(record: Record, text: str | None, file: str, place: int) -> Asked:
    """Return the question of a turn's record.

    Args:
        record: the record.
        text: the reply's text; ``None`` if it is gone.
        file: path of its file.
        place: number of its cell.
    """
    known = restore.turn_of(record, text or "", owner=None) if _is_consistent(record) else None
    sent = None if known is None or known.missing else known.prompt
    digests = [*([] if record.earlier[1] is None else [record.earlier[1]]), *record.carried]
    digests += [] if record.continues is None else [record.continues]
    instructions = None if record.instructions is None else record.instructions.sha256[:DIGITS]
    is_rest = record.continues is not None
    typed = ASKED_FOR_THE_REST if is_rest else record.prompt
    sent = typed if is_rest else sent
    return Asked(
        file=file,
        kind="notebook",
        place=place,
        cell=record.owner,
        typed=typed,
        prompt=sent,
        prompt_digest=None if sent is None else digest(sent),
        values=() if is_rest else record.values,
        context=_short(digests),
        name=None if is_rest or record.turn is None else record.turn[:DIGITS],
        instructions=instructions,
        settings={
            name: item for name, item in record.parameters.items() if name not in NOT_SETTINGS
        },
        asked_model=record.asked_model,
        request=record.request,
        text=text,
        state=record.state,
        origin=record.recorded or (None if record.origin == "replay" else record.origin),
        is_replay=record.origin == "replay",
        date=record.date,
        is_hidden=record.parameters.get("hide") is True,
        is_again=bool(record.in_place_of) and not is_rest,
        is_rest=is_rest,
        **shared_fields(record, BodyFacts),
    )


def _is_consistent(record: Record) -> bool:
    """Return whether the values of a record are those of its prompt."""
    try:
        restore.turn_of(record, "", owner=None)
    except ValueError:
        return False
    return True


def _short(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple((name or "")[:DIGITS] for name in names)


# --- Cassettes ----------------------------------------------------------------------------------


def from_interactions(held: Sequence[Interaction], file: str) -> list[Asked]:
    """Return the questions of a cassette's exchanges.

    Args:
        held: the exchanges.
        file: path of their file.
    """
    return [_of_interaction(item, file, place) for place, item in enumerate(held, 1)]


def _of_interaction(item: Interaction, file: str, place: int) -> Asked:
    facts = crediting.reply_facts(item.headers, datetime.now(UTC))
    return Asked(
        file=file,
        kind="cassette",
        place=place,
        cell=item.owner,
        typed=item.as_typed,
        prompt=item.prompt,
        prompt_digest=digest(item.prompt),
        context=item.before,
        name=item.turn,
        instructions=item.instructions,
        settings=_settings(item.parameters),
        asked_model=item.asked_model,
        request=item.request,
        text=item.text,
        error=None if item.is_reply else f"HTTP {item.status}",
        origin=item.origin,
        date=facts.get("date"),
        **shared_fields(item, BodyFacts),
    )


def _settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request as settings; ``stream`` is one only if it is off."""
    return {name: value for name, value in fields.items() if (name, value) != ("stream", True)}


# --- Maps ---------------------------------------------------------------------------------------


def _read_map(path: Path, source: Source) -> None:
    """Add the rows of a map's file; of several lines for a request the last one counts."""
    last: dict[str, RowReply] = {}
    for line in _rows(path, source):
        row = line
        if row.head is not None and row.head.startswith("{"):
            _add_head(row.head, source)
        before = last.pop(row.key, None)
        if before is not None and before.ended_at != row.ended_at:
            source.counts["rows that were asked again"] += 1
            if before.requests is not None and row.requests is not None:
                row = replace(row, requests=before.requests + row.requests)
        last[row.key] = row
    if not last:
        raise InputError(f"{path} is no file of a map, and no cassette.")
    repeats: Counter[tuple[str, int]] = Counter()
    for row in sorted(last.values(), key=lambda row: (row.row, row.occurrence)):
        call = head_name(row.head or row.call or "")
        repeats[call, row.row] += 1
        head = source.heads.get(call)
        source.asked.append(_of_row(row, head, source.path, repeats[call, row.row]))


def _rows(path: Path, source: Source) -> Iterator[RowReply]:
    """Yield the lines of a map's file that can be read."""
    with open_file(path) as file:
        number = 0
        while line := file.readline(LARGEST):
            number += 1
            try:
                if line.strip():
                    yield RowReply.from_line(line)
            except EditedError:
                source.problems.append(f"line {number:,} was edited, and was left out.")
            except (ValueError, RecursionError):
                source.problems.append(f"line {number:,} cannot be read, and was left out.")


def _add_head(text: str, source: Source) -> None:
    """Add the description of a call."""
    try:
        source.heads[head_name(text)] = JobHead.from_text(text)
    except ValueError:
        source.problems.append("a description of a call cannot be read, and was left out.")


def _of_row(row: RowReply, head: JobHead | None, file: str, repeat: int) -> Asked:
    """Return the question of a row."""
    settings = {} if head is None else _settings(head.parameters)
    model = settings.pop("model", None)
    if head is not None and head.schema is not None:
        settings["schema"] = head.schema
    system = None if head is None else head.instructions
    failed = row.error is not None and not row.text
    return Asked(
        file=file,
        kind="map",
        place=row.row,
        repeat=repeat,
        typed="" if head is None else head.template,
        prompt=row.prompt,
        prompt_digest=row.prompt_digest,
        instructions=None if system is None else digest(system)[:DIGITS],
        system=system,
        settings=settings,
        asked_model=model if isinstance(model, str) else None,
        request=row.request,
        text=None if failed else row.text,
        error=row.error,
        origin="emulator" if row.service == EMULATOR else None,
        date=row.ended_at,
        is_local_time=True,
        service=row.service,
        is_described=head is not None,
        requests=row.requests,
        **shared_fields(row, BodyFacts),
    )
