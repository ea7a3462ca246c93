"""Check of a JSON value by a JSON schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatmagic.conversation import json_schema, schema_text
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping


def check(document: Mapping[str, Any], value: object) -> None:
    """Check a JSON value.

    Args:
        document: the JSON schema, of which :mod:`chatmagic.conversation.schema_text` has
            written the text.
        value: the value.

    Raises:
        ValueError: it has another form; the message says where, and what is expected.
    """
    try:
        _check(document, document, value, "")
    except RecursionError:
        raise ValueError("the schema refers to itself without an end") from None


def _check(document: Mapping[str, Any], node: Any, value: object, path: str) -> None:
    node = json_schema.whole(document, node)
    if node is True:
        return
    choices = json_schema.choices(node)
    if choices is not None:
        if not any(_same(value, choice) for choice in choices):
            raise _unexpected(path, schema_text.words(document, node), value)
        return
    if alternatives := json_schema.alternatives(node):
        _check_any(document, alternatives, value, path)
        return
    kind = node.get("type", "object" if "properties" in node and isinstance(value, dict) else None)
    if kind is not None and not json_schema.is_of(kind, value):
        raise _unexpected(path, schema_text.words(document, node), value)
    _check_limits(node, value, path)
    if isinstance(value, dict):
        _check_fields(document, node, value, path)
    elif isinstance(value, list):
        _check_items(document, node, value, path)


def _check_limits(node: Mapping[str, Any], value: object, path: str) -> None:
    for keyword, words in json_schema.limits_of(node):
        types, _, keeps = json_schema.LIMITS[keyword]
        if json_schema.is_instance(value, types) and not keeps(value, node[keyword]):
            raise _unexpected(path, words, value)
    if isinstance(value, str) and "pattern" in node:
        pattern = json_schema.pattern(node)
        if not pattern.search(value):
            raise _unexpected(path, f"a text that matches {pattern.pattern}", value)


def _check_fields(
    document: Mapping[str, Any], node: Mapping[str, Any], value: dict[str, Any], path: str
) -> None:
    properties, others = node.get("properties", {}), node.get("additionalProperties", True)
    for name in json_schema.required(node):
        if name not in value:
            raise ValueError(f"{_at(path)}the field {json_schema.quoted(name)} is missing")
    # Plain values first: by them alternatives are told apart, before each is followed all the way.
    for name, item in sorted(value.items(), key=lambda held: isinstance(held[1], dict | list)):
        where = f"{path}.{name}" if path else name
        if name in properties:
            _check(document, properties[name], item, where)
        elif others is False:
            raise ValueError(f"{_at(path)}there is no field {_shown(name)}")
        else:
            _check(document, others, item, where)


def _check_items(
    document: Mapping[str, Any], node: Mapping[str, Any], value: list[Any], path: str
) -> None:
    first = node.get("prefixItems", [])
    if first and len(value) != len(first) and not node.get("items"):
        raise _unexpected(path, f"a list of {len(first)} items", value)
    if node.get("uniqueItems") and len({json_schema.quoted(item) for item in value}) < len(value):
        raise _unexpected(path, "a list without repeated items", value)
    for number, item in enumerate(value):
        rule = first[number] if number < len(first) else node.get("items", True)
        _check(document, rule, item, f"{path}[{number}]")


def _check_any(
    document: Mapping[str, Any], alternatives: list[Any], value: object, path: str
) -> None:
    """Check a value by several types; where one alone may be meant, say what that lacks."""
    problems = []
    for alternative in alternatives:
        try:
            _check(document, alternative, value, path)
        except ValueError as problem:
            problems.append((json_schema.whole(document, alternative), problem))
        else:
            return
    alike = [p for node, p in problems if "type" in node and json_schema.is_of(node["type"], value)]
    if len(alike) == 1:
        raise alike[0]
    words = " or ".join(dict.fromkeys(schema_text.words(document, each) for each in alternatives))
    raise _unexpected(path, words, value)


def _same(value: object, choice: object) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _unexpected(path: str, words: str, value: object) -> ValueError:
    return ValueError(f"{_at(path)}expected {words}, not {_shown(value)}")


def _at(path: str) -> str:
    return f"{one_line(path)}: " if path else ""


def _shown(value: object) -> str:
    return one_line(json_schema.quoted(value))
