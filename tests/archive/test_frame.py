"""Rows as a pandas DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from chatmagic.archive.frame import dataframe


@dataclass
class Row:
    """A row of each type."""

    name: str | None = None
    count: int | None = None
    share: float | None = None
    good: bool = True
    time: datetime | None = None


def test_each_column_has_one_type() -> None:
    """Also where nothing is known, and where there are no rows."""
    types = dataframe(Row, []).dtypes.astype(str).to_dict()
    frame = dataframe(Row, [Row(), Row("a", 3, 0.5, time=datetime(2026, 1, 1, tzinfo=UTC))])
    assert frame.dtypes.astype(str).to_dict() == types
    assert types["time"] == "datetime64[us, UTC]"
    odd = dataframe(Row, [Row("\ud800", 10**30)])
    assert (odd["name"][0], odd["count"].isna()[0]) == ("\ufffd", True)
    assert (frame["count"][1], frame["count"].isna()[0], frame["name"][1]) == (3, True, "a")
