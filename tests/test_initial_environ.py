"""What the environment held at the first import counts, whatever is set later."""

from __future__ import annotations

import os
import subprocess
import sys


def test_a_notebook_changes_no_variable_afterwards() -> None:
    """It is read once, when chatmagic is first imported; nothing that may hold a key is kept."""
    program = (
        "import os, chatmagic; os.environ['CHATMAGIC_BUDGET'] = '500'\n"
        "import importlib; importlib.reload(chatmagic)\n"
        "from chatmagic._initial_environ import VARIABLES; print(VARIABLES)"
    )
    others = {name: value for name, value in os.environ.items() if "CHATMAGIC" not in name}
    environment = {
        **others,
        "CHATMAGIC_BUDGET": " 5 ",
        "CHATMAGIC_API_KEY": "k",
        "CHATMAGIC_API_KEY_FILE": "f",
        "CHATMAGIC_BASE_URL": "https://a.example",
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "{'CHATMAGIC_BUDGET': '5'}\n"
