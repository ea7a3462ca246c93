"""The budgets of a process: they are never passed, and their setting, lines and notices."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from accounts import CREDITS, SERVICE, Account
from cases import each_case
from environments import GivenEnvironment
from logged import Emulator
from loopback import Server, document, playing
from row_service import RowService
from short_service import ShortService

from chatmagic import _initial_environ
from chatmagic.client.client import Client
from chatmagic.errors import (
    BudgetError,
    TooLongError,
)
from chatmagic.models import Reply
from chatmagic.session.budget import Budget
from chatmagic.session.budget_limit import Budgets
from chatmagic.session.features import new_ledger
from chatmagic.session.ledger import Ledger
from chatmagic.session.ledger_row import Reservation
from chatmagic.session.session import Session

EMULATOR = replace(SERVICE, key_from="emulator")


def counted(account: Account) -> tuple[int, int]:
    """Return the credits and the turns that budgets count."""
    used = account.ledger.limit(Budgets).used
    return used(Budget.parse("1", "it")), used(Budget.parse("1 turn", "it"))


def kept(budget: str | None, lines: list[str] | None = None) -> Ledger:
    """Return the ledger of a kernel with a budget."""
    environment = GivenEnvironment(
        settings={"budget": budget}, notify=([] if lines is None else lines).append
    )
    return new_ledger(lambda: environment)


@pytest.mark.parametrize(("budget", "asked"), [("50", 16), ("20 turns", 20)])
def test_a_constant_cost_never_passes_a_budget(budget: str, asked: int) -> None:
    """One more is refused, and nothing of it counts."""
    account = Account(kept(budget))
    for _ in range(2):
        with pytest.raises(BudgetError):
            account.ask(100)
    assert account.used == 3 * asked
    assert len(account.ledger) == asked


@each_case("seed", range(20))
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
    assert counted(account)[0] == account.used


def test_the_environments_budget_holds_beside_the_notebooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A notebook can lower it, and not raise it."""
    monkeypatch.setitem(_initial_environ.VARIABLES, "CHATMAGIC_BUDGET", "4 turns")
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
    assert counted(account) == (0, 0)
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


def test_a_notice_of_another_thread_waits() -> None:
    """What would be printed now would stand in the output of some cell."""
    lines: list[str] = []
    account = Account(kept("5 turns", lines))
    thread = threading.Thread(target=account.ask, args=[4])
    thread.start()
    thread.join()
    assert lines == []
    account.ledger.tell()
    assert lines == ["4 of the budget of 5 turns are used; others may share the credits."]
    assert account.ledger.news() == []


@pytest.mark.parametrize(("budget", "asked"), [("3", 3), ("2 turns", 2)])
def test_all_sessions_of_a_process_ask_within_its_budget(
    budget: str, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question more is refused before it is sent; its turn is not there."""
    service = RowService(CREDITS)
    environment = GivenEnvironment(settings={"budget": budget})
    monkeypatch.setattr(Session, "ledger", new_ledger(lambda: environment))
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


def test_one_that_the_budget_has_no_room_for_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error is that of the request that was sent."""
    environment = GivenEnvironment(settings={"budget": "2 turns"})
    monkeypatch.setattr(Session, "ledger", new_ledger(lambda: environment))
    service = ShortService(15)
    session = Session(Client(transport=service))
    session.ask("aaaa")
    with pytest.raises(TooLongError, match="too long for the service") as caught:
        session.ask("b" * 14, fit=True)
    assert len(service.bodies) == 2
    assert "Sent once more" not in str(caught.value)
    assert len(session.conversation) == 1


def test_plain_python_is_not_told_of_commands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In an ask, a list of models and a map, which may be in the background."""
    monkeypatch.chdir(tmp_path)
    session = Session(Client(transport=RowService()))
    monkeypatch.setitem(_initial_environ.VARIABLES, "CHATMAGIC_BUDGET", "0 turns")
    words = "The session's ledger shows what was used. CHATMAGIC_BUDGET counts as it was when"
    for ask in (
        lambda: session.ask("a"),
        session.models,
        lambda: session.map("{{ it }}", ["a"], yes=True),
        lambda: session.map("{{ it }}", ["a"], yes=True, block=False).result(),
    ):
        with pytest.raises(BudgetError) as caught:
            ask()
        assert str(caught.value.hint).startswith(words)


def test_a_budget_refuses_a_list_of_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """As any request; nothing was sent then."""
    monkeypatch.setitem(_initial_environ.VARIABLES, "CHATMAGIC_BUDGET", "1 turn")
    with (
        Server(playing(document({"data": [{"id": "small"}]}))) as server,
        Client(server.origin, "k") as client,
    ):
        session = Session(client)
        session.models()
        with pytest.raises(BudgetError, match="Nothing was sent"):
            session.models()
        assert len(server.asked) == 1
