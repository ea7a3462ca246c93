"""A notebook file, read as data and written: the records in its outputs, and their replies.

A notebook may come from a stranger. It is read as JSON, any minor version of nbformat 4;
nothing in it is evaluated, and what is malformed is left out with a line that says so.
Cells are counted from the top, from 1, those with text too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from chatmagic import wire
from chatmagic.errors import InputError
from chatmagic.record import NewerVersionError, Record, kind_of, owner_of
from chatmagic.tape import Recorded, headers_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.record import Did

LARGEST: Final = 256 * 2**20
"""How many bytes a notebook may have; a larger one is not read."""
READABLE: Final = 4
"""The major version of nbformat that is read; the minor one does not matter."""

# A line that asks, at the beginning of a cell or within it; `%chat` alone shows the state.
_ASKS: Final = re.compile(
    r"\A(?:\s|#.*\n)*%%chat(?!\w)|^[ \t]*(?:[^\n=()]+=)?[ \t]*%chat[ \t]+\S", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Told:
    """What one output tells of the conversation.

    Args:
        cell: the cell's place in the notebook, from 1.
        own: hash of the cell's own identity; ``None`` where the file gives it none.
        kind: a ``turn``, or what was done to the conversation.
        record: a turn's record.
        text: the reply's exact text; ``None`` where it is not there.
    """

    cell: int
    own: str | None
    kind: Literal["turn"] | Did
    record: Record | None = None
    text: str | None = None

    @property
    def agrees(self) -> bool:
        """Whether the text is the one that was recorded."""
        return (
            self.record is not None
            and self.text is not None
            and wire.digest(self.text) == self.record.reply
        )


@dataclass(frozen=True, slots=True)
class Notebook:
    """What a notebook tells of its conversation.

    Args:
        path: where it is.
        told: what its outputs tell, in the order of the cells.
        problems: a line for each record that cannot be read.
        silent: places of the cells that ask and have no output.
        ran: places of the cells that say when they ran, which front ends leave in a
            cell's metadata.
    """

    path: Path
    told: tuple[Told, ...]
    problems: tuple[str, ...]
    silent: tuple[int, ...]
    ran: tuple[int, ...]

    @property
    def turns(self) -> tuple[tuple[Told, Record], ...]:
        """The turns, with their records."""
        return tuple((told, told.record) for told in self.told if told.record is not None)

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
    try:
        if not path.is_file():
            raise InputError(f"{path} is not there." if not path.exists() else f"{path}: no file.")
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is larger than {LARGEST // 2**20} MiB; it was not read.")
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read: {error}.") from None
    return parse(content, path)


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
    told: list[Told] = []
    problems: list[str] = []
    silent: list[int] = []
    ran: list[int] = []
    for number, cell in enumerate(found, 1):
        if not isinstance(cell, dict):
            problems.append(f"cell {number}: it is damaged.")
        elif cell.get("cell_type") == "code":
            outputs = cell.get("outputs")
            if outputs in (None, []) and _ASKS.search(_joined(cell.get("source")) or ""):
                silent.append(number)
            if isinstance(_get(cell, "metadata"), dict) and _get(cell, "metadata", "execution"):
                ran.append(number)
            identity = cell.get("id")
            own = owner_of(identity) if isinstance(identity, str) and identity else None
            for output in outputs if isinstance(outputs, list) else []:
                one = _told(output, number, own, problems)
                told += [one] if one is not None else []
    return Notebook(path, tuple(told), tuple(problems), tuple(silent), tuple(ran))


def recorded(path: Path) -> tuple[Recorded, ...]:
    """Give the exchanges by which a notebook's requests can be answered again.

    A reply that was interrupted or cut off is none of them: it was never whole.

    Args:
        path: the notebook.

    Raises:
        InputError: it is no notebook; it holds no reply that can be replayed; or one of
            them is not what was recorded.
    """
    notebook = read(path)
    changed = [told.cell for told, _ in notebook.turns if not told.agrees]
    if changed:
        raise InputError(
            f"{path}: {cells(changed)} no longer hold{'s' if len(changed) == 1 else ''} the reply"
            " that was recorded, so nothing is replayed from this notebook.",
            hint="Take the file as it was saved, or ask again.",
        )
    found = tuple(
        _exchange(record, told.text or "")
        for told, record in notebook.turns
        if record.state == "complete"
    )
    if not found:
        why = notebook.missing or "none of its outputs holds a reply."
        lines = " ".join([why[:1].upper() + why[1:], *notebook.problems[:1]])
        raise InputError(f"{path} holds no reply that can be replayed. {lines}")
    return found


def written(cells: Sequence[tuple[str, dict[str, Any] | None, dict[str, Any]]]) -> str:
    """Give a notebook's content.

    Args:
        cells: for each code cell its source, the data of its one output (``None`` without
            an output) and that output's metadata.
    """
    # nbformat comes with the first notebook that is written.
    import nbformat.v4  # noqa: PLC0415

    v4 = cast("Any", nbformat.v4)
    runs = count(1)
    made = []
    for number, (source, data, metadata) in enumerate(cells, 1):
        outputs = []
        if data is not None:
            outputs = [v4.new_output("display_data", data=data, metadata=metadata)]
        cell = v4.new_code_cell(source, outputs=outputs, execution_count=next(runs))
        made.append({**cell, "id": f"chat-{number}"})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = v4.new_notebook(cells=made, metadata={"kernelspec": kernel})
    return f"{cast('Any', nbformat).writes(whole)}\n"


def cells(numbers: Sequence[int]) -> str:
    """Name cells by their places: "cell 3", "cells 3 and 5"."""
    names = [f"{number:,}" for number in dict.fromkeys(numbers)]
    if len(names) == 1:
        return f"cell {names[0]}"
    return f"cells {', '.join(names[:-1])} and {names[-1]}"


def _told(output: object, cell: int, own: str | None, problems: list[str]) -> Told | None:
    """Read one output; ``None`` where it tells nothing."""
    value = _get(output, "metadata", "chatmagic")
    if value is None:
        return None
    try:
        kind = kind_of(value)
        if kind in {"undo", "redo", "reset"}:
            return Told(cell, own, cast("Did", kind))
        if kind != "turn":
            raise ValueError("it is of no kind that is known here")
        text = _joined(_get(output, "data", "text/plain"))
        return Told(cell, own, "turn", Record.from_json(value), text)
    except NewerVersionError as error:
        problems.append(f"cell {cell}: its record was left out, because {error}.")
    except ValueError as error:
        problems.append(f"cell {cell}: its record is malformed and was left out: {error}.")
    return None


def _exchange(record: Record, text: str) -> Recorded:
    sent = {name: record.parameters[name] for name in _SENT if name in record.parameters}
    return Recorded(
        request=record.request,
        prompt=record.prompt,
        before=record.carried,
        parameters={"stream": True, **sent},
        typed=record.prompt if record.values else None,
        owner=record.owner,
        headers=headers_for(record.credits, record.date),
        text=text,
        model=record.model,
        finish_reason=record.finish_reason,
        usage=record.usage,
        refusal=record.refusal,
        took=record.took,
        origin="emulator" if record.origin == "emulator" else "live",
    )


_SENT: Final = ("stream", "max_tokens", "temperature")


def _joined(value: object) -> str | None:
    """Read a text that may stand as a list of its lines."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return value if isinstance(value, str) else None


def _get(value: object, *names: str) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
