"""The running cell, by its front end's execute request and its host.

The facts of each host are from its source or its documentation, which
``tests/samples/requests.json`` names; ``notebooks/reference/connect.md`` has the same table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from IPython.core.interactiveshell import InteractiveShell

from chatmagic._json import json_at
from chatmagic.conversation import record

Audience = Literal["machine", "page", "text"]

NAMES_OF_A_CELL: Final = (("cellId",), ("colab", "cell_id"), ("commandId",))
"""Places of the cell's name in an execute request's metadata.

The first is from Jupyter's front ends and VS Code, the second from Colab (also with a kernel on the
user's own machine), and the third from Databricks. Each of these updates a display in the running
cell.
"""


@dataclass(frozen=True, slots=True)
class NotebookHost:
    """A host that saves notebooks: its page shows displays, even if its requests name no cell.

    Args:
        name: its name, for a person.
        variable: a variable in the environment of its kernels.
        value: the value of the variable; an empty text allows any value.
        is_watched: whether a person sees the outputs.
        updates_ended: whether it is known to update the display of a cell that has ended.
        names_cells: whether each of its requests names a cell. Then a request without a cell is
            from a console in the host's terminal, which has the same environment.
    """

    name: str
    variable: str
    value: str = ""
    is_watched: bool = True
    updates_ended: bool = False
    names_cells: bool = False


HOSTS: Final = (
    NotebookHost("Google Colab", "COLAB_RELEASE_TAG"),
    NotebookHost("Databricks", "DATABRICKS_RUNTIME_VERSION"),
    NotebookHost("Deepnote", "DEEPNOTE_PROJECT_ID"),
    NotebookHost("Kaggle, saving a version", "KAGGLE_KERNEL_RUN_TYPE", "Batch", is_watched=False),
    NotebookHost("Kaggle", "KAGGLE_KERNEL_RUN_TYPE"),
    NotebookHost("VS Code", "VSCODE_PID", updates_ended=True, names_cells=True),
)
"""The hosts; the first one that fits counts."""
_FIRST: Final = "chatmagic_notebook"
"""The key of the kernel's first notebook in the extensions' store of IPython's shell."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a cell.

    Args:
        cell: hash of the cell's identity; ``None`` if the front end does not send it. In any
            notebook but the kernel's first, the hash includes the notebook's identity.
        id: identity of this execution; each run of a cell has its own.
        audience: ``machine`` (no person: one display, at the end), ``page`` (a person whose
            page shows and saves displays) or ``text`` (a person who sees printed text only).
        label: its name for a person, such as ``cell [3]``.
        piped: whether a terminal's output goes into a pipe or a file, where printed text cannot be
            overwritten.
        tags: the cell's tags, if the front end sends them.
        name: the cell's identity as its page has it, after its notebook's if that is known; empty
            if unknown.
        may_end: whether the page is known to update the cell's display after the cell has ended.
        has_labextensions: whether the page is a Jupyter server's own, with its labextensions.
    """

    cell: str | None = None
    id: str | None = None
    audience: Audience = "text"
    label: str = "Python"
    piped: bool = False
    tags: tuple[str, ...] = ()
    name: str = field(default="", repr=False)
    may_end: bool = False
    has_labextensions: bool = False

    @property
    def is_live(self) -> bool:
        """Whether a page is known to update the cell's display: its requests name the cell."""
        return self.audience == "page" and self.cell is not None


def running(shell: InteractiveShell) -> Execution:
    """Return the running execution of a shell, from its kernel's execute request.

    A page names the cell, or its host is known (:data:`HOSTS`). nbclient, nbval, nbconvert and
    papermill allow no input. A terminal has no request at all.

    Args:
        shell: the shell.
    """
    label = f"cell [{_number(shell)}]"
    request = _request(shell)
    if not request:
        return Execution(
            id=f"terminal-{shell.execution_count}",
            label=label,
            piped=sys.stdout is None or not sys.stdout.isatty(),
        )
    metadata = request.get("metadata") or {}
    notebook = _named(metadata, "notebook")
    cell = _cell_named(metadata)
    host = host_of(os.environ)
    page_cell = metadata.get("cellId")
    return Execution(
        cell=None if cell is None else record.owner_of(cell, _other(shell, notebook)),
        id=(request.get("header") or {}).get("msg_id"),
        audience=_audience_of(request, cell, host),
        label=label,
        tags=_tags_of(metadata),
        name=f"{notebook} {cell}" if notebook and cell else cell or "",
        may_end=bool(page_cell) and (host is None or host.updates_ended),
        # In VS Code the identity is the address of a document. Its variable does not decide, as a
        # Jupyter server in its terminal has it, too.
        has_labextensions=bool(page_cell) and not str(page_cell).startswith("vscode-"),
    )


def _audience_of(
    request: Mapping[str, Any], cell: str | None, host: NotebookHost | None
) -> Audience:
    """Return the audience of an execute request.

    Args:
        request: the request.
        cell: identity of the cell that it names; ``None`` for none.
        host: the kernel's host; ``None`` if it is not known.
    """
    allows_input = (request.get("content") or {}).get("allow_stdin", False)
    is_watched = host is None or host.is_watched
    if not (is_watched and allows_input):
        return "machine"
    is_console = cell is None and (host is None or host.names_cells)
    return "text" if is_console else "page"


