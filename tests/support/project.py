"""Where the project's files are, wherever a test stands."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = next(
    folder for folder in Path(__file__).parents if (folder / "pyproject.toml").is_file()
)
"""The folder of the pyproject.toml."""
