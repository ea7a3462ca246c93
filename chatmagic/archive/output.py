"""A turn's output as a notebook keeps it: its data by type, and its record, sealed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape
from importlib import metadata
from typing import Any, Final, cast

from chatmagic import models
from chatmagic import safe_text as plain
from chatmagic._version import __version__
from chatmagic.advice import ALL_THOUGHT, ANOTHER_REPLY, AT_LIMIT, NOTHING_NEW, Place
from chatmagic.conversation import likely_mistakes
from chatmagic.conversation.question import Value
from chatmagic.conversation.record import Record, sealed
from chatmagic.conversation.staleness import Cause
from chatmagic.conversation.steering import Steering, instructions_note
from chatmagic.conversation.turn import Turn
from chatmagic.models import CodeBlock, Renderer, Reply
from chatmagic.render import gauge, markdown_parser, reply_forms, safe_markdown
from chatmagic.render.sanitize import QUIET, frame
from chatmagic.safe_text import counted

STATE_WORDS: Final = {
    "complete": "",
    "interrupted": "Interrupted: this reply is not complete.",
    "cut off": "Cut off: this reply is not complete.",
}
HIDDEN: Final = "hidden: it does not go along"
STATE_STYLE: Final = "margin: 0.4em 0 0; font-weight: 600;"
MARKDOWN_MARK: Final = "[//]: # (chatmagic)"
"""Last line of the Markdown, which no page shows; ``nbval-sanitize.cfg`` looks for it."""
RENDERERS: Final = ("markdown-it-py", "nh3", "pygments")
"""The packages that make a reply's HTML together with this one."""


_NO_RECORD: Final = Record(
    prompt="", state="complete", request="", reply="", origin="live", parameters={}
)
"""The record of a reply whose turn is not known."""


def of_turn(reply: Reply, record: Record) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a turn's output: its data by type, and its metadata.

    Args:
        reply: the reply, whole or in part.
        record: the turn's record.
    """
    data = bundle(reply, record)
    content = {**record.to_json(), "versions": dict(renderer_versions())}
    if data["text/plain"] != reply.text:
        # The output shows another form, but later requests carry the original text.
        content["text"] = reply.text
    return data, {"chatmagic": sealed(content, data)}


def of_message(
    html: str, text: str, record: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the output of a message of chatmagic that is no reply: its data, and its metadata.

    Args:
        html: safe HTML.
        text: the same in words.
        record: the record for the notebook.
    """
    data = {"text/html": html, "text/plain": text}
    return data, {"chatmagic": sealed(record, data)} if record else {}


def of_steering(item: Steering) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the output of a steering item: its data, and its metadata.

    Args:
        item: the item.
    """
    words = item.in_words
    html = f'<p style="{QUIET} margin: 0;">{escape(plain.visible(words))}</p>'
    if item.text:
        html = _folded(escape(plain.visible(words)), item.text)
    return of_message(frame(html, item.kind.capitalize()), words, item.to_json())


@lru_cache(maxsize=1)
def renderer_versions() -> Mapping[str, str]:
    """Return the versions of the packages that render a reply here."""
    return {"chatmagic": __version__, **{name: metadata.version(name) for name in RENDERERS}}


def bundle(reply: Reply, record: Record = _NO_RECORD) -> dict[str, Any]:
    """Return a reply as safe HTML, as safe Markdown, and as its exact text.

    JSON is a tree in HTML, and indented otherwise.

    Args:
        reply: the reply, whole or in part.
        record: the turn's record, if known; its values with a kept text are shown, folded.
    """
    is_json = record is _NO_RECORD and reply.parsed is not None
    format = "json" if is_json else record.parameters.get("format", "markdown")
    if record.continues and format == "json":
        format = "text"  # the rest of a JSON value is no JSON
    text = f"{record.block}\n{reply.text}" if record.block else reply.text
    return {
        "text/html": _html(reply, record, reply_forms.reply_html(text, format)),
        "text/markdown": _markdown(reply, record, reply_forms.reply_markdown(text, format)),
        "text/plain": reply_forms.reply_text(reply.text, format),
    }


def _html(reply: Reply, record: Record, body: str) -> str:
    """Return a reply as safe HTML, with the lines around it."""
    states = _states(reply, record)
    if name := likely_mistakes.merged_command(record.prompt):
        states.append(
            f"A line with {name} is sent as text; split the cell if it is to run by itself."
        )
    parts = [notes_html(_lines_above(record)), compared_html(_compared_settings(record))]
    if reply.reasoning:
        parts.append(_folded(_thought_words(reply.reasoning), reply.reasoning))
    parts.append(body)
    parts += [
        f'<p class="chatmagic-state" style="{STATE_STYLE}">{escape(plain.visible(line))}</p>'
        for line in states
    ]
    for value in record.values:
        if value.text is not None:
            name = f"<code>{escape(plain.visible(value.name))}</code>"
            parts.append(_folded(_kept_words(value, name), value.text))
    parts.append(credit_line(reply, record)[0])
    return frame("".join(parts))


def of_thoughts(reasoning: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the output for thoughts without a reply. There is no turn, so no record.

    Args:
        reasoning: the thoughts, as far as they arrived.
    """
    words = f"{_thought_words(reasoning)}. No reply began."
    return of_message(frame(_folded(words, reasoning)), words)


