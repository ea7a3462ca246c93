"""Requests that are begun and ended: the ledger, the budgets, the notice."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from environments import GivenEnvironment
from served import WHOLE, Played

from chatmagic import _startup
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatInterrupted,
    ConnectError,
    InputError,
    RequestRejectedError,
    ServiceError,
)
from chatmagic.models import Credits, Reply, Usage
from chatmagic.session import day_file
from chatmagic.session import spending as spending_module
from chatmagic.session.budget import Tally
from chatmagic.session.day_file import DayFile
from chatmagic.session.ledger import Ledger, LedgerRow
from chatmagic.session.reservation import Reservation
from chatmagic.session.session import Session
from chatmagic.session.spending import Spending
from chatmagic.session.state import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from chatmagic.client.halt import Halt

CREDITS = 1_000
SERVICE = Endpoint("https://a.example", "bearer", None, "test")
EMULATOR = replace(SERVICE, key_from="emulator")
DIGEST = "0" * 64


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: what is written is read here alone."""
    monkeypatch.setattr("os.fsync", lambda _: None)


class Account:
    """An account of a simulated service whose truth is known, and kernels that ask it.

    Args:
        spending: the kernel's.
        cost: credits that a request takes.
        tells: whether answers tell the credits.
    """

    def __init__(self, spending: Spending, cost: int = 3, *, tells: bool = True) -> None:
        """Begin with 1,000 credits."""
        self.spending = spending
        self.cost = cost
        self.tells = tells
        self.left = 1_000

    @property
    def used(self) -> int:
        """What was taken from it."""
        return 1_000 - self.left

    def reply(self, **facts: Any) -> Reply:
        """Take a request; return its answer."""
        self.left -= self.cost
        told = Credits(1_000, self.left, None, None, datetime(2026, 1, 1, tzinfo=UTC))
        return Reply("yes", credits=told if self.tells else None, **facts)

    def begin(self, entry: Any = "cell", endpoint: Endpoint = SERVICE) -> Reservation:
        """Begin a request."""
        reservation = Reservation(endpoint, entry, "c", DIGEST)
        self.spending.begin(reservation)
        return reservation

    def ask(self, count: int = 1, **where: Any) -> None:
        """Ask one request after the other."""
        for _ in range(count):
            reservation = self.begin(**where)
            self.spending.end(reservation, self.reply())


def spending(budget: str | None, tmp_path: Path, lines: list[str] | None = None) -> Spending:
    """Return the spending of a kernel with a budget."""
    environment = GivenEnvironment(
        budget=lambda: budget, notify=([] if lines is None else lines).append
    )
    return Spending(lambda: environment, DayFile(tmp_path))


@pytest.mark.parametrize(("budget", "asked"), [("50", 16), ("20 turns", 20), ("30 a day", 10)])
def test_a_constant_cost_never_passes_a_budget(budget: str, asked: int, tmp_path: Path) -> None:
    """One more is refused, and nothing of it counts."""
    account = Account(spending(budget, tmp_path))
    with pytest.raises(BudgetError):
        account.ask(100)
    assert account.used == 3 * asked
    with pytest.raises(BudgetError):
        account.ask()
    assert len(account.spending.ledger.rows) == asked


@pytest.mark.parametrize("seed", range(20))
def test_several_at_once_never_pass_a_budget(seed: int, tmp_path: Path) -> None:
    """Cells and a table of prompts, whose answers overtake one another."""
    luck = Random(seed)  # noqa: S311 - a seeded run
    account = Account(spending("100", tmp_path), luck.randint(1, 7))
    under_way: list[tuple[Reservation, Reply]] = []
    refused = 0
    while refused < 5:
        if luck.random() < 0.6:
            try:
                under_way.append((account.begin("map"), account.reply()))
            except BudgetError:
                refused += not under_way
        if under_way and luck.random() < 0.5:
            account.spending.end(*under_way.pop(luck.randrange(len(under_way))))
    assert 100 - 3 * account.cost < account.used <= 100
    assert account.spending.tally.credits == account.used


@pytest.mark.parametrize("seed", range(20))
def test_varying_costs_pass_it_by_an_overrun_at_most(seed: int, tmp_path: Path) -> None:
    """By what the request under way took more than the dearest of the last ten."""
    luck = Random(seed)  # noqa: S311 - a seeded run
    account = Account(spending("100", tmp_path), 4)
    account.ask(3)
    with contextlib.suppress(BudgetError):
        while True:
            account.cost = luck.randint(1, 9)
            account.ask()
    assert account.used <= 100 + 9 - 4


