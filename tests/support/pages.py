"""Notebook files for tests: as a front end saves them, and as nobody should."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chatmagic.conversation.record import sealed


def output(data: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """Give a display as a front end saves it: a text as a list of its lines; a record sealed."""
    told = metadata.get("chatmagic")
    if isinstance(told, dict) and "seal" not in told:
        metadata = {**metadata, "chatmagic": sealed(told, data)}
    lines = {kind: text.splitlines(keepends=True) for kind, text in data.items()}
    return {"output_type": "display_data", "data": lines, "metadata": metadata}


def cell(
    source: str, outputs: Sequence[dict[str, Any]] = (), *, id: str | None = None
) -> dict[str, Any]:
    """Give a code cell; without an ``id`` it is one of nbformat 4.4."""
    made: dict[str, Any] = {
        "cell_type": "code",
        "source": source.splitlines(keepends=True),
        "outputs": list(outputs),
        "execution_count": 1 if outputs else None,
        "metadata": {},
    }
    return made if id is None else {**made, "id": id}


def text_cell(source: str) -> dict[str, Any]:
    """Give a cell of text."""
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def save(path: Path, cells: Sequence[Any], **changes: Any) -> Path:
    """Write a notebook of these cells."""
    whole = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps({**whole, **changes}))
    return path


class Paper:
    """A notebook that is run in a shell as a page runs it, and saved."""

    def __init__(self, path: Path) -> None:
        """Begin without cells."""
        self.path = path
        self.cells: dict[str, dict[str, Any]] = {}

    def ran(self, id: str, source: str, outputs: Sequence[dict[str, Any]]) -> None:
        """Keep what a cell showed; a cell that runs again keeps its place."""
        shown = [output(one["data"], one["metadata"]) for one in outputs if "data" in one]
        self.cells[id] = cell(source, shown, id=id)

    def save(self) -> Path:
        """Save it."""
        return save(self.path, list(self.cells.values()))