def _thought_words(reasoning: str) -> str:
    """Return the length of thoughts, in words."""
    return f"Thought: {counted(len(reasoning.split()), 'word')}"


def _markdown(reply: Reply, record: Record, body: str) -> str:
    """Return a reply as safe Markdown, with the lines around it."""
    escaped = safe_markdown.escaped
    blocks = [f"*{escaped(line)}*" for line in _lines_above(record)]
    if settings := _compared_settings(record):
        blocks.append(f"**{escaped(settings)}**")
    blocks.append(body)
    blocks += [f"**{escaped(line)}**" for line in _states(reply, record)]
    for value in record.values:
        if value.text is not None:
            blocks.append(escaped(_kept_words(value, value.name)))
            blocks.append(safe_markdown.code_block(value.text))
    if footer := credit_line(reply, record)[1]:
        blocks.append(f"*{escaped(footer)}*")
    blocks.append(MARKDOWN_MARK)
    return "\n\n".join(filter(None, blocks))


def _lines_above(record: Record) -> list[str]:
    """Return the lines above a reply: the question that it answers again, and a placeholder."""
    lines = [f"{note}." for note in likely_mistakes.placeholder_notes(record.placeholder)]
    if record.in_place_of:
        if record.continues:
            did = "Continued"
        elif record.picked:
            did = "Earlier reply to"
        else:
            did = "Asked again"
        lines.insert(0, f"{did}: “{reply_forms.excerpt(record.prompt)}”")
    return lines


def notes_html(notes: Iterable[str]) -> str:
    """Return quiet lines above a reply as HTML.

    Args:
        notes: the lines.
    """
    style = f"{QUIET} margin: 0 0 0.4em;"
    return "".join(f'<p style="{style}">{escape(plain.visible(note))}</p>' for note in notes)


def compared_html(settings: str) -> str:
    """Return the settings of a reply that is compared with others, as a head; empty without any.

    Args:
        settings: the settings, in words.
    """
    if not settings:
        return ""
    return f'<p class="chatmagic-compared" style="{STATE_STYLE}">{escape(settings)}</p>'


def _compared_settings(record: Record) -> str:
    """Return the settings of a reply that is compared with others, in words; else empty."""
    words = gauge.settings_words(record.parameters, record.asked_model)
    return words if record.compared else ""


def code_blocks(reply: Reply) -> tuple[CodeBlock, ...]:
    """Return a reply's blocks of code, in order.

    Args:
        reply: the reply, whole or in part.
    """
    parts = markdown_parser.code_and_prose(reply.text)
    return tuple(part for part in parts if not isinstance(part, str))


def state_lines(reply: Reply, place: Place = "notebook") -> list[str]:
    """Return lines on the end of a reply; none for the normal end of a text.

    Args:
        reply: the reply, whole or in part.
        place: the place that shows them.
    """
    lines = [STATE_WORDS[reply.state]]
    if reply.left_out:
        turns = counted(reply.left_out, "turn")
        lines.append(
            f"The conversation was too long for the service: sent without the oldest {turns}."
        )
    if reply.refusal:
        lines.append(f"The model refused: {reply.refusal}")
    if reply.finish_reason == "length":
        is_begun = reply.text or not reply.reasoning
        lines.append((AT_LIMIT if is_begun else ALL_THOUGHT).at(place))
    elif reply.finish_reason in ("tool_calls", "function_call"):
        lines.append("The model asked for a tool, and chatmagic runs none.")
    elif reply.finish_reason not in (None, "stop"):
        lines.append(f"The reply ended with: {reply.finish_reason}")
    elif not reply.text and not reply.refusal:
        lines.append("The reply is empty.")
    return [line for line in lines if line]


