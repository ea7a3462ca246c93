"""Log records of one logger, among those of all that a process runs."""

from __future__ import annotations

import logging
import threading

import pytest


def records_of(caplog: pytest.LogCaptureFixture, logger: str) -> list[logging.LogRecord]:
    """Return what this thread logged by a logger, in order.

    Anything may be logged meanwhile by others: asyncio logs a future that nobody awaited when it is
    collected, and a thread of an earlier test may still be ending.

    Args:
        caplog: what is captured.
        logger: the logger's name.
    """
    here = threading.get_ident()
    return [each for each in caplog.records if (each.name, each.thread) == (logger, here)]
