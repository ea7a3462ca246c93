"""A saved notebook as a cassette: the interactions by which its requests are replayed."""

from __future__ import annotations

from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _json
from chatmagic._json import shared
from chatmagic.archive import notebook
from chatmagic.cassette.file import DIGITS, Interaction, name_of
from chatmagic.conversation.request_facts import ASKED_FOR_THE_REST
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts
from chatmagic.text import numbered

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from chatmagic.conversation.record import Record
    from chatmagic.models import Credits

_SENT: Final = ("stream", "max_tokens", "temperature")
"""The parameters of a record that are fields of a request."""


def recorded(path: Path) -> tuple[Interaction, ...]:
    """Return the interactions of a notebook's whole replies.

    Raises:
        InputError: the file is no notebook, no reply in it can be replayed, or one of them is
            not what was recorded.
    """
    file = notebook.read(path)
    changed = [saved.cell for saved, _ in file.turns if saved.fault]
    if changed:
        held = "holds" if len(changed) == 1 else "hold"
        raise InputError(
            f"{path}: {numbered(changed, 'cell')} no longer {held} what was recorded and "
            "sealed, so nothing is replayed from this notebook.",
            hint="Use the file as it was saved, or ask again.",
        )
    interactions: list[Interaction] = []
    carried: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
    for saved, record in file.turns:
        # A record lists the newest turns; the others are those that the first of these carried.
        earlier = carried.get((next(iter(record.carried), None), record.chain), ())
        before = tuple(record.carried)
        if len(earlier) == record.earlier:
            before = (*earlier, *before)
            carried[record.turn, _json.chain_of(record.carried, record.chain)] = before
        elif record.chain is not None:
            before = (record.chain, *before)
        if record.state == "complete":
            interactions.append(_interaction(record, saved.text or "", before))
    if not interactions:
        why = file.missing or "none of its outputs holds a reply."
        lines = " ".join([why[:1].upper() + why[1:], *file.problems[:1]])
        raise InputError(f"{path} holds no reply that can be replayed. {lines}")
    return tuple(interactions)


def _interaction(record: Record, text: str, before: tuple[str, ...]) -> Interaction:
    """Return the interaction of a turn.

    Args:
        record: the turn's record.
        text: the reply.
        before: digests of the turns that its request carried; first the chain digest of those
            that are not known.
    """
    sent = {name: record.parameters[name] for name in _SENT if name in record.parameters}
    prompt, typed = record.prompt, record.prompt if record.values else None
    if record.continues is not None:
        prompt, typed, before = ASKED_FOR_THE_REST, None, (*before, record.continues)
    return Interaction(
        request=record.request,
        prompt=prompt,
        before=tuple(digest[:DIGITS] for digest in before),
        asked_model=record.asked_model,
        instructions=name_of(record.instructions),
        parameters={"stream": True, **sent},
        typed=typed,
        owner=record.owner,
        headers=headers_for(record.credits, record.date),
        text=text,
        **shared(record, BodyFacts),
        took=record.took,
        origin=record.recorded or ("live" if record.origin == "replay" else record.origin),
    )


def headers_for(credits: Credits | None, date: datetime | None) -> tuple[tuple[str, str], ...]:
    """Return the headers that tell what a turn's record knows of its answer (fact 10).

    Args:
        credits: the credits of the answer; ``None`` where they are not known.
        date: the answer's ``Date``; without one the time of the credits stands for it.
    """
    when = date or (None if credits is None else credits.seen_at)
    headers: dict[str, Any] = {"Date": when and format_datetime(when, usegmt=True)}
    if credits is not None:
        headers["X-RateLimit-Limit"] = credits.limit
        headers["X-RateLimit-Remaining"] = credits.remaining
        headers["X-RateLimit-Reset"] = _json.iso(credits.resets_at)
    return tuple((name, str(value)) for name, value in headers.items() if value is not None)