def seam_lines(reply: Reply, record: Record | None, place: Place = "notebook") -> list[str]:
    """Return lines on the seam of the two parts of a continued reply; none for any other reply.

    Args:
        reply: the second part.
        record: its record.
        place: the place that shows them.
    """
    if record is None or not record.continues:
        return []
    if record.afresh:
        return [ANOTHER_REPLY.at(place)]
    if record.cut >= len(reply.text):
        return [NOTHING_NEW.at(place)]
    lines = [_joined_after(words) for words in record.seams]
    if record.cut:
        size = counted(record.cut, "character")
        words = (
            f"The first {size} here repeat the end of the first part, and are joined to it once."
        )
        lines.insert(0, words)
    if record.alike:
        lines.append(
            "It begins as the first part does: the model may have begun again. Both are kept."
        )
    return lines


def _joined_after(words: str) -> str:
    """Return a sentence on the place where a part was joined."""
    return f"Joined after “{plain.one_line(words)}”."


def _states(reply: Reply, record: Record) -> list[str]:
    """Return the lines on the end of a reply; without a record it is a value in Python."""
    place: Place = "python" if record is _NO_RECORD else "notebook"
    return [*seam_lines(reply, record), *state_lines(reply, place)]


def turn_notes(turn: Turn, cause: Cause | None, *, is_hidden: bool = False) -> list[str]:
    """Return notes on a turn, in words, for a list of turns.

    Args:
        turn: the turn.
        cause: cause for which it is stale; ``None`` if it is not stale.
        is_hidden: whether a request below all turns leaves this one out.
    """
    reply = turn.reply
    notes: list[str] = []
    if is_hidden:
        notes.append(HIDDEN)
    if cause is not None:
        notes.append(f"stale, {cause.words}")
    if turn.missing:
        named = ", ".join(plain.one_line(value.name) for value in turn.missing)
        notes.append(f"sent without the value of {named}, which was not kept: run its cell again")
    if settings := gauge.settings_words(turn.parameters, turn.asked_model):
        notes.append(settings)
    if turn.instructions is not None:
        notes.append(instructions_note(turn.instructions))
    if turn.is_continued:
        after = " and ".join(f"“{plain.one_line(words)}”" for words in turn.seams)
        note = "its reply was continued"
        notes.append(f"{note} after {after}" if after else note)
    if turn.last is not None:
        count = len(turn.carried)
        only = f"only {counted(count, 'turn')}" if count else "none"
        notes.append(f"sent with {only} before it")
    return notes + _origin_notes(reply)


def _origin_notes(reply: Reply) -> list[str]:
    """Return notes on the source of a reply, if that is not the service."""
    notes: list[str] = []
    if reply.origin != "live":
        notes.append(reply.origin)
    if reply.recorded == "emulator":
        notes.append("recorded from the emulator")
    if reply.by_order:
        notes.append("chosen by its place: another request was recorded here")
    return notes


def credit_line(reply: Reply, record: Record) -> tuple[str, str]:
    """Return the line under a reply as HTML and as words: credits, tokens, settings.

    Args:
        reply: the reply, whole or in part.
        record: the turn's record.

    Returns:
        Both; two empty texts if the line is off.
    """
    if not record.parameters.get("credit_line", True):
        return "", ""
    settings = gauge.settings_words(record.parameters, record.asked_model)
    return gauge.line(reply.credits, reply.usage, settings, reply.seconds)


def _kept_words(value: Value, name: str) -> str:
    """Return a line on a value that is kept with an output."""
    return f"Value of {name}, kept with this output: {counted(value.size, 'character')}"


def _folded(summary: str, text: str) -> str:
    """Return a text as HTML, folded under a summary, which is safe HTML."""
    return (
        f'<details class="chatmagic-value"><summary>{summary}</summary>'
        f'<pre dir="auto" style="{plain.PROSE}">{escape(plain.visible(text))}</pre></details>'
    )


models.renderer = cast("Renderer", sys.modules[__name__])
