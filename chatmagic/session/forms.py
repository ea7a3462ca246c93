"""The form of a reply: the words that ask for it, and the value of the reply."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

from chatmagic import _json_reply
from chatmagic._log import log_swallowed, swallowed
from chatmagic.advice import GOES_ON, KEPT, sentences
from chatmagic.conversation import template
from chatmagic.conversation.question import Format, RequestFacts, Schema, Value
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError, ReplyFormatError
from chatmagic.models import Reply
from chatmagic.safe_text import one_line

_SHOWN: Final = 200
WRAPPED: Final = "value"
"""Property of the object around a value whose schema has another root."""
_SHARED: Final = ("$defs", "definitions")
_MOST_REFERENCES: Final = 8
_HINT: Final = "A schema is a pydantic model, a dataclass, a TypedDict or a JSON schema (a dict)."
_NO_PYDANTIC: Final = (
    "{} is read as a schema by pydantic, which is not installed: pip install 'chatmagic[schema]'. "
    "Nothing was sent."
)
NOT_A_TURN: Final = "Its text was paid for: its cell shows it, and it is the error's reply."


def asked_for(
    question: RequestFacts,
    above: Sequence[Turn],
    sent: Sequence[Turn],
    named: Callable[[str], object],
) -> tuple[Value | None, str | None, Schema | None]:
    """Return the words that ask for a reply's form, and the reply's schema with its name.

    Args:
        question: the question, which may hold the schema itself.
        above: the turns above it, whose nearest schema a question for JSON takes.
        sent: the turns that its request carries.
        named: returns the value of a name of the namespace.

    Raises:
        InputError: the schema does not fit the form, or cannot be used.
    """
    if question.format not in get_args(Format):
        raise InputError(
            f"format is one of {', '.join(get_args(Format))}, not "
            f"{one_line(repr(question.format))}. Nothing was sent."
        )
    if question.schema is not None and question.format != "json":
        raise InputError(
            f"A schema goes with the format json, not {question.format}. Nothing was sent.",
            hint="Leave out the format, which a setting may give, or the schema.",
        )
    name = question.schema
    schema = question.form
    if question.format == "json" and name is None:
        given = ((turn.schema, turn.form) for turn in reversed(above) if turn.schema is not None)
        name, schema = next(given, (None, schema))
    if name is not None and schema is None:
        schema = schema_of(named(name), name)
    return template.words_on_form(question.format, schema, sent), name, schema


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
        return replace(reply, parsed=value if schema is None else _read(value, schema))
    except _json_reply.NotJSONError as error:
        fault = f"no JSON: {error}."
    except Exception as error:  # noqa: BLE001 - a schema's own code may raise anything
        log_swallowed(error)
        name = "the schema" if schema is None else schema.name
        fault = f"JSON, and not of the form {name}: {problem(error)}."
    hint = sentences(KEPT if kept else NOT_A_TURN)
    event = "The reply is"
    if reply.finish_reason == "length":
        event = "The reply ended at its limit of tokens, and is"
        hint = sentences(hint, GOES_ON if kept else None)
    raise ReplyFormatError(f"{event} {fault}", hint=hint, reply=reply, credits=reply.credits)


def in_an_object(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a JSON schema whose root is an object, as ``response_format`` takes it.

    A schema with another root becomes the property :data:`WRAPPED` of an object.

    Args:
        document: the JSON schema.
    """
    if _is_object(document):
        return document
    shared = {name: _moved(document[name]) for name in _SHARED if name in document}
    inner = {name: _moved(item) for name, item in document.items() if name not in shared}
    return {
        "type": "object",
        "properties": {WRAPPED: inner},
        "required": [WRAPPED],
        "additionalProperties": False,
        **shared,
    }


def _is_object(document: Mapping[str, Any]) -> bool:
    """Return whether the root of a JSON schema is an object."""
    root: Any = document
    for _ in range(_MOST_REFERENCES):
        path = root.get("$ref") if isinstance(root, Mapping) else None
        if not isinstance(path, str) or not path.startswith("#/"):
            break
        root = _part_at(document, path)
    if not isinstance(root, Mapping):
        return False
    kind: object = root.get("type", "object" if "properties" in root else None)
    return kind == "object"


def _part_at(document: Mapping[str, Any], path: str) -> Any:
    """Return the part of a JSON schema that a reference names; ``None`` if there is none.

    Args:
        document: the JSON schema.
        path: the reference, such as ``#/$defs/Person``.
    """
    part: Any = document
    for name in path.removeprefix("#/").split("/"):
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _moved(value: Any) -> Any:
    """Return a part of a wrapped schema, with references to places that have moved."""
    if isinstance(value, Mapping):
        return {
            name: _moved_reference(item) if name == "$ref" else _moved(item)
            for name, item in value.items()
        }
    return [_moved(item) for item in value] if isinstance(value, list) else value


