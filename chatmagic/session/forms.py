"""The form of a reply: what is sent along to ask for it, and the value that comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, get_args

from chatmagic import _json_reply
from chatmagic._log import log_swallowed
from chatmagic.conversation import formats
from chatmagic.conversation.request_facts import Format
from chatmagic.errors import GOES_ON, InputError, ReplyFormatError
from chatmagic.session import schema_reader
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chatmagic.conversation.json_schema import Schema
    from chatmagic.conversation.request_facts import Parameters, Value
    from chatmagic.conversation.turn import Turn
    from chatmagic.models import Reply

KEPT: Final = "Its text was paid for and is kept as a turn: %chat_history shows it."
TOOK_SCHEMA: Final = (
    "The question names no schema, so the nearest above it holds; --schema object takes any JSON."
)
NOT_A_TURN: Final = "Its text was paid for: its cell shows it, and it is the error's reply."


def asked_for(
    question: Parameters,
    form: Schema | None,
    above: Sequence[Turn],
    sent: Sequence[Turn],
    named: Callable[[str], object],
) -> tuple[Value | None, str | None, Schema | None]:
    """Return what asks for a reply's form, and the name and the schema that it is read by.

    Args:
        question: the options of the question.
        form: the schema itself, where it was given.
        above: the turns above it, of which a question for JSON takes the nearest schema.
        sent: those that its request carries.
        named: gives what a name of the namespace stands for.

    Raises:
        InputError: the schema does not go with the form, or cannot be used.
    """
    if question.format not in get_args(Format):
        raise InputError(
            f"format is one of {', '.join(get_args(Format))}, not "
            f"{one_line(repr(question.format))}. Nothing was sent."
        )
    if question.schema is not None and question.format != "json":
        raise InputError(
            f"A schema goes with the format json, not {question.format}. Nothing was sent.",
            hint="Leave --format out, or %config ChatMagics.format; or take --schema away.",
        )
    name, schema = question.schema, form
    if question.format == "json" and name is None and (turn := formats.nearest(above)) is not None:
        name, schema = turn.schema, turn.form
    if name is not None and schema is None:
        schema = schema_reader.read(named(name), name)
    return formats.in_front(question.format, schema, sent), name, schema


def parsed(reply: Reply, schema: Schema | None, *, kept: bool) -> Reply:
    """Return a reply in JSON with its value, or the instance of its schema.

    Args:
        reply: the whole reply.
        schema: the schema; ``None`` for any JSON.
        kept: whether its turn is kept.

    Raises:
        ReplyFormatError: it is no JSON, or has another form.
    """
    try:
        value = _json_reply.parse(reply.text)
        return replace(reply, parsed=value if schema is None else schema.read(value))
    except _json_reply.NotJSONError as error:
        what = f"The reply is no JSON: {error}."
    except Exception as error:  # noqa: BLE001 - a schema's own code may raise anything
        log_swallowed(error)
        name = "the schema" if schema is None else schema.name
        what = f"The reply is JSON, and not of the form {name}: {schema_reader.problem(error)}."
    hint = KEPT if kept else NOT_A_TURN
    if reply.finish_reason == "length":
        what += " It ended at its limit of tokens."
        hint += f" {GOES_ON}" if kept else ""
    raise ReplyFormatError(what, hint=hint, reply=reply, credits=reply.credits)
