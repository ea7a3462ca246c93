"""A notebook file, read as data and written: the records in its outputs, and their replies.

A notebook may come from a stranger. It is read as JSON, any minor version of nbformat 4;
nothing in it is evaluated, and what is malformed is left out with a line that says so.
Cells are counted from the top, from 1, those with text too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from chatmagic import _json
from chatmagic.conversation.record import VERSION, Did, NewerVersionError, Record, kind_of, owner_of
from chatmagic.conversation.seal import Sealed, canonical, check, joined
from chatmagic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


LARGEST: Final = 256 * 2**20
"""How many bytes a notebook may have; a larger one is not read."""
READABLE: Final = 4
"""The major version of nbformat that is read; the minor one does not matter."""

CHANGED: Final = "its record or its output was changed since it was asked: the seal does not match"
NOT_SEALED: Final = "its record is not sealed"

# A line that asks, at the beginning of a cell or within it; `%chat` alone shows the state.
_ASKS: Final = re.compile(
    r"\A(?:\s|#.*\n)*%%chat(?!\w)|^[ \t]*(?:[^\n=()]+=)?[ \t]*%chat[ \t]+\S", re.MULTILINE
)


_ASKS_PYTHON: Final = re.compile(r"\bask\s*\(|\brun_(?:line|cell)_magic\(\s*[\"']chat[\"']")
_DISPLAYS: Final = re.compile(r"\bdisplay\w*\s*\(")
_LOADS: Final = re.compile(r"^[ \t]*%chat_load\b", re.MULTILINE)
_REPLY: Final = re.compile(r'<div class="chatmagic [^"<>]*" role="group" aria-label="Reply">')
_QUIETLY: Final = re.compile(r"(?:^|\s)(?:-\w*q|--q)")


@dataclass(frozen=True, slots=True)
class Told:
    """What one output tells of the conversation.

    Args:
        cell: the cell's place in the notebook, from 1.
        own: hash of the cell's own identity; ``None`` where the file gives it none.
        kind: a ``turn``, or what was done to the conversation.
        sealed: whether the record and its output are as they were sealed.
        record: a turn's record.
        text: the reply's exact text; ``None`` where it is not there.
        html: the reply as it is shown; ``None`` where it is not there.
        versions: of what rendered it, by package.
    """

    cell: int
    own: str | None
    kind: Literal["turn"] | Did
    sealed: Sealed
    record: Record | None = None
    text: str | None = None
    html: str | None = None
    versions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether the text is the one that was recorded."""
        return (
            self.record is not None
            and self.text is not None
            and _json.digest(self.text) == self.record.reply
        )

    @property
    def fault(self) -> str:
        """What is wrong with its seal, in words; empty where nothing is."""
        return {"sealed": "", "not sealed": NOT_SEALED, "changed": CHANGED}[self.sealed]


@dataclass(frozen=True, slots=True)
class Asking:
    """A code cell that asks, or may have asked, or loads a conversation.

    Args:
        cell: the cell's place in the notebook, from 1.
        source: what it says.
        outputs: how many outputs it has.
        turns: how many of them hold a record, whether it can be read or not.
        bare: whether one of them shows a reply, as a line that asks does, and has no record.
        ran: whether the file says that it was run.
    """

    cell: int
    source: str
    outputs: int
    turns: int
    bare: bool
    ran: bool

    @property
    def loads(self) -> bool:
        """Whether it puts a saved conversation in place of the one above it."""
        return _LOADS.search(self.source) is not None

    @property
    def is_silent(self) -> bool:
        """Whether it has a line that asks, and no output."""
        return not self.outputs and _ASKS.search(self.source) is not None

    @property
    def is_quiet(self) -> bool:
        """Whether it may have asked what none of its outputs tells of."""
        asks_otherwise = _ASKS_PYTHON.search(self.source) or _QUIETLY.search(self.source)
        return not self.turns or asks_otherwise is not None


