"""``CHATMAGIC_BASE_URL=emulator`` in a script, its children, and the tests of a user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """\
import multiprocessing
import sys

import chatmagic


def ask(number):
    reply = chatmagic.ask(f"echo:row {number}", history=False)
    return reply.text, reply.origin


if __name__ == "__main__":
    print(ask(0))
    with chatmagic.Client("emulator") as client:
        print(client.complete([{"role": "user", "content": "echo:plain"}]).text)
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(ask, [1, 2, 3]))
"""
TEST = """\
import pytest
import chatmagic


@pytest.mark.parametrize("number", [1, 2])
def test_a_prompt(number):
    assert chatmagic.ask(f"count to {number}", history=False).text.startswith("one")
"""


def run(tmp_path: Path, *words: str) -> str:
    """Return what a process of Python prints, asked with the emulator as its service."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CHATMAGIC_")}
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", *words],
        env={**kept, "CHATMAGIC_BASE_URL": "emulator", "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_script_and_its_children(tmp_path: Path) -> None:
    """Each gets its own replies, labelled as practice, however the child was started."""
    (tmp_path / "script.py").write_text(SCRIPT)
    methods = [name for name in ("spawn", "fork") if name == "spawn" or hasattr(os, "fork")]
    first, plain, *pools = run(tmp_path, "script.py", *methods).splitlines()
    assert (first, plain) == ("('row 0', 'emulator')", "plain")
    expected = [(f"row {number}", "emulator") for number in (1, 2, 3)]
    assert pools == [str(expected)] * len(methods)


@pytest.mark.release  # a pytest of its own loads for seconds
def test_the_tests_of_a_user(tmp_path: Path) -> None:
    """They need no account, no key and no fixture."""
    (tmp_path / "test_prompts.py").write_text(TEST)
    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_prompts.py")
    assert "2 passed" in done
