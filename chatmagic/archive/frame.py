"""Rows of a dataclass as a pandas DataFrame, with one type for each column."""

from __future__ import annotations

from dataclasses import asdict, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_TYPES: Final = {
    "int": "Int64",
    "float": "Float64",
    "bool": "boolean",
    "datetime": "datetime64[us, UTC]",
}


def dataframe(kind: type, rows: Iterable[Any]) -> Any:
    """Return rows as a DataFrame; what is unknown is missing, and times are in UTC.

    Args:
        kind: the dataclass, whose fields are the columns; it is made with annotations as texts.
        rows: its instances.

    Raises:
        ImportError: pandas is not installed.
    """
    pd = import_module("pandas")  # for who asks for it, and has it
    columns = {item.name: str(item.type).split(" ", 1)[0] for item in fields(kind)}
    types = {name: _TYPES.get(type_, "string") for name, type_ in columns.items()}
    return pd.DataFrame([asdict(row) for row in rows], columns=list(columns)).astype(types)
