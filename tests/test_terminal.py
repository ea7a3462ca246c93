"""The extension in a real terminal IPython, typed as a person types."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

if sys.platform == "win32":
    pytest.skip("pexpect needs a pseudo-terminal", allow_module_level=True)

import pexpect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn[str]]:
    """A terminal IPython with the extension loaded and the emulator connected."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHATMAGIC_")}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        env={**kept, "IPYTHONDIR": str(tmp_path), "TERM": "dumb"},
        encoding="utf-8",
        timeout=30,
        echo=False,
    )
    child.expect_exact("In [1]: ")
    yield child
    child.close(force=True)


def typed(terminal: pexpect.spawn[str], line: str, number: int) -> str:
    """Type a line and give what is shown before the prompt with the next number."""
    terminal.sendline(line)
    terminal.expect_exact(f"In [{number + 1}]: ")
    return terminal.before or ""


def test_a_terminal_prints_the_reply_and_nothing_more(terminal: pexpect.spawn[str]) -> None:
    """The text as it comes, the credits in words, no empty Out, no help page."""
    assert typed(terminal, "%load_ext chatmagic", 1).strip() == ""
    assert "emulator" in typed(terminal, "%chat_connect emulator", 2)
    shown = typed(terminal, "%chat echo: What is a p-value?", 3)
    assert "What is a p-value?" in shown
    assert "99 of 100 credits left" in shown
    assert "Out[" not in shown
    assert "Out[" not in typed(terminal, "r = %chat why?", 4)
    assert "question 2" in typed(terminal, "print(r.text)", 5)
    refused = typed(terminal, "%chat undo", 6)
    assert "Did you mean %chat_undo?" in refused
    assert "Traceback" not in refused
