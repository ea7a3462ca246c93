"""Text that tells a model of the schema that its reply has to have: a paragraph for each type.

It is written here, in one form, whatever the JSON schema was made from: the names of the fields,
their types, whether they are required, choices, limits and descriptions. So it does not change
with the release of a library that wrote the JSON schema, and a recorded request can be made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from chatmagic.conversation import json_schema
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SAID: Final = frozenset(
    """$defs $id $schema $comment additionalProperties allOf anyOf const default definitions
    deprecated description discriminator enum examples exclusiveMaximum exclusiveMinimum format
    items maxItems maxLength maximum minItems minLength minimum oneOf pattern prefixItems
    properties readOnly required title type uniqueItems writeOnly $ref""".split()  # noqa: SIM905 - a word a line would be a page
)
"""The keywords that are checked, or that say nothing of a value."""

_WORDS: Final = {"array": "list", "object": "object"}

_FORMS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("properties", "$defs"), (dict,)),
    **dict.fromkeys(("required", "enum", "prefixItems", "anyOf", "oneOf", "allOf"), (list,)),
    **dict.fromkeys(("additionalProperties", "items"), (dict, bool)),
    "type": (str, list),
    "pattern": (str,),
    "$ref": (str,),
}
"""What the keywords hold that hold no value of their own."""


def write(document: Mapping[str, Any], name: str, *, strict: bool = True) -> str:
    """Return what a model is told of a schema: a paragraph for each type.

    Raises:
        ValueError: it is no JSON schema, or one that is not checked here.
    """
    return _Writer(document, strict=strict).write(name)


def words(document: Mapping[str, Any], node: Any) -> str:
    """Return a type of a JSON schema in words, for a message."""
    return _Writer(document, strict=False).words(node, "object")


class _Writer:
    """Writer of a schema's text; types that are written in paragraphs of their own are queued.

    Args:
        document: the JSON schema.
        strict: whether an unknown keyword is an error.
    """

    def __init__(self, document: Mapping[str, Any], *, strict: bool) -> None:
        """Write nothing yet."""
        self._document = document
        self._strict = strict
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
            paragraphs.append(
                self._paragraph(name, json_schema.whole(self._document, self._types[name]))
            )
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
        required = json_schema.required(node)
        for field_name, given in properties.items():
            inner = json_schema.unwrapped(given)
            whole = json_schema.whole(self._document, inner)
            needed = ", required" if field_name in required else ""
            words = self.words(inner, f"{name}.{field_name}")
            line = f"- {json_schema.quoted(field_name)}{needed}: {words}"
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
            raise ValueError("a type in it is no JSON object")
        self._refuse(node)
        node = json_schema.unwrapped(node)
        if "$ref" in node:
            return self._named(node["$ref"].rpartition("/")[2], node)
        node = json_schema.whole(self._document, node)
        self._refuse(node)
        if (choices := json_schema.choices(node)) is not None:
            quoted = ", ".join(map(json_schema.quoted, choices))
            return quoted if len(choices) == 1 else f"one of {quoted}"
        alternatives = json_schema.alternatives(node)
        if alternatives:
            words = (self.words(each, f"{name} {n}") for n, each in enumerate(alternatives, 1))
            return " or ".join(dict.fromkeys(words))
        plain, limits = self._plain(node, name), ", ".join(_limits(node))
        return f"{plain} ({limits})" if limits else plain

    def _plain(self, node: dict[str, Any], name: str) -> str:
        """Return the words for a type of one JSON type."""
        kind = node.get("type")
        if kind is None and node.get("properties"):
            kind = "object"
        if kind is None:
            return "any value"
        if not isinstance(kind, str) or kind not in json_schema.KINDS:
            raise ValueError(f"it has the type {one_line(repr(kind))}")
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
        """Refuse a type that is written wrongly, or otherwise than it is checked here."""
        unknown = sorted(str(keyword) for keyword in node if keyword not in _SAID)
        if self._strict and unknown:
            raise ValueError(f"it has {one_line(unknown[0])}, which is not checked here")
        for keyword, types in _FORMS.items():
            if keyword in node and not isinstance(node[keyword], types):
                raise ValueError(f"its {keyword} cannot be read")
        is_union = "anyOf" in node or "oneOf" in node
        if self._strict and is_union and ("type" in node or "properties" in node):
            raise ValueError("it has anyOf or oneOf beside a type, which is not checked here")
        if "pattern" in node:
            json_schema.pattern(node)

    def _with_description(self, line: str, node: Any) -> str:
        about = node.get("description") if isinstance(node, dict) else None
        return f"{line}. {' '.join(about.split())}" if isinstance(about, str) and about else line


def _limits(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words what a value of a type has to keep to."""
    if isinstance(node.get("format"), str):
        yield f"format {node['format']}"
    for _, words in json_schema.limits_of(node):
        yield words
    if "pattern" in node:
        yield f"matching {node['pattern']}"
    if node.get("uniqueItems"):
        yield "without repeated items"
