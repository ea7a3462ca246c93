"""Rows of a job: of a table, columns, a list or an iterable.

No library is imported here: a table is recognized by its methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

from chatmagic.errors import InputError
from chatmagic.safe_text import one_line

IT: Final = "it"
"""Name of the whole row in a template."""
_READ_TOGETHER: Final = 1_000
"""Number of rows of pyarrow that are read together."""


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
        """Refuse a source that would be read letter by letter, key by key, or part by part."""
        if is_lazy(self.source):
            raise InputError(
                f"A {type(self.source).__name__} is computed part by part. Nothing was sent.",
                hint="Compute it first, or use chatmagic.mapper(…), a function of a part.",
            )
        is_text = isinstance(self.source, str | bytes)
        is_mapping = isinstance(self.source, Mapping) and not are_columns(self.source)
        is_read = isinstance(self.source, Iterable) or is_table(self.source)
        if not is_read or is_text or is_mapping:
            kind = type(self.source).__name__
            raise InputError(
                f"The rows are a table, a list or another iterable, not {kind}. Nothing was sent.",
                hint=_hint(self.source),
            )
        self._refuse_unclear_names()

    def _refuse_unclear_names(self) -> None:
        """Raise an error if a name of a template would be that of no column, or of two.

        Raises:
            InputError: it would.
        """
        names = names_of(self.source)
        if names and getattr(getattr(self.source, "columns", None), "nlevels", 1) > 1:
            raise InputError(
                "The rows have columns whose names have several levels. Nothing was sent.",
                hint='A template takes one: frame.columns = frame.columns.map("_".join).',
            )
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"The rows have two columns named {one_line(twice)}. Nothing was sent.",
                hint="Rename one of them.",
            )

    @property
    def count(self) -> int | None:
        """Number of rows; ``None`` if they are read once, as they are needed."""
        source = self.source
        if are_columns(source):
            return len(next(iter(source.values())))
        return (
            None if isinstance(source, Iterator) or not isinstance(source, Sized) else len(source)
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Return the rows in order, each with its values by name."""
        return _rows(self.source)


def _hint(source: object) -> str:
    """Return what to do about rows that are no collection of rows."""
    if isinstance(source, Mapping):
        return "A dict of columns has a list for each column, all of one length."
    return 'The template comes first: chatmagic.map("Classify: {{ it }}", rows).'


def is_table(value: Any) -> bool:
    """Return whether a value is a DataFrame in memory, of pandas, polars or the like.

    Args:
        value: the rows as they were given, or a part of them.
    """
    has_columns = isinstance(value, Sized) and hasattr(type(value), "columns")
    return has_columns and not is_lazy(value) and _reader(value) is not None


def is_of_pandas(value: Any) -> bool:
    """Return whether a value is a DataFrame or a Series of pandas, or of a library like it.

    Args:
        value: the rows as they were given.
    """
    return hasattr(type(value), "iloc") and (is_table(value) or is_series(value))


def is_series(value: Any) -> bool:
    """Return whether a value is a Series, of pandas or polars.

    Args:
        value: the rows as they were given.
    """
    kind = type(value)
    is_column = hasattr(kind, "to_frame") and (hasattr(kind, "iloc") or hasattr(kind, "gather"))
    return is_column and isinstance(value, Sized) and not is_lazy(value)


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
    is_other = isinstance(value, str | bytes | Mapping) or is_table(value)
    return isinstance(value, Iterable) and not is_other


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


def is_lazy(value: Any) -> bool:
    """Return whether a value is a table that is computed part by part, or such a part.

    Args:
        value: the rows as they were given.
    """
    # The type is asked, as an uncomputed object of Dask has any attribute.
    return any(hasattr(type(value), n) for n in ("to_delayed", "collect_batches", "compute"))


def _reader(table: Any) -> Any:
    """Return the method that reads a table's rows as tuples, of polars or of pandas."""
    if hasattr(type(table), "iter_rows"):
        return table.iter_rows
    if hasattr(type(table), "itertuples"):
        return lambda: table.itertuples(index=False, name=None)
    if hasattr(type(table), "to_pylist"):  # of pyarrow
        return lambda: (
            tuple(row.values())
            for begin in range(0, len(table), _READ_TOGETHER)
            for row in table.slice(begin, _READ_TOGETHER).to_pylist()
        )
    return None


def _rows(source: Any) -> Iterator[dict[str, Any]]:
    if is_table(source):
        yield from _named(names_of(source), _reader(source)())
    elif are_columns(source):
        yield from _named(names_of(source), zip(*source.values(), strict=True))
    else:
        for number, item in enumerate(source):
            if isinstance(item, str | int | float):
                yield {IT: item}
            elif is_table(item) or is_lazy(item):
                raise InputError(
                    f"Row {number:,} is a table, a {type(item).__name__}.",
                    hint="Join the tables, or call a function of chatmagic.mapper(…) for each.",
                )
            else:
                yield {IT: item, **{str(name): value for name, value in _values_of(item).items()}}


def _values_of(item: Any) -> Mapping[Any, Any]:
    """Return the values of a row by name; none if it has no names."""
    if isinstance(item, Mapping):
        return item
    if is_dataclass(item) and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in fields(item)}
    if hasattr(type(item), "_asdict"):  # a named tuple
        return dict(item._asdict())
    if hasattr(type(item), "model_fields"):  # of pydantic
        return {name: getattr(item, name) for name in type(item).model_fields}
    # A row of a DataFrame or of a database.
    return dict(item) if hasattr(type(item), "keys") else {}


def _named(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Return rows with their values by name."""
    for values in rows:
        row = dict(zip(names, values, strict=True))
        yield {IT: row, **row}
