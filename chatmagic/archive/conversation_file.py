"""A conversation as JSON and as Markdown, written by ``%chat_save`` and read by ``%chat_load``.

The JSON holds each live turn as a notebook's output does: its record and the reply's text. It is
read in the same way as a notebook's cells, and has no undone turns. Unless values are kept, it has
only the expression, the size and the digest of a ``{{ }}`` value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast, get_args

from chatmagic._json import TooManyValuesError, json_of_file, whole_number
from chatmagic.archive.carried_turns import CarriedTurns
from chatmagic.archive.restore import turn_of
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Entry
from chatmagic.conversation.record import VERSION, NewerVersionError, Record, is_sealed, sealed
from chatmagic.conversation.slots import pass_by
from chatmagic.conversation.steering import STEERING, Item, ThreadStart, TurnSteering
from chatmagic.conversation.template import bare
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.conversation.window import Position, Window
from chatmagic.render import safe_markdown
from chatmagic.safe_text import fenced, one_line, open_fence

KIND: Final = "conversation"


def dumps(conversation: Conversation, *, keep_values: bool = False) -> str:
    """Return a conversation's live turns and steering items as JSON, in their order.

    Args:
        conversation: the conversation.
        keep_values: whether to write the values of ``{{ }}``, too.
    """
    records = records_of(conversation, keep_values=keep_values)
    places = {turn.number: place for place, turn in enumerate(conversation, 1)}
    turns: list[dict[str, Any]] = []
    for owner, slot in conversation.slots:
        for item in slot:
            facts: dict[str, Any]
            if isinstance(item, Turn):
                record = records[item.number].to_json()
                facts = {"entry": item.entry, "record": record, "reply": item.reply.text}
            else:
                facts = {item.kind: item.facts}
            if isinstance(item, TurnSteering):
                facts["turn"] = places.get(item.turn, 0)
            turns.append({"owner": owner, **facts})
    whole = sealed({"chatmagic": KIND, "version": VERSION, "turns": turns}, {})
    return json.dumps(whole, indent=1) + "\n"


def loads(content: bytes, after: int = 0) -> Conversation:
    """Return the conversation in the JSON of :func:`dumps`.

    Args:
        content: bytes of an untrusted file.
        after: as for :class:`Conversation`.

    Raises:
        NewerVersionError: a later release wrote it.
        TooManyValuesError: it holds too many values.
        ValueError: it is not such JSON, or it is damaged.
    """
    try:
        value = json_of_file(content)
    except TooManyValuesError:
        raise
    except ValueError as error:
        raise ValueError(f"it is not a conversation that %chat_save wrote: {error}") from None
    if not isinstance(value, Mapping) or value.get("chatmagic") != KIND:
        raise ValueError("it is not a conversation that %chat_save wrote")
    if (whole_number(value.get("version")) or 0) > VERSION:
        raise NewerVersionError("a newer release of chatmagic wrote it")
    if not is_sealed(value, {}):
        raise ValueError("it was changed since it was saved: its seal does not match")
    listed = value.get("turns")
    if not isinstance(listed, list):
        raise ValueError("its list of turns is damaged")
    return Conversation.from_items(_placed([_item(item, after) for item in listed], after))


def records_of(conversation: Conversation, *, keep_values: bool) -> dict[int, Record]:
    """Return the live turns' records by the turns' numbers.

    Args:
        conversation: the conversation.
        keep_values: whether they keep the values of ``{{ }}``.
    """
    turns = {turn.number: turn for turn in conversation}
    shown = frozenset(turn.recorded_digest for turn in conversation)
    records: dict[int, Record] = {}
    for number, turn in turns.items():
        # A turn that Python added has no record yet.
        record = turn.record
        if record is None:
            carried = [bare(turns[place]) for place in turn.carried if place in turns]
            messages = [message for above in carried for message in above.messages]
            request = bare(turn).request(messages)
            record = turn.to_record(request.digest())
        record = replace(record, values=turn.values) if keep_values else record.bare
        # Only the present reply of a turn is saved, not the earlier ones.
        record = replace(record, in_place_of=(), continues=None, picked=False, compared=False)
        records[number] = turn.carried.listed_in(record, shown)
    return records


def markdown(conversation: Conversation, *, reasoning: bool = False) -> str:
    """Return a conversation's live turns as Markdown, for people to read.

    Args:
        conversation: the conversation. A prompt stands as typed, so no value of ``{{ }}`` is in it.
        reasoning: whether to write the thoughts of a model above its reply, as a quotation.
    """
    parts = ["# Conversation"]
    windows = iter(conversation.windows)
    thread = MAIN
    for _, slot in conversation.slots:
        for item in slot:
            if isinstance(item, Turn):
                parts += _turn(*next(windows), thread, reasoning=reasoning)
                continue
            if isinstance(item, ThreadStart):
                thread = item.name
            # An item that names a missing turn has no source.
            if item.source:
                parts.append(item.in_words)
            if item.text:
                parts.append(fenced(item.text, "text"))
    return "\n\n".join(parts) + "\n"


def _turn(turn: Turn, window: Window, thread: str, *, reasoning: bool) -> list[str]:
    """Return a turn's question, thoughts and reply, numbered in their thread."""
    number = window.index + 1
    facts: list[str] = []
    if turn.state != "complete":
        facts.append(turn.state)
    facts += _continued(turn)
    if window.thread != thread:
        facts.append(f"thread {window.thread}")
    blocks = [f"## {number}. You", fenced(turn.as_typed, "text")]
    if reasoning and turn.reply.reasoning:
        thoughts = safe_markdown.as_typed(turn.reply.reasoning).replace("\n", "\n> ")
        blocks += [f"## {number}. Thoughts", f"> {thoughts}"]
    heading = "".join([f"## {number}. Reply", *(f" ({fact})" for fact in facts)])
    return [*blocks, heading, _closed(turn.reply.text.strip("\n"))]


