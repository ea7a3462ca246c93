"""A notebook run twice in one kernel, once headless, and replayed from its cassette and itself."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from kernels import PLAIN_ENVIRONMENT, forks, kernel
from logged import Emulator
from nbclient import NotebookClient

from chatmagic.audit import audit

Cells = list[tuple[str, str]]
"""The cells' identities and sources."""


def taken(service: Emulator) -> list[Any]:
    """Give the bodies of the requests that came since, and forget them."""
    bodies = [request.body for request in service.requests]
    service.requests.clear()
    return bodies


def headless(path: Path, cells: Sequence[tuple[str, str]], raising: Collection[str]) -> list[str]:
    """Run a notebook as nbclient does, and save it; give its replies.

    Args:
        path: where it is saved.
        cells: the cells' identities and sources.
        raising: the sources that raise an error.
    """
    book = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
        cells=[nbformat.v4.new_code_cell(source, id=id) for id, source in cells]  # type: ignore[no-untyped-call]
    )
    for cell in book.cells:
        cell.metadata["tags"] = ["raises-exception"] if cell.source in raising else []
    NotebookClient(book, resources={"metadata": {"path": str(path.parent)}}).execute()
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    return [
        output["data"]["text/plain"]
        for cell in book.cells
        for output in cell.outputs
        if output.get("metadata", {}).get("chatmagic", {}).get("kind") == "turn"
    ]


def sent_each_time(
    service: Emulator,
    cells: Cells,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    raising: Collection[str] = (),
) -> list[Any]:
    """Give the bodies that a notebook sends; fail unless all runs send them, and replays none.

    Args:
        service: the service that the environment names, with a key for it.
        cells: the cells' identities and sources.
        path: where the notebook is saved, as the headless run leaves it.
        monkeypatch: sets the cassette, and where Jupyter finds its kernels.
        raising: the sources that raise an error.
    """
    runs = []
    names = ("CHATMAGIC_BASE_URL", "CHATMAGIC_API_KEY", "CHATMAGIC_EMULATORS")
    connected = {name: os.environ[name] for name in names}
    with kernel({**PLAIN_ENVIRONMENT, **connected}) as running:
        for _ in range(2):
            for id, source in cells:
                status = running.run(source, cell=id).status
                assert status == ("error" if source in raising else "ok"), source
            runs.append(taken(service))
    first, again = runs
    assert first == again
    assert first
    again_path, tape = path.with_name("again.ipynb"), path.with_suffix(".jsonl")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tape))
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    monkeypatch.setenv("JUPYTER_PATH", str(forks()))
    replies = headless(path, cells, raising)
    assert taken(service) == first
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    for cassette in (tape, path):
        monkeypatch.setenv("CHATMAGIC_CASSETTE", str(cassette))
        assert headless(again_path, cells, raising) == replies
    assert taken(service) == []
    for result in audit.audit_all([path, tape]):
        # A cell with an error or a warning that was sent along cannot be compared.
        assert result.problems == [], result
    return first