def test_kernels_share_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's budget holds for all of them, whatever each of them sets."""
    monkeypatch.setattr(_startup, "BUDGET", "30 a day")
    first, second = (Account(spending("1000 a day", tmp_path)) for _ in range(2))
    first.ask(4)
    with pytest.raises(BudgetError, match="The budget of 30 credits a day is not enough"):
        second.ask(100)
    assert first.used + second.used == 30
    lower = Account(spending("2 turns", tmp_path))
    with pytest.raises(BudgetError):
        lower.ask()


def test_a_kernel_that_died_blocks_no_day(tmp_path: Path) -> None:
    """Another kernel's estimate is in the file, so the first request reserves no more than that."""
    Account(spending("30 a day", tmp_path)).ask(2)
    Account(spending("30 a day", tmp_path)).begin()
    third = Account(spending("30 a day", tmp_path))
    third.ask(7)
    with pytest.raises(BudgetError):
        third.ask()


@pytest.mark.parametrize("asked", range(2, 9))
@pytest.mark.parametrize("most", [27, 28, 29])
def test_a_new_kernel_does_not_pass_what_another_left(
    asked: int, most: int, tmp_path: Path
) -> None:
    """Its first requests, whose cost it is not told, are charged with the other's estimate."""
    first, second = (Account(spending(f"{most} a day", tmp_path)) for _ in range(2))
    first.ask(asked)
    with contextlib.suppress(BudgetError):
        second.ask(100)
    assert first.used + second.used == 27


def test_what_the_emulator_answers_counts_nothing(tmp_path: Path) -> None:
    """That of the kernel, and one of another process, which its answers tell."""
    account = Account(spending("2 turns", tmp_path))
    account.ask(5, endpoint=EMULATOR)
    for _ in range(5):
        account.spending.end(account.begin(), account.reply(origin="emulator"))
    assert account.spending.tally.turns == 0
    assert len(account.spending.ledger.rows) == 10


def test_credits_that_nobody_tells(tmp_path: Path) -> None:
    """A budget in credits refuses after the first answer, one in turns goes on."""
    account = Account(spending("50", tmp_path), tells=False)
    account.ask()
    with pytest.raises(BudgetError, match="The answers tell no credits") as caught:
        account.ask()
    assert '"20 turns"' in str(caught.value.hint)
    account = Account(spending("20 turns", tmp_path), tells=False)
    with pytest.raises(BudgetError):
        account.ask(100)
    assert account.used == 60


def test_credits_whose_reset_moves_tell_no_cost(tmp_path: Path) -> None:
    """The refusal says so, and names the budget in turns."""
    account = Account(spending("50", tmp_path))
    for day in (1, 2, 3):
        reservation, reply = account.begin(), account.reply()
        reset = datetime(2026, 1, day, tzinfo=UTC)
        told = Credits(1_000, account.left, None, reset, reset)
        account.spending.end(reservation, replace(reply, credits=told))
    with pytest.raises(BudgetError) as caught:
        account.begin()
    assert caught.value.message == (
        "The credits in the answers do not tell what a request takes, as their reset moves with "
        "each, or they rise, so a budget of 50 credits cannot be kept. Nothing was sent."
    )
    assert '"20 turns"' in str(caught.value.hint)


@pytest.mark.parametrize(
    "problem", [ConnectError("no"), InputError("no"), AuthenticationError("no key")]
)
def test_what_was_not_sent_is_no_request(problem: Exception, tmp_path: Path) -> None:
    """It is in no ledger, and its reservation is released."""
    account = Account(spending("50", tmp_path))
    account.spending.end(account.begin(), None, problem)
    assert (account.spending.tally.credits, len(account.spending.ledger.rows)) == (0, 0)


def test_what_was_refused_takes_a_turn_and_no_credits(tmp_path: Path) -> None:
    """Where its answer tells none; what broke off takes the estimate."""
    account = Account(spending("50", tmp_path))
    account.ask(2)
    account.spending.end(account.begin(), None, RequestRejectedError("no", status=400))
    assert (account.spending.tally.credits, account.spending.tally.turns) == (6, 3)
    account.spending.end(account.begin(), Reply(""), ChatInterrupted("stopped"))
    assert (account.spending.tally.credits, account.spending.tally.turns) == (9, 4)
    assert [row.error for row in account.spending.ledger.rows][2:] == [
        "RequestRejectedError",
        "ChatInterrupted",
    ]


def test_one_notice_comes_at_80_percent(tmp_path: Path) -> None:
    """Once, for each budget that is set."""
    lines: list[str] = []
    account = Account(spending("50", tmp_path, lines))
    account.ask(16)
    assert lines == ["42 of the budget of 50 credits are used; others may share the quota."]


