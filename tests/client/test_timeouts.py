"""The time-outs, as they are given and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatmagic.client import network_errors
from chatmagic.client.timeouts import Timeout
from chatmagic.errors import (
    InputError,
)

if TYPE_CHECKING:
    from chatmagic.errors import Which


@pytest.mark.parametrize("which", ["connect", "first_byte", "silence", "total"])
def test_each_time_out_says_how_to_change_it(which: Which) -> None:
    """In a notebook and in Python, with a longer time that would be taken."""
    error = network_errors.late(which, 2.5, "http://here")
    assert error.which == which
    assert "2.5 s" in error.message
    assert error.hint is not None
    assert f'%config ChatMagics.timeout = {{"{which}": 5}}' in error.hint
    assert f"chatmagic.Timeout({which}=5)" in error.hint
    assert Timeout.of({which: 5}) == Timeout(**{which: 5.0})


@pytest.mark.parametrize("seconds", [0, -1, True, "5", float("nan"), float("inf"), 1e30])
def test_a_time_out_is_a_number_above_0(seconds: float) -> None:
    """Anything else is refused in one line."""
    with pytest.raises(InputError, match="time-out silence"):
        Timeout(silence=seconds)
    with pytest.raises(InputError, match="time-out"):
        Timeout.of(seconds)


def test_a_plain_number_is_the_wait_for_bytes() -> None:
    """A number stands for the first byte and for silence."""
    assert Timeout.of(3) == Timeout(first_byte=3, silence=3)
    assert Timeout.of(None) == Timeout(connect=10, first_byte=60, silence=60, total=None)
    assert Timeout.of(Timeout(total=1)) == Timeout(total=1)
    assert Timeout.of({"total": 1, "silence": None}) == Timeout(silence=None, total=1)
    with pytest.raises(InputError, match="no time-out 'reading'; there are connect, first_byte"):
        Timeout.of({"reading": 1})
