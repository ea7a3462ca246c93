"""A notebook file: reading of the records and replies in its outputs, and writing of cells.

Its content is untrusted. It is read as JSON, in any minor version of nbformat 4. Nothing in it is
evaluated, and malformed parts are left out with a line that says so. A cell's number is its place
from the top, from 1, and counts text cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from chatmagic import _files, _json
from chatmagic.conversation import cell_magics
from chatmagic.conversation.cell_magics import Plan
from chatmagic.conversation.record import (
    VERSION,
    Did,
    NewerVersionError,
    Record,
    canonical,
    is_sealed,
    joined_lines,
    owner_of,
    record_kind,
)
from chatmagic.conversation.steering import STEERING, Steering
from chatmagic.errors import InputError
from chatmagic.safe_text import numbered

READABLE: Final = 4
"""The major version of nbformat that is read; the minor one does not matter."""

EARLIER: Final = "Take an earlier copy of it: a checkpoint of Jupyter's, a backup, or git's."
"""Hint for a file that holds no notebook."""

LARGEST_SOURCE: Final = 2**20
"""Largest number of characters of a cell's source; no person reads or writes a larger one."""

CHANGED: Final = "its record or its output was changed since it was asked: the seal does not match"

_REPLY: Final = re.compile(r'<div class="chatmagic [^"<>]*" role="group" aria-label="Reply">')
_LIVE: Final = re.compile(r'<div class="[^"<>]*\bchatmagic-live\b')
_LOOKS_LIKE_A_REPLY: Final = re.compile(
    r"""class\s*=\s*["'][^"'<>]*\bchatmagic\b|\[//\]: # \(chatmagic\)"""
)
"""Marks of a reply's HTML and Markdown, in a cell of text."""
_KINDS: Final = frozenset(["turn", "pick", "deletion", *STEERING, *get_args(Did)])

OtherKind = Literal["live", "reply", "error", "warning", "output"]


@dataclass(frozen=True, slots=True, eq=False)
class SavedOutput:
    """An output with a record: of a turn, of a steering item, or of a change.

    Args:
        cell: the cell's number.
        own: hash of the cell's own identity; ``None`` if the file gives it none.
        kind: a ``turn``, the ``pick`` of a reply, ``instructions``, a ``thread``, or the change of
            the conversation.
        fault: fault of its seal, in words; empty for none.
        record: a turn's record, or that of a reply that was put back.
        steering: its steering item, or the start of the thread that was deleted.
        text: its exact text; ``None`` if it is not there.
        rendered: the same as HTML and as Markdown, by type; ``None`` if it is not there.
        versions: versions of the renderer's packages.
    """

    cell: int
    own: str | None
    kind: str
    fault: str
    record: Record | None = None
    steering: Steering | None = None
    text: str | None = None
    rendered: Mapping[str, str | None] = field(default_factory=dict)
    versions: object = None


@dataclass(frozen=True, slots=True)
class NotebookCell:
    """A code cell: the effect of its source, and its outputs.

    Args:
        number: its number.
        source: its source.
        plan: the effect of its source.
        own: hash of its own identity; ``None`` if the file gives it none.
        outputs: its outputs, as the file has them.
        others: the kinds of its outputs without a record: a reply under way, a reply whose record
            is gone, an error, a warning, or anything else.
    """

    number: int
    source: str
    plan: Plan
    own: str | None
    outputs: Sequence[object]
    others: tuple[OtherKind, ...]


