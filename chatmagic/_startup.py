"""What the environment held when chatmagic was first imported."""

from __future__ import annotations

import os
from typing import Final

BUDGET_VARIABLE: Final = "CHATMAGIC_BUDGET"
BUDGET: Final = os.environ.get(BUDGET_VARIABLE, "").strip()
"""Budget of this user's kernels; empty for none. What a notebook sets later does not count."""
