"""A reply as safe HTML, as safe Markdown and as text, by its format; JSON is shown as a tree."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any, Final

from markdown_it.token import Token

from chatmagic import _json_reply
from chatmagic._json_reply import NotJSONError
from chatmagic.render import markdown, safe_markdown, sanitize
from chatmagic.render.live_markdown import LiveMarkdown, LiveText
from chatmagic.safe_text import PROSE, counted, fenced, one_line, visible

_FENCE: Final = "`" * 80
"""The fence around JSON under way; no line of JSON closes so long a fence."""


def reply_html(text: str, format: str) -> str:
    """Return any reply as an HTML fragment that cannot act.

    Args:
        text: the reply.
        format: ``markdown``, ``text``, ``code`` or ``json``.
    """
    if format == "text":
        return markdown.as_text(text)
    if format == "json":
        return _json_html(text)
    if _is_bare_code(text, format):
        return markdown.to_html(fenced(text))
    return markdown.to_html(text)


def live_reply(format: str, opening: str = "") -> LiveMarkdown:
    """Return the renderer of a reply under way; JSON is shown as code until it is whole.

    Args:
        format: as for :func:`reply_html`.
        opening: the opening line of the code block in which the reply continues; empty for none.
    """
    if format == "text":
        return LiveText()
    begin = f"{_FENCE}json" if format == "json" else opening
    return LiveMarkdown(begin and f"{begin}\n")


def reply_markdown(text: str, format: str) -> str:
    """Return any reply as Markdown that cannot act.

    Args:
        text: the reply.
        format: as for :func:`reply_html`.
    """
    if format == "text":
        return safe_markdown.as_typed(text)
    if format == "json":
        return safe_markdown.code_block(reply_text(text, format), "json")
    if _is_bare_code(text, format):
        return safe_markdown.code_block(text)
    return safe_markdown.to_markdown(text)


def reply_text(text: str, format: str) -> str:
    """Return a reply as readable text: JSON indented, any other reply unchanged.

    Args:
        text: the reply.
        format: as for :func:`reply_html`.
    """
    if format != "json":
        return text
    try:
        return _json_reply.indented(_json_reply.parse(text))
    except NotJSONError:
        return text


_BEGINNING: Final = 1_000
"""Number of first characters that :func:`excerpt` reads as Markdown."""
# As CommonMark has them, except inside words (2**3**4), of signs (*.py) and of underscores.
_MARKED: Final = (
    r"(?P<block>`{3,}.*?(?:`{3,}|$))|(?<!`)(`+)(?!`)(?P<code>.+?)(?<!`)\2(?!`)"
    r"|(?<![\w*\\])(\*{1,3})(?=[\w`\"'(])(?P<words>(?:`[^`]*`|[^`])+?)(?<![\s*\\])\4(?![\w*]|\.\w)"
)


def excerpt(text: str, format: str = "prompt", limit: int = 60) -> str:
    """Return the beginning of a text on one line, without its Markdown syntax.

    Args:
        text: the reply, or the prompt as typed.
        format: as for :func:`reply_html`; ``prompt`` takes away only the marks of emphasis and
            code.
        limit: the largest number of characters.
    """
    begin = text[:_BEGINNING]
    if format == "prompt":
        begin = re.sub(_MARKED, _unmarked, " ".join(begin.split()))
    elif format == "markdown":
        tokens = markdown.PARSER.parse(visible(begin), markdown.environment(live=True))
        begin = " ".join(filter(None, map(_words, tokens)))
    return one_line(f"{begin} {text[_BEGINNING:]}", limit)


def _unmarked(match: re.Match[str]) -> str:
    """Return code as typed, a block with its fences, and emphasized words without the marks."""
    code = match["block"] or match["code"]
    return (code or re.sub(_MARKED, _unmarked, match["words"] or "")).strip()


def _words(token: Token) -> str:
    """Return the text of a token of Markdown; a line break is a space."""
    if token.children:
        return "".join(map(_words, token.children))
    return " " if token.type.endswith("break") else token.content


def _json_html(text: str) -> str:
    """Return a JSON reply as a tree; text that is no JSON is code, with the error's place."""
    try:
        value = _json_reply.parse(text)
    except NotJSONError as error:
        place = f" at line {error.line:,}, column {error.column:,}" if error.line else ""
        words = f'<p class="chatmagic-no-json"><strong>No JSON{place}.</strong></p>'
        return words + markdown.to_html(fenced(text))
    if len(text) > MOST_TREE:
        return markdown.as_text(text, f"it has {len(text):,} characters")
    tree = json_tree(value)
    if text == _json_reply.indented(value):
        return tree
    raw = f'<pre dir="auto" style="{PROSE}">{sanitize.typed(text)}</pre>'
    return f'{tree}<details class="chatmagic-value"><summary>As it came</summary>{raw}</details>'