def _tags_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a cell's tags: JupyterLab 4 and Notebook 7 send the cell's own metadata along."""
    tags = metadata.get("tags")
    if not isinstance(tags, list):
        return ()
    return tuple(tag for tag in tags if isinstance(tag, str))


def is_redirected(shell: InteractiveShell, execution: Execution) -> bool:
    """Return whether displays go elsewhere than into the running cell's own outputs.

    Then no page updates them there. IPython's ``capture_output`` and ``%%capture`` put another
    publisher in the shell, a hook of ipykernel's publisher may take each message, and a page shows
    the messages of an execution in the ``Output`` of ipywidgets that has its identity.

    Args:
        shell: the kernel's shell.
        execution: the running execution.
    """
    publisher = shell.display_pub
    is_replaced = not isinstance(publisher, shell.display_pub_class)
    has_hooks = bool(getattr(publisher, "_hooks", ()))
    return is_replaced or has_hooks or _in_output_widget(execution)


def _in_output_widget(execution: Execution) -> bool:
    """Return whether an ``Output`` of ipywidgets takes the outputs of an execution."""
    if execution.id is None or "ipywidgets" not in sys.modules:
        return False
    # Loaded already; it has no types.
    from ipywidgets.widgets import Output, widget  # type: ignore[import-untyped] # noqa: PLC0415

    # ipywidgets 8 has no public list of its widgets; without this one none is found.
    known = tuple(getattr(widget, "_instances", {}).values())
    return any(isinstance(widget, Output) and widget.msg_id == execution.id for widget in known)


def first_notebook(shell: InteractiveShell) -> str | None:
    """Return the identity of the first notebook that ran a cell in a kernel; ``None`` if unknown.

    Args:
        shell: the kernel's shell.
    """
    return shell.meta.get(_FIRST)


def _other(shell: InteractiveShell, notebook: str) -> str:
    """Return a cell's notebook if it is not the first one of its kernel; else an empty text."""
    is_first = not notebook or shell.meta.setdefault(_FIRST, notebook) == notebook
    return "" if is_first else notebook


def cell_source(shell: InteractiveShell) -> str:
    """Return the running cell's source as typed; empty if it is unknown.

    Args:
        shell: the shell that runs it.
    """
    # nbval runs cells without history.
    code = (_request(shell).get("content") or {}).get("code")
    history = shell.history_manager
    return str(code or (history.input_hist_raw[-1] if history else ""))


def listed_by_page(shell: InteractiveShell) -> list[tuple[str, str | None]] | None:
    """Return the cells above the running one, as its page lists them; ``None`` if it does not.

    Args:
        shell: the shell that runs the cell.

    Returns:
        The hash of each cell from top to bottom, and the source of a Markdown cell.
    """
    metadata = _request(shell).get("metadata") or {}
    listed: Any = json_at(metadata, "chatmagic", "above")
    other = _other(shell, _named(metadata, "notebook"))
    try:
        return [
            (record.owner_of(str(name), other), source if isinstance(source, str) else None)
            for name, source in listed
        ]
    except (TypeError, ValueError):
        return None


def code_above(shell: InteractiveShell) -> list[str] | None:
    """Return the hashes of the code cells above the running one, as its page lists them.

    Args:
        shell: the shell that runs the cell.

    Returns:
        ``None`` if the page does not list them.
    """
    listed = listed_by_page(shell)
    return None if listed is None else [cell for cell, source in listed if source is None]


def page_of(shell: InteractiveShell) -> str:
    """Return the name of the page that runs the running cell; empty if it is unknown.

    Args:
        shell: the shell that runs the cell.
    """
    return _named(_request(shell).get("metadata") or {}, "page")


def _number(shell: InteractiveShell) -> int:
    """Return the running cell's number; the shell's count may already be the next cell's."""
    history = shell.history_manager
    return (len(history.input_hist_raw) - 1 if history else 0) or shell.execution_count


def _request(shell: InteractiveShell) -> dict[str, Any]:
    """Return the request that runs the running cell; empty without one."""
    get_parent = getattr(shell, "get_parent", None)
    parent = get_parent() if callable(get_parent) else None
    return parent if isinstance(parent, dict) else {}


def host_of(environ: Mapping[str, str]) -> NotebookHost | None:
    """Return the host of an environment; ``None`` for a Jupyter server or no host.

    Args:
        environ: the environment's variables by name.
    """
    for host in HOSTS:
        value = environ.get(host.variable, "")
        if value and host.value in {"", value}:
            return host
    return None


def _named(metadata: Mapping[str, object], what: str) -> str:
    """Return what an execute request names: its ``notebook``, or its ``page``; empty for none."""
    name = json_at(metadata, "chatmagic", what)  # by the labextension
    return name if isinstance(name, str) else ""


def _cell_named(metadata: Mapping[str, object]) -> str | None:
    """Return the identity of the cell that an execute request names; ``None`` for none."""
    names = (json_at(metadata, *path) for path in NAMES_OF_A_CELL)
    return next((name for name in names if isinstance(name, str) and name), None)
