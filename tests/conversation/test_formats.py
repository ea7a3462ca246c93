"""What goes in front of a question on the form of its reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatmagic.conversation.formats import in_front, nearest, recalled
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.schema_text import Schema
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply

if TYPE_CHECKING:
    from chatmagic.conversation.request_facts import Format

SCHEMA = Schema("City", "City: string", str)


def turn(format: Format, schema: str | None = None) -> Turn:
    """Give a turn that was asked in a form."""
    return Turn("q", reply=Reply("r"), format=format, schema=schema)


@pytest.mark.parametrize("format", ["text", "code", "json"])
def test_a_form_is_asked_for_in_front(format: Format) -> None:
    """Whatever the turns before had."""
    value = in_front(format, None, [turn(format)])
    assert value is not None
    assert (value.kind, value.expression, value.name) == ("format", format, f"format {format}")
    assert value.text is not None
    assert value.text.startswith("Reply ")


def test_a_schema_is_told_whole() -> None:
    """Behind what asks for JSON."""
    words = (
        "Reply with one JSON value alone, without a code fence and without other words. "
        "It is of the type City:\n\nCity: string"
    )
    assert in_front("json", SCHEMA, []) == Value.of("json City", words, "format")


@pytest.mark.parametrize("format", ["markdown", "text", "code", "json"])
def test_the_words_of_a_form_are_known_without_being_kept(format: Format) -> None:
    """Those of a schema are not, nor any other value."""
    value = in_front(format, None, [turn("text" if format == "markdown" else format)])
    assert value is not None
    assert recalled(value.bare) == value
    others = [in_front("json", SCHEMA, []), Value.of("x", value.text or "")]
    assert all(recalled(other.bare) == other.bare for other in others if other is not None)


def test_prose_is_asked_for_where_the_latest_reply_had_another_form() -> None:
    """A model goes on as it began; elsewhere nothing is said."""
    assert in_front("markdown", None, []) is None
    assert in_front("markdown", None, [turn("json"), turn("markdown")]) is None
    prose = in_front("markdown", None, [turn("markdown"), turn("json")])
    assert prose is not None
    assert prose.name == "format markdown"


def test_the_nearest_schema() -> None:
    """It is the one of the last turn that has one."""
    turns = [turn("json", "A"), turn("json", "B"), turn("json"), turn("markdown")]
    assert nearest(turns) is turns[1]
    assert nearest(turns[2:]) is None
