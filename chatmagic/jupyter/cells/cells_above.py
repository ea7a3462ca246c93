"""Cells above the running one with the Markdown cells between them, from the page or the file.

A page with the labextension lists them in the request to run a cell. Programs that run a notebook
without a page list no cells. Of them only nbval names the file; nbclient, ``jupyter execute``,
nbconvert and papermill do not. The file is used if its code cells are the cells that ran, in the
same order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell

from chatmagic._json import json_of_file
from chatmagic._log import swallowed
from chatmagic.archive import notebook
from chatmagic.conversation.record import joined_lines, owner_of
from chatmagic.errors import InputError
from chatmagic.jupyter.cells.executed_cells import CellNotes, CellRun
from chatmagic.jupyter.cells.running_cell import cell_source, listed_by_page

Listed = Sequence[tuple[str, str | None]]
"""Cells from top to bottom: the key of each, and the source of a Markdown cell."""

IN_VS_CODE: Final = "__vsc_ipynb_file__"
"""The variable in which VS Code tells a kernel the path of its notebook."""
IN_JUPYTER: Final = "JPY_SESSION_NAME"
"""The environment variable in which a Jupyter server names the notebook."""
IN_PYTEST: Final = "PYTEST_CURRENT_TEST"
"""The environment variable in which nbval names the notebook and the running cell."""


def this_notebook(variables: Mapping[str, Any], environ: Mapping[str, str]) -> Path | None:
    """Return the notebook of this kernel; ``None`` if the front end does not name it.

    Args:
        variables: the user's variables, in which VS Code puts the path.
        environ: the environment, in which a Jupyter server and nbval put the path.
    """
    tested = environ.get(IN_PYTEST, "").partition("::")[0]
    for name in (variables.get(IN_VS_CODE), environ.get(IN_JUPYTER), tested):
        if not isinstance(name, str) or not name.endswith(".ipynb"):
            continue
        named = Path(name)
        # A server's path may be relative to its own folder; a kernel starts beside its notebook.
        for path in (named, Path(named.name)):
            with swallowed(OSError, ValueError):
                if path.is_file():
                    return path
    return None


def with_markdown(
    shell: InteractiveShell, notes: CellNotes | None, above: Iterable[CellRun]
) -> list[CellRun] | None:
    """Return the cells above the running one, each below the Markdown cells in front of it.

    Args:
        shell: the shell that runs the cell.
        notes: the notes of the shell's cells; the Markdown cells are added to them.
        above: the code cells above that have run.

    Returns:
        ``None`` if neither the page nor a file tells the Markdown cells.
    """
    listed: Listed | None = listed_by_page(shell)
    if listed is None and (path := this_notebook(shell.user_ns, os.environ)) is not None:
        ran = [] if notes is None else [*notes.sources]
        listed = listed_in_file(path, ran, cell_source(shell))
    if listed is None:
        return None
    runs = {run.key: run for run in above}
    in_front: dict[str, list[CellRun]] = {key: [] for key in runs}
    """The Markdown cells in front of each code cell, by its key."""
    pending: list[CellRun] = []
    for key, source in listed:
        if source is not None:
            pending.append(_markdown_cell(key, source))
        elif key in runs:
            in_front[key] = pending
            pending = []
    if notes is not None:
        notes.take_markdown([*pending, *chain.from_iterable(in_front.values())])
    cells: list[CellRun] = []
    for key, run in runs.items():
        cells += [*in_front[key], run]
    return cells + pending


def _markdown_cell(key: str, source: str) -> CellRun:
    """Return a Markdown cell as one that has run, by its key and its source."""
    return CellRun(
        key, is_lasting=True, is_ours=False, number=None, source=source, is_markdown=True
    )


def listed_in_file(path: Path, ran: Sequence[tuple[str, str]], source: str) -> Listed | None:
    """Return the cells above the running one in a notebook's file.

    Args:
        path: the file, of any origin.
        ran: key and source of each cell that has run, in order.
        source: source of the running cell.

    Returns:
        ``None`` if the file cannot be read, or if these cells are not found in it just once, one
        below the other.
    """
    try:
        cells = [
            (str(cell.get("id", at)), cell["cell_type"], str(joined_lines(cell["source"])))
            for at, cell in enumerate(json_of_file(notebook.notebook_content(path))["cells"])
        ]
    except (InputError, AttributeError, KeyError, TypeError, ValueError):
        return None
    # A front end does not run an empty cell.
    code = [at for at, (_, kind, text) in enumerate(cells) if kind == "code" and text.strip()]
    sources = [cells[at][2] for at in code]
    begin = _only_place_of([*(text for _, text in ran), source], sources)
    if begin is None:
        return None
    running = code[begin + len(ran)]
    keys = {code[begin + count]: key for count, (key, _) in enumerate(ran)}
    listed: list[tuple[str, str | None]] = []
    for at, (id, kind, text) in enumerate(cells[:running]):
        if kind == "markdown":
            listed.append((owner_of(id), text))
        elif kind == "code":
            listed.append((keys.get(at, ""), None))
    return listed


def _only_place_of(wanted: Sequence[str], sources: Sequence[str]) -> int | None:
    """Return the place where some sources stand one below the other; ``None`` unless it is one."""
    size = len(wanted)
    places = [at for at in range(len(sources)) if [*sources[at : at + size]] == [*wanted]]
    return places[0] if len(places) == 1 else None
