"""This process's session, which the magics of a kernel and ``chatmagic.ask`` share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from chatmagic.client import config
from chatmagic.session.environment import PlainPython
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.models import Reply
    from chatmagic.session.environment import Environment

_current: Session | None = None
_lock = threading.RLock()


def current_session() -> Session:
    """Return this process's session; the first call makes it."""
    global _current  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _current is None:
            _current = Session(environment=config.find_kernel and config.find_kernel())
        return _current


def use_session(session: Session | None) -> Session | None:
    """Let this process's session be another one; return the one before, if there was any.

    Args:
        session: the session; ``None`` lets the next call of :func:`current_session` make one.
    """
    global _current
    with _lock:
        before, _current = _current, session
        return before


def use_environment(find: Callable[[], Environment] | None) -> None:
    """Let this process's session, and its clients, ask in an environment from now on.

    Args:
        find: returns the environment, when it is first needed; ``None`` is plain Python.
    """
    with _lock:
        config.find_kernel = find
        if _current is not None:
            _current.environment = PlainPython() if find is None else find()


def ask(text: str, **options: Any) -> Reply:
    """Ask in this process's session and return the reply; see :meth:`Session.ask`."""
    return current_session().ask(text, **options)


def map(template: str, rows: object, **options: Any) -> Any:
    """Ask one prompt for each row, by this process's session; see :meth:`Session.map`."""
    return current_session().map(template, rows, **options)
