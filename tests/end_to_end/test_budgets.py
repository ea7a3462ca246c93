"""Budgets and forecasts before a service on loopback whose truth is known: it counts."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from random import Random
from typing import TYPE_CHECKING, Final

import pytest
from environments import GivenEnvironment
from loopback import PATIENCE, Server
from test_many_prompts import Counting, in_file

import chatmagic
from chatmagic.errors import BudgetError, RateLimitError
from chatmagic.jupyter.usage_view import shown
from chatmagic.session.events import Ask, Listener
from chatmagic.session.session import Session
from chatmagic.session.spending import Spending
from chatmagic.session.state import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WORKERS: Final = 8
DEAREST: Final = 5
"""What a request takes at most, where they vary."""


def varying(number: int) -> int:
    """Return what the request of a number takes; the first ones take as much as any."""
    return Random(number).randint(1, DEAREST) if number > 2 else DEAREST  # noqa: S311


@pytest.mark.parametrize(
    ("budget", "cost", "used"),
    [
        ("40", lambda _: 3, (39, 39)),
        ("20 turns", lambda _: 3, (60, 60)),
        # By the dearest of the last ten: those under way take more by the difference at most.
        ("40", varying, (40 - DEAREST, 40 + (WORKERS + 2) * (DEAREST - 1))),
    ],
    ids=["credits", "turns", "costs that vary"],
)
def test_cells_panel_and_map_at_once_pass_no_budget(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    budget: str,
    cost: Callable[[int], int],
    used: tuple[int, int],
) -> None:
    """Also of two sessions; what does not go into the budget is not sent."""
    service, credits = Counting(cost=cost), Counting().credits
    environment = GivenEnvironment(budget=lambda: budget, notify=str)
    monkeypatch.setattr(SessionState, "spending", Spending(lambda: environment))
    with Server(service) as server, chatmagic.Client(server.origin, "k") as client:
        sessions = Session(client), Session(client)
        came, has_ended = threading.Event(), threading.Event()
        service.before = lambda prompt: came.set() if prompt == "0" else None

        def asking(session: Session, entry: str) -> Callable[[], None]:
            ask = Ask("ask", history=False, entry=entry)  # type: ignore[arg-type]

            def run() -> None:
                # What the map has under way may take all that is left, while that is unknown.
                while not has_ended.is_set():
                    try:
                        session.run(ask, Listener(None))
                    except BudgetError:
                        has_ended.wait(0.01)

            return run

        entries = "cell", "panel"
        threads = [
            threading.Thread(target=asking(session, entry))
            for session, entry in zip(sessions, entries, strict=True)
        ]

        def rows() -> Iterator[int]:
            yield 0
            assert came.wait(PATIENCE)
            for thread in threads:
                thread.start()
            yield from range(1, 100)

        sessions[0].ask("ask", history=False)
        with pytest.raises(BudgetError, match="the same call goes on"):
            sessions[0].map(
                "{{ it }}", rows(), yes=True, workers=WORKERS, file=tmp_path / "rows.jsonl"
            )
        has_ended.set()
        for thread in threads:
            thread.join(PATIENCE)
        with contextlib.suppress(BudgetError):
            while True:
                sessions[1].ask("ask", history=False)
    assert used[0] <= credits - service.credits <= used[1]
    ledger = sessions[1].ledger
    assert len(ledger) == service.asked.total()
    assert [row.entry for row in ledger].count("map") == len(in_file(tmp_path / "rows.jsonl")) > 0
    assert sum(row.took or 0 for row in ledger) == credits - service.credits - cost(1)


def test_what_a_turn_took_is_told_where_it_was_alone(tmp_path: Path) -> None:
    """Not while a map has rows under way; its figures are the session's, too."""
    service = Counting(cost=lambda _: 3)
    came, go = threading.Event(), threading.Event()

    def before(prompt: str) -> None:
        if prompt == "row":
            came.set()
            go.wait(PATIENCE)

    service.before = before
    with Server(service) as server, chatmagic.Client(server.origin, "k") as client:
        session = Session(client)
        took = [session.ask("ask").took for _ in range(2)]
        handle = session.map(
            "{{ it }}", ["row"], yes=True, block=False, file=tmp_path / "rows.jsonl"
        )
        assert came.wait(PATIENCE)
        took.append(session.ask("ask").took)
        assert session.took is None
        go.set()
        handle.result()
        assert session.credits is not None
        assert session.credits.remaining == service.credits
        took.append(session.ask("ask").took)
    assert took == [None, 3, None, 3]
    assert [turn.record and turn.record.took for turn in session.conversation] == took


