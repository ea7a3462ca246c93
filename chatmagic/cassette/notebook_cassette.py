"""A notebook as a cassette."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from chatmagic._json import with_shared_fields
from chatmagic.archive import notebook, restore
from chatmagic.archive.interaction import DIGITS, Interaction, headers_for, instructions_name
from chatmagic.conversation.question import ASKED_FOR_THE_REST
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import NOTHING
from chatmagic.errors import InputError
from chatmagic.models import BodyFacts
from chatmagic.safe_text import numbered

_SENT: Final = ("stream", "max_tokens", "temperature")
"""The parameters of a record that are fields of a request."""


def from_notebook(path: Path) -> tuple[Interaction, ...]:
    """Return the interactions of a notebook's whole replies.

    Args:
        path: the notebook.

    Raises:
        InputError: the file is no notebook, no reply in it can be replayed, or a reply was changed
            since it was recorded.
    """
    file = notebook.read_notebook(path)
    changed = [saved.cell for saved, _ in file.turns if saved.fault]
    if changed:
        raise InputError(
            f"{path}: {numbered(changed, 'cell')} not as recorded and sealed, so nothing is "
            "replayed from this notebook.",
            hint="Use the file as it was saved, or ask again.",
        )
    restored = restore.restore(file)
    interactions: list[Interaction] = []
    for saved, record in file.turns:
        asked = restored.asked.get(restored.numbers.get(saved, 0))
        carried = NOTHING if asked is None else asked[0].carried
        # If no output shows the first turns, they have one chain digest together.
        unknown = carried.root.chain
        before = carried.digests if unknown is None else (unknown, *carried.digests)
        if record.state == "complete":
            interactions.append(_interaction(record, saved.text or "", before))
    if not interactions:
        why = file.missing or "none of its outputs holds a reply."
        lines = " ".join([why, *file.problems[:1]])
        raise InputError(f"{path} holds no reply that can be replayed: {lines}")
    return tuple(interactions)


def _interaction(record: Record, text: str, before: tuple[str, ...]) -> Interaction:
    """Return the interaction of a turn.

    Args:
        record: the turn's record.
        text: the reply.
        before: digests of the turns that its request carried, oldest first. A chain digest at the
            beginning stands for unknown turns.
    """
    sent = {name: record.parameters[name] for name in _SENT if name in record.parameters}
    prompt = record.prompt
    typed = record.prompt if record.values else None
    turn = record.turn
    if record.continues is not None:
        prompt = ASKED_FOR_THE_REST
        typed = None
        turn = None
        before = (*before, record.continues)
    interaction = Interaction(
        request=record.request,
        prompt=prompt,
        before=tuple(digest[:DIGITS] for digest in before),
        asked_model=record.asked_model,
        instructions=instructions_name(record.instructions),
        parameters={"stream": True, **sent},
        typed=typed,
        owner=record.owner,
        headers=headers_for(record.credits, record.date),
        text=text,
        took=record.took,
        seconds=record.seconds,
        origin=record.recorded or ("live" if record.origin == "replay" else record.origin),
        known_turn=turn and turn[:DIGITS],
    )
    return with_shared_fields(interaction, record, BodyFacts)
