"""Addresses of the emulators that this process has started; a child knows its parent's.

Only there an answer may say that it is an emulator's. Any server can send that header, and an
emulator of another process is a service like any other. A forked child has the addresses in its
memory. Any other child finds them in its environment, with the number of the process that started
them: they count only if that is its parent. No server can set a variable.
"""

from __future__ import annotations

import os
import re
from typing import Final

VARIABLE: Final = "CHATMAGIC_EMULATORS"
_ORIGIN: Final = r"http://127\.0\.0\.1:\d{1,5}"


def _parents_emulators() -> set[str]:
    """Return the addresses of the emulators that the parent of this process had started."""
    starter, *origins = os.environ.get(VARIABLE, "").split() or [""]
    if not origins or starter not in _parents():
        return set()
    return {origin for origin in origins if re.fullmatch(_ORIGIN, origin)}


def _parents() -> set[str]:
    """Return the numbers of the processes that started this one."""
    # The children of a pool may be forked from a process that was started for that.
    from multiprocessing import parent_process  # noqa: PLC0415 - few processes need it

    numbers = {str(os.getppid())}
    parent = parent_process()
    if parent is not None:
        numbers.add(str(parent.pid))
    return numbers


_ORIGINS: Final = _parents_emulators()


def note(origin: str) -> None:
    """Note an emulator that listens now.

    Args:
        origin: its address, such as ``http://127.0.0.1:8000``.
    """
    _ORIGINS.add(origin)
    _tell_children()


def forget(origin: str) -> None:
    """Forget an emulator that no longer listens: another server may take its port.

    Args:
        origin: its address.
    """
    _ORIGINS.discard(origin)
    _tell_children()


def is_one(origin: str) -> bool:
    """Return whether an emulator of this process, or of its parent, listens at an address.

    Args:
        origin: the origin of a request.
    """
    return origin in _ORIGINS


def _tell_children() -> None:
    """Write the addresses where the processes that are started from now on find them."""
    if _ORIGINS:
        os.environ[VARIABLE] = " ".join([str(os.getpid()), *sorted(_ORIGINS)])
    else:
        os.environ.pop(VARIABLE, None)
