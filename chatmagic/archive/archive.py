"""A conversation as JSON and as Markdown: what ``%chat_save`` keeps, and what is read again.

The JSON holds each live turn as a notebook's output does: its record and the reply's text,
where it stands, and what it carried. What was undone is not in it, and of a value that
``{{ }}`` put in only the expression, the size and the digest, unless values are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast, get_args

from chatmagic import _json
from chatmagic._json import shared
from chatmagic.conversation import seal, template
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import VERSION, NewerVersionError, Record
from chatmagic.conversation.request_facts import Entry
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply, ReplyFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

KIND: Final = "conversation"

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def dump(conversation: Conversation, *, keep_values: bool = False) -> dict[str, Any]:
    """Return a conversation's live turns and places as JSON.

    Args:
        conversation: which.
        keep_values: whether to write what ``{{ }}`` put in, too.
    """
    records = records_of(conversation, keep_values=keep_values)
    carried = _shortened(conversation.turns)
    dumped = {
        "chatmagic": KIND,
        "version": VERSION,
        "name": conversation.name,
        "added": conversation.added,
        "places": [
            {
                "owner": owner,
                "turns": [
                    {
                        "number": turn.number,
                        "entry": turn.entry,
                        **carried[turn.number],
                        "record": records[turn.number].to_json(),
                        "reply": turn.reply.text,
                    }
                    for turn in turns
                ],
            }
            for owner, turns in conversation.slots
        ],
    }
    return seal.sealed(dumped, {})


def load(value: object) -> Conversation:
    """Read what :func:`dump` gave.

    Raises:
        NewerVersionError: a later release wrote it.
        ValueError: it is not such JSON, or it is damaged.
    """
    if not isinstance(value, Mapping) or value.get("chatmagic") != KIND:
        raise ValueError("it is not a conversation that %chat_save wrote")
    version, name, added = value.get("version"), value.get("name"), value.get("added")
    if not _is_count(version) or not _is_count(added) or not isinstance(name, str):
        raise ValueError("its header is damaged")
    if version > VERSION:
        raise NewerVersionError("a newer release of chatmagic wrote it")
    known: dict[int, tuple[int, ...]] = {}
    places = [_place(place, known) for place in _list(value.get("places"))]
    loaded = Conversation.of(places, added, name)
    if seal.check(value, {}) != "sealed":
        raise ValueError("it was changed since it was saved: its seal does not match")
    return loaded


def records_of(conversation: Conversation, *, keep_values: bool) -> dict[int, Record]:
    """Return the live turns' records by the turns' numbers.

    Args:
        conversation: which.
        keep_values: whether they keep what ``{{ }}`` put in.
    """
    turns = {turn.number: turn for turn in conversation}
    shown = frozenset(turn.digest for turn in conversation)
    records: dict[int, Record] = {}
    for number, turn in turns.items():
        # A turn that Python put there by itself has no record yet.
        record = turn.record or _record(turn, [turns[n] for n in turn.carried if n in turns])
        record = replace(record, values=turn.values) if keep_values else record.bare
        records[number] = record.listing(shown)
    return records


def turn_of(
    record: Record,
    text: str,
    *,
    owner: str | None,
    entry: Entry = "cell",
    number: int = 0,
    execution: str | None = None,
    carried: tuple[int, ...] = (),
    shown: bool = False,
) -> Turn:
    """Return the turn that a record tells of.

    Args:
        record: its record.
        text: the reply's text.
        owner: hash of the cell that owns it.
        entry: where it was asked.
        number: its number, where it has one already.
        execution: what tells one execution of the cell from another.
        carried: numbers of the turns that its request carried.
        shown: whether an output of a cell shows it.

    Raises:
        ValueError: the record's values are not those of its prompt.
    """
    return Turn(
        prompt=template.refill(record.prompt, record.values),
        reply=Reply(text, **shared(record, ReplyFacts)),
        number=number,
        owner=owner,
        execution=execution,
        entry=entry,
        carried=carried,
        typed=record.prompt if record.values else None,
        values=record.values,
        **record.parameters,
        asked_model=record.asked_model,
        shown=shown,
        record=record,
    )


def markdown(conversation: Conversation) -> str:
    """Return a conversation's live turns as Markdown, for people to read.

    Args:
        conversation: which. A prompt stands as typed, so no value of ``{{ }}`` is in it.
    """
    parts = ["# Conversation"]
    for number, turn in enumerate(conversation, 1):
        state = "" if turn.state == "complete" else f" ({turn.state})"
        parts += [f"## {number}. You", _fenced(turn.as_typed), f"## {number}. Reply{state}"]
        parts.append(_closed(turn.reply.text.strip("\n")))
    return "\n\n".join(parts) + "\n"


def _fenced(text: str) -> str:
    """Return a prompt as it was typed, whatever Markdown would make of it."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _closed(text: str) -> str:
    """End a code block that a reply left open, so that it does not swallow what follows."""
    fence = None
    for match in _FENCE.finditer(text):
        if fence is None:
            fence = match[1]
        elif match[1].startswith(fence):
            fence = None
    return text if fence is None else f"{text}\n{fence}"


def _record(turn: Turn, carried: Sequence[Turn]) -> Record:
    messages = [message for other in carried for message in other.messages]
    request = turn.request(messages)
    return turn.to_record((other.digest for other in carried), request.digest())


def _shortened(turns: Sequence[Turn]) -> dict[int, dict[str, Any]]:
    """Return what each turn carried, in a form that does not grow with the conversation.

    A turn that carried another one, and all that this one carried, names it as ``after``.
    """
    shortened: dict[int, dict[str, Any]] = {}
    whole: dict[int, tuple[int, ...]] = {}
    for turn in turns:
        carried = turn.carried
        ends = range(len(carried), 0, -1)
        end = next((n for n in ends if whole.get(carried[n - 1]) == carried[:n]), 0)
        after = {"after": carried[end - 1]} if end else {}
        shortened[turn.number] = {**after, "carried": list(carried[end:])}
        whole[turn.number] = (*carried, turn.number)
    return shortened


def _place(value: object, known: dict[int, tuple[int, ...]]) -> tuple[str | None, list[Turn]]:
    if not isinstance(value, Mapping):
        raise ValueError("a place in it is damaged")
    owner = value.get("owner")
    if owner is not None and not isinstance(owner, str):
        raise ValueError("a place in it is damaged")
    return owner, [_turn(item, owner, known) for item in _list(value.get("turns"))]


def _turn(value: object, owner: str | None, known: dict[int, tuple[int, ...]]) -> Turn:
    """Read a turn; ``known`` are the turns read so far, each with all that it carried."""
    if not isinstance(value, Mapping):
        raise ValueError("a turn in it is damaged")
    number, entry, text = value.get("number"), value.get("entry"), value.get("reply")
    carried, after = _list(value.get("carried")), value.get("after", 0)
    record = Record.from_json(value.get("record"))
    if not isinstance(text, str) or _json.digest(text) != record.reply:
        raise ValueError("a reply in it is not what its record says")
    if not _is_count(number) or not all(map(_is_count, carried)) or entry not in get_args(Entry):
        raise ValueError("a turn in it is damaged")
    if not _is_count(after) or (after and after not in known):
        raise ValueError("a turn in it carried a turn that is not there")
    whole = (*known.get(after, ()), *carried)
    known[number] = (*whole, number)
    return turn_of(
        record,
        text,
        owner=owner,
        entry=cast("Entry", entry),
        number=number,
        carried=whole,
    )


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a list in it is damaged")
    return value


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
