"""``%chat_credits`` for a page, a terminal and a machine.

``%chat_credits --usage`` and the budget in a real shell, with a service that counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import pytest
from environments import GivenEnvironment
from logged import Emulator
from loopback import DONE, Peer, Server, document, event, playing, stream
from served import WHOLE
from shells import FIXED, KEY, Shell

from chatmagic.client import service_call
from chatmagic.client.endpoint import Endpoint
from chatmagic.jupyter.commands.credits import LEAST_PLOTTED, usage
from chatmagic.models import Reply
from chatmagic.protocol.credits import OTHERS
from chatmagic.session.current import current_session
from chatmagic.session.features import new_ledger
from chatmagic.session.ledger_row import LedgerRow, Reservation


def test_credits(shell: Shell, emulator: Emulator) -> None:
    """Unknown is unknown; then what is left, what the last turn took, as of when."""
    unknown = shell.do("%chat_credits")
    assert unknown.texts == ["No answer has reported credits."]
    emulator.settings = replace(FIXED, credits=10, cost=3)
    shell.machine("%chat echo:a")
    known = shell.do("%chat_credits")
    assert "7 of 10 credits left" in known.texts[0]
    assert "cost about" not in known.texts[0]
    assert "As of 2026-01-01 12:00:00 UTC" in known.texts[0]
    assert "2026-01-02 00:00 UTC" in known.html
    shell.machine("%chat echo:b")
    assert "cost about 3 credits" in shell.do("%chat_credits").texts[0]
    low = shell.machine("%chat echo:c")
    assert "credits low: 1 of 10 left" in low.html
    assert "credits low: 1 of 10 left" in shell.do("%chat_credits").texts[0]


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SERVICE = Endpoint("https://a.example", "bearer", None, "test")


class Account:
    """A service whose requests take 3 credits each of 100."""

    def __init__(self) -> None:
        """Begin with all of them."""
        self.left = 100

    def __call__(self, peer: Peer) -> None:
        """Serve one connection."""
        while peer.request():
            self.left -= 3
            told = {
                "X-RateLimit-Limit": "100",
                "X-RateLimit-Remaining": str(self.left),
                "X-RateLimit-Reset": "2099-01-01T00:00:00Z",
            }
            peer.send(document(WHOLE, headers=told))


@pytest.fixture
def account(bare: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """Give the account of a service that a shell is connected to."""
    del bare
    account = Account()
    with Server(account) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield account


def test_run_all_stops_at_the_budget(bare: Shell, account: Account) -> None:
    """The cell that does not go into it fails in one line; what came before stays."""
    bare.do('%config ChatMagics.budget = "15"')
    warned = [bare.machine("%%chat\nHello?").warned for _ in range(5)]
    assert warned == [
        "",
        "",
        "",
        "12 of the budget of 15 credits are used; others may share the credits.\n",
        "",
    ]
    for code in ("%%chat\nHello?", "import chatmagic\nchatmagic.ask('Hello?')"):
        failed = bare.fails(code, person=False)
        assert failed.traceback[0] == (
            "BudgetError: The budget of 15 credits is not enough: 15 used or reserved, and this "
            "may take 3 credits; others may share the credits. Nothing was sent."
        )
    assert account.left == 100 - 15
    assert len(current_session().conversation) == 5
    usage = bare.do("%chat_credits --usage").texts[0]
    assert "Budget of 15 credits (%config ChatMagics.budget): 15 used." in usage
    assert usage.count(OTHERS) == 1
    assert "Budget of 15 credits (%config ChatMagics.budget): 15 used" in bare.do("%chat").texts[0]
    # The panel asks the same session; another budget lets go on.
    bare.do('%config ChatMagics.budget = "6 turns"')
    bare.machine("%chat Hello?")
    bare.fails("%chat Hello?")
    # In the background, too, it is the cell itself that fails.
    assert "BudgetError" in bare.fails("%%chat --background\nHello?", cell="a").traceback[0]


def test_a_cassettes_answers_count_nothing(bare: Shell, account: Account, tmp_path: Path) -> None:
    """What is recorded counts, as it is sent; what is replayed does not. Nor does the emulator."""
    bare.do(f"%chat_cassette {tmp_path / 'a.jsonl'} --record")
    bare.machine("%%chat\nHello?")
    bare.do("%chat_cassette --off\n%chat_reset")
    bare.do(f"%chat_cassette {tmp_path / 'a.jsonl'} --replay")
    bare.machine("%%chat\nHello?")
    bare.do("%chat_cassette --off")
    assert (len(current_session().ledger.rows), current_session().ledger.turns) == (1, 1)
    bare.do(f"%chat_cassette {tmp_path / 'a.jsonl'} --replay --else emulator")
    bare.machine("%%chat\nWho is there?")
    bare.do("%chat_cassette --off\n%chat_reset\n%chat_connect emulator")
    usage = bare.do("%chat_credits --usage").texts[0]
    assert usage.startswith("1 request of this kernel to emulator: ")
    bare.machine("%%chat\nHello?")
    bare.machine("%%chat\nHello?")
    assert account.left == 97
    usage = bare.do("%chat_credits --usage").texts[0]
    assert "3 requests of this kernel to emulator: " in usage
    assert current_session().ledger.turns == 1


def test_the_ledger_is_shown(bare: Shell, account: Account) -> None:
    """In a sentence, a plot and a table, which says once that others may share the credits."""
    assert bare.do("%chat_credits --usage").texts == ["No request was sent from this kernel yet."]
    bare.machine("%%chat\nHello?")
    assert "known from the second answer on" in bare.do("%chat_credits --usage").texts[0]
    bare.machine("%%chat\nHello?")
    second = bare.do("%chat_credits --usage").texts[0]
    assert ": the last turn cost 3 credits; " in second
    assert ", enough for about 31 more such turns.\n" in second
    bare.do("import chatmagic")
    for _ in range(4):
        bare.do("chatmagic.ask('Hello?')")
    usage = bare.do("%chat_credits --usage")
    lines = usage.texts[0].splitlines()
    assert lines[0].endswith(
        ": the last 5 turns cost 3 credits each; 82 of 100 credits left, "
        "resets 2099-01-01 00:00 UTC, enough for about 27 more such turns."
    )
    assert " ".join(lines[1].split()) == (
        "Request Time (UTC) Asked in Tokens sent Received Credits before After Cost Counted"
    )
    assert " ".join(lines[3].split()[-7:]) == "cell 1 2 97 94 3 alone"
    assert " ".join(lines[7].split()[2:]) == "python 1 2 85 82 3 alone"
    assert "<details>" not in usage.html
    for _ in range(4):
        bare.do("chatmagic.ask('Hello?')")
    usage = bare.do("%chat_credits --usage")
    titles = re.findall('title="(.*?)"', usage.html)
    assert titles[0] == "? credits; 97 of 100 credits left"
    assert titles[1:] == [f"3 credits; {left} of 100 credits left" for left in range(94, 69, -3)]
    assert "<details><summary>Each request as a table</summary>" in usage.html
    assert usage.html.count(OTHERS) == 1
    rows = list(current_session().ledger.rows)
    assert {row.cell for row in rows} == {None}
    assert (
        rows[0].request == bare["chatmagic"].current_session().conversation.turns[0].record.request
    )
    account.left = 4
    bare.machine("%%chat\nHello?")
    assert "not enough for one more such turn." in bare.do("%chat_credits --usage").texts[0]


USED = b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}\n\n'


def test_a_service_without_credits_is_not_told_of_them(
    bare: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tokens and the time stand under a reply, and a replay has the time of the recording."""
    told = {"x-litellm-key-spend": "0.0123", "x-litellm-key-max-budget": "5.0"}
    monkeypatch.setenv("CHATMAGIC_AUTH", "none")
    for headers, before in ({}, ""), (told, "spent 0.0123 of 5.00 (the gateway's figure) · "):
        times = iter([100.0])
        monkeypatch.setattr(service_call, "monotonic", lambda: next(times, 103.2))  # noqa: B023
        script = playing(stream(event("Hi"), USED, DONE, headers=headers))
        cassette = tmp_path / f"{len(headers)}.jsonl"
        with Server(script) as server:
            monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
            bare.do(f"%chat_cassette {cassette} --record")
            live = bare.machine("%%chat\nHello?")
        bare.do(f"%chat_reset\n%chat_cassette {cassette} --replay")
        monkeypatch.setattr(service_call, "monotonic", float)
        replayed = bare.machine("%%chat\nHello?")
        for ran in live, replayed:
            assert f"{before}9 tokens sent, 4 received · 3.2 s<" in unescape(ran.html)
            assert ran.records[0]["seconds"] == 3.2
        assert "9 tokens sent, 4 received; 3.2 s" in bare.do("%chat_retry --list").texts[0]
        bare.do("%chat_cassette --off")
        for command in "%chat", "%chat_credits", "%chat_credits --usage", "%chat --dry Why?":
            said = bare.do(command).texts[0].replace("No answer has reported credits.", "")
            assert "redit" not in said, command
            assert (before[:-3] in said) == (command != "%chat_credits --usage" or not before)
        bare.do("%chat_reset")


