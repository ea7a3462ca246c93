"""Rows of a job: of a table, a list, an iterable, or the parts of a larger collection.

Their replies become columns of a table, or a list.

No library is imported here: a table is recognized by its methods. Parts are read one at a time, as
they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Final

from chatmagic.errors import InputError
from chatmagic.session.map.job_file import RowReply

IT: Final = "it"
"""Name of the whole row in a template."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as they were given.

    Args:
        source: the table, the list or the iterable.

    Raises:
        InputError: it is no collection of rows.
    """

    source: Any

    def __post_init__(self) -> None:
        """Refuse a source that would be read letter by letter, or key by key."""
        if not isinstance(self.source, str | bytes | Mapping) and (
            isinstance(self.source, Iterable) or _is_in_parts(self.source)
        ):
            return
        raise InputError(
            f"The rows are a table, a list or another iterable, not {type(self.source).__name__}. "
            "Nothing was sent.",
            hint='The template comes first: chatmagic.map("Classify: {{ it }}", rows).',
        )

    @property
    def count(self) -> int | None:
        """Number of rows; ``None`` if they are read once, as they are needed."""
        source = self.source
        is_sized = isinstance(self.source, Sized)
        if not is_sized or isinstance(source, Iterator) or _is_in_parts(source):
            return None
        if is_table(source):
            return len(source)
        # Parts of a larger collection, such as partitions, are read one by one.
        first = next(iter(source), None)
        return None if is_table(first) or _is_in_parts(first) else len(source)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Return the rows in order, each with its values by name."""
        return _rows(self.source)


def is_table(value: Any) -> bool:
    """Return whether a value is a DataFrame in memory, of pandas, polars or the like.

    Args:
        value: the rows as they were given, or a part of them.
    """
    has_columns = isinstance(value, Sized) and hasattr(type(value), "columns")
    return has_columns and not _is_in_parts(value) and _reader(value) is not None


def _is_in_parts(value: Any) -> bool:
    """Return whether a value is a collection that is computed part by part, or such a part."""
    # The type is asked, as an uncomputed object of Dask has any attribute.
    return any(hasattr(type(value), n) for n in ("to_delayed", "collect_batches", "compute"))


def _reader(table: Any) -> Any:
    """Return the method that reads a table's rows as tuples, of polars or of pandas."""
    if hasattr(type(table), "iter_rows"):
        return table.iter_rows
    if hasattr(type(table), "itertuples"):
        return lambda: table.itertuples(index=False, name=None)
    return None


def _rows(source: Any) -> Iterator[dict[str, Any]]:
    if _is_in_parts(source):
        for part in _parts(source):
            yield from _rows(part)
    elif is_table(source):
        names = [str(name) for name in source.columns]
        for values in _reader(source)():
            row = dict(zip(names, values, strict=True))
            yield {IT: row, **row}
    else:
        for item in source:
            if isinstance(item, str):
                yield {IT: item}
            elif isinstance(item, Mapping):
                yield {IT: item, **{str(name): value for name, value in item.items()}}
            elif is_table(item) or _is_in_parts(item):
                yield from _rows(item)
            else:
                yield {IT: item}


def _parts(collection: Any) -> Iterable[Any]:
    """Return the parts of a collection, each read when it is needed."""
    kind = type(collection)
    if hasattr(kind, "to_delayed"):
        return (part.compute() for part in collection.to_delayed())
    if hasattr(kind, "collect_batches"):
        return collection.collect_batches()  # type: ignore[no-any-return] # of polars
    return (collection.compute(),)


def refuse_taken(source: Any, *, parsed: bool, fields: Sequence[str] = ()) -> None:
    """Raise an error if a table already has one of the result's columns.

    Args:
        source: the rows as they were given.
        parsed: whether the replies have values beside their texts.
        fields: names of the fields of the values that get columns of their own.

    Raises:
        InputError: the table has such a column.
    """
    taken = {str(name) for name in source.columns} if is_table(source) else set()
    for name in _columns([], parsed=parsed, fields=fields):
        if name in taken:
            raise InputError(
                f"The rows have a column {name} already, which the result would replace. Nothing "
                "was sent.",
                hint="Rename it, or take it out of the rows.",
            )


def with_replies(
    source: Any, replies: Sequence[RowReply], *, parsed: bool, fields: Sequence[str] = ()
) -> Any:
    """Return a table with its replies, values and errors; for other rows, the list of replies.

    Args:
        source: the rows as they were given.
        replies: one for each row, in order.
        parsed: whether the replies have values beside their texts.
        fields: as for :func:`refuse_taken`.
    """
    if not is_table(source):
        return list(replies)
    columns = _columns(replies, parsed=parsed, fields=fields)
    if hasattr(type(source), "hstack"):
        return source.hstack(type(source)(columns))
    return source.assign(**columns)


def _columns(
    replies: Sequence[RowReply], *, parsed: bool, fields: Sequence[str]
) -> dict[str, list[Any]]:
    """Return the columns that a table gets, by their names."""
    values = [reply.value for reply in replies]
    held = {name: [_field(value, name) for value in values] for name in fields}
    return {
        "reply": [reply.text for reply in replies],
        **(held or ({"value": values} if parsed else {})),
        "error": [reply.error for reply in replies],
    }


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