@pytest.mark.parametrize("entry", ["panel", "map", "python"])
def test_a_notice_of_another_thread_waits(tmp_path: Path, entry: str) -> None:
    """What would be printed now would stand in the output of some cell."""
    lines: list[str] = []
    account = Account(spending("5 turns", tmp_path, lines))
    thread = threading.Thread(target=account.ask, args=[4], kwargs={"entry": entry})
    thread.start()
    thread.join()
    assert lines == []
    account.spending.tell()
    assert lines == ["4 of the budget of 5 turns are used; others may share the quota."]
    assert account.spending.news() == []


class Interrupting(DayFile):
    """A file of the day in which a person interrupts what was just written.

    Args:
        folder: where it is.
    """

    def reserve(self, *args: Any) -> None:
        """Reserve, and be interrupted."""
        super().reserve(*args)
        raise KeyboardInterrupt


def test_an_interrupt_while_it_is_reserved_reserves_nothing(tmp_path: Path) -> None:
    """Nothing was sent, so the whole day is left, also for the other kernels."""
    environment = GivenEnvironment(budget=lambda: "50 a day")
    account = Account(Spending(lambda: environment, Interrupting(tmp_path)))
    with pytest.raises(KeyboardInterrupt):
        account.begin()
    assert account.spending.under_way == ()
    assert account.spending.tally == Tally()
    other = Account(spending("50 a day", tmp_path))
    with pytest.raises(BudgetError):
        other.ask(100)
    assert other.used == 48


WATCHED = {spending_module.__file__, day_file.__file__}
"""Where what is reserved is written."""


def begin(account: Account, reservation: Reservation, place: tuple[str, int] | None) -> list[Any]:
    """Begin a request, and strike at a line; return the lines that it comes to."""

    def begun() -> None:
        try:
            account.spending.begin(reservation)
        finally:
            sys.settrace(None)
            account.spending.end(reservation, None, ChatInterrupted("Interrupted."))

    return struck_in(begun, place)


class Struck(KeyboardInterrupt):
    """The interrupt that a test strikes with, and no other."""


def struck_in(action: Callable[[], object], place: tuple[str, int] | None) -> list[Any]:
    """Strike an action at a line; return the lines that it comes to in this thread."""
    places: dict[tuple[str, int], None] = {}

    def watch(frame: FrameType, what: str, _: object) -> Any:
        where = frame.f_code.co_filename, frame.f_lineno
        if what == "line" and frame.f_code.co_filename in WATCHED:
            is_new = where not in places
            places[where] = None
            if where == place and is_new:
                raise Struck
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        action()
    finally:
        sys.settrace(before)
    return list(places)


def test_an_interrupt_at_any_line_of_a_reservation_reserves_nothing(tmp_path: Path) -> None:
    """In the kernel and in the file of the day; no lock stays taken."""

    def account(name: str) -> tuple[Account, Reservation]:
        made = Account(spending("50 a day", tmp_path / name))
        return made, Reservation(SERVICE, "cell", "c", DIGEST)

    places = begin(*account("noted"), None)
    assert {name for name, _ in places} == WATCHED
    for number, place in enumerate(places):
        struck, reservation = account(str(number))
        with pytest.raises(Struck):
            begin(struck, reservation, place)
        assert struck.spending.under_way == ()
        assert struck.spending.tally == Tally(), place
        day = datetime.now(UTC).date().isoformat()
        assert struck.spending.file.read("https://a.example:443", day) == Tally(), place
        struck.ask(2)


def test_an_interrupt_at_any_line_of_an_end_ends_it_all_the_same(tmp_path: Path) -> None:
    """Once, with what the answer told; it does not count as under way until the next question."""

    def end(name: str, place: tuple[str, int] | None) -> tuple[Spending, list[Any]]:
        account = Account(spending("50 a day", tmp_path / name))
        account.ask()
        reservation, reply = account.begin(), account.reply()
        with contextlib.suppress(Struck):
            return account.spending, struck_in(
                lambda: account.spending.end(reservation, reply), place
            )
        return account.spending, []

    _, (_, *places) = end("noted", None)  # at the first one it has not begun
    for number, place in enumerate(places):
        struck, _ = end(str(number), place)
        assert struck.under_way == (), place
        assert [row.took for row in struck.ledger] == [None, 3], place
        assert struck.tally == Tally(6, 2), place


