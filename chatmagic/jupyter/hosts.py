"""Hosts of notebooks: how their requests name a cell, and what their environment tells.

What is said of each was read in its source or documentation; ``notebooks/reference/hosts.md``
has the same table with its sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES_OF_A_CELL: Final = (("cellId",), ("colab", "cell_id"), ("commandId",))
"""Where the metadata of an execute request name the cell: Jupyter's front ends and VS Code,
Colab, also with a kernel on the user's machine, and Databricks.

Each of these updates a display in the cell that is running.
"""


@dataclass(frozen=True, slots=True)
class Host:
    """A host that saves notebooks: its kernels show displays, also where no cell is named.

    Args:
        name: for a person.
        variable: the variable that its kernels find in their environment.
        value: that variable's value; empty for any.
        is_watched: whether a person sees what is shown.
        updates_ended: whether it is known to update what a cell shows that has ended.
        names_cells: whether each of its requests names a cell: one that names none is from a
            console in its terminal, which finds the variable, too.
    """

    name: str
    variable: str
    value: str = ""
    is_watched: bool = True
    updates_ended: bool = False
    names_cells: bool = False


HOSTS: Final = (
    Host("Google Colab", "COLAB_RELEASE_TAG"),
    Host("Databricks", "DATABRICKS_RUNTIME_VERSION"),
    Host("Deepnote", "DEEPNOTE_PROJECT_ID"),
    Host("Kaggle, saving a version", "KAGGLE_KERNEL_RUN_TYPE", "Batch", is_watched=False),
    Host("Kaggle", "KAGGLE_KERNEL_RUN_TYPE"),
    Host("VS Code", "VSCODE_PID", updates_ended=True, names_cells=True),
)
"""The hosts, the more special one first."""


def host(environ: Mapping[str, str]) -> Host | None:
    """Return the host that an environment belongs to; ``None`` for a Jupyter server, or none."""
    for each in HOSTS:
        value = environ.get(each.variable, "")
        if value and each.value in {"", value}:
            return each
    return None


def updates_ended(metadata: Mapping[str, object], host: Host | None) -> bool:
    """Return whether a page is known to update what a cell shows that has ended.

    Args:
        metadata: of its execute request; those of a Jupyter server's pages have a ``cellId``.
        host: the host; ``None`` for a Jupyter server.
    """
    return bool(metadata.get("cellId")) and (host is None or host.updates_ended)


def cell_named(metadata: Mapping[str, object]) -> str | None:
    """Return the identity of the cell that an execute request names; ``None`` for none."""
    for path in NAMES_OF_A_CELL:
        value: object = metadata
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            return value
    return None
