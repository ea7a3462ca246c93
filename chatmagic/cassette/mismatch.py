"""What differs between a request and the nearest recorded one, in words."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from chatmagic import _json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.cassette.interaction import Recorded
    from chatmagic.models import Message

EXCERPT: Final = 48
"""How many characters of each side are shown around a difference."""
LEAD: Final = 16
"""How many of them stand before it."""
_SPACE: Final = "\N{OPEN BOX}"


class _Part(NamedTuple):
    """A turn or a single message of a request; a turn may be known by its digest alone."""

    messages: tuple[Message, ...]
    digest: str

    def is_like(self, other: _Part) -> bool:
        """Tell whether two parts are the same; the shorter digest counts."""
        length = min(len(self.digest), len(other.digest))
        return self.digest[:length] == other.digest[:length]


def nearest(asked: Recorded, exchanges: Sequence[Recorded]) -> Recorded | None:
    """Give the recorded request that is most like this one; ``None`` where none is recorded.

    The same prompt counts most, then how much of what stands before it is the same, then
    how far the prompts begin alike.

    Args:
        asked: the request.
        exchanges: what is recorded.
    """
    parts = _parts(asked)

    def likeness(one: Recorded) -> tuple[bool, int, int, int]:
        theirs = _parts(one)
        apart = abs(len(parts) - len(theirs))
        alike = _common(_prompt(asked, one), _prompt(one, one))
        same = asked.as_typed == one.as_typed
        return same, _shared(parts, theirs), alike, -apart

    return max(exchanges, key=likeness, default=None)


def difference(asked: Recorded, recorded: Recorded) -> str:
    """Say in one sentence what differs first between a request and a recorded one.

    Args:
        asked: the request.
        recorded: the one it is compared with.
    """
    ours, theirs = _parts(asked), _parts(recorded)
    shared = _shared(ours, theirs)
    prompt, other = _prompt(asked, recorded), _prompt(recorded, recorded)
    if shared == len(ours) < len(theirs) and prompt != other:
        return _went_on(asked, ours, theirs[shared])
    if len(ours) != len(theirs) and (shared == min(len(ours), len(theirs)) or prompt == other):
        return (
            f"The nearest recorded request carries {_count(theirs)}, this one "
            f"{_count(ours)}: a cell above was added, left out, or run in another order."
        )
    number = _number(ours[:shared])
    if shared < len(ours):
        return _changed_part(number, ours[shared], theirs[shared])
    if prompt != other:
        return f"Message {number:,} (the prompt) differs: {_words(prompt, other)}."
    return _changed_parameters(asked, recorded)


def _parts(one: Recorded) -> list[_Part]:
    """Give what stands before the prompt, a question and its reply as one part."""
    found = [_Part((), one.after)] if one.after else []
    for item in one.before:
        if isinstance(item, str):
            found.append(_Part((), item))
            continue
        last = found[-1].messages if found else ()
        if item.role == "assistant" and len(last) == 1 and last[0].role == "user":
            digest = _json.turn_digest(last[0].content, item.content)
            found[-1] = _Part((*last, item), digest)
        else:
            found.append(_Part((item,), _json.digest(item.to_json())))
    return found


def _shared(ours: Sequence[_Part], theirs: Sequence[_Part]) -> int:
    """Count the parts that are the same, from the first one on."""
    pairs = zip(ours, theirs, strict=False)
    return next(
        (number for number, (mine, other) in enumerate(pairs) if not mine.is_like(other)),
        min(len(ours), len(theirs)),
    )


def _common(mine: str, other: str) -> int:
    """Count the characters that two texts begin with in common."""
    pairs = zip(mine, other, strict=False)
    return next(
        (number for number, (a, b) in enumerate(pairs) if a != b), min(len(mine), len(other))
    )


def _prompt(one: Recorded, recorded: Recorded) -> str:
    """Give a prompt as sent or, compared with a notebook, which has no other, as typed."""
    return one.as_typed if recorded.typed == recorded.prompt else one.prompt


def _count(parts: Sequence[_Part]) -> str:
    count = sum(len(part.messages) or 2 for part in parts)
    return f"{count:,} earlier message{'' if count == 1 else 's'}"


def _number(before: Sequence[_Part]) -> int:
    """Give the number of the message that stands behind these parts."""
    return sum(len(part.messages) or 2 for part in before) + 1


def _went_on(asked: Recorded, before: Sequence[_Part], then: _Part) -> str:
    """Say how a recorded talk went on, where it is the same as this one up to the prompt."""
    if not then.messages:
        return (
            "The messages before it are the recorded ones, but no reply to this prompt is "
            "recorded behind them."
        )
    recorded = then.messages[0].content
    if recorded == asked.prompt:
        return (
            "Later recorded requests carry this prompt, but its own reply was never whole, or not "
            "recorded."
        )
    number = _number(before)
    return f"Message {number:,} (the prompt) differs: {_words(asked.prompt, recorded)}."


def _changed_part(number: int, mine: _Part, other: _Part) -> str:
    """Say which message of a part differs, and in which words."""
    for place, (ours, theirs) in enumerate(zip(mine.messages, other.messages, strict=False)):
        if ours != theirs:
            what = {"user": "a prompt above", "assistant": "a reply above"}
            kind = what.get(ours.role, ours.role)
            words = _words(ours.content, theirs.content)
            return f"Message {number + place:,} ({kind}) differs: {words}."
    return (
        f"Messages {number:,} and {number + 1:,} (a turn above) differ from the recorded ones: "
        "its cell was changed, or a value that it puts in is another one."
    )


def _changed_parameters(asked: Recorded, recorded: Recorded) -> str:
    ours = {**asked.parameters, "model": asked.asked_model}
    theirs = {**recorded.parameters, "model": recorded.asked_model}
    if asked.asked_model is None:
        # Where no model is set now, one that was recorded does not count.
        theirs["model"] = None
    for name in dict.fromkeys([*theirs, *ours]):
        mine, other = ours.get(name), theirs.get(name)
        if mine != other:
            said = "not set" if mine is None else repr(mine)
            was = "not set" if other is None else repr(other)
            return f"The messages are the same, but {name} is {said}; recorded was {was}."
    return (
        "The prompt as typed is the same: a value that it puts in, --no-stream or extra_body "
        "is another one."
    )


def _words(mine: str, other: str) -> str:
    """Show both sides around the first character that differs."""
    begin = _begin(mine, _common(mine, other))
    if not _look_alike(mine[begin:], other[begin:]):
        return f"asked “{_excerpt(mine, begin)}”, recorded “{_excerpt(other, begin)}”"
    said = f"asked “{_marked(mine, begin)}”, recorded “{_marked(other, begin)}”"
    return f"{said} ({_SPACE} is a space)" if _SPACE in said else said


def _begin(text: str, start: int) -> int:
    """Give the beginning of a word, or of a few before it, that is near enough to be shown."""
    begin = max(0, start - LEAD)
    first = max(0, begin - LEAD)
    words = (at for at in range(begin, first, -1) if text[at - 1].isspace())
    return next(words, begin if first else 0)


def _look_alike(mine: str, other: str) -> bool:
    """Tell whether two texts begin with the same words, as far as they are shown and seen."""
    ours, theirs = _seen_words(mine), _seen_words(other)
    if max(len(mine), len(other)) <= EXCERPT:
        return ours == theirs
    # White space moves the words at the end of one side out of sight, but ends no text.
    ends = ((len(mine), ours, theirs), (len(other), theirs, ours))
    if any(length <= EXCERPT and len(some) < len(more) for length, some, more in ends):
        return False
    count = min(len(ours), len(theirs))
    return count > 0 and ours[:count] == theirs[:count]


def _seen_words(text: str) -> list[str]:
    """Give the words of a text that are shown whole."""
    words = unicodedata.normalize("NFKC", _line(text[:EXCERPT])).split()
    return words[:-1] if len(text) > EXCERPT else words


def _marked(text: str, begin: int) -> str:
    """Show a part of a text with every character that could be taken for another one."""
    return _cut(text, begin, "".join(map(_mark, text[begin : begin + EXCERPT])))


def _mark(char: str) -> str:
    if char == " ":
        return _SPACE
    is_itself = unicodedata.normalize("NFKC", char) == char and not unicodedata.combining(char)
    plain = char.isprintable() and is_itself
    return char if plain else char.encode("unicode_escape").decode()


def _excerpt(text: str, begin: int) -> str:
    return _cut(text, begin, _line(text[begin : begin + EXCERPT]))


def _line(text: str) -> str:
    """Give a text on one line, without what acts in a terminal."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def _cut(text: str, begin: int, shown: str) -> str:
    """Say on which sides of what is shown there is more."""
    return f"{'…' if begin else ''}{shown}{'…' if begin + EXCERPT < len(text) else ''}"
