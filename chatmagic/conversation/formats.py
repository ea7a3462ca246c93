"""Words on the form of a reply that go along with a question, and the schema of a follow-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.conversation.request_facts import Format, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chatmagic.conversation.schema_text import Schema
    from chatmagic.conversation.turn import Turn

_WORDS: Final[Mapping[Format, str]] = {
    "markdown": "Reply in prose again, as Markdown; the form of the earlier reply holds no longer.",
    "text": "Reply in plain text, without Markdown.",
    "code": "Reply with code alone, in one fenced code block that names its language.",
    "json": "Reply with one JSON value alone, without a code fence and without other words.",
}


def in_front(format: Format, schema: Schema | None, sent: Sequence[Turn]) -> Value | None:
    """Return what goes in front of a question on the form of its reply.

    Args:
        format: the form.
        schema: the schema of a reply in JSON; ``None`` for any JSON.
        sent: the turns that the request carries, oldest first.

    Returns:
        ``None`` where nothing needs to be said: prose is what a model gives by itself, unless
        its latest reply had another form.
    """
    if format == "markdown" and (not sent or sent[-1].format == "markdown"):
        return None
    if schema is None:
        return Value.of(format, _WORDS[format], "format")
    words = f"{_WORDS[format]} It is of the type {schema.name}:\n\n{schema.text}"
    return Value.of(f"{format} {schema.name}", words, "format")


def recalled(value: Value) -> Value:
    """Return a value with its text where that is known without being kept: our own words.

    Args:
        value: as a record keeps it.
    """
    ours = [Value.of(format, words, "format") for format, words in _WORDS.items()]
    return next((known for known in ours if known.bare == value), value)


def nearest(above: Sequence[Turn]) -> Turn | None:
    """Return the nearest turn that was asked with a schema; ``None`` where there is none.

    Args:
        above: the turns above a question, oldest first.
    """
    return next((turn for turn in reversed(above) if turn.schema is not None), None)
