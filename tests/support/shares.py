"""Which cases of a long series each run tries: a share of them, and a release all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def each_time(cases: Iterable[Any], every: int) -> list[Any]:
    """Return the parameters of a test, of which those that are left to a release are marked so.

    Args:
        cases: the arguments of a case: a tuple, or the only one.
        every: that each run tries the first of so many.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=pytest.mark.release if number % every else (),
        )
        for number, case in enumerate(cases)
    ]
