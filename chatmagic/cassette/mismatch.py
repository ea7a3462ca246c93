"""Mismatch of a request: the recorded request nearest to it, and a sentence on the difference."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from chatmagic.cassette.prefixes import Part, part_digest, parts_of
from chatmagic.models import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmagic.cassette.interaction import Interaction

EXCERPT: Final = 48
"""How many characters of each side are shown around a difference."""

_SPACE: Final = "\N{OPEN BOX}"
_LEAD: Final = re.compile(r"(?s)\S{0,16}.{0,16}\Z")
"""What is shown before a difference: 16 characters, and the rest of the word they begin in."""
_KNOWN_DIGITS: Final = 16
"""How many digits of a digest every source has: a cassette names turns by so many."""


def nearest(asked: Interaction, recorded: Sequence[Interaction]) -> Interaction | None:
    """Return the recorded request most like a request; ``None`` where none is recorded.

    The same prompt counts most, then how many of the earlier turns are the same, then how far
    the prompts begin alike.

    Args:
        asked: the request.
        recorded: the interactions to choose from.
    """
    ours = _parts(asked)

    def likeness(candidate: Interaction) -> tuple[bool, int, int, int]:
        theirs = _parts(candidate)
        return (
            asked.as_typed == candidate.as_typed,
            _shared(_digests(ours), _digests(theirs)),
            _shared(_prompt(asked, candidate), _prompt(candidate, candidate)),
            -abs(len(ours) - len(theirs)),
        )

    return max(recorded, key=likeness, default=None)


def difference(asked: Interaction, recorded: Interaction) -> str:
    """Return a sentence on the first difference between a request and a recorded one.

    Args:
        asked: the request.
        recorded: the one to compare it with.
    """
    ours, theirs = _parts(asked), _parts(recorded)
    shared = _shared(_digests(ours), _digests(theirs))
    prompt, other = _prompt(asked, recorded), _prompt(recorded, recorded)
    number = _count(ours[:shared]) + 1
    if shared == len(ours) < len(theirs) and prompt != other:
        return _continued(number, asked.prompt, theirs[shared])
    if len(ours) != len(theirs) and (shared == min(len(ours), len(theirs)) or prompt == other):
        count = _count(theirs)
        return (
            f"The nearest recorded request carries {count:,} earlier "
            f"message{'' if count == 1 else 's'}, this one {_count(ours):,} earlier "
            f"message{'' if _count(ours) == 1 else 's'}: a cell above was added, left out, or "
            "run in another order."
        )
    if shared < len(ours):
        return _changed_part(number, ours[shared], theirs[shared])
    if prompt != other:
        return f"Message {number:,} (the prompt) differs: {_both(prompt, other)}."
    return _changed_parameters(asked, recorded)


def _parts(request: Interaction) -> list[Part]:
    """Return what precedes the prompt; first what is known by its chain digest alone."""
    unknown: list[Part] = [(request.after,)] if request.after else []
    return [*unknown, *parts_of(request.before)]


def _digests(parts: Sequence[Part]) -> list[str]:
    return [part_digest(part)[:_KNOWN_DIGITS] for part in parts]


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the length of the beginning that two texts or lists have in common."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _prompt(request: Interaction, recorded: Interaction) -> str:
    """Return a prompt as sent; as typed where a notebook is compared, which has no other."""
    return request.as_typed if recorded.typed == recorded.prompt else request.prompt


def _count(parts: Sequence[Part]) -> int:
    """Return the number of messages; a digest stands for a turn's two."""
    return sum(2 if isinstance(part[0], str) else len(part) for part in parts)


def _continued(number: int, prompt: str, recorded: Part) -> str:
    """Return the sentence for a prompt in whose place the recorded conversation has a turn."""
    first = recorded[0]
    if isinstance(first, str):
        return (
            "The messages before it are the recorded ones, but no reply to this prompt is "
            "recorded after them."
        )
    if first.content == prompt:
        return (
            "Later recorded requests carry this prompt, but its own reply is incomplete or not "
            "recorded."
        )
    return f"Message {number:,} (the prompt) differs: {_both(prompt, first.content)}."


def _changed_part(number: int, ours: Part, theirs: Part) -> str:
    """Return the sentence for a part above the prompt.

    Args:
        number: the number of the part's first message.
        ours: the part.
        theirs: the recorded one.
    """
    for at, (mine, other) in enumerate(zip(ours, theirs, strict=False), number):
        if isinstance(mine, Message) and isinstance(other, Message) and mine != other:
            kinds = {"user": "a prompt above", "assistant": "a reply above"}
            kind = kinds.get(mine.role, mine.role)
            return f"Message {at:,} ({kind}) differs: {_both(mine.content, other.content)}."
    return (
        f"Messages {number:,} and {number + 1:,} (a turn above) differ from the recorded ones: "
        "its cell was changed, or a value that it puts in."
    )


def _changed_parameters(asked: Interaction, recorded: Interaction) -> str:
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
        "The prompt as typed is the same, but a value that it puts in, --no-stream or extra_body "
        "differs."
    )


def _both(mine: str, other: str) -> str:
    """Return both texts around the first character that differs."""
    at = _shared(mine, other)
    # Only what cannot be seen differs where what can be seen goes on alike.
    show = _marked if _visible(mine[at:])[:1] == _visible(other[at:])[:1] else _one_line
    lead = _LEAD.search(mine[:at])
    begin = lead.start() if lead else 0
    now, then = (_excerpt(text, begin, show) for text in (mine, other))
    note = f" ({_SPACE} is a space)" if _SPACE in now + then else ""
    return f"asked “{now}”, recorded “{then}”{note}"


def _excerpt(text: str, begin: int, show: Callable[[str], str]) -> str:
    shown = show(text[begin : begin + EXCERPT])
    return f"{'…' if begin else ''}{shown}{'…' if begin + EXCERPT < len(text) else ''}"


def _one_line(text: str) -> str:
    """Return a text on one line, without characters that act in a terminal."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def _visible(text: str) -> str:
    return unicodedata.normalize("NFKC", _one_line(text[:EXCERPT]))


def _marked(text: str) -> str:
    """Return a text with spaces and each character that looks like another one made visible."""

    def mark(char: str) -> str:
        is_itself = unicodedata.normalize("NFKC", char) == char and not unicodedata.combining(char)
        is_plain = char.isprintable() and is_itself
        return char if is_plain else char.encode("unicode_escape").decode()

    return "".join(_SPACE if char == " " else mark(char) for char in text)
