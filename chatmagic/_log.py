"""The logger ``chatmagic``: exceptions that are swallowed on purpose, at debug level.

A log is copied into bug reports, and an exception's message or a frame's values may hold a key or
a prompt. So an entry names only the exception's type, the types of its causes, and its frames
(file, line, function).
"""

from __future__ import annotations

import logging
import traceback
from contextlib import suppress
from types import TracebackType
from typing import Final

LOGGER: Final = logging.getLogger("chatmagic")
LOGGER.addHandler(logging.NullHandler())


class swallowed(suppress):  # noqa: N801 - used as contextlib.suppress is
    """Context that suppresses exceptions and logs them.

    Args:
        kinds: the suppressed types; by default every :exc:`Exception`.
    """

    def __init__(self, *kinds: type[BaseException]) -> None:
        """Suppress nothing yet."""
        super().__init__(*(kinds or (Exception,)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> bool:
        """Log and suppress an exception of these kinds."""
        is_suppressed = super().__exit__(kind, error, frames)
        if is_suppressed and error is not None:
            log_swallowed(error)
        return is_suppressed


def log_swallowed(error: BaseException) -> None:
    """Log an exception that is not raised further, or that another error replaces.

    Args:
        error: the exception.
    """
    if LOGGER.isEnabledFor(logging.DEBUG):
        LOGGER.debug("%s", describe_error(error))


def describe_error(error: BaseException) -> str:
    """Return an exception's type, the types of its causes, and its frames, a line for each.

    Args:
        error: the exception; its message is not read.
    """
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and not any(error is cause for error in chain):
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    kinds = (f"{type(error).__module__}.{type(error).__qualname__}" for error in chain)
    frames = [
        f"  {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename != __file__
    ]
    return "\n".join([f"Swallowed: {' from '.join(kinds)}", *frames])
