"""The ledger: the requests that count, and its limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from accounts import NOW, SERVICE, Account
from cases import each_case
from environments import GivenEnvironment

from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    InputError,
    NotRecordedError,
    RateLimitError,
    RequestRejectedError,
)
from chatmagic.models import Credits, Reply
from chatmagic.session.ledger import Ledger, Limit
from chatmagic.session.ledger_row import Reservation


def counted(account: Account) -> tuple[int, int]:
    """Return the credits and the turns that limits count."""
    return account.ledger.meter(SERVICE.origin).used, account.ledger.turns


class Refusing(Limit):
    """A limit that refuses each request after the first, and has its words and its notice."""

    def __init__(self, ledger: Ledger) -> None:
        """Allow one request."""
        self.ledger = ledger

    def reserve(self, reservation: Reservation) -> int:
        """Refuse all but the first, for which 5 credits are held."""
        if self.ledger.turns or self.ledger.under_way:
            raise BudgetError(f"Not to {reservation.service}. Nothing was sent.")
        return 5

    def notices(self) -> list[str]:
        """Return a line."""
        return ["that was the one"]

    def refuse_wrong_settings(self) -> None:
        """Refuse them."""
        raise InputError("It cannot be read.")

    def words(self) -> list[str]:
        """Return a line."""
        return [f"{self.ledger.turns} of 1"]


def test_a_limit_refuses_a_request_before_it_begins() -> None:
    """It holds an amount for each that it allows, and its lines are the ledger's."""
    account = Account(Ledger(GivenEnvironment, [Limit, Refusing]))
    ledger = account.ledger
    held = account.begin()
    assert ([request.amount for request in ledger.under_way], held.amount) == ([5], 5)
    ledger.end(held, account.reply())
    with pytest.raises(BudgetError, match="Nothing was sent"):
        account.ask()
    assert (len(ledger), ledger.under_way) == (1, ())
    assert (ledger.news(), ledger.news()) == (["that was the one"], [])
    assert ledger.limit_words() == ["1 of 1"]
    with pytest.raises(InputError, match="cannot be read"):
        ledger.refuse_wrong_limits()


@each_case(
    ("problem", "was_sent"),
    [
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
def test_what_was_not_sent_is_no_request(problem: BaseException, *, was_sent: bool) -> None:
    """It is in no ledger, and its reservation is released."""
    account = Account(Ledger())
    account.ledger.end(account.begin(), None, problem)
    assert counted(account)[1] == len(account.ledger) == was_sent
    assert account.ledger.under_way == ()


def test_what_was_refused_takes_a_turn_and_no_credits() -> None:
    """Where its answer tells none; what broke off takes the estimate."""
    account = Account(Ledger())
    account.ask(2)
    account.ledger.end(account.begin(), None, RequestRejectedError("no", status=400))
    assert counted(account) == (6, 3)
    account.ledger.end(account.begin(), Reply(""), ChatInterrupted("stopped"))
    assert counted(account) == (9, 4)
    errors = [row.error for row in account.ledger]
    assert errors == [None, None, "RequestRejectedError", "ChatInterrupted"]


@pytest.mark.parametrize(
    "problem",
    [
        RateLimitError("used up", status=429, credits=Credits(1_000, 0, 1_000, None, NOW)),
        RateLimitError("used up", status=200, credits=Credits(1_000, 0, 1_000, None, NOW)),
        RequestRejectedError("no", status=400, credits=Credits(1_000, 100, None, None, NOW)),
        AuthenticationError("no", status=401, credits=Credits(1_000, 100, None, None, NOW)),
    ],
)
def test_a_refused_request_is_no_turn_that_was_paid(problem: ChatError) -> None:
    """What fell since the last answer was taken elsewhere; the figures are the latest."""
    account = Account(Ledger())
    account.ask(3)
    account.ledger.end(account.begin(), None, problem)
    meter = account.ledger.meter(SERVICE.origin)
    assert [*meter.costs] == [3, 3]
    assert meter.about(3) == 9
    assert counted(account) == (9, 4)
    assert meter.credits == problem.credits
    row = account.ledger.rows[-1]
    assert (row.after, row.took, row.each, row.sure) == (
        problem.credits and problem.credits.remaining,
        None,
        None,
        "unknown",
    )


def test_a_refused_request_beside_others_counts_what_they_may_have_taken() -> None:
    """No more than the estimate for each, and an answer that was overtaken changes nothing."""
    used_up = Credits(1_000, 0, 1_000, None, NOW)
    account = Account(Ledger())
    account.ask(3)
    refused, other = account.begin(), account.begin()
    account.ledger.end(refused, None, RateLimitError("no", status=429, credits=used_up))
    assert counted(account)[0] == 12
    account.ledger.end(other, account.reply())
    assert counted(account)[0] == 12
    refused, other = account.begin(), account.begin()
    late = Credits(1_000, 500, None, None, NOW)
    account.ledger.end(refused, None, RateLimitError("no", status=429, credits=late))
    assert account.ledger.meter(SERVICE.origin).credits == used_up
    account.ledger.end(
        other, None, RateLimitError("no", status=429, credits=replace(late, remaining=None))
    )
    assert counted(account)[0] == 12
