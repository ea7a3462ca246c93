"""This process's session, which the magics of a kernel and ``chatmagic.ask`` share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from chatmagic.client import config

if TYPE_CHECKING:
    from chatmagic.models import Reply
    from chatmagic.session.environment import Environment
    from chatmagic.session.session import Session

_current: Session | None = None
_environment: Environment | None = None
_lock = threading.RLock()


def current_session() -> Session:
    """Return this process's session; the first call makes it."""
    global _current  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _current is None:
            # The session and all below it come with the first use, not with the extension.
            from chatmagic.session.session import Session  # noqa: PLC0415

            _current = Session(environment=_environment)
        return _current


def use_environment(environment: Environment | None) -> None:
    """Let this process's session, and its clients, ask in an environment from now on.

    Args:
        environment: what the extension has; ``None`` is plain Python's again.
    """
    global _environment  # noqa: PLW0603 - as above
    with _lock:
        _environment = config.kernel = environment
        if _current is not None:
            # With the session, as above.
            from chatmagic.session.environment import PlainPython  # noqa: PLC0415

            _current.environment = environment or PlainPython()


def ask(text: str, **options: Any) -> Reply:
    """Ask in this process's session and return the reply; see :meth:`Session.ask`."""
    return current_session().ask(text, **options)
