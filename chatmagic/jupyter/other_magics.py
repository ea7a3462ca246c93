"""Magics of other extensions that are not loaded, which tell the way to ask here."""

from __future__ import annotations

from typing import Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from chatmagic.conversation.likely_mistakes import named_model
from chatmagic.errors import InputError
from chatmagic.safe_text import one_line

_LONGEST: Final = 60
_NAME: Final = "ai"
"""The magic of jupyter-ai."""


class OtherMagics:
    """Line and cell magic ``ai`` of a shell, unless another extension has it.

    Args:
        shell: the shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        """Register the magic."""
        self._magics = shell.magics_manager.magics
        for held in self._magics.values():
            held.setdefault(_NAME, _refuse)

    def close(self) -> None:
        """Remove the magic; that of an extension that was loaded later stays."""
        for held in self._magics.values():
            if held.get(_NAME) is _refuse:
                del held[_NAME]


@no_var_expand
def _refuse(line: str, cell: str | None = None) -> None:
    """Tell that this magic is another extension's, and what it is here.

    Raises:
        InputError: always.
    """
    percent = "%" if cell is None else "%%"
    model = named_model(line.strip(), ())
    way = f"%%chat -m {one_line(model.rpartition(':')[2], _LONGEST)}" if model else "%%chat"
    raise InputError(
        f"{percent}{_NAME} is of jupyter-ai, which is not loaded. Nothing was sent.",
        hint=f"Here it is {way} with the same prompt below it; %chat? shows the options.",
    )
