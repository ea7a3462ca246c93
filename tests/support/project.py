"""Where the project's files are, wherever a test stands, and which of its modules are pure."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = next(
    folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file()
)
"""The folder of the pyproject.toml."""

PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def files(pattern: str, folder: Path = ROOT) -> list[Path]:
    """Return the files of a pattern in order; that there is none is an error.

    Args:
        pattern: as :meth:`pathlib.Path.glob` takes it.
        folder: where to look.

    Raises:
        FileNotFoundError: a parametrized test over nothing would pass.
    """
    found = sorted(folder.glob(pattern))
    if not found:
        raise FileNotFoundError(f"nothing in {folder} is named {pattern}")
    return found


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file, parsed once for all tests; nobody changes it."""
    return ast.parse(path.read_text("utf-8"))


PURE: Final = [
    path for pattern in PYPROJECT["tool"]["coverage"]["run"]["include"] for path in files(pattern)
]
"""The pure modules: those whose coverage is measured."""
