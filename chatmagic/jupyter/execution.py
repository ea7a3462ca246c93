"""The running cell, as the execute request of its front end describes it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from chatmagic.conversation import record
from chatmagic.jupyter import hosts

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    Audience = Literal["machine", "page", "text"]


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a cell.

    Args:
        cell: hash of the cell's identity; ``None`` where the front end does not send it.
        id: identity of this execution; a cell that runs again has another one.
        audience: ``machine`` (no person: one display, at the end), ``page`` (a person whose
            page shows and saves displays) or ``text`` (a person who sees what is printed).
        label: its name for a person, such as ``cell [3]``.
        piped: whether a terminal's output goes into a pipe or a file, where nothing that is
            printed can be taken back.
        tags: the cell's tags, where the front end sends them.
        name: the cell's identity itself, as its page has it; empty where it is not known.
        may_end: whether the page is known to update what the cell shows when it has ended.
    """

    cell: str | None = None
    id: str | None = None
    audience: Audience = "text"
    label: str = "Python"
    piped: bool = False
    tags: tuple[str, ...] = ()
    name: str = field(default="", repr=False)
    may_end: bool = False

    @property
    def is_live(self) -> bool:
        """Whether a page is known to update what the cell shows: it is one that names the cell."""
        return self.audience == "page" and self.cell is not None


def running(shell: InteractiveShell) -> Execution:
    """Return the execution that is running in a shell, from its kernel's execute request.

    Pages name the cell, or their host is known (:mod:`chatmagic.jupyter.hosts`); nbclient, nbval,
    nbconvert and papermill allow no input; a terminal has no request at all.
    """
    label = f"cell [{_number(shell)}]"
    parent = _request(shell)
    if not parent:
        return Execution(
            id=f"terminal-{shell.execution_count}",
            label=label,
            piped=sys.stdout is None or not sys.stdout.isatty(),
        )
    metadata = parent.get("metadata") or {}
    cell, host = hosts.cell_named(metadata), hosts.host(os.environ)
    # JupyterLab 4 and Notebook 7 send the cell's own metadata along.
    tags = metadata.get("tags")
    is_console = cell is None and (host is None or host.names_cells)
    audience: Audience = "text" if is_console else "page"
    is_watched = host is None or host.is_watched
    if not (is_watched and (parent.get("content") or {}).get("allow_stdin", False)):
        audience = "machine"
    return Execution(
        cell=None if cell is None else record.owner_of(cell),
        id=(parent.get("header") or {}).get("msg_id"),
        audience=audience,
        label=label,
        tags=tuple(filter(_is_text, tags)) if isinstance(tags, list) else (),
        name=cell or "",
        may_end=hosts.updates_ended(metadata, host),
    )


def cell_source(shell: InteractiveShell) -> str:
    """Return the running cell as it was typed; empty where it is not known."""
    # nbval runs cells without history.
    code = (_request(shell).get("content") or {}).get("code")
    history = shell.history_manager
    return str(code or (history.input_hist_raw[-1] if history else ""))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _number(shell: InteractiveShell) -> int:
    """Return the running cell's number: the count may be the next cell's already."""
    history = shell.history_manager
    return (len(history.input_hist_raw) - 1 if history else 0) or shell.execution_count


def _request(shell: InteractiveShell) -> dict[str, Any]:
    get_parent = getattr(shell, "get_parent", None)
    parent = get_parent() if callable(get_parent) else None
    return parent if isinstance(parent, dict) else {}
