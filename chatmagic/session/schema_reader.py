"""Schemas from what a namespace holds: pydantic models, dataclasses, TypedDicts, JSON schemas.

No library is imported here: a pydantic model is known by its methods. Of a dataclass and a
TypedDict the JSON schema is made from the types of its fields, and so is its instance.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

from chatmagic._log import log_swallowed
from chatmagic.conversation import schema_check, schema_text
from chatmagic.conversation.json_schema import Schema
from chatmagic.errors import InputError
from chatmagic.text import one_line

Build = Callable[[Any], Any]
"""Makes an instance of a type from a JSON value that was checked."""

_MESSAGE_SHOWN: Final = 200
_HINT: Final = "A schema is a pydantic model, a dataclass, a TypedDict or a JSON schema (a dict)."

_PLAIN: Final[Mapping[Any, tuple[dict[str, Any], Build]]] = {
    str: ({"type": "string"}, str),
    int: ({"type": "integer"}, int),
    float: ({"type": "number"}, float),
    bool: ({"type": "boolean"}, bool),
    type(None): ({"type": "null"}, lambda value: value),
    decimal.Decimal: (
        {"anyOf": [{"type": "number"}, {"type": "string"}]},
        lambda value: decimal.Decimal(str(value)),
    ),
    dt.datetime: (
        {"type": "string", "format": "date-time"},
        dt.datetime.fromisoformat,
    ),
    dt.date: ({"type": "string", "format": "date"}, dt.date.fromisoformat),
    dt.time: ({"type": "string", "format": "time"}, dt.time.fromisoformat),
}
_LISTS: Final = {list: list, set: set, frozenset: frozenset}


def read(value: object, name: str) -> Schema:
    """Return the schema that an object is.

    Args:
        value: a pydantic model or ``TypeAdapter``, a dataclass, a TypedDict, a type made of
            these (``list[Person]``), or a JSON schema.
        name: what it is called.

    Raises:
        InputError: it is none of these, or it cannot be read.
    """
    try:
        return _read(value, name)
    except Exception as error:  # noqa: BLE001 - the user's own classes may raise anything
        log_swallowed(error)
        reason = one_line(str(error) or type(error).__name__, _MESSAGE_SHOWN).rstrip(".")
        raise InputError(
            f"{one_line(name)} is no schema that can be used: {reason}. Nothing was sent.",
            hint=_HINT,
        ) from None


def name_of(value: object) -> str:
    """Return what a schema is called that was given as an object."""
    named = value.get("title") if isinstance(value, Mapping) else getattr(value, "__name__", None)
    return one_line(named) if isinstance(named, str) and named.strip() else "Reply"


def problem(error: Exception) -> str:
    """Return in one line what is wrong with a value that a schema did not take.

    Args:
        error: what :attr:`~chatmagic.conversation.json_schema.Schema.read` raised.
    """
    errors = getattr(error, "errors", None)
    try:
        # As pydantic tells them; its own text has several lines, and an address.
        first, *more = errors() if callable(errors) else [{"loc": (), "msg": str(error)}]
        where = ".".join(str(part) for part in first["loc"])
        words = f"{where}: {first['msg']}" if where else str(first["msg"])
        rest = f" ({len(more):,} more)" if more else ""
    except Exception as failure:  # noqa: BLE001 - the user's own error may be anything
        log_swallowed(failure)
        words, rest = type(error).__name__, ""
    return f"{one_line(words, _MESSAGE_SHOWN).rstrip('.')}{rest}"


def _read(value: Any, name: str) -> Schema:
    if isinstance(value, Mapping):
        document = json.loads(json.dumps(value))
        return Schema(name, schema_text.write(document, name), _checked(document, _as_it_is))
    model = _pydantic(value)
    if model is not None:
        document, build = model
        # Its own check is the one that counts, and takes what it says it takes.
        return Schema(name, schema_text.write(document, name, strict=False), build)
    reader = _Types()
    node, build = reader.of(value)
    document = {**node, "$defs": reader.types}
    return Schema(name, schema_text.write(document, name, strict=False), _checked(document, build))


def _pydantic(value: Any) -> tuple[dict[str, Any], Build] | None:
    """Return the JSON schema of a pydantic model or ``TypeAdapter``, and what reads a value."""
    for describe, validate in (
        ("model_json_schema", "model_validate_json"),
        ("json_schema", "validate_json"),
    ):
        described, validated = getattr(value, describe, None), getattr(value, validate, None)
        if callable(described) and callable(validated):
            document: dict[str, Any] = described()
            # From JSON, which a strict model reads otherwise than Python's values.
            return document, lambda item: validated(json.dumps(item))  # noqa: B023 - returned at once
    return None


def _checked(document: Mapping[str, Any], build: Build) -> Build:
    def check_and_build(value: Any) -> Any:
        schema_check.check(document, value)
        return build(value)

    return check_and_build


def _as_it_is(value: Any) -> Any:
    return value


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    """Return whether a TypedDict requires a field, also where its annotations are texts."""
    origin = typing.get_origin(hint)
    listed = name in getattr(kind, "__required_keys__", ())
    return origin is typing.Required or (listed and origin is not typing.NotRequired)


class _Types:
    """JSON schemas of Python's types, and what makes their instances."""

    def __init__(self) -> None:
        """Begin without any."""
        self.types: dict[str, Any] = {}
        """The JSON schemas of the classes, by name."""
        self._names: dict[Any, str] = {}
        self._builds: dict[str, Build] = {}

    def of(self, hint: Any) -> tuple[dict[str, Any], Build]:
        """Return the JSON schema of a type, and what makes its instances.

        Args:
            hint: the type, as an annotation has it.

        Raises:
            TypeError: it has no JSON.
        """
        hint = type(None) if hint is None else getattr(hint, "__supertype__", hint)
        if hint is Any or hint is object:
            return {}, _as_it_is
        if hint in _PLAIN:
            return _PLAIN[hint]
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            return {"enum": list(arguments)}, _as_it_is
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments)
        if origin in (typing.Annotated, typing.Required, typing.NotRequired):
            node, build = self.of(arguments[0])
            about = next((each for each in arguments[1:] if isinstance(each, str)), None)
            return ({**node, "description": about} if about else node), build
        return self._held(hint, origin or hint, arguments)

    def _held(
        self, hint: Any, kind: Any, arguments: tuple[Any, ...]
    ) -> tuple[dict[str, Any], Build]:
        """Return the same for what holds others: lists, mappings and classes."""
        if kind in _LISTS:
            item, build = self.of(arguments[0] if arguments else Any)
            collect = _LISTS[kind]
            return {"type": "array", "items": item}, lambda value: collect(map(build, value))
        if kind is tuple:
            return self._tuple(arguments)
        if kind is dict:
            _, build_name = self.of(arguments[0] if arguments else str)
            item, build = self.of(arguments[1] if arguments else Any)
            return {"type": "object", "additionalProperties": item or True}, lambda value: {
                build_name(name): build(each) for name, each in value.items()
            }
        return self._class(hint)

    def _union(self, arguments: tuple[Any, ...]) -> tuple[dict[str, Any], Build]:
        alternatives = [self.of(each) for each in arguments]

        def build(value: Any) -> Any:
            for node, build_one in alternatives:
                document = {**node, "$defs": self.types}
                try:
                    schema_check.check(document, value)
                except ValueError:
                    continue
                return build_one(value)
            raise ValueError("it has none of the types")  # it was checked before

        return {"anyOf": [node for node, _ in alternatives]}, build

    def _tuple(self, arguments: tuple[Any, ...]) -> tuple[dict[str, Any], Build]:
        if not arguments or arguments[-1] is Ellipsis:
            item, build = self.of(arguments[0] if arguments else Any)
            return {"type": "array", "items": item}, lambda value: tuple(map(build, value))
        items = [self.of(each) for each in arguments]
        node = {"type": "array", "prefixItems": [node for node, _ in items]}
        return node, lambda value: tuple(
            build(each) for (_, build), each in zip(items, value, strict=True)
        )

    def _class(self, kind: Any) -> tuple[dict[str, Any], Build]:
        """Return the same for a class, which may refer to itself."""
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [member.value for member in kind]}, kind
        if kind not in self._names:
            name = getattr(kind, "__name__", "type")
            while name in self.types:
                name += "_"
            self._names[kind], self.types[name] = name, {}
            # A TypedDict, also that of typing_extensions, which `is_typeddict` may not know.
            if dataclasses.is_dataclass(kind) or hasattr(kind, "__required_keys__"):
                self.types[name] = self._fields(kind, name)
            elif (model := _pydantic(kind)) is not None:
                document, self._builds[name] = model
                # A model that holds itself is among its definitions, and the rest refers to it.
                self.types[name] = document
                self.types |= document.pop("$defs", {})
            else:
                raise TypeError(f"{one_line(str(kind))} is a type without JSON")
        name = self._names[kind]

        def build(value: Any) -> Any:
            # Looked up late: a class that refers to itself is not known yet.
            return self._builds[name](value)

        return {"$ref": f"#/$defs/{name}"}, build

    def _fields(self, kind: Any, name: str) -> dict[str, Any]:
        """Return the JSON schema of a class; note what makes its instances."""
        hints = typing.get_type_hints(kind, include_extras=True)
        required = [name for name, hint in hints.items() if _is_required(kind, name, hint)]
        about: dict[str, Any] = {}
        make: Build = dict
        if dataclasses.is_dataclass(kind):
            fields = [field for field in dataclasses.fields(kind) if field.init]
            missing = dataclasses.MISSING
            required = [
                field.name
                for field in fields
                if field.default is missing and field.default_factory is missing
            ]
            hints = {field.name: hints[field.name] for field in fields}
            about = {field.name: field.metadata.get("description") for field in fields}
            construct: Any = kind
            make = lambda values: construct(**values)  # noqa: E731 - one of two
        parts = {field: self.of(hint) for field, hint in hints.items()}

        def build(value: Any) -> Any:
            # What it does not name is left out, as nothing said that there is none.
            return make({n: parts[n][1](item) for n, item in value.items() if n in parts})

        self._builds[name] = build
        node = {
            "type": "object",
            "properties": {
                field: {**part, "description": about[field]} if about.get(field) else part
                for field, (part, _) in parts.items()
            },
            "required": [field for field in parts if field in required],
        }
        doc = kind.__dict__.get("__doc__")
        # A dataclass without words of its own has its signature there.
        is_own = isinstance(doc, str) and not doc.startswith(f"{kind.__name__}(")
        return {**node, "description": doc} if is_own else node