def _is_bare_code(text: str, format: str) -> bool:
    """Return whether a reply is code without a fence around it."""
    return format == "code" and bool(text.strip()) and "```" not in text and "~~~" not in text


MOST_TREE: Final = 200_000
"""Largest number of characters of a reply that is shown as a tree."""
MOST_VALUES: Final = 2_000
"""Largest number of values of a tree: a page takes about 0.4 ms to lay one out."""
OPEN_LEVELS: Final = 2
"""Number of levels of the tree that are unfolded at first."""
MOST_OPEN: Final = 200
"""Largest number of items of a list or an object that is unfolded at first."""

_LIST: Final = "list-style-type: none; margin: 0; padding: 0 0 0 1.4em;"


def json_tree(value: Any) -> str:
    """Return a JSON value as an HTML fragment that cannot act, whatever texts it holds.

    Args:
        value: the value, nested at most :data:`chatmagic._json_reply.DEEPEST` deep.
    """
    count = _count(value)
    if count > MOST_VALUES:
        return markdown.as_text(_json_reply.indented(value), f"it has {count:,} values")
    return f'<div class="chatmagic-json" style="{sanitize.COLOURED}">{_node("", value, 0)}</div>'


def _count(value: Any) -> int:
    """Return the number of values in a value, itself included."""
    count = 0
    level = [value]
    while level:
        count += len(level)
        level = [item for parent in level for _, item in _items(parent)]
    return count


def _items(value: Any) -> list[tuple[str, Any]]:
    """Return the items of a list or an object, each with its name as shown; else an empty list."""
    if isinstance(value, dict):
        return [(_quoted(name), item) for name, item in value.items()]
    if isinstance(value, list):
        return [(str(place), item) for place, item in enumerate(value)]
    return []


def _node(name: str, value: Any, level: int) -> str:
    """Return a value with its name and its parts, which fold.

    Args:
        name: its name, as HTML; empty for the whole.
        value: the value.
        level: number of the levels above it.
    """
    label = f"<strong>{name}</strong>: " if name else ""
    items = _items(value)
    if not items:
        # Below the name of a value that folds, not below its triangle.
        return f'<span dir="auto" style="padding-inline-start: 1.2em;">{label}{_leaf(value)}</span>'
    noun = "field" if isinstance(value, dict) else "item"
    inner = "".join(f"<li>{_node(key, item, level + 1)}</li>" for key, item in items)
    opened = " open" if level < OPEN_LEVELS and len(items) <= MOST_OPEN else ""
    return (
        f"<details{opened}><summary>{label}{counted(len(items), noun)}</summary>"
        f'<ul style="{_LIST}">{inner}</ul></details>'
    )


def _leaf(value: Any) -> str:
    """Return the HTML of a value without parts, in the colour of its type in code."""
    kind = {str: "s", int: "m", float: "m"}.get(type(value), "k")
    return f'<span style="{sanitize.TOKENS[kind]}">{_quoted(value)}</span>'


def _quoted(value: Any) -> str:
    """Return a text, number or other simple value as JSON in HTML, with its characters visible."""
    return escape(visible(json.dumps(value, ensure_ascii=False)))
