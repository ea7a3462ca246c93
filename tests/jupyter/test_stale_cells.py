"""Stale cells: which of them a cell has made stale, and what asking them again takes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cassette_choice import choosing
from environments import GivenEnvironment
from talks import abc, ask

from chatmagic.jupyter import stale_cells
from chatmagic.session.ledger_row import LedgerRow
from chatmagic.session.session import Session

ROW = LedgerRow(
    number=1,
    time=datetime(2026, 1, 1, tzinfo=UTC),
    service="https://a.example",
    entry="cell",
    cell=None,
    request="",
    each=3,
)


def test_the_cells_below_their_cause_are_told() -> None:
    """In the page's order, with those that become stale by them; not those above the cause."""
    talk = abc()
    ask(talk, "d", "d", "1d", last=1)
    ask(talk, "B", "b", "2b")
    assert stale_cells.below(talk.causes(), "abcd") == {"b": ["c", "d"]}
    assert stale_cells.below(talk.causes(), "acdb") == {}
    assert stale_cells.below(talk.causes(), "cbd") == {}


def enter(session: Session, row: LedgerRow) -> None:
    """Enter a request into a session's ledger."""
    session.ledger.rows.append(row)
    if row.each is not None:
        session.ledger.meter(row.service).costs.append(row.each)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ((), ": its cost is not known yet"),
        ((None,), ""),
        (
            (3, 4),
            ": about 14 credits, by the cost of recent requests; others may share the credits",
        ),
    ],
)
def test_what_they_take_is_an_estimate(costs: tuple[int | None, ...], words: str) -> None:
    """By the mean of the last requests, for each turn that the cells would ask."""
    session = Session()
    for turn in abc().turns[1:]:
        session.conversation.add(turn)
    ask(session.conversation, "b, too", "b", "1b")
    ask(session.conversation, "d", "d", "1d", last=1)
    ask(session.conversation, "A", "a", "2a")
    for number, each in enumerate(costs, 1):
        enter(session, replace(ROW, number=number, each=each))
    causes = session.conversation.causes()
    quoted = stale_cells.in_words(session, ["b", "c", "d"], causes)
    assert quoted == f"2 turns are stale, and 4 are asked again{words}"


def test_a_replay_takes_no_credits() -> None:
    """Whatever requests took before."""
    session, causes = Session(), abc().causes()
    enter(session, replace(ROW, each=3))
    session.environment = GivenEnvironment(command_choice=choosing(Path("a.jsonl")))
    words = stale_cells.in_words(session, ["b"], causes)
    assert words.endswith(": a replay costs nothing")
