"""The environment as it was when chatmagic was first imported."""

from __future__ import annotations

import os
from typing import Final

BUDGET_VARIABLE: Final = "CHATMAGIC_BUDGET"
BUDGET: Final = os.environ.get(BUDGET_VARIABLE, "").strip()
"""Budget of this user's kernels; empty for none. Later changes in a notebook have no effect."""
