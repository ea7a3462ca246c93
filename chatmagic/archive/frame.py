"""Rows of a dataclass as a pandas DataFrame, with one type for each column."""

from __future__ import annotations

from dataclasses import asdict, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable

_LARGEST: Final = 2**63
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
    cells = [{name: _held(value) for name, value in asdict(row).items()} for row in rows]
    return pd.DataFrame(cells, columns=list(columns)).astype(types)


def _held(value: Any) -> Any:
    """Return a value that a column can hold: a file may have any number, and halves of letters."""
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return None
    return without_lone_surrogates(value) if isinstance(value, str) else value
