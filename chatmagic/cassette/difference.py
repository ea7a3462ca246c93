"""The recorded request that is nearest to a request, and the first difference between the two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from chatmagic.archive.interaction import Interaction
from chatmagic.safe_text import counted

LONGEST_DIFFERENCE: Final = 48
"""Number of characters of each text that are shown around a difference."""
LENGTH_BEFORE: Final = 20
"""Number of these characters before the difference."""


def nearest(asked: Interaction, recorded: Iterable[Interaction]) -> Interaction | None:
    """Return the recorded request that is most like a request; ``None`` if none is recorded.

    The same prompt counts most, then the number of equal earlier turns, then the number of earlier
    turns, then the length of the prompts' common beginning, then the same parameters. Among equals
    the latest wins.

    Args:
        asked: the request, as it would be recorded.
        recorded: the recorded requests, oldest first.
    """

    def likeness(candidate: Interaction) -> tuple[bool, int, int, int, bool]:
        return (
            asked.as_typed == candidate.as_typed,
            _shared(asked.before, candidate.before),
            -abs(len(asked.before) - len(candidate.before)),
            _shared(_prompt(asked, candidate), candidate.prompt),
            asked.parameters == candidate.parameters,
        )

    return max(reversed([*recorded]), key=likeness, default=None)


def difference(asked: Interaction, recorded: Interaction) -> str:
    """Return a sentence on the first difference between a request and a recorded one.

    Args:
        asked: the request, as it would be recorded.
        recorded: the recorded request.
    """
    ours = asked.before
    theirs = recorded.before
    if len(ours) != len(theirs):
        return (
            f"The nearest recorded request carries {counted(len(theirs), 'turn')}, this one "
            f"{len(ours):,}: a cell above was added, left out, or run in another order."
        )
    if ours != theirs:
        return (
            f"Turn {_shared(ours, theirs) + 1:,} of {len(ours):,} that it carries has another "
            "prompt or reply than the recorded one."
        )
    prompt = _prompt(asked, recorded)
    other = recorded.prompt
    if prompt != other:
        begin = max(0, _shared(prompt, other) - LENGTH_BEFORE)
        mine, its = (text[begin : begin + LONGEST_DIFFERENCE] for text in (prompt, other))
        return (
            f"Message {2 * len(ours) + 1:,} (the prompt) differs: asked {mine!r}, recorded {its!r}."
        )
    return _changed_fact(asked, recorded)


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the length of the common beginning of two texts or lists."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _prompt(request: Interaction, recorded: Interaction) -> str:
    """Return a prompt as sent; for a notebook, which has only the typed form, as typed."""
    return request.as_typed if recorded.typed == recorded.prompt else request.prompt


def _changed_fact(asked: Interaction, recorded: Interaction) -> str:
    """Return the sentence for two requests whose messages are the same."""
    ours = {**asked.parameters, "model": asked.asked_model, "instructions": asked.instructions}
    # A recorded model does not count if none is set now.
    model = asked.asked_model and recorded.asked_model
    theirs = {**recorded.parameters, "model": model, "instructions": recorded.instructions}
    for name in [*theirs, *ours]:
        if (now := ours.get(name)) != (then := theirs.get(name)):
            return f"The messages are the same, but {name} is {now!r}, and was {then!r}."
    return (
        "The prompt as typed is the same, but a value that it puts in, stream, extra_body or "
        "system_role differs."
    )
