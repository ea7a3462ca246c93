"""The text of a cassette: recorded interactions, written to be read, compared and merged.

A cassette is JSON Lines. Its first line says what it is; then, for each interaction:

- one line with the facts of the request and of its answer (the fields of :class:`Interaction`):
  of the turns before the prompt, ``before`` names those that are not carried by the exchange that
  ``after`` names, nor its own; ``check`` is a digest of the whole exchange;
- a line for each line of the prompt (``you``);
- a line for each line of the reply (``reply``).

So a changed word is a changed line. No key, no request header and no address is in it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from chatmagic import _json
from chatmagic._json import exact_text, fields_from_json, fields_to_json, known
from chatmagic.cassette.interaction import DIGITS, Interaction
from chatmagic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERSION: Final = 3

_FOLLOWS: Final = {
    "head": ("request",),
    "request": ("you",),
    "you": ("you", "reply", "request"),
    "reply": ("reply", "request"),
}
"""Which kinds of lines may follow a line of each kind."""

_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode


def write(interactions: Iterable[Interaction]) -> str:
    """Return the text of a cassette."""
    items = tuple(interactions)
    made = {(len(item.before), turn): item for item in items if (turn := item.turn) is not None}
    head = _line({"chatmagic": "cassette", "version": VERSION})
    lines = (_written(item, *_continued(item.before, made)) for item in items)
    # A lone surrogate has no UTF-8, but JSON has an escape for it.
    return (head + "".join(lines)).encode("utf-8", "backslashreplace").decode()


def _continued(
    before: tuple[str, ...], made: Mapping[tuple[int, str], Interaction]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the name of the exchange that carried the most of these turns, and the other turns.

    Args:
        before: the names of turns.
        made: the exchanges of the file by how many turns they carried and by their own turn.
    """
    for count in range(len(before), 0, -1):
        other = made.get((count - 1, before[count - 1]))
        if other is not None and other.before == before[: count - 1]:
            return _name(other, before[count - 1]), before[count:]
    return None, before


def _name(item: Interaction, turn: str) -> str:
    """Return the name of an exchange; its request's digest covers all that was carried."""
    return _json.digest([item.request, turn])[:DIGITS]


def _written(item: Interaction, after: str | None, before: tuple[str, ...]) -> str:
    """Return the lines of an interaction.

    Args:
        item: the interaction.
        after: name of the exchange that it continues.
        before: names of the turns that it carried since.
    """
    facts = fields_to_json(replace(item, before=before)) | known(after=after)
    facts["check"] = _check(facts, item.prompt, item.text or "")
    lines = [facts, *({"you": line} for line in _lines(item.prompt) or [""])]
    return "".join(map(_line, [*lines, *({"reply": line} for line in _lines(item.text or ""))]))


def _check(facts: Mapping[str, Any], prompt: str, text: str) -> str:
    """Return the digest of an exchange, the same of what is written and of what is read."""
    # Escapes make two halves of a character the same as the whole one, as reading does.
    return _json.digest(json.dumps([facts, prompt, text]))


def _line(value: Mapping[str, Any]) -> str:
    return _encoded(value) + "\n"


def _lines(text: str) -> list[str]:
    """Cut a text behind each line feed, and nowhere else."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def read(text: str, name: str) -> tuple[Interaction, ...]:
    """Return the interactions of a cassette, each checked against its digest.

    Args:
        text: the whole text.
        name: the file's name, for messages.

    Raises:
        InputError: a line is not as it was written, or of another version; says which.
    """
    try:
        return _linked([_read(block) for block in _blocks(text, name)])
    except _DamagedError as damage:
        raise InputError(
            f"{name}, line {damage.number:,}: {damage.why}.",
            hint="The file was left as it is: repair it, or record into another one.",
        ) from None


class _DamagedError(Exception):
    """A line that is not as it was written."""

    def __init__(self, number: int, why: str) -> None:
        self.number = number
        self.why = why


@dataclass(slots=True)
class _Block:
    """The lines of one interaction.

    Args:
        number: of its first line in the file.
        facts: its first line.
        you: the lines of the prompt.
        reply: the lines of the reply.
    """

    number: int
    facts: dict[str, Any]
    you: list[str] = field(default_factory=list)
    reply: list[str] = field(default_factory=list)


def _blocks(text: str, name: str) -> list[_Block]:
    """Sort the lines into interactions."""
    blocks: list[_Block] = []
    previous = ""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        value = _object(line, number)
        if not previous:
            _check_head(value, number, name)
            previous = "head"
            continue
        kind = next((key for key in _FOLLOWS[previous] if key in value), "")
        if kind == "request":
            blocks.append(_Block(number, value))
        elif isinstance(value.get(kind), str):
            (blocks[-1].you if kind == "you" else blocks[-1].reply).append(value[kind])
        else:
            raise _DamagedError(number, "it is not in its place")
        previous = kind
    if not previous:
        raise _DamagedError(1, "it is empty")
    if previous == "request":
        raise _DamagedError(blocks[-1].number, "its exchange is not complete")
    return blocks


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        is_merge = line.startswith(("<<<<", "||||", "====", ">>>>"))
        raise _DamagedError(number, f"it is {'a merge conflict' if is_merge else 'not JSON'}")
    return value


def _check_head(value: Mapping[str, Any], number: int, name: str) -> None:
    if value.get("chatmagic") != "cassette":
        raise InputError(
            f"{name} is not a cassette: its line {number} is not the head of one.",
            hint="It was left as it is. %chat_cassette FILE makes a new one where there is none.",
        )
    version = value.get("version")
    if version != VERSION:
        is_older = version in range(VERSION)
        todo = "Record into another one." if is_older else "A newer chatmagic reads it."
        raise InputError(
            f"{name} is a cassette of version {version!r}, and this chatmagic reads {VERSION}.",
            hint=f"It was left as it is. {todo}",
        )


def _read(block: _Block) -> tuple[str, Interaction]:
    """Return an interaction, and before it the name of the exchange that it continues or ""."""
    facts, prompt, text = block.facts, "".join(block.you), "".join(block.reply)
    try:
        if facts.pop("check", None) != _check(facts, prompt, text):
            raise _DamagedError(block.number, "the exchange is not the one that was recorded")
        values = fields_from_json(Interaction, facts)
        reply = None if "error" in values else text
        return exact_text(facts.get("after", "")), Interaction(**values, prompt=prompt, text=reply)
    except (ValueError, RecursionError) as error:
        raise _DamagedError(block.number, str(error)) from None


def _linked(drafts: Sequence[tuple[str, Interaction]]) -> tuple[Interaction, ...]:
    """Return interactions with all the turns that they carried, as far as these are known.

    An interaction may stand before the one that it continues, as cells may be run in any order.

    Args:
        drafts: each with the name of the exchange that it continues, empty for none.
    """
    items = [item for _, item in drafts]
    names = [None if item.turn is None else _name(item, item.turn) for item in items]
    waiting: dict[str, list[int]] = defaultdict(list)
    for index, (after, _) in enumerate(drafts):
        waiting[after].append(index)
    # The name of an exchange that the file lacks stands for turns that are not known.
    ready: list[tuple[int, tuple[str, ...]]] = [
        (index, (after,) if after else ())
        for after in waiting.keys() - names
        for index in waiting[after]
    ]
    for index, carried in ready:
        items[index] = item = replace(items[index], before=(*carried, *items[index].before))
        if (name := names[index]) is not None and (turn := item.turn) is not None:
            ready += [(other, (*item.before, turn)) for other in waiting.pop(name, ())]
    return tuple(items)
