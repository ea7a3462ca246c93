"""Loading of a module in a thread of its own, where no interrupt comes.

Ctrl-C in the midst of an import can leave Python's own import lock taken: the kernel's other
threads then wait for ever for theirs. Signals come to the main thread alone, so what takes
long to load, while a person may interrupt it, is loaded in another one.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from importlib import import_module
from typing import Any, Final

from chatmagic._log import swallowed

_FROZEN: Final = 1_000
"""A person has frozen objects where there are more; Python 3.12 begins with 375."""

_threads: Final[dict[str, threading.Thread]] = {}
_uncollected: Final = set[str]()
"""The modules for whose loading the garbage collector rests."""


def load(name: str) -> None:
    """Load a module in a thread, and wait for it; an interrupt ends the wait alone.

    The caller imports the module then as usual, and has its errors.
    """
    begin(name)
    thread = _threads.get(name)
    if thread is not None and thread.ident is not None:
        thread.join()


def begin(name: str) -> bool:
    """Begin to load a module in a thread, if it never was; return whether that has ended."""
    thread = _threads.get(name)
    never_ran = thread is None or thread.ident is None
    if never_ran and name not in sys.modules:
        _threads[name] = thread = threading.Thread(
            target=_import, args=[name], name="chatmagic-load", daemon=True
        )
        # Where no thread can begin any more, whoever imports the module loads it: an answer
        # that is paid for may wait for it.
        with swallowed(RuntimeError):
            thread.start()
    return thread is None or not thread.is_alive()


class Later:
    """Module that is loaded by :func:`load` when something of it is used for the first time.

    Args:
        name: the module, which the importer has for a type checker under this one's name.
    """

    def __init__(self, name: str) -> None:
        """Load nothing yet."""
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return an attribute of the module."""
        load(self._name)
        return getattr(import_module(self._name), attribute)


def _import(name: str) -> None:
    """Import a module while the garbage collector rests: what is loaded stays."""
    if gc.isenabled():
        _uncollected.add(name)
        gc.disable()
    try:
        with swallowed():
            import_module(name)
    finally:
        if name in _uncollected:
            # It would go through all that is new, some of it three times, only to let it grow old.
            if gc.get_freeze_count() < _FROZEN:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
            _uncollected.discard(name)


def _collect_in_child() -> None:
    """Let the collector go on in a process that was forked meanwhile: it has no loading thread."""
    if _uncollected:
        _uncollected.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_in_child)
