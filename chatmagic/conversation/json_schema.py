"""Types of a JSON schema, as its text and its check both read them.

A JSON schema is as json-schema.org has it (draft 2020-12): a type is an object of keywords, or
``true`` for any value.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
LIMITS: Final[Mapping[str, tuple[tuple[type, ...], str, Callable[[Any, Any], bool]]]] = {
    "minimum": ((int, float), "at least {}", lambda value, limit: value >= limit),
    "exclusiveMinimum": ((int, float), "more than {}", lambda value, limit: value > limit),
    "maximum": ((int, float), "at most {}", lambda value, limit: value <= limit),
    "exclusiveMaximum": ((int, float), "less than {}", lambda value, limit: value < limit),
    "minLength": ((str,), "at least {} characters", lambda value, limit: len(value) >= limit),
    "maxLength": ((str,), "at most {} characters", lambda value, limit: len(value) <= limit),
    "minItems": ((list,), "at least {} items", lambda value, limit: len(value) >= limit),
    "maxItems": ((list,), "at most {} items", lambda value, limit: len(value) <= limit),
}
"""Limits by keyword: of which values, in which words, and whether one keeps it."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Schema that the JSON of a reply has to have.

    Args:
        name: as the asker names it.
        text: what a model is told of it (:func:`chatmagic.conversation.schema_text.write`).
        read: makes of a JSON value what the asker gets; raises any error for another form.
    """

    name: str
    text: str
    read: Callable[[Any], Any] = field(compare=False)


def whole(document: Mapping[str, Any], node: Any, seen: tuple[str, ...] = ()) -> Any:
    """Return a type with what it refers to put into it."""
    if node is True:
        return True
    node = unwrapped(node)
    if "$ref" in node:
        reference = node["$ref"]
        if reference in seen:
            raise ValueError(f"{reference} refers to itself alone")
        rest = {key: item for key, item in node.items() if key != "$ref"}
        target = _target(document, reference)
        return {**whole(document, target, (*seen, reference)), **rest}
    return node


def unwrapped(node: Any) -> Any:
    """Return a type without an ``allOf`` around another one, as older releases write it.

    Raises:
        ValueError: it is no type, or several in one.
    """
    if node is True:
        return True
    if not isinstance(node, dict):
        raise ValueError("a type in it is no JSON object")
    if "allOf" not in node:
        return node
    if len(node["allOf"]) != 1 or not isinstance(node["allOf"][0], dict):
        raise ValueError("it has allOf with several types, which is not checked here")
    rest = {key: item for key, item in node.items() if key != "allOf"}
    return {**node["allOf"][0], **rest}


def _target(document: Mapping[str, Any], reference: str) -> dict[str, Any]:
    """Return the type that a reference names, such as ``#/$defs/Address``."""
    target: Any = document
    if not reference.startswith("#"):
        raise ValueError(f"it refers to {one_line(reference)}, outside of itself")
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, dict) else None
    if not isinstance(target, dict):
        raise ValueError(f"it refers to {one_line(reference)}, which it does not hold")
    return target


def choices(node: Mapping[str, Any]) -> list[Any] | None:
    """Return the values that a type lists; ``None`` where it lists none."""
    if "const" in node:
        return [node["const"]]
    return node.get("enum")


def alternatives(node: Mapping[str, Any]) -> list[Any]:
    """Return the types of which a value has one; none where the type is one itself."""
    kinds = node.get("type")
    if isinstance(kinds, list):
        return [{**node, "type": kind} for kind in kinds]
    alternatives: list[Any] = node.get("anyOf", node.get("oneOf", []))
    if any(isinstance(each, dict) and each.get("type") == "number" for each in alternatives):
        # A decimal number may come as a text; how that is described differs by release.
        return [_without_pattern(each) for each in alternatives]
    return alternatives


def _without_pattern(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    return {key: item for key, item in node.items() if key != "pattern"}


def limits_of(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the limits of a type: the keyword of each, and its words.

    Raises:
        ValueError: a limit is no number.
    """
    for keyword, (_, words, _) in LIMITS.items():
        # How long a list of exactly these items is, they say themselves.
        if keyword in node and not (keyword.endswith("Items") and "prefixItems" in node):
            if not is_instance(node[keyword], (int, float)):
                raise ValueError(f"its {keyword} is no number")
            yield keyword, words.format(node[keyword])


def pattern(node: Mapping[str, Any]) -> re.Pattern[str]:
    """Return the pattern that a type's texts have to match somewhere.

    Raises:
        ValueError: it is no regular expression.
    """
    try:
        return re.compile(node["pattern"])
    except re.error:
        raise ValueError("its pattern is no regular expression") from None


def required(node: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that a type requires."""
    return [str(name) for name in node.get("required", ())]


def is_of(kind: object, value: object) -> bool:
    """Return whether a value has a JSON type, such as ``integer``; 1.0 is an integer, too."""
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return is_instance(value, KINDS.get(str(kind), ()))


def is_instance(value: object, types: tuple[type, ...]) -> bool:
    """Return whether a value is of one of these types; True and False are no numbers."""
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def quoted(value: object) -> str:
    """Return a JSON value on one line."""
    return json.dumps(value, ensure_ascii=False)
