"""Answers of a model to the rows of a study, as labels: the reading of any table.

A label is the text of an answer without blanks at its ends; a number is its digits, so 1, 1.0 and
"1" are one label. An answer is missing if its row failed, or if it is ``None``, ``NaN`` or an empty
text. No library is imported to read a table.
"""

from __future__ import annotations

import json
import numbers
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal, get_args

from chatmagic.errors import InputError
from chatmagic.safe_text import counted, one_line
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.rows import IT, Rows, are_columns, is_series, is_table

Level = Literal["nominal", "ordinal", "interval"]
"""Level of measurement of the labels: names, names in an order, or numbers."""
MOST_LABELS: Final = 500
"""Largest number of different labels that are names; more are texts."""
_SHOWN: Final = 60
_LONGEST: Final = 40


@dataclass(frozen=True, slots=True)
class Scale:
    """Scale of the labels.

    Args:
        level: their level of measurement.
        labels: the labels in their order; ``None`` for those that occur.

    Raises:
        InputError: there is no such level.
    """

    level: Level
    labels: tuple[str, ...] | None

    def __post_init__(self) -> None:
        """Refuse a level that does not exist."""
        if self.level not in get_args(Level):
            names = ", ".join(get_args(Level))
            raise InputError(f"level is one of {names}, not {one_line(repr(self.level))}.")

    @classmethod
    def of(cls, level: Level, labels: Iterable[Any] | None) -> Scale:
        """Return a scale with labels of any type.

        Args:
            level: their level of measurement.
            labels: the labels in their order; ``None`` for those that occur.
        """
        if labels is None:
            return cls(level, None)
        texts = (_text(label) for label in listed("labels", labels))
        return cls(level, tuple(text for text in texts if text is not None))

    def label(self, value: Any) -> str | None:
        """Return the label of an answer; ``None`` for a missing one.

        Args:
            value: the answer.

        Raises:
            InputError: it has no place on the scale.
        """
        text = _text(value)
        if text is None or self.level == "nominal":
            return text
        if self.labels is not None:
            if text not in self.labels:
                shown = one_line(repr(text), _LONGEST)
                raise InputError(f"{shown} is none of the labels, so it has no place among them.")
            return text
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        if abs(number) < float("inf"):
            return _digits(number)
        hint = 'labels=["low", "middle", "high"] gives words an order, with level="ordinal".'
        raise InputError(
            f"level={self.level!r} needs numbers, and {one_line(repr(text), _LONGEST)} is none.",
            hint=hint if self.level == "ordinal" else None,
        )

    def domain(self, answers: Iterable[ModelAnswers]) -> tuple[str, ...]:
        """Return all labels in their order.

        Args:
            answers: the answers that are compared.

        Raises:
            InputError: there are so many that they are texts.
        """
        seen = set()
        for table in answers:
            seen |= {*chain.from_iterable(table.rows)}
            seen |= {label for label in table.gold or () if label is not None}
        if self.level != "interval" and len(seen) > MOST_LABELS:
            raise InputError(
                f"The answers have {len(seen):,} different values: they are texts, not labels.",
                hint="Ask for one word of a list, or with a schema; numbers have level='interval'.",
            )
        first = self.labels or ()
        by = None if first or self.level == "nominal" else float
        return (*first, *sorted(seen - {*first}, key=by))


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """Answers of one model, or to one wording, row by row.

    Args:
        name: its name among several; empty for one alone.
        rows: the labels of each row, without those that are missing.
        gold: the true label of each row, or ``None`` where it is not known; ``None`` without gold.
        missing: number of answers that are missing.
    """

    name: str
    rows: tuple[tuple[str, ...], ...]
    gold: tuple[str | None, ...] | None
    missing: int

    @property
    def majorities(self) -> list[str | None]:
        """The most frequent label of each row; ``None`` for a tie, and without an answer."""
        return [_most_frequent(row) for row in self.rows]

    @property
    def ties(self) -> int:
        """Number of rows in which several labels are equally frequent."""
        return sum(bool(row) and _most_frequent(row) is None for row in self.rows)