@dataclass(slots=True)
class Notebook:
    """Conversation of a notebook file, from its cells and outputs.

    Args:
        path: path of the file.
        outputs: the outputs with a record, in the order of the cells.
        problems: a line for each record that cannot be read, and each reply that is not complete.
        unreadable: numbers of the cells with a record that cannot be read.
        cells: its code cells.
        markdown: the sources of its Markdown cells, by their numbers.
        texts: the readable texts of sources and outputs, with the cells' numbers; the source of a
            cell comes first.
    """

    path: Path
    outputs: list[SavedOutput] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    cells: list[NotebookCell] = field(default_factory=list)
    markdown: dict[int, str] = field(default_factory=dict)
    texts: list[tuple[int, str]] = field(default_factory=list)

    @property
    def turns(self) -> list[tuple[SavedOutput, Record]]:
        """The outputs of turns that were asked, with their records."""
        records = ((saved, saved.record) for saved in self.outputs)
        return [(saved, record) for saved, record in records if record and not record.picked]

    @property
    def missing(self) -> str:
        """Line on the cells that ask and have no output; empty if there are none."""
        silent = [cell.number for cell in self.cells if cell.plan.asks and not cell.outputs]
        if not silent:
            return ""
        asks = "asks and has" if len(silent) == 1 else "ask and have"
        return (
            f"{numbered(silent, 'cell')} {asks} no output:"
            " not run yet, run with --quiet, or stripped."
        )

    def add_cell(self, number: int, cell: object) -> None:
        """Read a cell.

        Args:
            number: its number.
            cell: the value in the file, of any kind.
        """
        if not isinstance(cell, dict):
            self.problems.append(f"cell {number}: it is damaged and was left out.")
            return
        source = self._source_of(number, cell)
        self.texts.append((number, source))
        outputs = cell.get("outputs")
        if cell.get("cell_type") == "code":
            self._add_code(number, source, cell)
            return
        self.markdown[number] = source
        if outputs or _LOOKS_LIKE_A_REPLY.search(source):
            self.problems.append(f"cell {number}: it shows a reply, and is a cell of text.")
        if outputs:
            self.unreadable.append(number)

    def _source_of(self, number: int, cell: Mapping[str, Any]) -> str:
        """Return the source of a cell; empty if it is no text, or too large."""
        source = text_from_json(cell.get("source"))
        if source is None:
            self.problems.append(f"cell {number}: its source is no text.")
            return ""
        if len(source) > LARGEST_SOURCE:
            limit = f"{LARGEST_SOURCE // 2**20} MiB"
            self.problems.append(f"cell {number}: its source is larger than {limit}; left out.")
            return ""
        # Another program may save the ends of lines in its own form.
        return source.replace("\r\n", "\n")

    def _add_code(self, number: int, source: str, cell: Mapping[str, Any]) -> None:
        """Read a code cell with its outputs."""
        outputs = self._outputs_of(number, cell)
        identity = cell.get("id")
        code = NotebookCell(
            number,
            source,
            cell_magics.plan_of(source),
            own=owner_of(identity) if isinstance(identity, str) and identity else None,
            outputs=outputs,
            others=tuple(_other_kind(output) for output in outputs if _record_of(output) is None),
        )
        self.cells.append(code)
        if "live" in code.others:
            self.problems.append(
                f"cell {number}: its reply is not complete: it was saved while it still arrived."
            )
        for output in outputs:
            self.texts += [(number, text) for text in texts_of(output)]
            if _record_of(output) is not None:
                self._add_record(code, output)

    def _outputs_of(self, number: int, cell: Mapping[str, Any]) -> list[object]:
        """Return the outputs of a code cell, as the file has them."""
        outputs = cell.get("outputs")
        if isinstance(outputs, list):
            return outputs
        if outputs is not None:
            self.problems.append(f"cell {number}: its outputs are no list.")
        return []

    def _add_record(self, cell: NotebookCell, output: object) -> None:
        """Read an output with a record."""
        value = _record_of(output)
        try:
            kind = record_kind(value)
            if kind in _KINDS:
                self.outputs.append(_saved_output(cell, kind, output, value))
                return
            problem = "its record is of an unknown kind."
        except NewerVersionError as error:
            problem = f"its record was left out, because {error}."
        except ValueError as error:
            problem = f"a malformed record was left out: {error}."
        self.unreadable.append(cell.number)
        self.problems.append(f"cell {cell.number}: {problem}")


def _saved_output(cell: NotebookCell, kind: str, output: object, value: object) -> SavedOutput:
    """Return an output with a record of a known kind.

    Args:
        cell: its cell.
        kind: the kind of its record.
        output: the output in the file.
        value: its record.

    Raises:
        ValueError: the record is malformed, or of a newer version.
    """
    is_reply = kind in {"turn", "pick"}
    steering = STEERING.get("thread" if kind == "deletion" else kind)
    is_unchanged = is_sealed(cast("Mapping[str, Any]", value), _json.json_at(output, "data"))
    shown = {
        form: text_from_json(_json.json_at(output, "data", form))
        for form in ("text/plain", "text/html", "text/markdown")
    }
    text = shown.pop("text/plain")
    # JSON is shown in another form than it arrived in. In an edited file the output counts.
    recorded_text = _json.json_at(value, "text")
    if is_reply and is_unchanged and recorded_text is not None:
        text = text_from_json(recorded_text)
    return SavedOutput(
        cell.number,
        cell.own,
        kind,
        fault="" if is_unchanged else CHANGED,
        record=Record.from_json(value) if is_reply else None,
        steering=None if steering is None else steering.from_json(value),
        text=text,
        rendered=shown,
        versions=_json.json_at(value, "versions"),
    )


