"""The environment of a question from a shell: no cell, no page, no namespace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from chatmagic.client import config
from chatmagic.errors import LESS_HINT, ConnectError, InputError
from chatmagic.protocol.response_errors import ADDRESS_HINT
from chatmagic.session.forms import KEPT
from chatmagic.shell.shell_environment import ShellEnvironment, words_for_shell

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
    monkeypatch.setattr(sys, "stderr", None)
    assert not environment.is_watched()


def test_no_address() -> None:
    """What connects is an option; a key is kept by a notebook."""
    with pytest.raises(ConnectError) as raised:
        config.first_address([])
    assert words_for_shell(str(raised.value)) == (
        "Not connected yet. Set CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY, or give --connect URL "
        "and run %chat_login in a notebook. To try without an account: --connect emulator."
    )


@pytest.mark.parametrize(
    ("words", "here"),
    [
        (ADDRESS_HINT, "Is the base address right? chatmagic doctor shows it."),
        (LESS_HINT, "Send less of it: --last N, or leave out --continue."),
        (KEPT, "Its text was paid for and is kept as a turn: --continue goes on with it."),
        ("what is sent with it; %chat shows that.", "what is sent with it; --dry shows that."),
    ],
)
def test_hints(words: str, here: str) -> None:
    """Each with the words that the package has for a notebook."""
    assert words_for_shell(words) == here