def read_answers(
    name: str,
    frame: Any,
    repeats: str | Sequence[str],
    gold: str | Sequence[Any] | None,
    scale: Scale,
) -> ModelAnswers:
    """Return the answers that a table holds.

    Args:
        name: its name among several; empty for one alone.
        frame: a table of pandas, polars or pyarrow, a dict of columns, a list of dicts, or what
            ``chatmagic.map`` returned.
        repeats: the column with the list of each row's answers, or with one answer; or several
            columns, one for each answer.
        gold: the column with the true labels, or these labels in the order of the rows.
        scale: the scale of the labels.

    Raises:
        InputError: the table does not hold them.
    """
    rows = rows_of(frame)
    if not rows:
        raise InputError(f"{one_line(name)} has no rows." if name else "The table has no rows.")
    columns = [repeats] if isinstance(repeats, str) else listed("repeats", repeats)
    answers = [
        [scale.label(item) for column in columns for item in _several(cell(row, column))]
        for row in rows
    ]
    known = tuple(tuple(label for label in row if label is not None) for row in answers)
    missing = sum(label is None for row in answers for label in row)
    if not any(known):
        raise InputError(f"None of the {counted(len(rows), 'row')} has an answer in {columns[0]}.")
    truth = None if gold is None else _gold(rows, gold, scale)
    return ModelAnswers(name, known, truth, missing)


def listed(name: str, value: Any) -> list[Any]:
    """Return a list that was given as any iterable but a text.

    Args:
        name: the argument's name.
        value: its value.

    Raises:
        InputError: it is a text or no iterable.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InputError(f"{name} is a list, and not {one_line(repr(value))}.")
    return list(value)


def is_frame(value: Any) -> bool:
    """Return whether a value holds rows: a table, columns, or a list of dicts or replies.

    Args:
        value: any value.
    """
    if is_table(value) or are_columns(value):
        return True
    first = next(iter(value), None) if isinstance(value, Sequence) else None
    return isinstance(first, Mapping | RowReply)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a table, each with its values by name.

    Args:
        frame: the table.

    Raises:
        InputError: it is no table.
    """
    try:
        return list(Rows(frame))
    except InputError:
        raise InputError(
            f"This takes a table, and not {type(frame).__name__}.",
            hint="A table is a DataFrame, a dict of columns, a list of dicts, or a map's result.",
        ) from None


def cell(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column: of a table, or of the replies that a map returned.

    Args:
        row: the row's values by name.
        column: the column.

    Raises:
        InputError: there is no such column.
    """
    if column in row:
        return row[column]
    if isinstance(row[IT], RowReply) and hasattr(row[IT], column):
        return getattr(row[IT], column)
    names = one_line(", ".join(name for name in row if name != IT), _SHOWN) or "no columns"
    raise InputError(
        f"The table has no column {one_line(repr(column))}; it has {names}.",
        # A map that asked each row once has no column of several answers.
        hint='repeats="reply" takes the one answer of each row.' if "reply" in row else None,
    )


def _several(value: Any) -> list[Any]:
    """Return the answers of a cell: a list of them, of any library, or a single one."""
    if isinstance(value, str) and value.startswith("['") and value.endswith("']"):
        raise InputError(
            f"The answers of a row are a text, {one_line(repr(value), _LONGEST)}, and not a list.",
            hint="A CSV file keeps no lists: keep the table as Parquet or JSON.",
        )
    is_list = isinstance(value, list | tuple) or is_series(value) or hasattr(type(value), "tolist")
    if not is_list or getattr(value, "ndim", 1) == 0:
        return [value]
    return list(value)


def _gold(
    rows: Sequence[Mapping[str, Any]], gold: str | Sequence[Any], scale: Scale
) -> tuple[str | None, ...]:
    """Return the true labels, row by row."""
    values = [cell(row, gold) for row in rows] if isinstance(gold, str) else gold
    if len(values) != len(rows):
        raise InputError(
            f"There are {counted(len(rows), 'row')}, and {len(values):,} true labels.",
            hint="gold is the name of a column, or a label for each row (None if not known).",
        )
    truth = tuple(scale.label(value) for value in values)
    if not any(label is not None for label in truth):
        raise InputError("No row has a true label, so nothing can be compared with it.")
    return truth


def _text(value: Any) -> str | None:
    """Return the text of an answer; ``None`` for a missing one."""
    if isinstance(value, RowReply):
        if value.error is not None:
            return None
        value = value.text if value.value is None else value.value
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(value, Mapping):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    if isinstance(value, numbers.Number) and value != value:  # noqa: PLR0124 - NaN is not itself
        return None
    is_whole = isinstance(value, numbers.Real) and float(value).is_integer()
    if is_whole and not isinstance(value, numbers.Integral):
        return str(int(value))
    return str(value).strip() or None


def _digits(number: float) -> str:
    """Return a number as a label; a whole one without its decimals."""
    return str(int(number)) if number.is_integer() else str(float(number))


def _most_frequent(row: Sequence[str]) -> str | None:
    """Return the most frequent label; ``None`` for a tie, or without a label."""
    counts = Counter(row).most_common(2)
    is_tie = len(counts) > 1 and counts[0][1] == counts[1][1]
    return counts[0][0] if counts and not is_tie else None