def read_notebook(path: Path) -> Notebook:
    """Read a notebook.

    Args:
        path: the file, of any origin.

    Raises:
        InputError: there is no file, or it is not a notebook of format 4.
    """
    return parse_notebook(notebook_content(path), path)


def notebook_content(path: Path) -> bytes:
    """Return a file's content.

    Args:
        path: the file, which is a notebook of any origin.

    Raises:
        InputError: there is no file, or it cannot be read.
    """
    content = _files.content_of(path)
    if content is None:
        raise InputError(f"{path} is not there.")
    return content


def parse_notebook(content: bytes, path: Path) -> Notebook:
    """Read a notebook's content.

    Args:
        content: the file's bytes.
        path: the file's name, for messages.

    Raises:
        InputError: it is not a notebook of format 4, or holds too many values.
    """
    try:
        value = _json.json_of_file(content, _number)
    except _json.TooManyValuesError as error:
        raise InputError(f"{path} cannot be read: {error}.", hint=_files.SMALLER) from None
    except ValueError as error:
        raise InputError(f"{path} is no notebook: {error}.", hint=EARLIER) from None
    listed = _json.json_at(value, "cells") if _json.json_at(value, "nbformat") == READABLE else None
    if not isinstance(listed, list):
        raise InputError(
            f"{path} is not a notebook of format {READABLE}.",
            hint="Jupyter saves a notebook in that format.",
        )
    notebook = Notebook(path)
    for number, cell in enumerate(listed, 1):
        notebook.add_cell(number, cell)
    return notebook


def _number(text: str) -> float:
    """Return a number: another program may save ``200`` as ``200.0``."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _record_of(output: object) -> object:
    """Return the value in the place of an output's record; ``None`` if there is none."""
    return _json.json_at(output, "metadata", "chatmagic")


def _other_kind(output: object) -> OtherKind:
    """Return the kind of an output without a record."""
    html = text_from_json(_json.json_at(output, "data", "text/html")) or ""
    kind = _json.json_at(output, "output_type")
    if kind == "error":
        return "error"
    if kind == "stream" and _json.json_at(output, "name") == "stderr":
        return "warning"
    # A cell's value may be a reply, too.
    if kind == "display_data" and _REPLY.match(html):
        return "live" if _LIVE.search(html) else "reply"
    return "output"


def texts_of(output: object) -> list[str]:
    """Return the texts of an output, without pictures and the like.

    Args:
        output: an output of a cell, as a notebook's JSON has it.
    """
    places = (("text",), ("traceback",), ("evalue",), ("data", "text/html"), ("data", "text/plain"))
    items = (_json.json_at(output, *names) for names in places)
    return [text for text in map(text_from_json, items) if text]


def text_from_json(value: object) -> str | None:
    """Return a text, which may be given as a list of its lines; ``None`` for any other value.

    Args:
        value: JSON value in the place of a text.
    """
    text = joined_lines(value)
    return text if isinstance(text, str) else None


def notebook_json(
    cells: Iterable[tuple[str, str, tuple[dict[str, Any], dict[str, Any]] | None]],
) -> str:
    """Return the content of a notebook.

    Args:
        cells: of each code cell the identity, unique within the notebook, the source, and the
            data and metadata of its output, if any.
    """
    # nbformat is loaded with the first notebook that is written.
    import nbformat.v4  # noqa: PLC0415

    v4 = cast("Any", nbformat.v4)
    writes = cast("Any", nbformat).writes
    made = []
    for number, (id, source, shown) in enumerate(cells, 1):
        data, metadata = shown or ({}, {})
        outputs = [v4.new_output("display_data", data=data, metadata=metadata)] if shown else []
        made.append(v4.new_code_cell(source, id=id, outputs=outputs, execution_count=number))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = v4.new_notebook(cells=made, metadata={"kernelspec": kernel})
    mark = {
        "version": VERSION,
        "kind": "conversation",
        "digest": _digest(json.loads(writes(whole))),
    }
    whole.metadata["chatmagic"] = mark
    return f"{writes(whole)}\n"


def is_untouched(content: bytes) -> bool:
    """Return whether a notebook's cells are as :func:`notebook_json` gave them.

    Args:
        content: the notebook's content.
    """
    try:
        value = _json.json_of_file(content)
        mark = _json.json_at(value, "metadata", "chatmagic", "digest")
        return isinstance(mark, str) and mark == _digest(value)
    except (ValueError, RecursionError):
        return False


def _digest(notebook: object) -> str:
    """Return the digest of a notebook's cells."""
    return _json.digest(canonical(_json.json_at(notebook, "cells")))
