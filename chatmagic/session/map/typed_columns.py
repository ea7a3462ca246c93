"""Columns of a result, each with one type, so that the parts of a table fit together.

Texts are ``str``, numbers ``Int64`` and ``Float64``, truth values ``boolean``: in pandas the types
of these names, which know missing values, in polars and pyarrow their own ones. A value of any
other form is a column of JSON texts, and repeats are lists of texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any, Final, Literal

from chatmagic.conversation.question import Schema
from chatmagic.session.map.reply_columns import Columns
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.rows import are_columns

Kind = Literal["str", "Int64", "Float64", "boolean", "list"]
"""Type of a column; a list is one of texts."""

_KINDS: Final[Mapping[str, Kind]] = {
    "string": "str",
    "integer": "Int64",
    "number": "Float64",
    "boolean": "boolean",
}
_POLARS: Final = {"str": "String", "Int64": "Int64", "Float64": "Float64", "boolean": "Boolean"}
_PYARROW: Final = {"str": "string", "Int64": "int64", "Float64": "float64", "boolean": "bool_"}
_OF_JSON: Final = (str, int, float, list, tuple, Mapping)
_MOST_REFERENCES: Final = 8
_TOO_LARGE: Final = 2**63
"""A whole number that no column of 64 bits holds; it is in the text of the reply."""


@dataclass(frozen=True, slots=True)
class TypedColumns:
    """Columns of a mapper's result with their types.

    Args:
        columns: the columns.
        schema: the schema of the replies; ``None`` for none.
    """

    columns: Columns
    schema: Schema | None = None

    def of(self, replies: Sequence[RowReply]) -> dict[str, tuple[Kind, list[Any]]]:
        """Return the type and the values of each column.

        Args:
            replies: a reply for each row, in order.
        """
        kinds = self._kinds()
        held = self.columns.of(replies)
        return {
            name: (kinds[name], [_cast(value, kinds[name]) for value in values])
            for name, values in held.items()
        }

    def _kinds(self) -> dict[str, Kind]:
        """Return the type of each column."""
        own = self.columns.name_of
        kinds: dict[str, Kind] = dict.fromkeys(self.columns.names, "str")
        document = {} if self.schema is None else self.schema.document
        for field in self.columns.fields:
            kinds[own(field)] = _kind(document.get("properties", {}).get(field), document)
        if self.columns.is_parsed and not self.columns.fields:
            kinds[own("value")] = _kind(document, document)
        if self.columns.repeats > 1:
            kinds[own("agree")] = "Float64"
            kinds[own("replies")] = "list"
        return kinds

    def added_to(self, table: Any, replies: Sequence[RowReply]) -> Any:
        """Return a table with the columns.

        Args:
            table: the rows, a table or a mapping of columns.
            replies: a reply for each row, in order.
        """
        held = self.of(replies)
        if are_columns(table):
            return {**table, **{name: values for name, (_, values) in held.items()}}
        if hasattr(type(table), "hstack"):  # of polars
            return table.hstack(list(self._of_polars(replies)))
        if hasattr(type(table), "append_column"):  # of pyarrow
            for name, (kind, values) in held.items():
                table = table.append_column(name, _pyarrow_column(kind, values))
            return table
        pandas = import_module("pandas")
        return table.assign(
            **{
                name: pandas.Series(
                    values, index=table.index, dtype="object" if kind == "list" else kind
                )
                for name, (kind, values) in held.items()
            }
        )

    def series(self, replies: Sequence[RowReply]) -> Any:
        """Return what polars has for a Series: one of replies or values, or a DataFrame.

        Args:
            replies: a reply for each row, in order.
        """
        made = list(self._of_polars(replies))
        if self.columns.makes_table:
            return import_module("polars").DataFrame(made)
        names = self.columns.names
        return made[names.index(self.columns.name_of_values)].alias(names[0])

    def _of_polars(self, replies: Sequence[RowReply]) -> Iterator[Any]:
        """Yield the columns as Series of polars."""
        for name, (kind, values) in self.of(replies).items():
            yield _polars_column(name, kind, values)


def _polars_column(name: str, kind: Kind, values: list[Any]) -> Any:
    polars = import_module("polars")
    dtype = polars.List(polars.String) if kind == "list" else getattr(polars, _POLARS[kind])
    return polars.Series(name, values, dtype=dtype)


def _pyarrow_column(kind: Kind, values: list[Any]) -> Any:
    pyarrow = import_module("pyarrow")
    texts = pyarrow.string()
    made = pyarrow.list_(texts) if kind == "list" else getattr(pyarrow, _PYARROW[kind])()
    return pyarrow.array(values, type=made)


def _kind(part: Any, document: Mapping[str, Any]) -> Kind:
    """Return the type of a column for a part of a JSON schema; anything else is a text of JSON."""
    for _ in range(_MOST_REFERENCES):
        path = part.get("$ref") if isinstance(part, Mapping) else None
        if not isinstance(path, str) or not path.startswith("#/"):
            break
        part = document
        for name in path[2:].split("/"):
            part = part.get(name) if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping):
        return "str"
    types = part.get("type")
    if "anyOf" in part and types is None:
        options = [option for option in part["anyOf"] if option != {"type": "null"}]
        return _kind(options[0], document) if len(options) == 1 else "str"
    if isinstance(types, list):
        types = [each for each in types if each != "null"]
        types = types[0] if len(types) == 1 else None
    return _KINDS.get(str(types), "str")


def _cast(value: Any, kind: Kind) -> Any:
    """Return a value as its column has it; ``None`` is a missing one."""
    if value is None:
        return None
    if kind == "list":
        return [_cast(item, "str") for item in value]
    if isinstance(value, Enum):
        value = value.value
    if kind == "str":
        value = value if isinstance(value, _OF_JSON) else _plain(value)
        return value if isinstance(value, str) else _json_text(value)
    if kind == "boolean":
        return bool(value)
    if kind == "Float64":
        return float(value)
    return int(value) if abs(value) < _TOO_LARGE else None


def _json_text(value: Any) -> str:
    """Return a value as JSON; an instance of a model by its fields."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    """Return what stands for an instance in JSON: its fields, or else its text."""
    if hasattr(value, "model_dump"):  # of pydantic
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.value if isinstance(value, Enum) else str(value)
