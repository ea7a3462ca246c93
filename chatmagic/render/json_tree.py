"""A JSON value as a tree in safe HTML: lists and objects fold, and every text is escaped."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Final

from chatmagic import _json_reply
from chatmagic.text import PROSE, counted, visible

MOST: Final = 2_000
"""How many values are shown as a tree: a page takes some 0.4 ms to lay one out."""
OPEN: Final = 3
"""How many levels are unfolded at first."""

_LIST: Final = 'style="list-style-type: none; margin: 0; padding: 0 0 0 1.4em;"'
_WORDS: Final = 'style="overflow-wrap: anywhere;"'


def to_html(value: Any) -> str:
    """Return a JSON value as an HTML fragment that cannot act, whatever its texts are.

    Args:
        value: the value, nested at most :data:`chatmagic._json_reply.DEEPEST` deep.
    """
    count = _count(value)
    if count > MOST:
        text = escape(visible(_json_reply.indented(value)))
        note = f"<p><em>Shown as text: it has {count:,} values.</em></p>"
        return (
            f'<div class="chatmagic-json">{note}<pre dir="auto" style="{PROSE}">{text}</pre></div>'
        )
    return f'<div class="chatmagic-json" {_WORDS}>{_node("", value, 0)}</div>'


def _count(value: Any) -> int:
    count, level = 0, [value]
    while level:
        count += len(level)
        level = [item for held in level for _, item in _items(held)]
    return count


def _items(value: Any) -> list[tuple[str, Any]]:
    """Return what a value holds, with the names as they are shown; a text holds nothing."""
    if isinstance(value, dict):
        return [(_quoted(name), item) for name, item in value.items()]
    return (
        [(str(place), item) for place, item in enumerate(value)] if isinstance(value, list) else []
    )


def _node(name: str, value: Any, level: int) -> str:
    label = f"<strong>{name}</strong>: " if name else ""
    items = _items(value)
    if not items:
        return f'<span dir="auto">{label}{_quoted(value)}</span>'
    noun = "field" if isinstance(value, dict) else "item"
    inner = "".join(f"<li>{_node(key, item, level + 1)}</li>" for key, item in items)
    opened = " open" if level < OPEN else ""
    return (
        f"<details{opened}><summary>{label}{counted(len(items), noun)}</summary>"
        f"<ul {_LIST}>{inner}</ul></details>"
    )


def _quoted(value: Any) -> str:
    """Return a value without others in it as JSON, with its characters visible."""
    return escape(visible(json.dumps(value, ensure_ascii=False)))
