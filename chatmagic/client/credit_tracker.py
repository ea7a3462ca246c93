"""What the answers told one client: credits, entered once an ask, requests left, its clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chatmagic.protocol.credits import Ledger

if TYPE_CHECKING:
    from datetime import timedelta

    from chatmagic.models import Credits
    from chatmagic.protocol.ratelimit import RequestLimit


@dataclass(slots=True)
class Tally:
    """What is known of a service from its answers so far.

    Args:
        ledger: the credits.
        received_at: the time here when the answer that told them came; ``None`` before that.
        clock_off: how far the clock here is ahead of the service's; ``None`` where the
            latest live answer from another machine did not tell, or it may be right.
        requests: how many requests are left, as the latest answer that told has it.
        lacks_usage: whether the latest reply was streamed by a service and told no tokens.
    """

    ledger: Ledger = field(default_factory=Ledger)
    received_at: datetime | None = None
    clock_off: timedelta | None = None
    requests: RequestLimit | None = None
    lacks_usage: bool = False


class Entry:
    """What one answer says of the credits; said again, it takes the place of what was said.

    Args:
        tally: where it is entered.
    """

    def __init__(self, tally: Tally) -> None:
        """Enter nothing yet."""
        self._tally = tally
        self._before: Ledger | None = None
        self._came: datetime | None = None

    def write(self, seen: Credits | None) -> None:
        """Enter what the answer says of the credits, in place of what it said before.

        Args:
            seen: the credits; ``None`` is nothing.
        """
        self._before = self._before or self._tally.ledger
        self._came = self._came or datetime.now(UTC)
        self._tally.ledger = self._before.after(seen)
        if seen is not None:
            self._tally.received_at = self._came