def test_a_long_ledger_is_cut() -> None:
    """It says where the other rows are."""
    ledger = new_ledger(GivenEnvironment)
    for _ in range(30):
        reservation = Reservation(SERVICE, "map", None, "0" * 64)
        ledger.begin(reservation)
        ledger.end(reservation, Reply("yes"))
    text = usage(ledger, SERVICE.origin)[1]
    assert "The latest 20; session.ledger has 10 more." in text
    assert re.match(r"11 +\d{4}-", text.splitlines()[2])  # its first row has the date
    assert len(text.splitlines()) == 23
    assert "redit" not in text


def test_a_date_is_said_once() -> None:
    """A row has it if the row before has another; few rows are no plot."""
    ledger = new_ledger(GivenEnvironment)
    row = LedgerRow(
        number=1, time=NOW, service="a", entry="cell", cell=None, request="0", total_tokens=5
    )
    times = [NOW, NOW + timedelta(hours=1), NOW + timedelta(hours=13)]
    ledger.rows.extend(replace(row, time=time) for time in times)
    html, text = usage(ledger, "a")
    shown = [line.split()[1:3] for line in text.splitlines()[2:5]]
    assert shown == [["2026-01-01", "12:00:00"], ["13:00:00", "cell"], ["2026-01-02", "01:00:00"]]
    assert "<details>" not in html
    assert 'role="img"' not in html
    ledger.rows.extend([row] * (LEAST_PLOTTED - 3))
    html, _ = usage(ledger, "a")
    assert html.count('title="5 tokens"') == LEAST_PLOTTED  # without credits tokens are drawn
    assert "<details><summary>Each request as a table" in html


def test_rows_have_names_for_people() -> None:
    """Also one that failed, or whose figures are not known."""
    ledger = new_ledger(GivenEnvironment)
    ledger.rows.append(
        LedgerRow(
            number=1,
            time=NOW,
            service="emulator",
            entry="cell",
            cell=None,
            request="0" * 64,
            error="ServiceError",
        )
    )
    _, text = usage(ledger, "emulator")
    assert " ".join(text.splitlines()[2].split()) == "1 cell (ServiceError)"
