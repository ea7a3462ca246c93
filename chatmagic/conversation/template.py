"""Template of a prompt, in which ``{{ expression }}`` is replaced by its value.

Everything else is sent as typed, byte for byte: single braces, dollars, backslashes, JSON, LaTeX
and code. Values in front of the question, such as a cell or an error, are each followed by an empty
line.

A cell and an error stand in fences that nothing in them can close. Their text has nothing of this
kernel, such as a cell's number, so that a second run sends the same request.
"""

from __future__ import annotations

import ast
import json
import re
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from chatmagic._log import log_swallowed
from chatmagic.conversation.question import SCHEMA_MARK, Format, RequestFacts, Schema, Value
from chatmagic.conversation.turn import Turn
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.safe_text import fenced, one_line, without_memory_addresses

_AskedT = TypeVar("_AskedT", bound=RequestFacts)

OPEN: Final = "{{"
CLOSE: Final = "}}"
MOST_ENDS: Final = 100
"""Number of places that are tried as an expression's end; a person's expression has fewer."""
LONGEST: Final = 10_000
"""Largest number of characters of an expression; both limits keep a hostile text cheap."""

_RAW: Final = "--raw sends the text as typed."
_MESSAGE_SHOWN: Final = 200
# The texts of missing values in Python, NumPy, decimal and pandas; a ``str`` is never one.
_MISSING: Final = {"None", "nan", "NaN", "NaT", "<NA>"}


def fill(
    text: str, evaluate: Callable[[str], object] | None = None, front: Sequence[Value] = ()
) -> tuple[str, tuple[Value, ...]]:
    """Put the values of ``{{ expression }}`` into a prompt, and others in front of it.

    Each expression is evaluated once, in order. No value's text is searched for more expressions.
    Opening braces without closing ones stay as they are.

    Args:
        text: the prompt as typed.
        evaluate: returns an expression's value; ``None`` leaves all expressions as typed.
        front: the values in front, in order; each has a kind.

    Returns:
        The prompt to send, and the values in front and inside, in order, each with its text.

    Raises:
        InputError: the text between the braces is no expression, or has no value.
    """
    if evaluate is None:
        return in_front(front, text), tuple(front)
    # All expressions are found before the first is evaluated, so a mistake in the last costs
    # nothing.
    parts = _parts(text)
    values = [Value.of_text(expression, _value(expression, evaluate)) for expression in parts[1::2]]
    parts[1::2] = map(_text, values)
    return in_front(front, "".join(parts)), (*front, *values)


def refill(text: str, values: Sequence[Value]) -> str:
    """Return a prompt as it was sent, from its kept parts; nothing is evaluated.

    Args:
        text: the prompt as typed.
        values: the values inside and in front; one without its text is replaced by its name.

    Raises:
        InputError: they are not the values of this prompt.
    """
    if not values:
        return text
    front = [value for value in values if value.kind is not None]
    put_in = [value for value in values if value.kind is None]
    parts = _parts(text) if put_in else [text]
    if parts[1::2] != [value.expression for value in put_in]:
        raise InputError("its values are not those of its prompt")
    parts[1::2] = map(_text, put_in)
    return in_front(front, "".join(parts))


def fill_row(text: str, row: Mapping[str, object]) -> tuple[str, str | None]:
    """Return a template with the values of one row in place of ``{{ name }}``, and a missing name.

    Only names may stand between the braces. Nothing is evaluated, and no value's text is searched
    for more names. The second item is the first name whose value is missing, if any.

    Args:
        text: the template as typed.
        row: values by name.

    Raises:
        InputError: the template names something else, or nothing, or a value has no text.
    """
    parts = [*_row_parts(text)]
    if len(parts) == 1:
        raise InputError(
            "The template uses no value of a row, so all rows would send the same. "
            "Nothing was sent.",
            hint="{{ it }} stands for the row, {{ name }} for one of its columns.",
        )
    missing: list[str] = []
    for at in range(1, len(parts), 2):
        name = parts[at]
        if name not in row:
            names = one_line(", ".join(f"{{{{ {name} }}}}" for name in row), _MESSAGE_SHOWN)
            raise InputError(
                f"{{{{ {one_line(name)} }}}} is no name of a row. Nothing was sent.",
                hint=f"There is {names}; a template takes names, and no expressions.",
            )
        value = row[name]
        if type(value) is str:
            parts[at] = value
            continue
        parts[at] = _value(name, row.__getitem__, hint=None)
        if parts[at] in _MISSING and not isinstance(value, str):
            missing.append(name)
    return "".join(parts), missing[0] if missing else None


