"""Agreements in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from studies import AGREEMENT, written

from chatmagic.errors import InputError
from chatmagic.study.recorded_agreement import read_agreement


def test_an_agreement(tmp_path: Path) -> None:
    """As it was written."""
    read = read_agreement(written(tmp_path / "a.json", AGREEMENT))
    assert [measure.name for measure in read.measures] == ["pairs", "m: alpha"]
    assert (read.measures[0].low, read.measures[1].value, read.level) == (0.4, None, "nominal")
    assert read.notes == ("All answers are the same.",)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {**AGREEMENT, "measures": {}},
        {**AGREEMENT, "measures": [1]},
        {**AGREEMENT, "measures": [{"name": 1}]},
        {**AGREEMENT, "level": None},
        {**AGREEMENT, "notes": 1},
    ],
)
def test_no_agreement(value: Any, tmp_path: Path) -> None:
    """Any other JSON is refused in one line."""
    with pytest.raises(InputError):
        read_agreement(written(tmp_path / "a.json", value))
