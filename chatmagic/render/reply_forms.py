"""A reply as safe HTML, as safe Markdown and as text, in the form that was asked for."""

from __future__ import annotations

from html import escape

from chatmagic import _json_reply
from chatmagic._json_reply import NotJSONError
from chatmagic.render import json_tree, markdown, markdown_writer, sanitize
from chatmagic.text import PROSE, fence, visible


def to_html(text: str, format: str, *, live: bool = False) -> str:
    """Return a reply as an HTML fragment that cannot act, whatever the reply is.

    Args:
        text: the reply, or as much of it as has come.
        format: ``markdown``, ``text``, ``code`` or ``json``.
        live: while it streams.
    """
    if format == "text":
        return sanitize.reply_box(f'<pre style="{PROSE}">{escape(visible(text))}</pre>')
    if format == "json":
        return _as_code(text, "json", live=live) if live else _json_html(text)
    if format == "code" and text.strip() and not _may_be_fenced(text):
        return _as_code(text, "", live=live)
    return markdown.to_html(text, live=live)


def to_markdown(text: str, format: str) -> str:
    """Return a reply as Markdown that cannot act, whatever the reply is.

    Args:
        text: the reply.
        format: as for :func:`to_html`.
    """
    if format == "text":
        return markdown_writer.as_typed(text)
    if format == "json":
        return markdown_writer.fenced(to_text(text, format), "json")
    if format == "code" and text.strip() and not _may_be_fenced(text):
        return markdown_writer.fenced(text)
    return markdown_writer.to_markdown(text)


def to_text(text: str, format: str) -> str:
    """Return a reply as a text to read: JSON indented, all else as it came.

    Args:
        text: the reply.
        format: as for :func:`to_html`.
    """
    if format != "json":
        return text
    try:
        return _json_reply.indented(_json_reply.parse(text))
    except NotJSONError:
        return text


def _json_html(text: str) -> str:
    """Return a reply in JSON as a tree; one that is none as it came, with where it fails."""
    try:
        value = _json_reply.parse(text)
    except NotJSONError as error:
        where = f" at line {error.line:,}, column {error.column:,}" if error.line else ""
        words = f'<p class="chatmagic-no-json"><strong>No JSON{where}.</strong></p>'
        return words + _as_code(text, "")
    tree = json_tree.to_html(value)
    if text == _json_reply.indented(value):
        return tree
    raw = f'<pre dir="auto" style="{PROSE}">{escape(visible(text))}</pre>'
    return f'{tree}<details class="chatmagic-value"><summary>As it came</summary>{raw}</details>'


def _as_code(text: str, language: str, *, live: bool = False) -> str:
    marks = fence(text)
    return markdown.to_html(f"{marks}{language}\n{text}\n{marks}", live=live)


def _may_be_fenced(text: str) -> bool:
    """Return whether a reply has a code block, or is so short that one may be coming."""
    return "```" in text or "~~~" in text or text.strip() in {"`", "``", "~", "~~"}
