"""nbval's strict comparison of a notebook's outputs, by nbval itself, and without its kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Final

from nbformat import NotebookNode
from nbval.plugin import (  # type: ignore[import-untyped] # it says nothing of its types
    IPyNbCell,
    coalesce_streams,
    get_sanitize_patterns,
)


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run(words: list[str], cwd: Path, known: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command of this Python in an environment."""
    while True:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=cwd,
            env=known,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        # Jupyter picks ports before its kernel binds them; another program may be faster.
        if "Address already in use" not in done.stdout + done.stderr:
            return done


def strict(
    where: list[Path], cwd: Path, known: Mapping[str, str], *options: str
) -> subprocess.CompletedProcess[str]:
    """Run nbval over notebooks."""
    command = ["-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "-W", "default"]
    # Who checks notebooks has no other plugins, and it takes a second to load these tests'. The
    # tests that a lesson runs have them.
    alone = ["--disable-plugin-autoload", "-p", "nbval.plugin"]
    words = [*command, *alone, "-c", os.devnull, *options, *map(str, where)]
    return run(words, cwd, known)


class Comparison:
    """nbval's comparison of the outputs of one cell, as ``pytest --nbval`` makes it.

    Args:
        sanitize_with: text of the file that ``--nbval-sanitize-with`` names.
    """

    compare_outputs = IPyNbCell.compare_outputs
    sanitize = IPyNbCell.sanitize

    class Colours:
        """No colours."""

        FAIL = OKBLUE = ENDC = ""

    class Parent:
        """What nbval knows of a whole run."""

        skip_compare = (
            "metadata",
            "traceback",
            "prompt_number",
            "output_type",
            "name",
            "execution_count",
        )
        """What it leaves aside, beside pictures and widgets."""

        def __init__(self, patterns: dict[str, str]) -> None:
            """Take the patterns by what they are replaced with."""
            self.sanitize_patterns: Final = patterns

    colors = Colours()

    def __init__(self, sanitize_with: str = "") -> None:
        """Read the patterns as nbval does."""
        self.parent = self.Parent(dict(get_sanitize_patterns(sanitize_with)))

    def format_output_compare(self, *_: object) -> None:
        """Say nothing of what differs."""

    def agrees(self, ran: NotebookNode, saved: NotebookNode) -> bool:
        """Tell whether nbval would pass a whole notebook."""
        return all(
            self.compare_outputs(
                coalesce_streams(deepcopy(one.outputs)), coalesce_streams(deepcopy(other.outputs))
            )
            for one, other in zip(code(ran), code(saved), strict=True)
        )
