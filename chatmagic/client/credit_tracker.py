"""State of a service's credits, from its answers so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from chatmagic.models import Credits
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.credits import RequestLimit


@dataclass(slots=True)
class CreditTracker:
    """State of a service's credits, from the answers so far.

    Args:
        credits: the last figures that any answer gave; ``None`` before the first.
        received_at: time of arrival, by this machine's clock, of the answer with ``credits``.
        requests: number of requests left, from the latest answer with such a figure.
    """

    credits: Credits | None = None
    received_at: datetime | None = None
    requests: RequestLimit | None = None

    def note_credits(self, seen: Credits | None) -> None:
        """Note an answer's credits.

        Args:
            seen: its figures; ``None``, for an answer without figures, changes nothing.
        """
        if seen is not None:
            self.credits = seen
            self.received_at = datetime.now(UTC)

    def note_requests(self, headers: Sequence[tuple[str, str]], now: datetime) -> None:
        """Note the requests left.

        Args:
            headers: an answer's headers.
            now: time of its arrival.
        """
        self.requests = crediting.request_limit(headers, now) or self.requests
