"""Questions in a cassette: its exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from chatmagic._json import digest, with_shared_fields
from chatmagic.archive.interaction import Interaction
from chatmagic.models import BodyFacts
from chatmagic.protocol import credits as crediting
from chatmagic.study.asked import Asked, settings_of


def from_interactions(interactions: Sequence[Interaction], file: str) -> list[Asked]:
    """Return the questions of a cassette's exchanges.

    Args:
        interactions: the exchanges.
        file: path of their file.
    """
    return [_of_interaction(item, file, place) for place, item in enumerate(interactions, 1)]


def _of_interaction(item: Interaction, file: str, place: int) -> Asked:
    """Return the question of an exchange."""
    facts = crediting.reply_facts(item.headers, datetime.now(UTC))
    asked = Asked(
        file=file,
        kind="cassette",
        place=place,
        cell=item.owner,
        typed=item.as_typed,
        prompt=item.prompt,
        prompt_digest=digest(item.prompt),
        context=item.before,
        name=item.turn,
        instructions=item.instructions,
        settings=settings_of(item.parameters),
        asked_model=item.asked_model,
        request=item.request,
        text=item.text,
        error=None if item.is_reply else f"HTTP {item.status}",
        origin=item.origin,
        date=facts.get("date"),
    )
    return with_shared_fields(asked, item, BodyFacts)
