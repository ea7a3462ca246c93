"""The exchange of a thread."""

from __future__ import annotations

from threading import Thread

from chatmagic.client.clock import ExchangeClock
from chatmagic.client.current_exchange import CURRENT
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt


def test_each_thread_has_an_exchange_of_its_own() -> None:
    """Another thread sees none of it."""
    seen: list[bool] = []
    CURRENT.clock = ExchangeClock(Timeout(), Halt())
    thread = Thread(target=lambda: seen.append(hasattr(CURRENT, "clock")))
    thread.start()
    thread.join()
    assert seen == [False]
    del CURRENT.clock
