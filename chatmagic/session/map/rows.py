"""Rows of a job: of a table, columns, a list, an iterable, or the parts of a larger collection.

No library is imported here: a table is recognized by its methods. Parts are read one at a time, as
they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Final

from chatmagic.errors import InputError

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
        is_text = isinstance(self.source, str | bytes)
        is_mapping = isinstance(self.source, Mapping) and not are_columns(self.source)
        is_read = isinstance(self.source, Iterable) or _is_in_parts(self.source)
        is_read = is_read or is_table(self.source)
        if is_read and not (is_text or is_mapping):
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
        if are_columns(source):
            return len(next(iter(source.values())))
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


def is_series(value: Any) -> bool:
    """Return whether a value is a Series, of pandas or polars.

    Args:
        value: the rows as they were given.
    """
    kind = type(value)
    is_column = hasattr(kind, "to_frame") and (hasattr(kind, "iloc") or hasattr(kind, "gather"))
    return is_column and isinstance(value, Sized) and not _is_in_parts(value)


def are_columns(value: Any) -> bool:
    """Return whether a value is a mapping of columns of one length, each a list or an array.

    Args:
        value: the rows as they were given.
    """
    if not isinstance(value, Mapping) or not value:
        return False
    columns = value.values()
    are_lists = all(isinstance(column, Sized) and _is_a_list(column) for column in columns)
    return are_lists and len({len(column) for column in columns}) == 1


def _is_a_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def names_of(value: Any) -> list[str]:
    """Return the names of a table's columns; none for other rows.

    Args:
        value: the rows as they were given.
    """
    if are_columns(value):
        return [str(name) for name in value]
    if not is_table(value):
        return []
    return [str(name) for name in getattr(value, "column_names", None) or value.columns]


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
    if hasattr(type(table), "to_batches"):  # of pyarrow
        return lambda: (
            tuple(row.values()) for batch in table.to_batches() for row in batch.to_pylist()
        )
    return None


def _rows(source: Any) -> Iterator[dict[str, Any]]:
    if _is_in_parts(source):
        for part in _parts(source):
            yield from _rows(part)
    elif is_table(source):
        yield from _named(names_of(source), _reader(source)())
    elif are_columns(source):
        yield from _named(names_of(source), zip(*source.values(), strict=True))
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


def _named(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Return rows with their values by name."""
    for values in rows:
        row = dict(zip(names, values, strict=True))
        yield {IT: row, **row}


def _parts(collection: Any) -> Iterable[Any]:
    """Return the parts of a collection, each read when it is needed."""
    kind = type(collection)
    if hasattr(kind, "to_delayed"):
        return (part.compute() for part in collection.to_delayed())
    if hasattr(kind, "collect_batches"):
        return collection.collect_batches()  # type: ignore[no-any-return] # of polars
    return (collection.compute(),)