@dataclass(frozen=True, slots=True)
class Notebook:
    """What a notebook tells of its conversation.

    Args:
        path: where it is.
        told: what its outputs tell, in the order of the cells.
        problems: a line for each record that cannot be read.
        asking: its code cells that ask, or may have asked.
        timed: places of the cells whose metadata say when they ran.
        texts: what there is to read in sources and outputs, with the cells' places.
    """

    path: Path
    told: tuple[Told, ...]
    problems: tuple[str, ...]
    asking: tuple[Asking, ...]
    timed: tuple[int, ...]
    texts: tuple[tuple[int, str], ...]

    @property
    def turns(self) -> tuple[tuple[Told, Record], ...]:
        """The turns, with their records."""
        return tuple((told, told.record) for told in self.told if told.record is not None)

    @property
    def silent(self) -> tuple[int, ...]:
        """The places of the cells that ask and have no output."""
        return tuple(one.cell for one in self.asking if one.is_silent)

    @property
    def missing(self) -> str:
        """Say which cells ask and have no output; empty where there is none."""
        if not self.silent:
            return ""
        one = len(self.silent) == 1
        return (
            f"{cells(self.silent)} ask{'s' if one else ''} and ha{'s' if one else 've'} no output:"
            " not run yet, run with --quiet, or stripped."
        )


def read(path: Path) -> Notebook:
    """Read a notebook.

    Raises:
        InputError: there is none, or it is not a notebook of format 4.
    """
    return parse(content_of(path), path)


