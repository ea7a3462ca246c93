"""The choice of a cassette, as its command makes it, for an environment of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chatmagic.cassette.choice import CassetteConfig, CassetteOptions


def choosing(config: Callable[[], CassetteConfig | None]) -> Callable[[type], Any]:
    """Give the method of an environment that chooses a cassette, which is read at each use."""

    def choice(kind: type) -> Any:
        chosen = config()
        if kind is not CassetteOptions or chosen is None:
            return None
        return CassetteOptions(str(chosen.path), chosen.mode, chosen.fallback, chosen.by_order)

    return choice
