"""The list of the extension's commands, which magics, Tab, help, manual and tests read.

A command is one object in a module of this folder. These modules import neither this list nor the
code of a page.
"""

from __future__ import annotations

from typing import Final

from chatmagic.jupyter.commands.ask import CHAT, FIX, STOP
from chatmagic.jupyter.commands.cassette import CASSETTE
from chatmagic.jupyter.commands.code import CODE
from chatmagic.jupyter.commands.command import Command
from chatmagic.jupyter.commands.connect import CONNECT, LOGIN
from chatmagic.jupyter.commands.credits import CREDITS
from chatmagic.jupyter.commands.history import HISTORY, REDO, RESET, UNDO
from chatmagic.jupyter.commands.methods import METHODS
from chatmagic.jupyter.commands.panel import PANEL
from chatmagic.jupyter.commands.retry import CONTINUE, RETRY
from chatmagic.jupyter.commands.save import LOAD, SAVE
from chatmagic.jupyter.commands.steering import HIDE, INSTRUCTIONS, THREAD

COMMANDS: Final[tuple[Command, ...]] = (
    CHAT,
    INSTRUCTIONS,
    THREAD,
    HIDE,
    FIX,
    RETRY,
    CONTINUE,
    STOP,
    HISTORY,
    UNDO,
    REDO,
    RESET,
    CREDITS,
    PANEL,
    CODE,
    SAVE,
    LOAD,
    CONNECT,
    LOGIN,
    CASSETTE,
    METHODS,
)
"""The commands; each works without the others."""
