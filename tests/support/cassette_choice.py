"""The choice of a cassette, as its command makes it, for an environment of a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

Mode: TypeAlias = Literal["live", "record", "replay", "refresh"]


def choosing(path: Path, mode: Mode = "replay") -> Callable[[type], Any]:
    """Return the method of an environment that chooses a cassette.

    Args:
        path: the cassette.
        mode: its mode.
    """
    # Only the tests that choose one fail without cassettes, not all of their file.
    from chatmagic.cassette.choice import CassetteOptions  # noqa: PLC0415

    chosen = CassetteOptions(str(path), mode)
    return lambda kind: chosen if kind is CassetteOptions else None
