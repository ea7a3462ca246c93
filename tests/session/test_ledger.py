"""The ledger: what requests took, one after the other and several at once, and its limits."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from accounts import DIGEST, NOW, SERVICE, Account
from environments import GivenEnvironment
from hypothesis import given as examples
from hypothesis import strategies as st

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
from chatmagic.models import Credits, Reply, Usage
from chatmagic.session import ledger as ledger_module
from chatmagic.session.ledger import (
    KEPT,
    Figures,
    Ledger,
    LedgerRow,
    Limit,
    Meter,
    Reservation,
)

RESET = datetime(2026, 1, 2, tzinfo=UTC)
ROW = LedgerRow(number=1, time=NOW, service=SERVICE.origin, entry="cell", cell=None, request=DIGEST)


def seen(remaining: int | None, resets_at: datetime = RESET) -> Figures:
    """Return an answer's figures."""
    return Figures(Credits(1_000, remaining, None, resets_at, NOW), NOW)


def run(meter: Meter, *figures: Figures | None) -> list[tuple[int | None, str, int]]:
    """End a request for each figure, one after the other.

    Returns:
        For each what it took, how sure that is, and the credits that a budget counts by then.
    """
    costs: list[tuple[int | None, str, int]] = []
    for figure in figures:
        meter.begin(alone=True)
        row = meter.end(ROW, figure, None)
        costs.append((row.took, row.sure, meter.used))
    return costs


LATER = RESET + timedelta(1)


@pytest.mark.parametrize(
    ("figures", "costs"),
    [
        # The first has nothing to compare with: the estimate counts, once there is one.
        (
            [seen(97), seen(94), seen(90)],
            [(None, "unknown", 1), (3, "alone", 3 + 3), (4, "alone", 7 + 4)],
        ),
        # What was taken across a reset, or a rise, is not known.
        (
            [seen(97), seen(94), seen(999, LATER), seen(996, LATER), seen(998, LATER)],
            [
                (None, "unknown", 1),
                (3, "alone", 3 + 3),
                (None, "unknown", 3 + 6),
                (3, "alone", 6 + 6),
                (None, "unknown", 6 + 9),
            ],
        ),
        # The fall behind an answer without figures holds what that took, and is nobody's alone.
        (
            [seen(97), seen(94), None, seen(88)],
            [
                (None, "unknown", 1),
                (3, "alone", 3 + 3),
                (None, "unknown", 3 + 6),
                (6, "several", 9 + 3),
            ],
        ),
        ([None, seen(None)], [(None, "unknown", 1), (None, "unknown", 2)]),
    ],
)
def test_a_request_took_what_the_figures_fell(
    figures: list[Figures | None], costs: list[tuple[int | None, str, int]]
) -> None:
    """Where they can be compared; otherwise the estimate counts."""
    assert run(Meter(), *figures) == costs


def test_each_account_has_figures_of_its_own() -> None:
    """Those of another one are not compared; what a request takes is known of both."""
    meter, later = Meter(), replace(seen(40), came_at=NOW + timedelta(1))
    assert meter.credits is None
    for account, figures, cost in [
        ("a", seen(97), (None, "unknown", 1)),
        ("b", seen(43), (None, "unknown", 2)),
        ("a", seen(94), (3, "alone", 3 + 2 * 3)),
        ("b", later, (3, "alone", 6 + 2 * 3)),
    ]:
        meter.begin(alone=True)
        row = meter.end(ROW, figures, account)
        assert (row.took, row.sure, meter.used) == cost
    assert meter.credits == later.credits


def test_a_cost_is_unknown_after_answers_that_tell_none() -> None:
    """After one answer without figures, or three that cannot be compared."""
    told: dict[object, Figures] = {None: Figures(Credits(1_000, 97, None, None, NOW), NOW)}
    for answers, latest, tells_no_cost in [
        (0, {}, False),
        (1, {}, True),
        (2, told, False),
        (3, told, True),
    ]:
        meter = Meter(dict(latest), answers=answers)
        assert meter.tells_no_cost == tells_no_cost
        meter.costs.append(3)
        assert not meter.tells_no_cost


@examples(
    cost=st.integers(1, 9),
    workers=st.integers(2, 32),
    seed=st.integers(0, 10_000),
    requests=st.integers(2, 120),
)
def test_several_at_once_are_summed_and_never_too_cheap(
    cost: int, workers: int, seed: int, requests: int
) -> None:
    """In whatever order answers come: the sum is the account's, each at least the cost."""
    luck = Random(seed)  # noqa: S311 - a seeded run
    meter, left, asked = Meter(), 10**6, requests + 1
    run(meter, seen(left))
    under_way: list[int] = []
    took = 0
    while requests or under_way:
        if requests and len(under_way) < workers and luck.random() < 0.6:
            requests -= 1
            left -= cost
            meter.begin(alone=not under_way)
            under_way.append(left)
        elif under_way:
            row = meter.end(ROW, seen(under_way.pop(luck.randrange(len(under_way)))), None)
            took += row.took or 0
            assert (row.each or 0) >= cost or row.sure == "alone"
    assert took == meter.falls == 10**6 - left
    assert meter.used >= asked * cost


def test_an_estimate_goes_by_the_last_ten_costs() -> None:
    """Of several at once an earlier mean counts no more than a later one."""
    meter = Meter()
    run(meter, *(seen(900 - number) for number in range(20)), seen(800), seen(800), None)
    assert [*meter.costs] == [*[1] * 8, 81, 0]
    for number in range(3):
        meter.begin(alone=not number)
    for left in (791, 790, 788):
        meter.end(ROW, seen(left), None)
    assert [*meter.costs] == [*[1] * 5, 81, 0, 4, 4, 4]


def with_costs(*costs: int) -> Meter:
    """Return a meter of requests that took so many credits."""
    return Meter(costs=deque(costs))


def test_few_costs_tell_little() -> None:
    """Without costs there is no dearest one, and costs of 0 last for ever."""
    assert (Meter().dearest, Meter().about(2), with_costs(1, 2).about(3)) == (None, None, 5)
    assert Meter().turns_left(100) is with_costs(0, 0).turns_left(100) is None
    assert (with_costs(0, 0).dearest, with_costs(1, 2).turns_left(10)) == (1, 6)


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


@pytest.mark.parametrize(
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


def test_a_row_has_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the digests that join it with its turn; the rows are a DataFrame's."""
    account = Account(Ledger())
    account.ask()
    account.ledger.end(account.begin("panel"), account.reply(usage=Usage(5, 7, 12)))
    row = account.ledger.rows[1]
    assert (row.number, row.entry, row.cell, row.request) == (2, "panel", "c", DIGEST)
    assert (row.prompt_tokens, row.completion_tokens, row.total_tokens) == (5, 7, 12)
    assert (row.before, row.after, row.took, row.sure) == (997, 994, 3, "alone")
    assert (row.service, row.error, len(row.reply or "")) == ("https://a.example:443", None, 64)
    given: list[object] = []
    monkeypatch.setattr(ledger_module, "dataframe", lambda *args: given.append(args))
    account.ledger.to_dataframe()
    assert given == [(LedgerRow, account.ledger)]
    assert repr(account.ledger) == "<Ledger of 2 requests>"
    assert Ledger().rows.maxlen == KEPT