@lru_cache(16)
def _row_parts(text: str) -> tuple[str, ...]:
    """Return the parts of a template of rows; every second one is a name."""
    parts = re.split(r"(?s)\{\{(.*?)\}\}", text)
    parts[1::2] = map(str.strip, parts[1::2])
    return tuple(parts)


def in_front(values: Sequence[Value], text: str) -> str:
    """Return a text with values in front of it, each followed by an empty line.

    Args:
        values: the values in front; one without its text is replaced by its name.
        text: the text below them, which stays as it is.
    """
    return "".join([*(f"{_text(value)}\n\n" for value in values), text])


def has_markdown(asked: RequestFacts) -> bool:
    """Return whether Markdown cells stand in front of a question.

    Args:
        asked: the question, or its turn.
    """
    return any(value.kind == "markdown" for value in asked.values)


def bare(asked: _AskedT) -> _AskedT:
    """Return a question as it would be sent without Markdown cells in front of it.

    Args:
        asked: the question, or its turn.
    """
    front = ""
    rest = asked.prompt
    for value in asked.values:
        text = in_front([value], "")
        if value.kind is None or not rest.startswith(text):
            break
        rest = rest.removeprefix(text)
        if value.kind != "markdown":
            front += text
    return replace(asked, prompt=front + rest)


def _text(value: Value) -> str:
    """Return a value's text, or its name if the text is not kept."""
    if value.text is not None:
        return value.text
    return f"[{'value of ' if value.kind is None else ''}{value.name}, not kept]"


def _parts(text: str) -> list[str]:
    """Return a text's parts; every second part is an expression, without its braces."""
    parts: list[str] = []
    begin = 0
    last_close = text.rfind(CLOSE)
    start = text.find(OPEN)
    while start != -1 and start + len(OPEN) <= last_close:
        expression, end = _expression(text, start)
        parts += [text[begin:start], expression]
        begin = end
        start = text.find(OPEN, begin)
    return [*parts, text[begin:]]


def _expression(text: str, start: int) -> tuple[str, int]:
    """Return the expression that opens at ``start``, and its end.

    It ends at the first closing braces with which it is valid Python, because a dictionary or a
    string in it may hold closing braces, too.
    """
    begin = start + len(OPEN)
    close = begin - 1
    for _ in range(MOST_ENDS):
        close = text.find(CLOSE, close + 1, begin + LONGEST)
        if close == -1:
            break
        expression = text[begin:close].strip()
        if _is_expression(expression):
            return expression, close + len(CLOSE)
    shown = one_line(text[start : text.find(CLOSE, begin) + len(CLOSE)])
    raise InputError(f"{shown} holds no Python expression. Nothing was sent.", hint=_RAW)


def _is_expression(text: str) -> bool:
    """Return whether a text is a Python expression; it is not evaluated."""
    with warnings.catch_warnings():
        # Python warns about a backslash when the expression is evaluated; once is enough.
        warnings.simplefilter("ignore")
        try:
            ast.parse(text, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _value(expression: str, evaluate: Callable[[str], object], hint: str | None = _RAW) -> str:
    """Return the text of an expression's value; that of a reply is its own text.

    Raises:
        InputError: it has no value, or the value no text.
    """
    try:
        value = evaluate(expression)
        return value.text if isinstance(value, Reply) else str(value)
    except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
        log_swallowed(error)
        # The error's own ``__str__`` may fail, too.
        reason = one_line("".join(traceback.format_exception_only(error)), _MESSAGE_SHOWN)
        raise InputError(
            f"{{{{ {one_line(expression)} }}}} has no value: {reason.rstrip('.: ')}. "
            "Nothing was sent.",
            hint=hint,
        ) from None


MOST: Final = 100_000
"""Largest number of characters of a cell's output, or of an error, that are sent along."""

# Control sequences of a terminal (ECMA-48): colours, cursor movements, titles.
_CONTROL: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])"


