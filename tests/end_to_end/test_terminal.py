"""The extension in a real terminal IPython, typed as a person types."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("pexpect needs a pseudo-terminal", allow_module_level=True)

from collections.abc import Iterator
from pathlib import Path

import pexpect


def environment() -> dict[str, str]:
    """Give this process's environment without what is set for chatmagic."""
    return {name: text for name, text in os.environ.items() if not name.startswith("CHATMAGIC_")}


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[pexpect.spawn[str]]:
    """A terminal IPython with the extension loaded and the emulator connected."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        env={**environment(), "IPYTHONDIR": str(tmp_path), "TERM": "dumb"},
        encoding="utf-8",
        timeout=120,
        echo=False,
    )
    child.expect_exact("In [1]: ")
    yield child
    child.close(force=True)


def test_a_script_prints_only_text_into_a_pipe(tmp_path: Path) -> None:
    """``ipython script.ipy | cat``: the reply and its credits, no mark, no carriage return."""
    script = tmp_path / "script.ipy"
    script.write_text("%load_ext chatmagic\n%chat_connect emulator\n%chat echo: hello\n")
    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--colors=NoColor", str(script)],
        env={**environment(), "IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    lines = ran.stdout.decode().split("\n")
    assert lines[1:3] == [" hello", ""]
    assert "99 of 100 credits left" in lines[3]
    assert b"\r" not in ran.stdout
    assert ran.stderr == b""


def typed(terminal: pexpect.spawn[str], line: str, number: int) -> str:
    """Type a line and give what is shown before the prompt with the next number."""
    terminal.sendline(line)
    terminal.expect_exact(f"In [{number + 1}]: ")
    return terminal.before or ""


def test_a_cell_that_loads_and_asks_shows_the_reply_once(terminal: pexpect.spawn[str]) -> None:
    """The line was read before the extension could take part in that; no Out, no repr."""
    code = "%chat_connect emulator\\n%chat echo: hello"
    shown = typed(terminal, f"get_ipython().run_cell('%load_ext chatmagic\\n{code}');", 1)
    assert "99 of 100 credits left" in shown
    assert "Out[" not in shown
    assert "Reply(" not in shown
    assert "Out[" not in typed(terminal, "chat echo: automagic", 2)
    assert "Out[3]: 2" in typed(terminal, "1 + 1", 3)


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
