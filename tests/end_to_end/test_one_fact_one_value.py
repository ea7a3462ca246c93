"""A fact of a reply is declared once, and kept wherever a reply is."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from cassettes import exchange_of

from chatmagic._json import shared_fields
from chatmagic.archive import restore
from chatmagic.archive.cassette_format import cassette_text, from_text
from chatmagic.conversation.question import RequestFacts
from chatmagic.conversation.record import Record
from chatmagic.conversation.turn import Turn
from chatmagic.models import BodyFacts, Message, Reply, ReplyFacts, Usage
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.reply_builder import ReplyBuilder
from chatmagic.protocol.request import Request
from chatmagic.session.ask import Ask

FACTS: dict[str, Any] = {
    item.name: Usage(1, 2, 3) if item.name == "usage" else f"the {item.name}"
    for item in fields(BodyFacts)
}


@pytest.mark.parametrize("whole", [False, True], ids=["chunk", "whole"])
def test_the_facts_of_a_body_cross_the_wire(*, whole: bool) -> None:
    """As it is read, it is written: a replayed reply tells what the recorded one told."""
    chunk = Chunk("text", whole=whole, **FACTS)
    read = Chunk.from_json(json.loads(json.dumps(chunk.to_json())))
    assert read == chunk
    builder = ReplyBuilder()
    builder.add(read)
    assert shared_fields(builder.reply("complete", "live", {}), BodyFacts) == FACTS


def test_a_record_and_a_cassette_keep_them() -> None:
    """Through their files and back, and from there into a reply again."""
    reply = Reply("text", **FACTS, took=3, seconds=1.5, recorded="live", by_order=True)
    turn = Turn(prompt="q", reply=reply)
    request = Request((Message("user", "q"),))
    record = json.loads(json.dumps(turn.to_record(request.digest()).to_json()))
    assert restore.turn_of(Record.from_json(record), "text", owner=None).reply == reply
    interaction = exchange_of(request, text="text", took=3, seconds=1.5, **FACTS)
    kept = from_text(cassette_text([interaction]), "talk.jsonl")
    assert kept == (interaction,)
    assert shared_fields(kept[0], BodyFacts) == FACTS


def test_what_is_asked_goes_into_the_turn() -> None:
    """An ask and a turn have all facts of a request, and a record all of a reply."""
    asked = {item.name for item in fields(RequestFacts)}
    assert asked <= {item.name for item in fields(Ask)}
    assert asked <= {item.name for item in fields(Turn)}
    known = {item.name for item in fields(ReplyFacts)}
    assert known <= {item.name for item in fields(Record)}
    assert known <= {item.name for item in fields(Reply)}
