"""Schema of a reply, and the text that tells a model of it: a paragraph for each type.

A JSON schema is as json-schema.org has it (draft 2020-12): a type is an object of keywords, or
``true`` for any value. Its text is written here, in one form, whatever the JSON schema was made
from: the names of the fields, their types, whether they are required, choices, limits and
descriptions. So it does not change with the release of a library that wrote the JSON schema, and
a recorded request can be made again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_SAID: Final = frozenset(
    """$defs $id $schema $comment additionalProperties allOf anyOf const default definitions
    deprecated description discriminator enum examples exclusiveMaximum exclusiveMinimum format
    items maxItems maxLength maximum minItems minLength minimum oneOf pattern prefixItems
    properties readOnly required title type uniqueItems writeOnly $ref""".split()  # noqa: SIM905 - a word a line would be a page
)
"""The keywords that the text tells of, or that say nothing of a value."""
_WORDS: Final = {"array": "list"}
_LIMITS: Final[Mapping[str, str]] = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
"""Limits by keyword, in words."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Schema that the JSON of a reply has to have.

    Args:
        name: as the asker names it.
        text: what a model is told of it (:func:`write`).
        read: makes of a JSON value what the asker gets; raises any error for another form.
    """

    name: str
    text: str
    read: Callable[[Any], Any] = field(compare=False)


def write(document: Mapping[str, Any], name: str, *, whole: bool = True) -> str:
    """Return what a model is told of a JSON schema: a paragraph for each type.

    Args:
        document: the JSON schema, which is a valid one.
        name: what it is called.
        whole: whether the JSON schema itself is told where the paragraphs would leave something
            out.

    Raises:
        ValueError: it refers to something that it does not hold.
    """
    try:
        return _Writer(document, whole=whole).write(name)
    except _NotToldError:
        text = json.dumps(document, ensure_ascii=False, indent=2)
        return f"{name}: a value of this JSON schema\n\n{text}"


class _NotToldError(Exception):
    """A JSON schema says something that the paragraphs have no words for."""


class _Writer:
    """Writer of a schema's text; types that are written in paragraphs of their own are queued.

    Args:
        document: the JSON schema.
        whole: whether an unknown keyword is an error.
    """

    def __init__(self, document: Mapping[str, Any], *, whole: bool) -> None:
        """Write nothing yet."""
        self._document = document
        self._whole = whole
        self._types: dict[str, Any] = {}
        """What is written in paragraphs of its own, by name."""

    def write(self, name: str) -> str:
        """Return the whole text.

        Args:
            name: what the schema is called.
        """
        document = self._document
        paragraphs, written = [], 0
        self._types = {name: {"$ref": document["$ref"]} if "$ref" in document else document}
        while written < len(self._types):
            name = list(self._types)[written]
            paragraphs.append(self._paragraph(name, self._resolved(self._types[name])))
            written += 1
        return "\n\n".join(paragraphs)

    def _paragraph(self, name: str, node: Any) -> str:
        properties = node.get("properties") if isinstance(node, dict) else None
        if not properties:
            return self._with_description(f"{name}: {self.words(node, name)}", node)
        self._refuse(node)
        others = node.get("additionalProperties", True)
        more = ", and no others" if others is False else ""
        if isinstance(others, dict):
            more = f", and others, each value {self._in_brackets(others, name + ' value')}"
        lines = [self._with_description(f"{name}: object with these fields{more}", node)]
        required = node.get("required", ())
        for field_name, given in properties.items():
            inner = _unwrapped(given)
            whole = self._resolved(inner)
            needed = ", required" if field_name in required else ""
            words = self.words(inner, f"{name}.{field_name}")
            line = f"- {_quoted(field_name)}{needed}: {words}"
            # That of a type in a paragraph of its own stands there.
            refers = isinstance(inner, dict) and "$ref" in inner
            lines.append(self._with_description(line, inner if refers else whole))
        return "\n".join(lines)

    def words(self, node: Any, name: str) -> str:
        """Return a type in words.

        Args:
            node: the type.
            name: what it is called where it needs a paragraph of its own.
        """
        if node is True or node == {}:
            return "any value"
        if not isinstance(node, dict):
            raise _NotToldError
        self._refuse(node)
        node = _unwrapped(node)
        if "$ref" in node:
            return self._named(node["$ref"].rpartition("/")[2], node)
        node = self._resolved(node)
        self._refuse(node)
        if (choices := _choices(node)) is not None:
            quoted = ", ".join(map(_quoted, choices))
            return quoted if len(choices) == 1 else f"one of {quoted}"
        alternatives = _alternatives(node)
        if alternatives:
            words = (self.words(each, f"{name} {n}") for n, each in enumerate(alternatives, 1))
            return " or ".join(dict.fromkeys(words))
        plain, limits = self._plain(node, name), ", ".join(_limits(node))
        return f"{plain} ({limits})" if limits else plain

    def _plain(self, node: dict[str, Any], name: str) -> str:
        """Return the words for a type of one JSON type."""
        kind: str | None = node.get("type")
        if kind is None and node.get("properties"):
            kind = "object"
        if kind is None:
            return "any value"
        if kind == "array" and "prefixItems" in node:
            items = (self.words(i, f"{name} {n}") for n, i in enumerate(node["prefixItems"], 1))
            return f"list of exactly ({'; '.join(items)})"
        if kind == "array" and node.get("items") not in (None, True, {}):
            return f"list of {self._in_brackets(node['items'], name + ' item')}"
        if kind == "object" and node.get("properties"):
            return self._named(name, node)
        if kind == "object" and isinstance(node.get("additionalProperties"), dict):
            values = self._in_brackets(node["additionalProperties"], name + " value")
            return f"object with any names, each value {values}"
        return _WORDS.get(kind, kind)

    def _in_brackets(self, node: Any, name: str) -> str:
        words = self.words(node, name)
        return f"({words})" if " " in words else words

    def _named(self, name: str, node: dict[str, Any]) -> str:
        """Queue a type for a paragraph of its own; return its name."""
        if "$ref" in node:
            node = {"$ref": node["$ref"]}
            if node == {"$ref": "#"}:
                return next(iter(self._types))
        known = [other for other, held in self._types.items() if held == node]
        if known:
            return known[0]
        free = name
        number = 1
        while free in self._types:
            number += 1
            free = f"{name} {number}"
        self._types[free] = node
        return free

    def _refuse(self, node: Mapping[str, Any]) -> None:
        """Raise an error for a type that the paragraphs cannot tell whole."""
        is_union = "anyOf" in node or "oneOf" in node
        is_both = is_union and ("type" in node or "properties" in node)
        if self._whole and (is_both or not _SAID.issuperset(node)):
            raise _NotToldError

    def _resolved(self, node: Any, seen: tuple[str, ...] = ()) -> Any:
        """Return a type with what it refers to put into it.

        Args:
            node: the type.
            seen: the references that led to it.

        Raises:
            ValueError: it refers to nothing, or to itself alone.
        """
        node = _unwrapped(node)
        if node is True or "$ref" not in node:
            return node
        reference = node["$ref"]
        if reference in seen:
            raise ValueError(f"{one_line(reference)} refers to itself alone")
        rest = {key: item for key, item in node.items() if key != "$ref"}
        return {**self._resolved(self._target(reference), (*seen, reference)), **rest}

    def _target(self, reference: str) -> dict[str, Any]:
        """Return the type that a reference names, such as ``#/$defs/Address``."""
        target: Any = self._document
        if not reference.startswith("#"):
            raise ValueError(f"it refers to {one_line(reference)}, outside of itself")
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            raise ValueError(f"it refers to {one_line(reference)}, which it does not hold")
        return target

    def _with_description(self, line: str, node: Any) -> str:
        about = node.get("description") if isinstance(node, dict) else None
        return f"{line}. {' '.join(about.split())}" if isinstance(about, str) and about else line


