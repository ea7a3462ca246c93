"""A notebook file, written: code cells with their outputs, and a mark of what it was like then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from chatmagic import _json
from chatmagic.archive.notebook_file import get
from chatmagic.conversation.record import VERSION
from chatmagic.conversation.seal import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable


def write(cells: Iterable[tuple[str, str, tuple[dict[str, Any], dict[str, Any]] | None]]) -> str:
    """Return the content of a notebook.

    Args:
        cells: of each code cell the identity, unique within the notebook, the source, and the
            data and metadata of its output, if any.
    """
    # nbformat comes with the first notebook that is written.
    import nbformat.v4  # noqa: PLC0415

    v4, writes = cast("Any", nbformat.v4), cast("Any", nbformat).writes
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
    """Return whether a notebook's cells are as :func:`write` gave them."""
    try:
        value = json.loads(content)
        mark = get(value, "metadata", "chatmagic", "digest")
        return isinstance(mark, str) and mark == _digest(value)
    except (ValueError, RecursionError):
        return False


def _digest(notebook: object) -> str:
    return _json.digest(canonical(get(notebook, "cells")))
