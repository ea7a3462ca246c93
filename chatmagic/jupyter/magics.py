"""The extension in a shell: its magics, one for each command, and their settings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, magics_class, no_var_expand
from traitlets import TraitError
from traitlets.config import Config

from chatmagic._standard_output import UnwritableReplaced
from chatmagic.advice import note_at
from chatmagic.errors import ChatInterrupted, InputError, shown_at
from chatmagic.jupyter import commands, input_transformers
from chatmagic.jupyter.cells.executed_cells import CellNotes
from chatmagic.jupyter.commands.command import Command
from chatmagic.jupyter.completions import Completions
from chatmagic.jupyter.kernel import Kernel
from chatmagic.jupyter.other_magics import OtherMagics
from chatmagic.jupyter.reply_views import ReplyOnce
from chatmagic.jupyter.settings import KernelSettings
from chatmagic.protocol.api_key import Secret
from chatmagic.session import current

KEPT: Final = "_chatmagic_magics"
"""The attribute in which a shell keeps the magics, so that a second load changes no setting."""


_Opened = CellNotes | ReplyOnce | Completions | OtherMagics | UnwritableReplaced
"""What the extension opens for a shell, and closes with it."""


@magics_class
class ChatMagics(KernelSettings, Magics):
    """Chat with a completion service; ``%%chat?`` shows how."""

    def __init__(self, shell: InteractiveShell) -> None:
        """Read the settings."""
        super().__init__(shell)
        functions = {command.name: self._magic(command) for command in commands.COMMANDS}
        with_body = [command.name for command in commands.COMMANDS if command.has_body]
        self.magics = {"line": functions, "cell": {name: functions[name] for name in with_body}}
        self.replaced: dict[str, dict[str, Callable[..., Any]]] = {}
        """Magics of other extensions with the same names, by kind and name."""
        self._shell = shell
        self._opened: list[_Opened] = []
        self.kernel = Kernel(shell, self)
        """The kernel of this shell."""

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the known keys: the kernel's, or before there is a kernel the environment's."""
        return self.kernel.known_keys() if "kernel" in vars(self) else super().known_keys()

    def update_config(self, config: Config) -> None:
        """Set the values that ``%config`` gives in a cell.

        Args:
            config: the settings of the shell, by class and name.
        """
        super().update_config(config)
        names = set(self._find_my_config(config))
        # An observer is not called for a value that is set again, but the time of the setting
        # counts.
        self.changed_later |= names
        if names & {"base_url", "model", "extra_headers", "system_role"}:
            self.kernel.belong_here(names)
            if "base_url" in names and (unused := self.kernel.unused()) is not None:
                print(note_at(unused, "notebook"), file=sys.stderr)

    def join(self) -> None:
        """Make this shell the environment of this process's session and clients."""
        kernel = self.kernel
        self.notes = CellNotes(self._shell, kernel.report_change)
        once = ReplyOnce(self._shell, kernel.has_shown)
        completions = Completions(self._shell, commands.COMMANDS, kernel)
        others = OtherMagics(self._shell)
        self._opened = [self.notes, once, completions, others, UnwritableReplaced()]
        current.use_environment(kernel)

    def leave(self) -> None:
        """Close everything that was opened for the shell.

        The session's conversation stays, and with it the connection, for the next load.
        """
        for line in self.kernel.session.late_news():
            print(note_at(line, "notebook"), file=sys.stderr)
        current.use_environment(None)
        for listener in self._opened:
            listener.close()
        self._opened = []
        self.notes = None
        before = self.kernel
        before.close()
        self.kernel = Kernel(self._shell, self)
        self.kernel.resume(before)

    def _magic(self, command: Command) -> Callable[..., object]:
        """Return the function that IPython calls for a command."""

        def magic(line: str, cell: str | None = None) -> object:
            """Run the command of a line, with the cell's body."""
            return self._run(command, line, cell)

        magic.__name__ = magic.__qualname__ = command.name
        magic.__doc__ = command.help
        # IPython would run the text in braces, which may be that of a server or of a file's name.
        return no_var_expand(magic)

    def _run(self, command: Command, line: str, cell: str | None) -> object:
        """Run a command.

        Raises:
            ChatInterrupted: an interrupt, at any point.
        """
        if command.asks_for_help(line, cell):
            print(command.help)
            return None
        try:
            if self.notes is not None:
                self.notes.raise_interrupt()
            if command.waits:
                self.kernel.background.wait()
            with shown_at("notebook"):
                return command.run(self.kernel, command.parse(line, cell, self._shell.user_ns))
        except ChatInterrupted:
            raise
        except KeyboardInterrupt:
            raise ChatInterrupted(
                "Interrupted. The conversation is intact: %chat_history shows it."
            ) from None


def load(shell: InteractiveShell) -> None:
    """Load the extension into a shell; harmless when it is loaded already.

    Args:
        shell: the shell.
    """
    if "ChatMagics" in shell.magics_manager.registry:
        return
    before = shell.magics_manager.magics["cell"].get("chat")
    if before is not None:
        owner = getattr(before, "__module__", "another extension")
        print(
            f"chatmagic: this replaces the %%chat of {owner}; %unload_ext chatmagic restores it.",
            file=sys.stderr,
        )
    magics = _kept(shell)
    magics.replaced = {
        kind: {name: registered[name] for name in magics.magics[kind] if name in registered}
        for kind, registered in shell.magics_manager.magics.items()
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
        made = (magics for magics in shell.configurables if isinstance(magics, ChatMagics))
        shell.configurables.remove(next(made))
        raise InputError(
            f"{error}", hint="It is set in an IPython configuration file (c.ChatMagics)."
        ) from None
    return magics


def unload(shell: InteractiveShell) -> None:
    """Remove the extension from a shell, and restore the magics that it replaced.

    Args:
        shell: the shell.
    """
    magics = shell.magics_manager.registry.get("ChatMagics")
    if magics is None:
        return
    magics.kernel.background.wait()  # its emulator and its page are closed below
    del shell.magics_manager.registry["ChatMagics"]
    input_transformers.remove(shell)
    for kind, registered in shell.magics_manager.magics.items():
        for name in magics.magics[kind]:
            registered.pop(name, None)
        registered.update(magics.replaced[kind])
    shell.configurables.remove(magics)
    magics.leave()
