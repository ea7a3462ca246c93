"""The types of ``page/messages.js``, and whether a value that came as JSON has one of them."""

from __future__ import annotations

import re
from functools import cache, reduce
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from chatmagic.demo import LABEXTENSIONS

_PYTHON = (
    (r'"(\w+)"', r'Literal["\1"]'),
    (r"(\w+\??): ", r'"\1": '),
    (r"Record<string, (\w+)>", r"dict[str, \1]"),
    (r"(?<!\w)\[(\w+, \w+)\]", r"tuple[\1]"),
    (r"(tuple\[[^\]]*\]|\w+|\{[^{}]*\})\[\]", r"list[\1]"),
    (r"\?(list\[\w+\]|\w+)", r"None | \1"),
    (r"(\{[^{}]*\})(?: & (\w+))?", r"form(\1, \2)"),
)
"""Patterns of a type in JSDoc, and the same in Python."""


@cache
def types() -> dict[str, Any]:
    """Return the types by their names."""
    text = (LABEXTENSIONS / "chatmagic" / "page" / "messages.js").read_text("utf-8")
    read: dict[str, Any] = {"form": _form, "Literal": Literal, "any": Any, "boolean": bool}
    read |= {"string": str, "number": int, "object": dict[str, Any]}
    one_line = re.sub(r"\n \*\s+", " ", text)
    for written, name in re.findall(r"@typedef \{(.*?)\} ([A-Z]\w+)", one_line):
        python = reduce(lambda text, pair: re.sub(pair[0], pair[1], text), _PYTHON, str(written))
        read[name] = eval(python, read)  # noqa: S307 - of our own file
    return read


def _form(fields: dict[str, Any], more: Any = None) -> Any:
    """Return the type of an object with these fields, and with those of another type."""
    own = {
        name.strip("?"): NotRequired[each] if "?" in name else each for name, each in fields.items()
    }
    make: Any = TypedDict
    return make("Object", {**own, **(_hints(more) if more else {})})


def conforms(value: object, form: Any) -> bool:
    """Return whether a value has a type: all that is required, nothing besides, each of its type.

    Args:
        value: as JSON has it.
        form: one of :func:`types`.
    """
    origin, parts = get_origin(form), get_args(form)
    if is_typeddict(form):
        hints = _hints(form)
        return (
            isinstance(value, dict)
            and form.__required_keys__ <= value.keys() <= hints.keys()
            and all(conforms(item, hints[name]) for name, item in value.items())
        )
    if origin in {Union, UnionType}:
        return any(conforms(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin in {list, tuple} and isinstance(value, list | tuple):
        forms = parts if origin is tuple else parts * len(value)
        return len(forms) == len(value) and all(map(conforms, value, forms))
    if origin is dict and isinstance(value, dict):
        return all(conforms(item, parts[1]) for item in value.values())
    return form is Any or type(value) is (NoneType if form is None else form)


@cache
def _hints(form: Any) -> dict[str, Any]:
    return get_type_hints(form)
