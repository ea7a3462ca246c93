"""The environment as it was when chatmagic was first imported: what a notebook cannot change."""

from __future__ import annotations

import os
from typing import Final

VARIABLES: Final[dict[str, str]] = {
    name: value.strip()
    for name, value in os.environ.items()
    if name.startswith("CHATMAGIC_") and not ("KEY" in name or "URL" in name)
}
"""The variables of chatmagic, by name; none that may hold a key."""
