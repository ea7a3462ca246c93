"""Whether a value that came as JSON has one of the types of the panel's messages."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def conforms(value: object, form: Any) -> bool:
    """Return whether a value has a type: all that is required, nothing besides, each of its type.

    Args:
        value: as JSON has it.
        form: of :mod:`chatmagic.jupyter.page.messages`.
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