def _limits(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words what a value of a type has to keep to."""
    if isinstance(node.get("format"), str):
        yield f"format {node['format']}"
    for keyword, words in _LIMITS.items():
        # How long a list of exactly these items is, they say themselves.
        if keyword in node and not (keyword.endswith("Items") and "prefixItems" in node):
            yield words.format(node[keyword])
    if "pattern" in node:
        yield f"matching {node['pattern']}"
    if node.get("uniqueItems"):
        yield "without repeated items"


def _unwrapped(node: Any) -> Any:
    """Return a type without an ``allOf`` around another one, as older releases write it."""
    if node is True or (isinstance(node, dict) and "allOf" not in node):
        return node
    if not isinstance(node, dict) or len(node["allOf"]) != 1:
        raise _NotToldError
    rest = {key: item for key, item in node.items() if key != "allOf"}
    return {**node["allOf"][0], **rest}


def _choices(node: Mapping[str, Any]) -> list[Any] | None:
    """Return the values that a type lists; ``None`` where it lists none."""
    return [node["const"]] if "const" in node else node.get("enum")


def _alternatives(node: Mapping[str, Any]) -> list[Any]:
    """Return the types of which a value has one; none where the type is one itself."""
    kinds = node.get("type")
    if isinstance(kinds, list):
        return [{**node, "type": kind} for kind in kinds]
    alternatives: list[Any] = node.get("anyOf", node.get("oneOf", []))
    if any(isinstance(each, dict) and each.get("type") == "number" for each in alternatives):
        # A decimal number may come as a text; how that is described differs by release.
        return [
            {key: item for key, item in each.items() if key != "pattern"}
            if isinstance(each, dict)
            else each
            for each in alternatives
        ]
    return alternatives


def _quoted(value: object) -> str:
    """Return a JSON value on one line."""
    return json.dumps(value, ensure_ascii=False)
