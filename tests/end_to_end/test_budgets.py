"""Budgets before a service on loopback whose truth is known: it counts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest
from environments import GivenEnvironment
from loopback import PATIENCE, Server
from test_many_prompts import Counting, in_file

import chatmagic
from chatmagic.errors import BudgetError
from chatmagic.session.ask import Ask
from chatmagic.session.features import new_ledger
from chatmagic.session.session import Session
from chatmagic.session.views import Listener

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
    environment = GivenEnvironment(settings={"budget": budget}, notify=str)
    monkeypatch.setattr(Session, "ledger", new_ledger(lambda: environment))
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
        with pytest.raises(BudgetError, match="the same call resumes"):
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
