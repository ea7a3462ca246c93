"""An account of a simulated service whose truth is known, and the ledger of who asks it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from chatmagic.client.endpoint import Endpoint
from chatmagic.models import Credits, Reply
from chatmagic.session.ledger import Ledger
from chatmagic.session.ledger_row import Reservation

NOW: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
CREDITS: Final = 1_000
SERVICE: Final = Endpoint("https://a.example", "bearer", None, "test")
DIGEST: Final = "0" * 64


class Account:
    """An account of a simulated service whose truth is known, and a kernel that asks it.

    Args:
        ledger: the kernel's.
        cost: credits that a request takes.
        tells: whether answers tell the credits.
    """

    def __init__(self, ledger: Ledger, cost: int = 3, *, tells: bool = True) -> None:
        """Begin with 1,000 credits."""
        self.ledger = ledger
        self.cost = cost
        self.tells = tells
        self.left = CREDITS

    @property
    def used(self) -> int:
        """What was taken from it."""
        return CREDITS - self.left

    def reply(self, **facts: Any) -> Reply:
        """Take a request; return its answer."""
        self.left -= self.cost
        told = Credits(CREDITS, self.left, None, None, NOW)
        return Reply("yes", credits=told if self.tells else None, **facts)

    def begin(self, entry: Any = "cell", endpoint: Endpoint = SERVICE) -> Reservation:
        """Begin a request."""
        reservation = Reservation(endpoint, entry, "c", DIGEST)
        self.ledger.begin(reservation)
        return reservation

    def ask(self, count: int = 1, **where: Any) -> None:
        """Ask one request after the other."""
        for _ in range(count):
            reservation = self.begin(**where)
            self.ledger.end(reservation, self.reply())
