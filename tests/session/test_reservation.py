"""One request that is asked within the budgets: what counts, and what was sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    InputError,
    NotRecordedError,
)
from chatmagic.session.reservation import Reservation

SERVICE = Endpoint("https://a.example", "bearer", None, "test")


def reservation(endpoint: Endpoint = SERVICE) -> Reservation:
    """Return one that was begun late in the evening."""
    time = datetime(2026, 1, 1, 23, 59, tzinfo=UTC)
    return Reservation(endpoint, "cell", None, "0" * 64, time, is_begun=True)


def test_it_counts_for_a_service_and_a_day() -> None:
    """What the emulator of this process answers counts nothing."""
    made = reservation()
    assert (made.service, made.day, made.counts) == ("https://a.example:443", "2026-01-01", True)
    practice = reservation(replace(SERVICE, key_from="emulator"))
    assert (practice.service, practice.counts) == ("emulator", False)
    assert made.name != practice.name


@pytest.mark.parametrize(
    ("problem", "was_sent"),
    [
        (None, True),
        (CutOffError("no"), True),
        (ChatInterrupted("no"), True),
        (AuthenticationError("no", status=401), True),
        (AuthenticationError("no key"), False),
        (ConnectError("no"), False),
        (InputError("no"), False),
        (BudgetError("no"), False),
        (NotRecordedError("no"), False),
    ],
)
def test_what_was_sent(problem: BaseException | None, *, was_sent: bool) -> None:
    """What may have reached the service, once it was begun."""
    made = reservation()
    assert made.was_sent(problem) == was_sent
    made.is_begun = False
    assert not made.was_sent(problem)