def forecast(service: Counting) -> tuple[tuple[int, int], int]:
    """Ask 12 times, then until no credits are left.

    Returns:
        Between how many and how many turns were left, as ``%chat_credits --usage`` said then,
        and how many were.
    """
    with Server(service) as server, chatmagic.Client(server.origin, "k") as client:
        session = Session(client)
        for _ in range(12):
            session.ask("ask", history=False)
        words = shown(session.spending, server.origin)[1]
        told = re.search(
            r"about ([\d,]+)(?: to ([\d,]+))? more turns like these; others may", words
        )
        with contextlib.suppress(RateLimitError):
            while True:
                session.ask("ask", history=False)
    assert told is not None
    return (int(told[1]), int(told[2] or told[1])), service.asked.total() - 13


@pytest.mark.parametrize(
    ("cost", "others"),
    [
        (lambda _: 3, 0),
        (varying, 0),
        (lambda _: 3, 3),
        (lambda number: number, 0),
        (lambda number: 5 + number // 2, 1),
    ],
    ids=["constant", "varying", "others share the quota", "growing", "growing, and others"],
)
def test_a_forecast_covers_how_many_turns_are_left(cost: Callable[[int], int], others: int) -> None:
    """What others take of the quota is in it, as they took it lately; so is how turns grow."""
    service, luck = Counting(600, cost), Random(1)  # noqa: S311

    def take(_: str) -> None:
        service.credits = max(service.credits - luck.randint(0, others), 0)

    service.before = take
    (fewest, most), were = forecast(service)
    assert fewest <= were <= most
    assert most < 6 * fewest


PROGRAM: Final = """
import os, signal, sys
import chatmagic
from chatmagic import _startup
from chatmagic.client import stream, transport
from chatmagic.errors import BudgetError, RateLimitError
from chatmagic.jupyter.usage_view import shown
from chatmagic.session import day_file, steps

origin, *plan = sys.argv[1:]

def asking(point):
    def killing(name, original, after=False):
        def called(*args, **named):
            if name == point and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*args, **named)
            if name == point:
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        return called

    File, Stream = day_file.DayFile, stream.ReplyStream
    File.reserve = killing("before it is reserved", File.reserve)
    day_file.replace_content = killing("as it is written", day_file.replace_content)
    File.reserve = killing("when it is reserved", File.reserve, after=True)
    Stream._note_headers = killing("as the headers come", Stream._note_headers)
    File.settle = killing("before it is settled", File.settle)
    File.settle = killing("when it is settled", File.settle, after=True)
    session = chatmagic.Session(chatmagic.Client(origin, "k"))
    try:
        while True:
            session.ask("ask", history=False)
    except BudgetError:
        os._exit(7)

def fork(point):
    child = os.fork()
    if not child:
        try:
            asking(point)
        finally:
            os._exit(1)
    return child

for each in plan:
    _startup.BUDGET, together = each.split(": ")
    children = [fork(point) for point in together.split("+")]
    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""
"""Kernels that ask until the budget refuses, or kill themselves at a point."""

needs_fork = pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="Linux's folder")


def kernels(folder: Path, plan: Sequence[str]) -> int:
    """Run kernels that share a day's file, and the account of a service.

    Args:
        folder: the state folder.
        plan: one after the other the budget of a day, a colon, and what runs at once with a plus
            between them: the point at which a kernel kills itself, or ``none``.

    Returns:
        How many requests were sent; each takes three credits.
    """
    service = Counting(cost=lambda _: 3)
    with Server(service) as server:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, server.origin, *plan],
            check=False, capture_output=True, text=True,
            env={**os.environ, "XDG_STATE_HOME": str(folder)},
        )  # fmt: skip
    points = [each.split(": ")[1].split("+") for each in plan]
    ended = [[7 if point == "none" else -9 for point in together] for together in points]
    assert done.stdout.splitlines() == [str(each) for each in ended], done.stderr
    return service.asked.total()


@needs_fork
@pytest.mark.parametrize(
    ("plan", "least", "most"),
    [
        # Each sees what the others take, as of any others, so they may use less of it.
        (["7 a day: none", "40 a day: none+none+none"], 3, 13),
        (["16 turns a day: none+none+none"], 16, 16),
    ],
    ids=["credits", "turns"],
)
def test_kernels_at_once_never_pass_the_budget_of_a_day(
    tmp_path: Path, plan: list[str], least: int, most: int
) -> None:
    """In credits once a cost is known, which the first one finds out by two requests."""
    assert least <= kernels(tmp_path, plan) <= most


POINTS: Final = (
    "as the headers come",
    "when it is reserved",
    "before it is reserved",
    "as it is written",
    "before it is settled",
    "when it is settled",
)
UNSENT: Final = 1
"""How many of these kernels die when a request is reserved, and not yet sent."""


@needs_fork
def test_a_killed_kernel_leaves_the_file_usable(tmp_path: Path) -> None:
    """What it had under way counts as a request; the next kernel goes on within the budget."""
    plan = [f"40 a day: {point}" for point in (*POINTS, "none")]
    assert kernels(tmp_path, plan) == 13 - UNSENT
