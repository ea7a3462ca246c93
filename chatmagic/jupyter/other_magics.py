"""Magics of other extensions that are not loaded, which tell the way to ask here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from chatmagic.conversation.likely_mistakes import named_model
from chatmagic.errors import InputError
from chatmagic.other_tools import COMMANDS, MAGICS
from chatmagic.safe_text import one_line

_LONGEST: Final = 60


class OtherMagics:
    """Line and cell magics of other extensions in a shell, but those that are there.

    Args:
        shell: the shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Register the magics."""
        self._magics = shell.magics_manager.magics
        self._refusals = {name: _refusal(name) for name in MAGICS}
        for magics in self._magics.values():
            for name, refusal in self._refusals.items():
                magics.setdefault(name, refusal)

    def close(self) -> None:
        """Remove the magics; those of an extension that was loaded later stay."""
        for magics in self._magics.values():
            for name, refusal in self._refusals.items():
                if magics.get(name) is refusal:
                    del magics[name]


def _refusal(name: str) -> Callable[..., None]:
    """Return a magic that raises an error: the extension that has it, and the way to ask here.

    Args:
        name: the magic's name.
    """

    def refuse(line: str, cell: str | None = None) -> None:
        """Raise the error of the magic."""
        percent = "%" if cell is None else "%%"
        model = named_model(line.strip(), ())
        way = f"%%chat -m {one_line(model.rpartition(':')[2], _LONGEST)}" if model else "%%chat"
        asking = f"Here it is {way} with the same prompt below it; %chat? shows the options."
        raise InputError(
            f"{percent}{name} is of {MAGICS[name]}, which is not loaded. Nothing was sent.",
            hint=COMMANDS.get(line.strip(), asking),
        )

    refuse_typed: Callable[..., None] = no_var_expand(refuse)
    return refuse_typed
