"""The ledger: what requests took, one after the other and several at once, and its budgets."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from environments import GivenEnvironment
from hypothesis import given as examples
from hypothesis import strategies as st
from logged import Emulator
from row_service import RowService

from chatmagic import _initial_environ
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    InputError,
    NotRecordedError,
    RequestRejectedError,
)
from chatmagic.models import Credits, Reply, Usage
from chatmagic.session import ledger as ledger_module
from chatmagic.session.budget import Budget
from chatmagic.session.ledger import KEPT, Figures, Ledger, LedgerRow, Meter, Reservation
from chatmagic.session.session import Session

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RESET = datetime(2026, 1, 2, tzinfo=UTC)
CREDITS = 1_000
SERVICE = Endpoint("https://a.example", "bearer", None, "test")
EMULATOR = replace(SERVICE, key_from="emulator")
DIGEST = "0" * 64
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

    @property
    def counted(self) -> tuple[int, int]:
        """The credits and the turns that budgets count."""
        used = self.ledger.used
        return used(Budget.parse("1", "it")), used(Budget.parse("1 turn", "it"))

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


def kept(budget: str | None, lines: list[str] | None = None) -> Ledger:
    """Return the ledger of a kernel with a budget."""
    environment = GivenEnvironment(
        budget=lambda: budget, notify=([] if lines is None else lines).append
    )
    return Ledger(lambda: environment)


@pytest.mark.parametrize(("budget", "asked"), [("50", 16), ("20 turns", 20)])
def test_a_constant_cost_never_passes_a_budget(budget: str, asked: int) -> None:
    """One more is refused, and nothing of it counts."""
    account = Account(kept(budget))
    for _ in range(2):
        with pytest.raises(BudgetError):
            account.ask(100)
    assert account.used == 3 * asked
    assert len(account.ledger) == asked


@pytest.mark.parametrize("seed", range(20))
def test_several_at_once_never_pass_a_budget(seed: int) -> None:
    """Cells and a table of prompts, whose answers overtake one another."""
    luck = Random(seed)  # noqa: S311 - a seeded run
    account = Account(kept("100"), luck.randint(1, 7))
    under_way: list[tuple[Reservation, Reply]] = []
    refused = 0
    while refused < 5:
        if luck.random() < 0.6:
            try:
                under_way.append((account.begin("map"), account.reply()))
            except BudgetError:
                refused += not under_way
        if under_way and luck.random() < 0.5:
            account.ledger.end(*under_way.pop(luck.randrange(len(under_way))))
    assert 100 - 3 * account.cost < account.used <= 100
    assert account.counted[0] == account.used


def test_the_environments_budget_holds_beside_the_notebooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A notebook can lower it, and not raise it."""
    monkeypatch.setattr(_initial_environ, "BUDGET", "4 turns")
    for budget, asked in [("1000", 4), ("2 turns", 2), (None, 4)]:
        account = Account(kept(budget))
        with pytest.raises(BudgetError):
            account.ask(100)
        assert account.used == 3 * asked


def test_what_the_emulator_answers_counts_nothing() -> None:
    """That of the kernel, and another one of this process, as long as it listens."""
    account = Account(kept("2 turns"))
    account.ask(5, endpoint=EMULATOR)
    with Emulator() as other:
        account.ask(5, endpoint=replace(SERVICE, base_url=other.url))
    assert account.counted == (0, 0)
    assert [row.service for row in account.ledger][4:6] == ["emulator", other.url]
    with pytest.raises(BudgetError):
        account.ask(3, endpoint=replace(SERVICE, base_url=other.url))


@pytest.mark.parametrize("budget", ["2 turns", "2"])
def test_no_answer_lifts_a_budget(budget: str) -> None:
    """A service that says that it is the emulator is counted as any other."""
    account = Account(kept(budget))
    for _ in range(2):
        account.ledger.end(account.begin(), account.reply(origin="emulator"))
    with pytest.raises(BudgetError):
        account.begin()


def test_credits_that_nobody_tells() -> None:
    """A budget in credits refuses after the first answer, one in turns goes on."""
    account = Account(kept("50"), tells=False)
    account.ask()
    with pytest.raises(BudgetError, match="the answers report no credits"):
        account.ask()
    account = Account(kept("20 turns"), tells=False)
    with pytest.raises(BudgetError):
        account.ask(100)
    assert account.used == 60


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
    account = Account(kept("50"))
    account.ledger.end(account.begin(), None, problem)
    assert account.counted[1] == len(account.ledger) == was_sent


def test_what_was_refused_takes_a_turn_and_no_credits() -> None:
    """Where its answer tells none; what broke off takes the estimate."""
    account = Account(kept("50"))
    account.ask(2)
    account.ledger.end(account.begin(), None, RequestRejectedError("no", status=400))
    assert account.counted == (6, 3)
    account.ledger.end(account.begin(), Reply(""), ChatInterrupted("stopped"))
    assert account.counted == (9, 4)
    errors = [row.error for row in account.ledger]
    assert errors == [None, None, "RequestRejectedError", "ChatInterrupted"]


def test_a_notice_of_another_thread_waits() -> None:
    """What would be printed now would stand in the output of some cell."""
    lines: list[str] = []
    account = Account(kept("5 turns", lines))
    thread = threading.Thread(target=account.ask, args=[4])
    thread.start()
    thread.join()
    assert lines == []
    account.ledger.tell()
    assert lines == ["4 of the budget of 5 turns are used; others may share the quota."]
    assert account.ledger.news() == []


def test_a_row_has_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the digests that join it with its turn; the rows are a DataFrame's."""
    account = Account(kept(None))
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


@pytest.mark.parametrize(("budget", "asked"), [("3", 3), ("2 turns", 2)])
def test_all_sessions_of_a_process_ask_within_its_budget(
    budget: str, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question more is refused before it is sent; its turn is not there."""
    service = RowService(CREDITS)
    environment = GivenEnvironment(budget=lambda: budget)
    monkeypatch.setattr(Session, "ledger", Ledger(lambda: environment))
    with Client(transport=service) as client:
        session, another = Session(client), Session(client)
        for _ in range(asked):
            session.ask("Hello?")  # the notice that becomes an error here stops none
        for each in (session, another):
            with pytest.raises(BudgetError, match=r"Nothing was sent\."):
                each.ask("Hello?")
            with pytest.raises(BudgetError, match=r"Nothing was sent\."):
                each.map("{{ it }}", ["Hello?"], yes=True, file=tmp_path / "rows.jsonl")
    assert len(service.bodies) == asked
    assert [row.took for row in another.ledger] == [None, 1, 1][:asked]
    assert [(row.request, row.reply) for row in session.ledger] == [
        (turn.record.request, turn.record.reply) for turn in session.conversation if turn.record
    ]