def _continued(turn: Turn) -> list[str]:
    """Return a note on the seams of a continued reply; none for any other reply."""
    if not turn.is_continued:
        return []
    after = " and ".join(f"“{safe_markdown.as_typed(one_line(words))}”" for words in turn.seams)
    return [f"continued after {after}" if after else "continued"]


def _closed(text: str) -> str:
    """Close a code block that a reply left open, so that it does not swallow the following text."""
    opened = open_fence(text)
    return text if opened is None else f"{text}\n{opened[1]}"


def _placed(items: Sequence[Item], number: int) -> Iterator[Item]:
    """Yield the items, each turn with its number and with the turns that it carried."""
    carried = CarriedTurns((item for item in items if isinstance(item, Turn)), number)
    place = Position()
    for item in items:
        placed = item
        if isinstance(item, Turn):
            number += 1
            placed = carried.carrying(item, place.window(item.thread).visible, number)
        pass_by(place, placed)
        yield placed


def _item(value: object, after: int) -> Item:
    """Return the turn, or the steering item, in a value of :func:`dumps`."""
    if not isinstance(value, Mapping):
        raise ValueError("a turn in it is damaged")
    owner = value.get("owner")
    entry = value.get("entry")
    text = value.get("reply")
    kind = next((kind for kind in STEERING if value.get(kind) is not None), None)
    is_turn = entry in get_args(Entry) and isinstance(text, str)
    if not isinstance(owner, str | None) or (kind is None and not is_turn):
        raise ValueError("a turn in it is damaged")
    if kind is not None:
        item = STEERING[kind].from_json({**value, "version": VERSION, "kind": kind})
        if isinstance(item, TurnSteering):
            turn = whole_number(value.get("turn"))
            item = replace(item, turn=turn + after if turn else 0)
        return replace(item, owner=owner, execution=owner)
    record = Record.from_json(value.get("record"))
    # One cell asked all its items in one execution.
    return turn_of(record, str(text), owner=owner, execution=owner, entry=cast("Entry", entry))
