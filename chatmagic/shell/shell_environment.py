"""What a shell has in place of a kernel: a session's environment, and words of its own."""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any, Final

from chatmagic.errors import GOES_ON, InputError
from chatmagic.jupyter.settings import ConfiguredEnvironment, FileSettings
from chatmagic.session import current
from chatmagic.session.environment import PlainPython
from chatmagic.text import one_line, to_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chatmagic.session.session import Session

_HERE: Final = (
    (GOES_ON, 'chatmagic ask --continue "Go on." asks for the rest.'),
    ("or run %chat_connect URL and", "or give --connect URL and run"),
    ("%chat_connect ", "--connect "),
    ("%chat_history shows it", "--continue goes on with it"),
    ("or %chat_reset", "or leave out --continue"),
    (", or run %chat_cassette FILE;", ";"),
    ("%chat_cassette FILE makes a new one", "CHATMAGIC_CASSETTE=FILE makes a new one"),
    ("%chat_cassette FILE --record, or CHATMAGIC_MODE=record", "CHATMAGIC_MODE=record"),
    ("%chat shows that", "--dry shows that"),
    ("%chat shows", "chatmagic doctor shows"),
    ("allow_secrets=True sends it", "--allow-secrets sends it"),
    ("%chat_credits --usage", "%chat_credits --usage in a notebook"),
    ("%chat_login here", "%chat_login"),
    ("%chat_login", "%chat_login in a notebook"),
)
"""What a message says for a notebook, and for a shell; the longer ones first."""
_CONFIGURED: Final = r"%config (ChatMagics\.\w+(?: = (?:\{[^}]*\}|[\w\"]+))?)"
"""A setting of a kernel, which a file sets for a shell."""


def words_for_shell(words: str) -> str:
    """Return a message with what a shell has in place of what a notebook has.

    Args:
        words: the message, as a notebook shows it.
    """
    for there, here in _HERE:
        words = words.replace(there, here)
    return re.sub(_CONFIGURED, r"c.\1 in ipython_config.py", words)


class ShellEnvironment(ConfiguredEnvironment, PlainPython):
    """Environment of a question from a shell.

    Raises:
        InputError: a configuration file sets a wrong value.
    """

    def __init__(self) -> None:
        """Read the configuration files."""
        super().__init__(FileSettings())

    def named(self, name: str) -> object:
        """Raise an error, as there is no namespace."""
        raise InputError(f"A shell has no {one_line(name)}. Nothing was sent.")

    def has_person(self) -> bool:
        """Return whether messages go to a terminal."""
        return self.is_watched()


@contextlib.contextmanager
def session_in_shell(
    arguments: Mapping[str, Any],
) -> Iterator[tuple[Session, ShellEnvironment]]:
    """Return a context with this process's session in a shell's environment; it closes both.

    Args:
        arguments: the command's; ``connect`` and ``model`` count before what is set.
    """
    environment = ShellEnvironment()
    environment.chosen, environment.chosen_by = arguments["connect"], "--connect"
    if arguments["model"] is not None:
        environment.settings.model = arguments["model"]
        environment.belong_here({"model"})
    before = current.use_session(None)
    current.use_environment(lambda: environment)
    session = current.current_session()
    try:
        yield session, environment
    finally:
        # What a cassette could not save is told, and nothing is left open.
        session.cassette.eject()
        for line in session.cassette.news():
            environment.notify(line)
        session.close()
        environment.close()
        current.use_environment(None)
        current.use_session(before)


def say(line: str) -> None:
    """Write a line to standard error."""
    print(f"({to_terminal(line)})", file=sys.stderr, flush=True)
