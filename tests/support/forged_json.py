"""Any JSON, and JSON of ours with any JSON in the place of a part of it."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

texts = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def nested_lists(levels: int) -> list[Any]:
    """Return lists within lists."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def forged(whole: Any, item: Any, data: st.DataObject) -> Any:
    """Give a copy of a JSON value with another value in the place of one of its parts."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(inner, dict | list):
                walk(inner)

    made = copy.deepcopy(whole)
    walk(made)
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = item
    return made
