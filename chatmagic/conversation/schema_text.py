"""Schema of a reply, and the text that tells a model of it.

A JSON schema that the user wrote is told as it stands. Of a type, pydantic writes one, each release
in its own form; of that the text here tells the names of the fields, their types, whether they are
required, choices, limits and descriptions, a paragraph for each type. So it does not change with a
release, and a recorded request can be made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, Final

_LIMITS: Final[Mapping[str, str]] = {
    "format": "format {}",
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matching {}",
    "uniqueItems": "without repeated items",
}
"""Limits by keyword, in words."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Schema that the JSON of a reply has to have.

    Args:
        name: as the asker names it.
        text: what a model is told of it.
        read: makes of a JSON value what the asker gets; raises any error for another form.
    """

    name: str
    text: str
    read: Callable[[Any], Any] = field(compare=False)


def whole_text(document: Mapping[str, Any], name: str) -> str:
    """Return what a model is told of a JSON schema that the user wrote: all of it.

    Args:
        document: the JSON schema.
        name: what it is called.
    """
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return f"{name}: a value of this JSON schema\n\n{text}"


def type_text(document: Mapping[str, Any], name: str) -> str:
    """Return what a model is told of a type: a paragraph for each type in it.

    Args:
        document: the JSON schema that pydantic wrote of it.
        name: what the type is called.
    """
    return _Writer(document, name).text()


class _Writer:
    """Writer of a type's text; the types that it refers to get paragraphs of their own.

    Args:
        document: the JSON schema.
        name: what the type is called.
    """

    def __init__(self, document: Mapping[str, Any], name: str) -> None:
        """Write nothing yet."""
        self._defined: Mapping[str, Any] = document.get("$defs", {})
        whole = {"$ref": document["$ref"]} if "$ref" in document else document
        self._types: dict[str, Mapping[str, Any]] = {name: whole}
        """What is written in paragraphs of its own, by name."""

    def text(self) -> str:
        paragraphs: list[str] = []
        while len(paragraphs) < len(self._types):
            name = list(self._types)[len(paragraphs)]
            paragraphs.append(self._paragraph(name, self._resolved(self._types[name])))
        return "\n\n".join(paragraphs)

    def _paragraph(self, name: str, node: Mapping[str, Any]) -> str:
        if not node.get("properties"):
            return _described(f"{name}: {self._words(node)}", node)
        others = node.get("additionalProperties", True)
        more = ", and no others" if others is False else ""
        if isinstance(others, dict):
            more = f", and others, each value {self._in_brackets(others)}"
        lines = [_described(f"{name}: object with these fields{more}", node)]
        for key, given in node["properties"].items():
            inner = _unwrapped(given)
            needed = ", required" if key in node.get("required", ()) else ""
            line = f"- {_quoted(key)}{needed}: {self._words(inner)}"
            # The description of a type in a paragraph of its own stands there.
            lines.append(_described(line, inner))
        return "\n".join(lines)

    def _words(self, node: Mapping[str, Any]) -> str:
        """Return a type in words."""
        node = _unwrapped(node)
        if "$ref" in node:
            return self._named(node["$ref"])
        choices = [node["const"]] if "const" in node else node.get("enum")
        if choices is not None:
            quoted = ", ".join(map(_quoted, choices))
            return quoted if len(choices) == 1 else f"one of {quoted}"
        if alternatives := node.get("anyOf", node.get("oneOf")):
            if any(each.get("type") == "number" for each in alternatives):
                # A decimal number may come as a text; how that is described differs by release.
                alternatives = [{**each, "pattern": None} for each in alternatives]
            return " or ".join(dict.fromkeys(map(self._words, alternatives)))
        plain, limits = self._plain(node), ", ".join(_limits(node))
        return f"{plain} ({limits})" if limits else plain

    def _plain(self, node: Mapping[str, Any]) -> str:
        """Return the words for a type of one JSON type."""
        match node:
            case {"prefixItems": items}:
                return f"list of exactly ({'; '.join(map(self._words, items))})"
            case {"type": "array", "items": dict(item)} if item:
                return f"list of {self._in_brackets(item)}"
            case {"type": "object", "additionalProperties": dict(value)}:
                return f"object with any names, each value {self._in_brackets(value)}"
        kind = node.get("type", "any value")
        return "list" if kind == "array" else str(kind)

    def _in_brackets(self, node: Mapping[str, Any]) -> str:
        words = self._words(node)
        return f"({words})" if " " in words else words

    def _named(self, reference: str) -> str:
        """Return the name of a type in a paragraph of its own, which comes behind the others."""
        node, base = {"$ref": reference}, reference.rpartition("/")[2]
        known = (name for name, held in self._types.items() if held == node)
        others = (f"{base} {number}" for number in count(2))
        free = (name for name in chain([base], others) if name not in self._types)
        name = next(known, None) or next(free)
        self._types[name] = node
        return name

    def _resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a type with what it refers to put into it."""
        node = _unwrapped(node)
        if "$ref" not in node:
            return node
        rest = {key: item for key, item in node.items() if key != "$ref"}
        return {**self._resolved(self._defined[node["$ref"].rpartition("/")[2]]), **rest}


def _limits(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words what a value of a type has to keep to."""
    for keyword, words in _LIMITS.items():
        # How long a list of exactly these items is, they say themselves.
        if node.get(keyword) is not None and not (
            keyword.endswith("Items") and keyword != "uniqueItems" and "prefixItems" in node
        ):
            yield words.format(node[keyword])


def _unwrapped(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a type without an ``allOf`` around another one, as older releases write it."""
    if "allOf" not in node:
        return node
    return {**node["allOf"][0], **{key: item for key, item in node.items() if key != "allOf"}}


def _described(line: str, node: Mapping[str, Any]) -> str:
    about = node.get("description")
    return f"{line}. {' '.join(about.split())}" if about else line


def _quoted(value: object) -> str:
    """Return a JSON value on one line."""
    return json.dumps(value, ensure_ascii=False)
