"""Environment of a session in a shell: its settings are those of a new kernel."""

from __future__ import annotations

from chatmagic.errors import InputError
from chatmagic.jupyter.configuration import ConfiguredEnvironment
from chatmagic.jupyter.settings import FileSettings
from chatmagic.session.environment import PlainPython
from chatmagic.text import one_line


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
