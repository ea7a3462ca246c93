"""The environment of a question from a shell: no cell, no page, no namespace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from chatmagic.errors import InputError
from chatmagic.shell.shell_environment import ShellEnvironment

if TYPE_CHECKING:
    from pathlib import Path


def test_a_shell_has_no_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A person is there where messages go to a terminal; then a cassette records by itself."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    environment = ShellEnvironment()
    assert environment.cell() == (None, None)
    assert environment.layout(None) is None
    with pytest.raises(InputError, match="A shell has no x"):
        environment.named("x")
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
        assert environment.is_watched() is environment.has_person() is is_terminal
