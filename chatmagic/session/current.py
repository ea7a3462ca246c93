"""This process's session, which the magics of a kernel and ``chatmagic.ask`` share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from chatmagic._fork import Lock
from chatmagic.client import config
from chatmagic.session.environment import Environment, of_process
from chatmagic.session.features import replayed_file
from chatmagic.session.session import Session

_current: Session | None = None
_lock = Lock()


def current_session() -> Session:
    """Return this process's session; the first call makes it."""
    global _current  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _current is None:
            _current = Session(environment=of_process())
        return _current


def end_session() -> None:
    """Close this process's session and forget it; the next use makes another one."""
    global _current  # noqa: PLW0603 - as above
    with _lock:
        session = _current
        _current = None
    if session is not None:
        session.close()


def use_environment(environment: Environment | None) -> None:
    """Set the environment of this process's session and its clients.

    Args:
        environment: the environment; ``None`` is plain Python.
    """
    with _lock:
        config.kernel = environment
        config.replayed_here = None if environment is None else partial(replayed_file, environment)
        if _current is not None:
            _current.environment = of_process()


def _by_current(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls a method of this process's session, with its signature."""

    @wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        return method(current_session(), *args, **options)

    _, *parameters = signature(method).parameters.values()
    call.__signature__ = signature(method).replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


if TYPE_CHECKING:
    # So the functions have the types of the methods.
    ask = Session().ask
    aask = Session().aask
    map = Session().map
else:
    ask = _by_current(Session.ask)
    aask = _by_current(Session.aask)
    map = _by_current(Session.map)
