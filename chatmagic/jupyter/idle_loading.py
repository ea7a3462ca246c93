"""Loading ahead of what a first question needs, while the kernel rests behind ``%load_ext``.

It is done in the event loop of the kernel, a module at a time: there no cell runs meanwhile, no
interrupt comes and no other thread waits for an import. A cell that is run soon waits for one
module at most. Where the extension is loaded without a cell, nothing is loaded ahead.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Final

from chatmagic._log import swallowed

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS: Final = (
    "chatmagic.conversation.chat_line",
    "chatmagic.conversation.conversation",
    "chatmagic.jupyter.ask_command",
    "chatmagic.jupyter.kernel",
    "urllib3",
    "chatmagic.client.transport",
    "chatmagic.session.session",
    "chatmagic.client.client",
    "chatmagic.client.keystore",
    "chatmagic.client.response",
    "chatmagic.conversation.history",
    "chatmagic.conversation.marks",
    "chatmagic.conversation.staleness",
    "chatmagic.archive.output",
    "markdown_it",
    "chatmagic.render.sanitize",
    "chatmagic.render.reply_forms",
    "ipywidgets",
    "anywidget",
    "chatmagic.jupyter.bridge",
)
"""The modules, each with what it imports that those before it do not."""
_PAUSE: Final = 0.05
"""Seconds between two of them, in which a cell may begin."""


def begin() -> None:
    """Begin when the running cell has ended; without a kernel's event loop around it do nothing."""
    if threading.current_thread() is not threading.main_thread():
        return
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    loop.call_later(_PAUSE, _step, loop, iter(STEPS))


def _step(loop: asyncio.AbstractEventLoop, names: Iterator[str]) -> None:
    # While a cell runs, also one that awaits something, an interrupt ends it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        name = next(names, None)
        if name is None:
            return
        with swallowed(BaseException):  # SystemExit would end the kernel
            import_module(name)
    loop.call_later(_PAUSE, _step, loop, names)
