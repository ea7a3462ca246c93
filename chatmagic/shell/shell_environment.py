"""Environment of a session in a shell: its settings are those of a new kernel."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from chatmagic.errors import InputError
from chatmagic.jupyter.configured import ConfiguredEnvironment
from chatmagic.jupyter.file_settings import FileSettings
from chatmagic.text import one_line

if TYPE_CHECKING:
    from chatmagic.conversation.cell_order import Layout

_SHOWN: Final = 60


class ShellEnvironment(ConfiguredEnvironment):
    """Environment of a question from a shell.

    Raises:
        InputError: a configuration file sets a wrong value.
    """

    def __init__(self) -> None:
        """Read the configuration files."""
        super().__init__(FileSettings())

    def cell(self) -> tuple[str | None, str | None]:
        """Return twice ``None``, as there is no cell."""
        return None, None

    def layout(self, owner: str | None) -> Layout | None:
        """Return ``None``, as there is no page."""
        del owner
        return None

    def named(self, name: str) -> object:
        """Raise an error, as there is no namespace."""
        raise InputError(f"A shell has no {one_line(name, _SHOWN)}. Nothing was sent.")

    def is_watched(self) -> bool:
        """Return whether messages go to a terminal."""
        return sys.stderr.isatty()

    def has_person(self) -> bool:
        """Return whether messages go to a terminal."""
        return self.is_watched()
