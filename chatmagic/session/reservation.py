"""One request as it is asked within the budgets."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ConnectError,
    InputError,
    NotRecordedError,
)

if TYPE_CHECKING:
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.session.ledger import Entry, LedgerRow

EMULATOR: Final = "emulator"


@dataclass(slots=True, eq=False)
class Reservation:
    """One request that is asked within the budgets.

    Args:
        endpoint: where it goes.
        entry: where it was asked.
        cell: hash of the cell; ``None`` without one.
        request: digest of the request.
        time: when it was made.
        name: its name in the file of the day.
        is_daily: whether it may be in that file.
        estimate: what it takes, where that is known before.
        amount: the credits that are reserved.
        is_begun: whether it may have been sent.
        row: its row of the ledger, once it has ended; ``None`` where it was not sent.
    """

    endpoint: Endpoint
    entry: Entry
    cell: str | None
    request: str
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    name: str = field(default_factory=lambda: os.urandom(8).hex())
    is_daily: bool = False
    estimate: int | None = None
    amount: int = 0
    is_begun: bool = False
    row: LedgerRow | None = None

    @property
    def service(self) -> str:
        """What the ledger calls the service."""
        return service_of(self.endpoint)

    @property
    def counts(self) -> bool:
        """Whether budgets count it."""
        return self.service != EMULATOR

    @property
    def day(self) -> str:
        """The UTC day that it counts for."""
        return self.time.date().isoformat()

    @property
    def took(self) -> int | None:
        """The credits that it took, where no other request of this kernel had a part in that."""
        return self.row.took if self.row is not None and self.row.sure == "alone" else None

    def was_sent(self, problem: BaseException | None) -> bool:
        """Return whether the request may have reached the service.

        Args:
            problem: what ended it early.
        """
        unsent = InputError | ConnectError | NotRecordedError | BudgetError
        has_no_key = isinstance(problem, AuthenticationError) and problem.status is None
        return self.is_begun and not (has_no_key or isinstance(problem, unsent))


def service_of(endpoint: Endpoint) -> str:
    """Return what the ledger calls the service of an endpoint."""
    return EMULATOR if endpoint.is_emulator else endpoint.origin
