"""The exchange for which a thread makes or uses a connection.

``urllib3`` makes connections by itself, so it cannot pass them their exchange.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from chatmagic.client.clock import ExchangeClock
from chatmagic.protocol.api_key import Auth, Secret


class ConnectionMade(Exception):  # noqa: N818 - nothing is wrong
    """End of an exchange that was to connect only; no byte of a request was written."""


@dataclass
class SharedState:
    """The state that the connections of one transport share.

    Args:
        auth: the way to send the key (fact 12).
        key: the key, which is added to each request; ``None`` for no key.
        loses: whether a request was lost on a kept connection.
    """

    auth: Auth
    key: Secret | None
    loses: bool = False


class Current(threading.local):
    """The exchange for which this thread makes or uses a connection."""

    shared: SharedState
    clock: ExchangeClock
    work_lock: threading.Lock | None = None
    """The lock that this thread holds while it works; ``None`` for none."""
    only_connects = False
    """Whether :class:`ConnectionMade` is raised in place of a request."""


CURRENT: Final = Current()