def content_of(path: Path) -> bytes:
    """Give a file's content.

    Raises:
        InputError: there is none, it cannot be read, or it is too large to be one of ours.
    """
    try:
        content = None
        # Who opens a pipe may wait for ever, and a device may not end.
        if path.is_file() or not path.exists():
            with path.open("rb") as file:
                content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError(f"{path} is not there.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "this is not the name of a file"
        raise InputError(f"{path} cannot be read: {why}.") from None
    if content is None:
        raise InputError(f"{path} cannot be read: it is not a file.")
    if len(content) > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST // 2**20} MiB; it was not read.")
    return content


def parse(content: bytes, path: Path) -> Notebook:
    """Read a notebook's content.

    Args:
        content: the file's bytes.
        path: the file's name, for messages.

    Raises:
        InputError: it is not a notebook of format 4.
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not a notebook: it is not JSON.") from None
    version = value.get("nbformat") if isinstance(value, dict) else None
    if isinstance(version, bool) or not isinstance(version, int):
        raise InputError(f"{path} is not a notebook.")
    if version < READABLE:
        raise InputError(
            f"{path} is a notebook of format {version}, from before 2015.",
            hint="Open it in JupyterLab and save it; then it has format 4.",
        )
    if version > READABLE:
        raise InputError(f"{path} is a notebook of format {version}; this release reads 4.")
    found = value.get("cells")
    if not isinstance(found, list):
        raise InputError(f"{path} is a damaged notebook: it has no list of cells.")
    reading = _Reading()
    for number, cell in enumerate(found, 1):
        reading.cell(number, cell)
    return Notebook(
        path,
        tuple(reading.told),
        tuple(reading.problems),
        tuple(reading.asking),
        tuple(reading.timed),
        tuple(reading.texts),
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell to be written, with one output or none.

    Args:
        id: its identity, unique within the notebook.
        source: what it says.
        data: the output's data by type; ``None`` without an output.
        metadata: the output's metadata.
    """

    id: str
    source: str
    data: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def written(cells: Sequence[Cell]) -> str:
    """Give the content of a notebook with these cells."""
    # nbformat comes with the first notebook that is written.
    import nbformat.v4  # noqa: PLC0415

    v4 = cast("Any", nbformat.v4)
    made = []
    for number, cell in enumerate(cells, 1):
        data, metadata = cell.data, dict(cell.metadata)
        outputs = []
        if data is not None:
            outputs = [v4.new_output("display_data", data=dict(data), metadata=metadata)]
        code = v4.new_code_cell(cell.source, outputs=outputs, execution_count=number, id=cell.id)
        made.append(code)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    mark = {"version": VERSION, "kind": "conversation", "digest": _fingerprint(made)}
    whole = v4.new_notebook(cells=made, metadata={"kernelspec": kernel, "chatmagic": mark})
    return f"{cast('Any', nbformat).writes(whole)}\n"


def is_untouched(content: bytes) -> bool:
    """Tell whether a notebook is as :func:`written` gave it, but for a front end's metadata."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    mark = _get(value, "metadata", "chatmagic", "digest")
    return isinstance(mark, str) and mark == _fingerprint(_get(value, "cells"))


def _fingerprint(cells: object) -> str:
    """Give a digest of what people put into the cells, and of all that is in their outputs."""
    found = []
    for cell in cells if isinstance(cells, list) else []:
        outputs = _get(cell, "outputs")
        found.append(
            [
                str(_get(cell, "cell_type")),
                _joined(_get(cell, "source")),
                [_get(cell, "metadata", "tags"), _get(cell, "attachments")],
                [_content(output) for output in outputs] if isinstance(outputs, list) else [],
            ]
        )
    return _json.digest(canonical(found))


def _content(output: object) -> list[object]:
    """Return what an output holds, in whichever lines its texts stand."""
    data = _get(output, "data")
    texts = {kind: joined(item) for kind, item in data.items()} if isinstance(data, Mapping) else {}
    return [texts, _get(output, "metadata"), _texts(output)]


def cells(numbers: Sequence[int]) -> str:
    """Name cells by their places: "cell 3", "cells 3 and 5"."""
    return numbered(numbers, "cell")


def numbered(numbers: Sequence[int], what: str) -> str:
    """Name things by their places: "exchange 3", "exchanges 3 and 5".

    Args:
        numbers: their places, from 1.
        what: what each is called.
    """
    names = [f"{number:,}" for number in dict.fromkeys(numbers)]
    if len(names) == 1:
        return f"{what} {names[0]}"
    return f"{what}s {', '.join(names[:-1])} and {names[-1]}"


class _Reading:
    """What has been found so far in a notebook's cells."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.problems: list[str] = []
        self.asking: list[Asking] = []
        self.timed: list[int] = []
        self.texts: list[tuple[int, str]] = []

    def cell(self, number: int, cell: object) -> None:
        if not isinstance(cell, dict):
            self.problems.append(f"cell {number}: it is damaged and was left out.")
            return
        source = _joined(cell.get("source")) or ""
        self.texts.append((number, source))
        if cell.get("cell_type") != "code":
            return
        outputs = cell.get("outputs")
        outputs = outputs if isinstance(outputs, list) else []
        if any(one.search(source) for one in (_ASKS, _ASKS_PYTHON, _LOADS)):
            turns = sum(_get(one, "metadata", "chatmagic") is not None for one in outputs)
            bare = not _DISPLAYS.search(source) and any(map(_is_bare, outputs))
            ran = cell.get("execution_count") is not None
            self.asking.append(Asking(number, source, len(outputs), turns, bare, ran))
        if _get(cell, "metadata", "execution"):
            self.timed.append(number)
        identity = cell.get("id")
        own = owner_of(identity) if isinstance(identity, str) and identity else None
        for output in outputs:
            self.texts += [(number, text) for text in _texts(output)]
            self.output(number, own, output)

    def output(self, cell: int, own: str | None, output: object) -> None:
        value = _get(output, "metadata", "chatmagic")
        if value is None:
            return
        try:
            kind = kind_of(value)
            seal = check(cast("Mapping[str, Any]", value), _get(output, "data"))
            if kind == "turn":
                text = _joined(_get(output, "data", "text/plain"))
                html = _joined(_get(output, "data", "text/html"))
                record, versions = Record.from_json(value), _get(value, "versions")
                made_by = versions if isinstance(versions, Mapping) else {}
                self.told.append(Told(cell, own, "turn", seal, record, text, html, made_by))
            elif kind in get_args(Did):
                self.told.append(Told(cell, own, cast("Did", kind), seal))
            else:
                self.problems.append(f"cell {cell}: its record is of an unknown kind.")
        except NewerVersionError as error:
            self.problems.append(f"cell {cell}: its record was left out, because {error}.")
        except ValueError as error:
            self.problems.append(f"cell {cell}: a malformed record was left out: {error}.")


def _is_bare(output: object) -> bool:
    """Tell whether an output shows a reply as we do, and has no record."""
    html = _joined(_get(output, "data", "text/html"))
    return (
        _get(output, "metadata", "chatmagic") is None
        # A cell's value may be a reply, too.
        and _get(output, "output_type") == "display_data"
        and html is not None
        and _REPLY.match(html) is not None
    )


def _texts(output: object) -> list[str]:
    """Give what there is to read in an output, but for pictures and the like."""
    data = _get(output, "data")
    found = [_get(output, "text"), _get(output, "traceback"), _get(output, "evalue")]
    if isinstance(data, Mapping):
        found += [item for kind, item in sorted(data.items()) if str(kind).startswith("text/")]
    return [text for text in map(_joined, found) if text]


def _joined(value: object) -> str | None:
    """Read a text that may stand as a list of its lines."""
    text = joined(value)
    return text if isinstance(text, str) else None


def _get(value: object, *names: str) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
