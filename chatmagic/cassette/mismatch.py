"""Mismatch of a request: the recorded request nearest to it, and a sentence on the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.cassette.interaction import Interaction
    from chatmagic.cassette.items import Query

EXCERPT: Final = 48
"""How many characters of each side are shown around a difference."""
BEFORE: Final = 20
"""How many of these stand before the difference."""


def nearest(asked: Interaction, recorded: Sequence[Interaction]) -> Interaction | None:
    """Return the recorded request most like a request; ``None`` where none is recorded.

    The same prompt counts most, then how many of the earlier turns are the same, then the same
    instructions, then how far the prompts begin alike.
    """

    def likeness(candidate: Interaction) -> tuple[bool, int, bool, int, int]:
        return (
            asked.as_typed == candidate.as_typed,
            _shared(asked.before, candidate.before),
            asked.instructions == candidate.instructions,
            _shared(_prompt(asked, candidate), candidate.prompt),
            -abs(len(asked.before) - len(candidate.before)),
        )

    return max(recorded, key=likeness, default=None)


def difference(query: Query, recorded: Interaction, held: Sequence[Interaction]) -> str:
    """Return a sentence on the first difference between a request and a recorded one.

    Args:
        query: the request.
        recorded: the one to compare it with.
        held: all recorded interactions, which tell the words of the turns before it.
    """
    ours, theirs = query.asked.before, recorded.before
    shared = _shared(ours, theirs)
    prompt, other = _prompt(query.asked, recorded), recorded.prompt
    turn = next((item for item in held if item.turn in theirs[shared : shared + 1]), None)
    if shared == len(ours) < len(theirs) and prompt != other:
        if turn is None or turn.prompt == query.asked.prompt:
            return (
                "The messages before it are the recorded ones, but no reply to this prompt is "
                "recorded after them."
            )
        return _message(2 * shared, "the prompt", query.asked.prompt, turn.prompt)
    if len(ours) != len(theirs) and (shared == min(len(ours), len(theirs)) or prompt == other):
        return (
            f"The nearest recorded request carries {_earlier(theirs)}, this one {_earlier(ours)}: "
            "a cell above was added, left out, or run in another order."
        )
    if shared < len(ours):
        return _turn_above(shared, query, turn)
    if prompt != other:
        return _message(2 * shared, "the prompt", prompt, other)
    return _changed_parameters(query.asked, recorded)


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the length of the beginning that two texts or lists have in common."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _prompt(request: Interaction, recorded: Interaction) -> str:
    """Return a prompt as sent; as typed where a notebook is compared, which has no other."""
    return request.as_typed if recorded.typed == recorded.prompt else request.prompt


def _earlier(turns: Sequence[str]) -> str:
    return counted(2 * len(turns), "earlier message")


def _turn_above(number: int, query: Query, recorded: Interaction | None) -> str:
    """Return the sentence for a turn above the prompt.

    Args:
        number: how many turns are before it.
        query: the request.
        recorded: the recorded turn; ``None`` where the cassette holds another request's alone.
    """
    mine = [message.content for message in query.messages[2 * number : 2 * number + 2]]
    theirs = [] if recorded is None else [recorded.prompt, recorded.text or ""]
    kinds = ("a prompt above", "a reply above")
    for at, (kind, now, then) in enumerate(zip(kinds, mine, theirs, strict=False), 2 * number):
        if now != then:
            return _message(at, kind, now, then)
    return (
        f"Messages {2 * number + 1:,} and {2 * number + 2:,} (a turn above) differ from the "
        "recorded ones: its cell was changed, or a value that it puts in."
    )


def _changed_parameters(asked: Interaction, recorded: Interaction) -> str:
    if asked.instructions != recorded.instructions:
        return f"The messages are the same, but {_instructed(asked, recorded)}."
    ours = {**asked.parameters, "model": asked.asked_model}
    # A recorded model does not count where none is set now.
    theirs = {**recorded.parameters, "model": asked.asked_model and recorded.asked_model}
    for name in [*theirs, *ours]:
        now, then = (
            "not set" if values.get(name) is None else repr(values[name])
            for values in (ours, theirs)
        )
        if now != then:
            return f"The messages are the same, but {name} is {now}, and was recorded as {then}."
    return (
        "The prompt as typed is the same, but a value that it puts in, --no-stream, extra_body or "
        "system_role differs."
    )


def _instructed(asked: Interaction, recorded: Interaction) -> str:
    """Return in words how the instructions of two requests differ."""
    if recorded.instructions is None:
        return "this one carries instructions, and the recorded one carried none"
    if asked.instructions is None:
        return "this one carries no instructions, and the recorded one carried some"
    return "the instructions that go along are not the recorded ones"


def _message(at: int, kind: str, now: str, then: str) -> str:
    """Return the sentence for a message: both texts around the first character that differs.

    Args:
        at: the message's index.
        kind: what it is.
        now: the text that is asked.
        then: the recorded one.
    """
    begin = max(0, _shared(now, then) - BEFORE)
    asked, recorded = (_excerpt(text, begin) for text in (now, then))
    return f"Message {at + 1:,} ({kind}) differs: asked “{asked}”, recorded “{recorded}”."


def _excerpt(text: str, begin: int) -> str:
    """Return a part of a text on one line; what cannot be seen, or acts, as an escape."""
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text[begin : begin + EXCERPT]
    )
    return f"{'…' if begin else ''}{shown}{'…' if begin + EXCERPT < len(text) else ''}"
