"""Tables of pandas and polars: shape, types of the columns, missing values, a sample of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from chatmagic.jupyter.values.description import LIMIT, Description, cell, ends, is_a, places
from chatmagic.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNTED_WHOLE: Final = 1_000_000
"""Up to how many rows missing values are counted in all of them."""
COUNTED_CELLS: Final = 10_000_000
"""And up to how many cells of the columns that are listed."""
SAMPLE: Final = 100_000
"""In about how many rows they are counted otherwise, at equal distances."""
_COLUMNS: Final = 40
_ROWS: Final = 20
_FEW_ROWS: Final = 5
_LISTED: Final = LIMIT * 2 // 5
"""Characters for the list of columns, at most."""


class _Pandas:
    """The first columns of a DataFrame of pandas."""

    def __init__(self, frame: Any) -> None:
        """Take the first columns: a view, nothing is copied."""
        self._part = frame.iloc[:, :_COLUMNS]
        self.rows, self.columns = frame.shape
        self.names = [_label(name) for name in self._part.columns]
        self.types = [cell(str(kind)) for kind in self._part.dtypes]
        levels = [cell(name) for name in frame.index.names if name is not None]
        self.index = ", ".join(levels)

    def missing(self, step: int) -> list[int]:
        """Return how many values each column misses, in every so many of its rows."""
        return [int(count) for count in self._part.iloc[::step].isna().sum()]

    def cells(self, places: list[int]) -> list[list[str]]:
        """Return some rows, each with its label first."""
        part = self._part.iloc[places]
        return [
            [_label(part.index[row]), *(cell(part.iloc[row, at]) for at in range(len(self.names)))]
            for row in range(len(places))
        ]


def _label(name: object) -> str:
    """Return the name of a row or column, which has several parts where there are levels."""
    return ", ".join(map(cell, name)) if type(name) is tuple else cell(name)


class _Polars:
    """The same of a DataFrame of polars, which has no index."""

    def __init__(self, frame: Any) -> None:
        """Take the first columns, which share the memory of the frame."""
        self._part = frame.select(frame.columns[:_COLUMNS])
        self.rows, self.columns = frame.shape
        self.names = [cell(name) for name in self._part.columns]
        self.types = [cell(str(kind)) for kind in self._part.dtypes]
        self.index = None

    def missing(self, step: int) -> list[int]:
        part = self._part if step == 1 else self._part.gather_every(step)
        return [int(count) for count in part.null_count().row(0)]

    def cells(self, places: list[int]) -> list[list[str]]:
        return [[cell(value) for value in row] for row in self._part[places].rows()]


_Table = _Pandas | _Polars


def describe(value: Any) -> Description | None:
    """Return the description of a DataFrame or Series; ``None`` of anything else."""
    for package, adapter in (("pandas", _Pandas), ("polars", _Polars)):
        if is_a(value, package, "DataFrame"):
            return _description(f"{package} DataFrame", adapter(value))
        if is_a(value, package, "Series"):
            return _description(f"{package} Series", adapter(value.to_frame()))
    return None


def _description(title: str, table: _Table) -> Description:
    shape = f"{counted(table.rows, 'row')}, {counted(table.columns, 'column')}"
    head = f"{title}: {shape}\n"
    listed = _columns(table) if table.names else ""
    room = LIMIT - len(head) - len(listed)
    sample = _sample(table, room) if table.names and table.rows else ""
    return Description((head + listed + sample).rstrip("\n"), counted(table.rows, "row"))


def _columns(table: _Table) -> str:
    """Return the list of the columns, with what is missing in them."""
    listed = min(len(table.names), table.columns)
    is_long = table.rows > COUNTED_WHOLE or table.rows * listed > COUNTED_CELLS
    step = -(-table.rows // SAMPLE) if is_long else 1
    lines = ["", "| column | type | missing |", "|---|---|---|"]
    size = sum(map(len, lines))
    for name, kind, missing in zip(table.names, table.types, table.missing(step), strict=True):
        line = _row([name, kind, f"{missing:,}"])
        size += len(line) + 1
        if size > _LISTED:
            break
        lines.append(line)
    shown = len(lines) - 3
    if shown < table.columns or step > 1:
        lines.append("")
    if shown < table.columns:
        lines.append(f"[{places('column', range(shown), table.columns)}; no others are listed]")
    if step > 1:
        sampled = -(-table.rows // step)
        lines.append(
            f"[missing values are counted in a sample of {sampled:,} of {table.rows:,} rows, "
            f"one in every {step:,}]"
        )
    return "\n".join(lines) + "\n"


def _sample(table: _Table, room: int) -> str:
    """Return as many columns and rows as a number of characters has room for."""
    chosen = ends(table.rows, _ROWS)
    grid = dict(zip(chosen, table.cells(chosen), strict=True))
    few = min(_FEW_ROWS, table.rows)
    width = len(table.names)
    while width > 1 and len(_markdown(table, grid, few, width)) > room:
        width -= 1
    rows = len(chosen)
    while rows > 1 and len(_markdown(table, grid, rows, width)) > room:
        rows -= 1
    return _markdown(table, grid, rows, width)


def _markdown(table: _Table, grid: dict[int, list[str]], rows: int, width: int) -> str:
    shown = ends(table.rows, rows)
    words = places("row", shown, table.rows)
    if width < table.columns:
        words += f", {places('column', range(width), table.columns)}"
    labels = [] if table.index is None else [table.index]
    cells = len(labels) + width
    lines = [
        f"{words[0].upper()}{words[1:]}:",
        "",
        _row([*labels, *table.names[:width]]),
        "|---" * cells + "|",
    ]
    return "\n".join(["", *lines, *(_row(grid[place][:cells]) for place in shown)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"