@pytest.mark.parametrize("in_main", [True, False])
def test_only_the_main_thread_has_another_one_settle(
    in_main: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No interrupt strikes the threads of a map, which end a request for each row."""
    account = Account(spending(None, tmp_path))
    add = Ledger.add
    settling: list[threading.Thread] = []

    def added(ledger: Ledger, row: LedgerRow) -> None:
        settling.append(threading.current_thread())
        add(ledger, row)

    monkeypatch.setattr(Ledger, "add", added)
    asking = threading.Thread(target=account.ask)
    if in_main:
        account.ask()
    else:
        asking.start()
        asking.join()
    assert account.spending.under_way == ()
    assert (settling == [asking]) is not in_main
    assert threading.main_thread() not in settling


def test_an_ask_whose_end_was_interrupted_is_ended_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its reservation does not stay."""
    with Client(transport=Costly()) as client:
        session = Session(client)
        session.ask("Hello?")
        with monkeypatch.context() as patch:
            patch.setattr(Spending, "end", Mock(side_effect=[None, KeyboardInterrupt]))
            with pytest.raises(KeyboardInterrupt):
                session.ask("Hello?")
        assert [each.is_begun for each in session.spending.under_way] == [True]
        session.ask("Hello?")
    assert not session.spending.under_way
    errors = [row.error for row in session.ledger.rows]
    assert errors == [None, "ChatInterrupted", None]


def test_an_interrupted_question_tells_nothing_of_a_service(tmp_path: Path) -> None:
    """It is no answer without credits, so the next one is asked."""
    account = Account(spending("50", tmp_path))
    account.spending.end(account.begin(), Reply("", state="interrupted"))
    account.ask(3)
    assert account.used == 9


def test_a_row_has_what_is_known(tmp_path: Path) -> None:
    """With the digests that join it with its turn."""
    account = Account(spending(None, tmp_path))
    account.ask()
    account.spending.end(account.begin("panel"), account.reply(usage=Usage(5, 7, 12)))
    row = account.spending.ledger.rows[1]
    assert (row.number, row.entry, row.cell, row.request) == (2, "panel", "c", DIGEST)
    assert (row.prompt_tokens, row.completion_tokens, row.total_tokens) == (5, 7, 12)
    assert (row.before, row.after, row.took, row.sure) == (997, 994, 3, "alone")
    assert (row.service, row.error, len(row.reply or "")) == ("https://a.example:443", None, 64)


def test_a_budget_that_is_none_sends_nothing(tmp_path: Path) -> None:
    """It says so before."""
    with pytest.raises(InputError, match="it is something else"):
        Account(spending("plenty", tmp_path)).ask()


class Costly:
    """A transport to a service whose requests take 3 credits each.

    Args:
        status: of its answers.
    """

    def __init__(self, status: int = 200) -> None:
        """Begin with all credits."""
        self.status = status
        self.left = CREDITS

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
        """Reply in one piece."""
        self.left -= 3
        played = Played(self.status, json.dumps(WHOLE).encode()).send(
            body, stream=stream, halt=halt
        )
        played.headers = [("X-RateLimit-Remaining", str(self.left))]
        return played

    def close(self) -> None:
        """Close nothing."""


@pytest.mark.parametrize(("budget", "asked"), [("10", 3), ("2 turns", 2)])
def test_all_sessions_of_a_process_ask_within_its_budget(
    budget: str, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question more is refused before it is sent; its turn is not there."""
    costly = Costly()
    environment = GivenEnvironment(budget=lambda: budget)
    monkeypatch.setattr(SessionState, "spending", Spending(lambda: environment))
    with Client(transport=costly) as client:
        session, another = Session(client), Session(client)
        for _ in range(asked):
            session.ask("Hello?")  # the notice that becomes an error here stops none
        for each in (session, another):
            with pytest.raises(BudgetError, match=r"Nothing was sent\."):
                each.ask("Hello?")
            with pytest.raises(BudgetError, match=r"Nothing was sent\."):
                each.map("{{ it }}", ["Hello?"], yes=True, file=tmp_path / "rows.jsonl")
    assert CREDITS - costly.left == 3 * asked
    assert [row.took for row in another.ledger.rows] == [None, 3, 3][:asked]
    assert [(row.request, row.reply) for row in session.ledger.rows] == [
        (turn.record.request, turn.record.reply) for turn in session.conversation if turn.record
    ]


def test_a_session_enters_what_failed() -> None:
    """With the name of its error; the next answer is compared with it, too."""
    with Client(transport=Costly(500)) as client:
        session = Session(client, environment=GivenEnvironment())
        for _ in range(2):
            with pytest.raises(ServiceError):
                session.ask("Hello?")
    assert [(row.error, row.took) for row in session.ledger.rows] == [
        ("ServiceError", None),
        ("ServiceError", 3),
    ]
