"""Stale cells: the cause of each, and the estimated cost of asking them again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chatmagic.conversation.staleness import Causes
from chatmagic.protocol.credits import OTHERS, has_credit_figures
from chatmagic.safe_text import counted
from chatmagic.session.features import sends_nothing
from chatmagic.session.meter import Meter
from chatmagic.session.session import Session


def below(causes: Causes, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the cells to ask again, in order, by the cell above that made them stale.

    Args:
        causes: causes of the stale turns.
        order: hashes of a page's cells from top to bottom.
    """
    stale = causes.by_cell()
    following = causes.by_cell(following=True)
    by_owner: dict[str, list[str]] = {}
    for place, cell in enumerate(order):
        owner = following[cell].owner if cell in following else None
        if owner is None or owner not in order[:place]:
            continue
        # A cell that only follows from a stale one is listed below it.
        if cell in stale or owner in by_owner:
            by_owner.setdefault(owner, []).append(cell)
    return by_owner


def in_words(session: Session, cells: Collection[str], causes: Causes, where: str = "") -> str:
    """Return the number of stale turns, the number of turns to ask again, and the estimated cost.

    Args:
        session: the session.
        cells: hashes of the cells that are to run again.
        causes: causes of the stale turns.
        where: words on their place, after the count.
    """
    turns = [turn for turn in session.conversation if turn.owner in cells]
    stale = sum(causes.cause_of(turn.number) is not None for turn in turns)
    # A cell that asked for another reply to a turn asks once more.
    count = max(len(cells), len(turns))
    more = f", and {count:,} are asked again" if count > stale else ""
    are = "is" if stale == 1 else "are"
    words = f"{counted(stale, 'turn')}{where} {are} stale{more}"
    estimate = cost(session, count)
    return f"{words}: {estimate}" if estimate else words


def cost(session: Session, count: int) -> str:
    """Return the approximate cost of requests in credits, in words; empty if none are told.

    Args:
        session: the session.
        count: number of requests.
    """
    if sends_nothing(session.environment):
        return "a replay costs nothing"
    ledger = session.ledger
    last = next(reversed(ledger.rows), None)
    meter = Meter() if last is None else ledger.meter(last.service)
    if (credits := meter.about(count)) is None:
        return (
            "its cost is not known yet" if last is None or has_credit_figures(meter.credits) else ""
        )
    return f"about {counted(credits, 'credit')}, by the cost of recent requests; {OTHERS}"
