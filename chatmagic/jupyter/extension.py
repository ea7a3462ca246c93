"""The loading and unloading of the extension in a shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from traitlets import TraitError

from chatmagic.errors import InputError
from chatmagic.jupyter import input_transformers
from chatmagic.jupyter.magics import ChatMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

KEPT: Final = "_chatmagic_magics"
"""The attribute in which a shell keeps the magics, so that loading again changes no setting."""


def load(shell: InteractiveShell) -> None:
    """Load the extension into a shell; harmless when it is loaded already."""
    before = shell.magics_manager.magics["cell"].get("chat")
    if isinstance(getattr(before, "__self__", None), ChatMagics):
        return
    if before is not None:
        owner = getattr(before, "__module__", "another extension")
        print(
            f"chatmagic: this replaces the %%chat of {owner}; %unload_ext chatmagic restores it.",
            file=sys.stderr,
        )
    magics = _kept(shell)
    magics.replaced = {
        kind: {name: held[name] for name in magics.magics[kind] if name in held}
        for kind, held in shell.magics_manager.magics.items()
    }
    shell.register_magics(magics)
    input_transformers.install(shell)
    magics.join()


def _kept(shell: InteractiveShell) -> ChatMagics:
    """Return the magics of a shell, which the first call makes."""
    magics: ChatMagics | None = vars(shell).get(KEPT)
    if magics is not None:
        shell.configurables.append(magics)  # type: ignore[arg-type]
        return magics
    try:
        magics = vars(shell)[KEPT] = ChatMagics(shell)
    except TraitError as error:
        made = (each for each in shell.configurables if isinstance(each, ChatMagics))
        shell.configurables.remove(next(made))
        raise InputError(
            f"{error}", hint="It is set in an IPython configuration file (c.ChatMagics)."
        ) from None
    return magics


def unload(shell: InteractiveShell) -> None:
    """Leave nothing behind, and give back the magics that were replaced."""
    magics = shell.magics_manager.registry.get("ChatMagics")
    if magics is not None:
        magics.kernel.wait()  # its emulator and its page are closed below
        del shell.magics_manager.registry["ChatMagics"]
    input_transformers.remove(shell)
    if magics is None:
        return
    for kind, held in shell.magics_manager.magics.items():
        for name in magics.magics[kind]:
            held.pop(name, None)
        held.update(magics.replaced.get(kind, {}))
    shell.configurables.remove(magics)
    magics.leave()
