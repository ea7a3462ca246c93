"""Stale cells: those that a cell has made stale, and the estimated cost of asking them again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from chatmagic._log import swallowed
from chatmagic.conversation.staleness import Cause
from chatmagic.errors import ChatError
from chatmagic.session.budget import OTHERS
from chatmagic.session.session import Session
from chatmagic.text import counted


def below(causes: Mapping[str, Cause], order: Sequence[str]) -> dict[str, list[str]]:
    """Return the stale cells below each cell that made them stale, in order.

    Args:
        causes: the causes of staleness, by the cells' hashes.
        order: hashes of a page's cells from top to bottom.
    """
    made: dict[str, list[str]] = {}
    for place, cell in enumerate(order):
        owner = causes[cell].owner if cell in causes else None
        if owner is not None and owner in order[:place]:
            made.setdefault(owner, []).append(cell)
    return made


def quote(session: Session, cells: Collection[str], where: str = "") -> str:
    """Return how many turns the cells would ask, and the estimated cost.

    Args:
        session: the session.
        cells: hashes of stale cells.
        where: where they stand, after the count.
    """
    # A cell that asked for another reply to a turn asks once more.
    count = max(len(cells), sum(turn.owner in cells for turn in session.conversation))
    ledger = session.ledger
    last = next(reversed(ledger.rows), None)
    credits = None if last is None else ledger.meter(last.service).about(count)
    takes = "what that takes is not known yet"
    if _is_replayed(session):
        takes = "a replay takes no credits"
    elif credits is not None:
        takes = f"about {counted(credits, 'credit')}, by what requests took lately; {OTHERS}"
    return f"{counted(count, 'turn')}{where} {'is' if count == 1 else 'are'} stale: {takes}"


def _is_replayed(session: Session) -> bool:
    """Return whether a cassette answers, and nothing is sent."""
    with swallowed(ChatError):  # settings may contradict each other; the next question says so
        cassette = session.environment.cassette()
        return cassette is not None and cassette.config.mode == "replay"
    return False
