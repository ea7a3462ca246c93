"""Alarms: what is due is done in time, and what is cancelled is not."""

from __future__ import annotations

import os
import threading

import pytest
from loopback import PATIENCE

from chatmagic.client import alarms


def test_alarms_are_done_in_the_order_of_their_times() -> None:
    """Not in that of asking; one that fails, or was cancelled, stops no other."""
    done: list[str] = []
    over = threading.Event()
    last = alarms.after(0.1, over.set)
    cancelled = alarms.after(0.02, lambda: done.append("cancelled"))
    late = alarms.after(0.06, lambda: done.append("late"))
    alarms.after(0.03, lambda: 1 / 0)
    alarms.after(0.01, lambda: done.append("soon"))
    cancelled.cancel()
    assert over.wait(PATIENCE)
    assert done == ["soon", "late"]
    assert not late.work
    last.cancel()


def test_an_alarm_that_is_due_before_the_others_wakes_the_thread() -> None:
    """It is not found when the thread wakes for another one."""
    late, asleep, rang = alarms.after(60, print), threading.Event(), threading.Event()
    alarms.after(0, asleep.set)
    assert asleep.wait(PATIENCE)
    alarms.after(0.02, rang.set)
    assert rang.wait(PATIENCE)
    late.cancel()


def alarm_threads() -> set[threading.Thread]:
    """Return the threads that wait for alarms; others may start and end meanwhile."""
    return {each for each in threading.enumerate() if each.name == "chatmagic-alarms"}


def test_all_alarms_have_one_thread() -> None:
    """It stays, so that no other has to be started."""
    alarms.after(60, print).cancel()
    before = alarm_threads()
    for _ in range(20):
        alarms.after(60, print).cancel()
    assert alarm_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_that_was_forked_off_has_its_alarms() -> None:
    """A thread is not there after a fork; another one is started."""
    alarms.after(60, print).cancel()
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        rang = threading.Event()
        alarms.after(0.01, rang.set)
        os._exit(0 if rang.wait(PATIENCE) else 1)
    assert os.waitpid(child, 0)[1] == 0
