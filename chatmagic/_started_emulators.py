"""Addresses of the emulators that this process has started; a forked child knows its parent's.

Only there an answer may say that it is an emulator's. Any server can send that header, and an
emulator of another process is a service like any other.
"""

from __future__ import annotations

from typing import Final

_ORIGINS: Final[set[str]] = set()


def note(origin: str) -> None:
    """Note an emulator that listens now.

    Args:
        origin: its address, such as ``http://127.0.0.1:8000``.
    """
    _ORIGINS.add(origin)


def forget(origin: str) -> None:
    """Forget an emulator that no longer listens: another server may take its port.

    Args:
        origin: its address.
    """
    _ORIGINS.discard(origin)


def is_one(origin: str) -> bool:
    """Return whether an emulator of this process listens at an address.

    Args:
        origin: the origin of a request.
    """
    return origin in _ORIGINS
