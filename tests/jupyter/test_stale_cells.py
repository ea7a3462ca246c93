"""Stale cells: which of them a cell has made stale, and what asking them again takes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest
from environments import GivenEnvironment
from talks import abc, ask

from chatmagic.cassette.cassette import CassetteConfig, CassetteSetup
from chatmagic.conversation.staleness import Cause
from chatmagic.errors import InputError
from chatmagic.jupyter import stale_cells
from chatmagic.session.ledger import LedgerRow
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
    """In the page's order; not those above it, nor those whose cause is on no page."""
    causes = {
        "a": Cause("moved", owner="c"),
        "b": Cause("order"),
        "d": Cause("run again", owner="c"),
        "e": Cause("taken back", owner="gone"),
        "f": Cause("run again", owner="c"),
    }
    assert stale_cells.below(causes, "abcdef") == {"c": ["d", "f"]}


def enter(session: Session, row: LedgerRow) -> None:
    """Enter a request into a session's ledger."""
    session.ledger.rows.append(row)
    if row.each is not None:
        session.ledger.meter(row.service).costs.append(row.each)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ((), "what that takes is not known yet"),
        ((None,), "what that takes is not known yet"),
        ((3, 4), "about 11 credits, by what requests took lately; others may share the quota"),
    ],
)
def test_what_they_take_is_an_estimate(costs: tuple[int | None, ...], words: str) -> None:
    """By the mean of the last requests, for each turn that the cells would ask."""
    session = Session()
    for turn in abc().turns[1:]:
        session.conversation.add(turn)
    ask(session.conversation, "b, too", "b", "1b")
    for number, each in enumerate(costs, 1):
        enter(session, replace(ROW, number=number, each=each))
    assert stale_cells.quote(session, ["b", "c"]) == f"3 turns are stale: {words}"


def test_a_replay_takes_no_credits() -> None:
    """Whatever requests took before; settings that do not go together are no replay."""
    session = Session()
    enter(session, replace(ROW, each=3))
    replayed = CassetteSetup(CassetteConfig(Path("a.jsonl"), "replay"))
    session.environment = GivenEnvironment(cassette=lambda: replayed)
    assert stale_cells.quote(session, ["b"]) == "1 turn is stale: a replay takes no credits"
    session.environment = GivenEnvironment(cassette=Mock(side_effect=InputError("No.")))
    assert "about 3 credits" in stale_cells.quote(session, ["b"])
