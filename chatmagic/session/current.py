"""This process's session: the one that the magics of a kernel talk with."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.models import Reply
    from chatmagic.session.session import Session

on_session: Callable[[Session], object] | None = None
"""Called with this process's session when it is made; the extension sets it."""


def current_session() -> Session:
    """Give this process's session: the one that the magics of a kernel talk with."""
    global _current  # noqa: PLW0603 - one per kernel is the point
    with _current_lock:
        if _current is None:
            # The extension sets the hook when it is loaded, which takes no session yet.
            from chatmagic.session.session import Session  # noqa: PLC0415

            _current = Session()
            if on_session is not None:
                on_session(_current)
        return _current


def has_begun() -> bool:
    """Tell whether this process's session has been made."""
    return _current is not None


def ask(text: str, **options: Any) -> Reply:
    """Ask in this process's session; see :meth:`Session.ask`."""
    return current_session().ask(text, **options)


_current: Session | None = None
_current_lock = threading.Lock()