def _moved_reference(path: Any) -> Any:
    """Return a reference of a wrapped schema to the place that has moved with it."""
    if not isinstance(path, str) or path.startswith(tuple(f"#/{name}/" for name in _SHARED)):
        return path
    return re.sub(r"^#(?=/|$)", f"#/properties/{WRAPPED}", path)


def _read(value: Any, schema: Schema) -> Any:
    """Return the instance that a value stands for, also in the object of :func:`in_an_object`."""
    if isinstance(value, dict) and [*value] == [WRAPPED] and not _is_object(schema.document):
        with swallowed():  # it may be a value of the schema as it is
            return schema.read(value[WRAPPED])
    return schema.read(value)


def schema_of(value: object, name: str) -> Schema:
    """Return the schema of an object.

    Args:
        value: a pydantic model or ``TypeAdapter``, a dataclass, a TypedDict, a type made of
            these (``list[Person]``), or a JSON schema.
        name: its name.

    Raises:
        InputError: it is none of these, or it cannot be read.
    """
    if isinstance(value, str):
        raise InputError("schema is text, not the object itself. Nothing was sent.", hint=_HINT)
    try:
        if isinstance(value, Mapping):
            return _from_json_schema(value, name)
        return _from_type(value, name)
    except ImportError:
        raise InputError(_NO_PYDANTIC.format(one_line(name))) from None
    except Exception as error:  # noqa: BLE001 - the user's own classes may raise anything
        log_swallowed(error)
        reason = problem(error).partition(". ")[0]  # the library's own advice follows
        raise InputError(
            f"{one_line(name)} is no schema that can be used: {reason}. Nothing was sent.",
            hint=_HINT,
        ) from None


def name_of(value: object) -> str:
    """Return the name of a schema that was given as an object.

    Args:
        value: the schema.
    """
    named = value.get("title") if isinstance(value, Mapping) else getattr(value, "__name__", None)
    return one_line(named) if isinstance(named, str) and named.strip() else "Reply"


def problem(error: Exception) -> str:
    """Return the fault of a value, or of a schema, in one line.

    Args:
        error: an error of pydantic, of jsonschema, or of the user's own code.
    """
    path = ""
    words = str(getattr(error, "message", error))
    rest = ""
    try:
        if hasattr(error, "json_path"):  # an error of jsonschema
            path = error.json_path.removeprefix("$").removeprefix(".")
        elif callable(errors := getattr(error, "errors", None)):  # an error of pydantic
            first, *more = errors()
            path = ".".join(map(str, first["loc"]))
            words = str(first["msg"])
            rest = f" ({len(more):,} more)" if more else ""
    except Exception as failure:  # noqa: BLE001 - the user's own error may be anything
        log_swallowed(failure)
    line = one_line(f"{path}: {words}" if path else words, _SHOWN).rstrip(".")
    return f"{line or type(error).__name__}{rest}"


def _from_json_schema(value: Mapping[str, Any], name: str) -> Schema:
    """Return the schema of a JSON schema. Its values are checked by jsonschema; none is fetched.

    Raises:
        ValueError: it refers to another document.
    """
    from jsonschema.exceptions import best_match  # noqa: PLC0415 - as nbformat, which brings it
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    text = json.dumps(value)
    document: dict[str, Any] = json.loads(text)
    kind = validator_for(document, default=Draft202012Validator)
    kind.check_schema(document)
    if elsewhere := re.search(r'"\$ref": "([^#"][^"]*)"', text):
        raise ValueError(f"it refers to {one_line(elsewhere[1])}, which it does not hold")
    # An empty registry, as the library's own fetches the references of a schema.
    validator = kind(document, registry=Registry())

    def read(item: Any) -> Any:
        error = best_match(validator.iter_errors(item))
        if error is not None:
            raise error
        return item

    return Schema(name, document, read)


def _from_type(value: Any, name: str) -> Schema:
    """Return the schema of a type. Its values are checked by pydantic.

    A model's own rules hold; any other type is read strictly (a text is no number).
    """
    if hasattr(value, "model_json_schema"):
        document = value.model_json_schema()
        validate = value.model_validate_json
        strict = None
    elif hasattr(value, "validate_json"):
        document = value.json_schema()
        validate = value.validate_json
        strict = None
    else:
        from pydantic import TypeAdapter  # noqa: PLC0415 - an optional package

        adapter: Any = TypeAdapter(value)
        document = adapter.json_schema()
        validate = adapter.validate_json
        strict = True

    def read(item: Any) -> Any:
        # From JSON, which a strict type reads in another way than Python's values.
        return validate(json.dumps(item), strict=strict)

    return Schema(name, document, read)


def read_schema(schema: object) -> tuple[str | None, Schema | None]:
    """Return the name of a schema, and the schema as it is read; twice ``None`` for none.

    Args:
        schema: the schema, as a user gives it; ``None`` for none.

    Raises:
        InputError: it is no schema.
    """
    if schema is None:
        return None, None
    name = name_of(schema)
    return name, schema_of(schema, name)
