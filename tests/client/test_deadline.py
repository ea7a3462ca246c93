"""The time by which an answer has to have come."""

from __future__ import annotations

import threading

from loopback import PATIENCE, wait_for

from chatmagic.client.deadline import Deadline
from chatmagic.client.sockets import Halt


class Cut(Halt):
    """A halt that takes note of being cut."""

    def __init__(self) -> None:
        """Be whole."""
        super().__init__()
        self.cuts = threading.Event()

    def cut(self) -> None:
        """Take note."""
        self.cuts.set()


def test_it_counts_from_the_latest_sign() -> None:
    """A look before the time that the latest sign gives cuts nothing, one at it does."""
    now = 100.0
    halt = Cut()
    deadline = Deadline(PATIENCE, halt.cut, lambda: now)
    deadline.extend()
    now += PATIENCE - 1
    deadline.extend()
    now += PATIENCE - 1
    deadline.look()
    assert not halt.cuts.is_set()
    now += 1
    deadline.look()
    assert deadline.passed
    assert halt.cuts.is_set()
    deadline.stop()


def test_it_cuts_by_itself() -> None:
    """Nobody has to look."""
    halt = Cut()
    deadline = Deadline(0.01, halt.cut)
    deadline.extend()
    wait_for(halt.cuts)
    assert deadline.passed


def test_one_that_is_stopped_cuts_nothing() -> None:
    """Not even where its look was under way."""
    halt = Cut()
    deadline = Deadline(0.0, halt.cut, lambda: 100.0)
    deadline.stop()
    deadline.extend()
    deadline.stop()
    deadline.look()
    assert not deadline.passed
    assert not halt.cuts.is_set()
