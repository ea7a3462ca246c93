"""A notebook file, written: code cells with their outputs, and a mark of what it was like then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from chatmagic import _json
from chatmagic.archive.notebook_file import get, text_of, texts_of
from chatmagic.conversation.record import VERSION
from chatmagic.conversation.seal import canonical, joined

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class NewCell:
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


def write(cells: Sequence[NewCell]) -> str:
    """Return the content of a notebook with these cells."""
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
    """Return whether a notebook is as :func:`write` gave it, but for a front end's metadata."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    mark = get(value, "metadata", "chatmagic", "digest")
    return isinstance(mark, str) and mark == _fingerprint(get(value, "cells"))


def _fingerprint(cells: object) -> str:
    """Return a digest of what people put into the cells, and of all that is in their outputs."""
    contents = []
    for cell in cells if isinstance(cells, list) else []:
        outputs = get(cell, "outputs")
        contents.append(
            [
                str(get(cell, "cell_type")),
                text_of(get(cell, "source")),
                [get(cell, "metadata", "tags"), get(cell, "attachments")],
                [_content(output) for output in outputs] if isinstance(outputs, list) else [],
            ]
        )
    return _json.digest(canonical(contents))


def _content(output: object) -> list[object]:
    """Return what an output holds, in whichever lines its texts stand."""
    data = get(output, "data")
    texts = {kind: joined(item) for kind, item in data.items()} if isinstance(data, Mapping) else {}
    return [texts, get(output, "metadata"), texts_of(output)]
