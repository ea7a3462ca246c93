"""Results of a map, in the form in which the rows were given.

A table gets columns, a Series becomes one of the replies, columns get more columns, and any other
rows become a list that is a table on a page. No library is imported for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, SupportsIndex, overload

from chatmagic.conversation.question import Schema
from chatmagic.render import reply_table
from chatmagic.session.map.reply_columns import Columns
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.rows import are_columns, is_of_pandas, is_series, is_table, names_of
from chatmagic.session.map.typed_columns import TypedColumns


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

    @overload
    def __getitem__(self, index: SupportsIndex) -> RowReply: ...

    @overload
    def __getitem__(self, index: slice) -> Replies: ...

    def __getitem__(self, index: SupportsIndex | slice) -> RowReply | Replies:
        """Return a reply, or some of them, which are a table on a page, too.

        Args:
            index: the place or the places.
        """
        if isinstance(index, slice):
            return Replies(super().__getitem__(index), self._columns)
        return super().__getitem__(index)

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


def with_replies(
    source: Any, replies: Sequence[RowReply], columns: Columns, schema: Schema | None = None
) -> Any:
    """Return the rows with their replies, in the form in which they were given.

    In pandas and in a mapping the values of a reply are objects of Python. A column of polars or
    pyarrow has one type, by the schema, whatever the model has written.

    Args:
        source: the rows as they were given.
        replies: one for each row, in order.
        columns: the columns that they get.
        schema: the schema of the replies; ``None`` for none.
    """
    typed = TypedColumns(columns, schema)
    if is_of_pandas(source):
        return _of_pandas(source, columns.of(replies), columns)
    if is_series(source):
        return typed.series(replies)
    if are_columns(source):
        return {**source, **columns.of(replies)}
    return typed.added_to(source, replies) if is_table(source) else Replies(replies, columns)


def _of_pandas(source: Any, held: dict[str, list[Any]], columns: Columns) -> Any:
    """Return a DataFrame with columns, or a Series of replies or values, with the rows' index."""
    if not is_series(source):
        return source.assign(**held)
    if columns.makes_table:
        return import_module("pandas").DataFrame(held, index=source.index)
    name = columns.names[0]
    return type(source)(held[columns.name_of_values], index=source.index, name=name, dtype=object)
