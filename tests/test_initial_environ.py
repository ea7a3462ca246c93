"""What the environment held at the first import counts, whatever is set later."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_notebook_cannot_raise_the_environments_budget() -> None:
    """It is read once, when chatmagic is first imported."""
    program = (
        "import os, chatmagic; os.environ['CHATMAGIC_BUDGET'] = '500'\n"
        "import importlib; importlib.reload(chatmagic)\n"
        "from chatmagic._initial_environ import BUDGET; print(BUDGET)"
    )
    environment = {**os.environ, "CHATMAGIC_BUDGET": " 5 "}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "5\n"
