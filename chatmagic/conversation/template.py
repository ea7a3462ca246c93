"""A prompt as typed to the prompt as sent: ``{{ expression }}`` gives way to its value.

Everything else is sent as typed, byte for byte: single braces, dollars, backslashes, JSON,
LaTeX and code. What goes in front of the question (a cell, an error) stands before it, each
followed by an empty line.
"""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Final

from chatmagic._log import log_swallowed
from chatmagic.conversation.request_facts import Value
from chatmagic.errors import InputError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OPEN: Final = "{{"
CLOSE: Final = "}}"
MOST_ENDS: Final = 100
"""How many places are tried as an expression's end: more are no expression of a person's."""
LONGEST: Final = 10_000
"""How many characters an expression may have; both bounds keep a hostile text cheap."""

_RAW: Final = "--raw sends the text as typed."
_MESSAGE_SHOWN: Final = 200
# As Python, NumPy, decimal and pandas write a missing value, which no text is.
_MISSING: Final = {"None", "nan", "NaN", "NaT", "<NA>"}


def fill(
    text: str,
    evaluate: Callable[[str], object] | None = None,
    front: Sequence[Value] = (),
) -> tuple[str, tuple[Value, ...]]:
    """Put the values of ``{{ expression }}`` into a prompt, and others in front of it.

    Each expression is evaluated once, in order; no value's text is ever looked at for
    more expressions. An opening without any closing after it stays as it is.

    Args:
        text: the prompt as typed.
        evaluate: gives an expression's value; ``None`` leaves them all as typed.
        front: what goes in front, in order; each has a kind.

    Returns:
        The prompt as it is sent, and what was put in front and in, in order, each with its text.

    Raises:
        InputError: what stands between the braces is no expression, or has no value.
    """
    # All are found before the first is evaluated: a mistake in the last costs nothing.
    expressions = [] if evaluate is None else _expressions(text)
    values = [
        Value.of(expression, _value(expression, evaluate))
        for expression, _, _ in expressions
        if evaluate is not None
    ]
    return in_front(front, _put_in(text, expressions, values)), (*front, *values)


def refill(text: str, values: Sequence[Value]) -> str:
    """Return a prompt as it was sent, from what is kept of it; nothing is evaluated.

    Args:
        text: the prompt as typed.
        values: what was put in and in front; one whose text is not kept is named in its place.

    Raises:
        InputError: they are not the values of this prompt.
    """
    if not values:
        return text
    front = [value for value in values if value.kind is not None]
    put_in = [value for value in values if value.kind is None]
    expressions = _expressions(text) if put_in else []
    if [expression for expression, _, _ in expressions] != [value.expression for value in put_in]:
        raise InputError("its values are not those of its prompt")
    return in_front(front, _put_in(text, expressions, put_in))


def fill_row(text: str, row: Mapping[str, object]) -> tuple[str, str | None]:
    """Return a template with the values of one row: ``{{ name }}`` gives way to a value, whole.

    Names alone stand between the braces: nothing is evaluated, and no value's text is ever
    looked at for more names. Beside it stands the first name whose value is missing, if any.

    Args:
        text: the template as typed.
        row: values by name.

    Raises:
        InputError: the template names something else, or nothing, or a value has no text.
    """
    pieces: list[str] = []
    missing: str | None = None
    end = 0
    last_close = text.rfind(CLOSE)
    while (start := text.find(OPEN, end)) != -1 and start + len(OPEN) <= last_close:
        close = text.find(CLOSE, start + len(OPEN))
        name = text[start + len(OPEN) : close].strip()
        if name not in row:
            names = one_line(", ".join(f"{{{{ {each} }}}}" for each in row), _MESSAGE_SHOWN)
            raise InputError(
                f"{{{{ {one_line(name)} }}}} is no name of a row. Nothing was sent.",
                hint=f"There is {names}; a template takes names, and no expressions.",
            )
        value = _value(name, row.__getitem__, hint=None)
        if missing is None and value in _MISSING and not isinstance(row[name], str):
            missing = name
        pieces += [text[end:start], value]
        end = close + len(CLOSE)
    if not end:
        raise InputError(
            "The template names nothing of a row, so each would send the same. Nothing was sent.",
            hint="{{ it }} stands for the row, {{ name }} for one of its columns.",
        )
    return "".join([*pieces, text[end:]]), missing


def in_front(values: Sequence[Value], text: str) -> str:
    """Return a text with values in front of it, each followed by an empty line.

    Args:
        values: what goes in front; one whose text is not kept is named in its place.
        text: what they stand before, which stays as it is.
    """
    return "".join([*(f"{_text(value)}\n\n" for value in values), text])


def _put_in(text: str, expressions: list[tuple[str, int, int]], values: Sequence[Value]) -> str:
    pieces: list[str] = []
    done = 0
    for (_, start, end), value in zip(expressions, values, strict=True):
        pieces += [text[done:start], _text(value)]
        done = end
    return "".join([*pieces, text[done:]])


def _text(value: Value) -> str:
    """Return a value's text, or what stands for it where that is not kept."""
    if value.text is not None:
        return value.text
    return f"[{'value of ' if value.kind is None else ''}{value.name}, not kept]"


def _expressions(text: str) -> list[tuple[str, int, int]]:
    """Find the expressions, and where their braces open and end."""
    expressions: list[tuple[str, int, int]] = []
    end = 0
    last_close = text.rfind(CLOSE)
    while (start := text.find(OPEN, end)) != -1 and start + len(OPEN) <= last_close:
        expression, end = _expression(text, start)
        expressions.append((expression, start, end))
    return expressions


def _expression(text: str, start: int) -> tuple[str, int]:
    """Find the expression that opens at ``start``, and where it ends.

    It ends at the first closing that makes it one: a dictionary or a string in it may hold
    closings of their own.
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
    with warnings.catch_warnings():
        # Python warns of a backslash when the expression is evaluated, and once is enough.
        warnings.simplefilter("ignore")
        try:
            ast.parse(text, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _value(expression: str, evaluate: Callable[[str], object], hint: str | None = _RAW) -> str:
    try:
        return str(evaluate(expression))
    except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
        log_swallowed(error)
        shown = one_line(expression)
        raise InputError(
            f"{{{{ {shown} }}}} has no value: {_in_words(error)}. Nothing was sent.",
            hint=hint,
        ) from None


def _in_words(error: Exception) -> str:
    """Return the type and message of the user's exception, whose ``__str__`` may fail, too."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception as failure:  # noqa: BLE001 - as above
        log_swallowed(failure)
        return name
    return f"{name}: {one_line(message, _MESSAGE_SHOWN).rstrip('.')}" if message.strip() else name
