"""Row of the ledger: one request, and what it is to take while it is under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from chatmagic import _started_emulators
from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ConnectError,
    InputError,
    NotRecordedError,
)
from chatmagic.session.exchange import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One request of this kernel that was sent.

    Args:
        number: its number among the kernel's requests, from 1.
        time: time of its beginning, aware, in UTC.
        service: origin of the service, or ``emulator``.
        entry: place of the question: ``cell``, ``panel``, ``python``, ``map`` or ``doctor``;
            ``models`` is no question, but a list of models.
        cell: hash of the cell, as the turn's record has it; ``None`` without one.
        request: digest of the request, as the turn's record has it.
        reply: digest of the reply's text, as the turn's record has it; ``None`` without one.
        prompt_tokens: tokens of the request; ``None`` if unknown.
        completion_tokens: tokens of the reply.
        total_tokens: tokens of both, as the service counts them.
        before: credits left by the answer before; ``None`` is unknown.
        after: credits left by this answer.
        took: the fall of the credits, which others who share the credits may have caused in part.
        each: cost of one such request: ``took``, or the mean of several under way.
        sure: ``alone`` if no other request of this kernel had a part in ``took``, ``several`` if
            others had, ``unknown`` if the answers do not show it.
        error: name of the error that ended it; ``None`` if the reply is complete.
    """

    number: int
    time: datetime
    service: str
    entry: Entry
    cell: str | None
    request: str
    reply: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    before: int | None = None
    after: int | None = None
    took: int | None = None
    each: int | None = None
    sure: Sure = "unknown"
    error: str | None = None


@dataclass(slots=True, eq=False)
class Reservation:
    """One request that is asked within the limits.

    Args:
        endpoint: endpoint of the request.
        entry: place of the question.
        cell: hash of the cell; ``None`` without one.
        request: digest of the request.
        time: time of the reservation.
        amount: the credits that are reserved.
        row: its row of the ledger, once it has ended; ``None`` if it was not sent.
    """

    endpoint: Endpoint
    entry: Entry
    cell: str | None
    request: str
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    amount: int = 0
    row: LedgerRow | None = None
    service: str = field(init=False)
    """Name of the service in the ledger."""
    counts: bool = field(init=False)
    """Whether limits count it, as they do unless it goes to an emulator of this process.

    No answer has a part in this: a service could lift a limit by its header.
    """

    def __post_init__(self) -> None:
        """Find the service."""
        self.service = service_of(self.endpoint)
        is_practice = _started_emulators.is_one(self.endpoint.origin)
        self.counts = not (is_practice or self.endpoint.is_emulator)

    @property
    def took(self) -> int | None:
        """Its cost in credits, if no other request of this kernel had a part in that."""
        return self.row.took if self.row is not None and self.row.sure == "alone" else None

    def was_sent(self, problem: BaseException | None) -> bool:
        """Return whether the request may have reached the service.

        Args:
            problem: error that ended it early; ``None`` for none.
        """
        unsent = InputError | ConnectError | NotRecordedError | BudgetError
        has_no_key = isinstance(problem, AuthenticationError) and problem.status is None
        return not (has_no_key or isinstance(problem, unsent))


Sure = Literal["alone", "several", "unknown"]


EMULATOR: Final = "emulator"


def service_of(endpoint: Endpoint) -> str:
    """Return the name of a service in the ledger.

    Args:
        endpoint: endpoint of the request.
    """
    return EMULATOR if endpoint.is_emulator else endpoint.origin
