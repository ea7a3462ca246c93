"""Results of a map, in the form in which the rows were given.

A table gets columns, a Series becomes one of the replies, columns get more columns, and any other
rows become a list that is a table on a page. No library is imported for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from chatmagic.errors import InputError
from chatmagic.render import reply_table
from chatmagic.session.map.repeats import RepeatedReply
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.rows import are_columns, is_series, is_table, names_of


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a map's result.

    Args:
        name: name of the column of replies, with which the names of the others begin; ``None``
            stands for ``reply``, ``value`` and ``error``.
        is_parsed: whether the replies have values beside their texts.
        fields: the fields of the values that get columns of their own, in place of the values.
        repeats: number of times that each row was asked.
    """

    name: str | None = None
    is_parsed: bool = False
    fields: tuple[str, ...] = ()
    repeats: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.of(()))

    def of(self, replies: Sequence[RowReply]) -> dict[str, list[Any]]:
        """Return the columns by their names.

        Args:
            replies: a reply for each row, in order.
        """
        columns: dict[str, list[Any]] = {self.name or "reply": [reply.text for reply in replies]}
        values = [reply.value for reply in replies]
        for field in self.fields:
            columns[self.name_of(field)] = [_field(value, field) for value in values]
        if self.is_parsed and not self.fields:
            columns[self.name_of("value")] = values
        if self.repeats > 1:
            each = [reply for reply in replies if isinstance(reply, RepeatedReply)]
            columns[self.name_of("agree")] = [reply.agree for reply in each]
            columns[self.name_of("replies")] = [reply.answers for reply in each]
        columns[self.name_of("error")] = [reply.error for reply in replies]
        return columns

    @property
    def makes_table(self) -> bool:
        """Whether the result for a Series is a table, as it has several columns."""
        return bool(self.fields) or self.repeats > 1

    def name_of(self, name: str) -> str:
        """Return the name of a column of the result beside the replies.

        Args:
            name: the field, or ``value``, ``agree``, ``replies`` or ``error``.
        """
        return name if self.name is None else f"{self.name}_{name}"

    def refuse_taken(self, source: Any) -> None:
        """Raise an error if a table already has one of the columns.

        Args:
            source: the rows as they were given.

        Raises:
            InputError: the table has such a column.
        """
        taken = {str(name) for name in names_of(source)}
        for name in self.names:
            if name in taken:
                raise InputError(
                    f"The rows have a column {name} already, which the result would replace. "
                    "Nothing was sent.",
                    hint='column="…" names the result.',
                )


class Replies(list[RowReply]):
    """Replies to the rows of a map, in their order; a page shows them as a table.

    Args:
        replies: the replies.
        columns: the columns of the table.
    """

    def __init__(self, replies: Sequence[RowReply] = (), columns: Columns | None = None) -> None:
        """Take the replies."""
        super().__init__(replies)
        self._columns = columns or Columns()

    def to_dataframe(self) -> Any:
        """Return the replies as a pandas DataFrame, a row each.

        Raises:
            ImportError: pandas is not installed.
        """
        return import_module("pandas").DataFrame(self._columns.of(self))

    def _repr_html_(self) -> str:
        """Return the first replies as a table."""
        columns = self._columns.of(self)
        rows = list(zip(*columns.values(), strict=True))
        return reply_table.as_html(list(columns), rows)


def error_place(source: Any, columns: Columns, file_name: str) -> str:
    """Return the place of a row's error in words.

    Args:
        source: the rows as they were given.
        columns: the columns that they get.
        file_name: name of the map's file.
    """
    if is_series(source) and not columns.makes_table:
        return f"the errors are in {file_name}"
    if names_of(source) or is_series(source):
        return f"see the column {columns.names[-1]}"
    return "see the error of each reply"


def with_replies(source: Any, replies: Sequence[RowReply], columns: Columns) -> Any:
    """Return the rows with their replies, in the form in which they were given.

    Args:
        source: the rows as they were given.
        replies: one for each row, in order.
        columns: the columns that they get.
    """
    if not (is_table(source) or are_columns(source) or is_series(source)):
        return Replies(replies, columns)
    held = columns.of(replies)
    if is_series(source):
        return _series(source, held, columns)
    if are_columns(source):
        return {**source, **held}
    if hasattr(type(source), "hstack"):  # of polars
        return source.hstack(type(source)(held))
    if hasattr(type(source), "append_column"):  # of pyarrow
        for name, values in held.items():
            source = source.append_column(name, [values])
        return source
    return source.assign(**held)


def _series(source: Any, held: dict[str, list[Any]], columns: Columns) -> Any:
    """Return a Series of the replies, or of their values, with the rows' index."""
    name = columns.name or "reply"
    values = held[name]
    if columns.is_parsed and not columns.makes_table:
        values = held[columns.names[1]]
    if hasattr(source, "index"):  # of pandas
        index = source.index
        if columns.makes_table:
            return import_module("pandas").DataFrame(held, index=index)
        return type(source)(values, index=index, name=name, dtype=object)
    if columns.makes_table:
        return import_module("polars").DataFrame(held)
    return type(source)(name, values)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