def cell_text(source: str, output: str = "", size: int | None = None, trace: str = "") -> str:
    """Return the text of a cell with its output, for the model.

    Args:
        source: source of the cell.
        output: its output as text, possibly shortened; empty for none.
        size: number of characters of the whole output; ``None`` if ``output`` is whole.
        trace: the error that the cell raised, as text; empty for none.
    """
    parts = [f"A cell of this notebook:\n\n{fenced(shortened(source), 'python')}"]
    shown = as_shown(output).strip("\n")
    if size and not output:
        parts.append(f"Its output of {size:,} characters is left out.")
    if shown.strip():
        is_whole = size is None or size <= len(output)
        words = "" if is_whole else f" (the first {len(output):,} of {size:,} characters)"
        parts.append(f"Its output{words}:\n\n{fenced(shown)}")
    if trace:
        parts.append(f"The error that it raised:\n\n{fenced(shortened(as_shown(trace)))}")
    return "\n\n".join(parts)


def markdown_text(source: str) -> str:
    """Return the text of a Markdown cell for the model.

    Args:
        source: source of the cell.
    """
    return f"A Markdown cell of this notebook:\n\n{fenced(shortened(source), 'markdown')}"


def error_text(source: str, trace: str) -> str:
    """Return the text of an error with the cell that raised it, for the model.

    Args:
        source: source of the cell.
        trace: the error with its traceback, as text.
    """
    cell = fenced(shortened(source), "python")
    return (
        f"A cell of this notebook that raised an error:\n\n{cell}\n\n"
        f"The error:\n\n{fenced(shortened(as_shown(trace)))}"
    )


def shortened(text: str, most: int = MOST) -> str:
    """Return a text, shortened if it is too long, with a line on that.

    Args:
        text: the text.
        most: largest number of characters to keep.
    """
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[the first {most:,} of {len(text):,} characters]"


def as_shown(text: str) -> str:
    """Return printed text as a reader sees it: without colours and overwritten text.

    Addresses of objects are also removed, so that a cell that runs again shows the same.

    Args:
        text: the text as it was printed.
    """
    lines = re.sub(_CONTROL, "", text).split("\n")
    shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    return without_memory_addresses(shown)


PROSE_AGAIN: Final = (
    "Reply in prose again, as Markdown; the form of the earlier reply holds no longer."
)
"""The words on the form that follow from the turns above, and not from the question."""
_WORDS: Final[Mapping[Format, str]] = {
    "markdown": PROSE_AGAIN,
    "text": "Reply in plain text, without Markdown.",
    "code": "Reply with code alone, in one fenced code block that names its language.",
    "json": "Reply with one JSON value alone, without a code fence and without other words.",
}
_OF_THE_TYPE: Final = " It is of the type"
"""Words between those on the form and the name of a schema."""


def split_form(prompt: str) -> tuple[str, str]:
    """Return the words on the form in front of a prompt, and the rest of it.

    Args:
        prompt: the prompt as sent.
    """
    words = next((words for words in _WORDS.values() if prompt.startswith(words)), None)
    if words is None:
        return "", prompt
    end = len(words)
    if prompt.startswith(f"{words}{_OF_THE_TYPE}"):
        end = _end_of_schema(prompt) or end
    return prompt[:end], prompt[end:].removeprefix("\n\n")


def _end_of_schema(prompt: str) -> int | None:
    """Return the end of the JSON schema in the words on the form; ``None`` if it is cut off."""
    before, mark, document = prompt.partition(SCHEMA_MARK)
    with suppress(ValueError, RecursionError):
        _, length = json.JSONDecoder().raw_decode(document)
        return len(before) + len(mark) + length
    return None


def words_on_form(format: Format, schema: Schema | None, sent: Sequence[Turn]) -> Value | None:
    """Return the words on the form of the reply that go in front of a question.

    Args:
        format: the form.
        schema: the schema of a reply in JSON; ``None`` for any JSON.
        sent: the turns that the request carries, oldest first.

    Returns:
        The words; ``None`` if none are needed, because a model writes prose unless its latest reply
        had another form.
    """
    if format == "markdown" and (not sent or sent[-1].format == "markdown"):
        return None
    if schema is None:
        return Value.of_text(format, _WORDS[format], "format")
    words = f"{_WORDS[format]}{_OF_THE_TYPE} {schema.name}:\n\n{schema.text}"
    return Value.of_text(f"{format} {schema.name}", words, "format")


def with_known_text(value: Value) -> Value:
    """Return a value with its text, if that is one of chatmagic's own texts on the form.

    Args:
        value: the value, as a record keeps it.
    """
    ours = [Value.of_text(format, words, "format") for format, words in _WORDS.items()]
    return next((known for known in ours if known.bare == value), value)
