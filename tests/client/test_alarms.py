"""Tests of alarms: functions that one thread calls at their time."""

from __future__ import annotations

import os
import threading

import pytest

from chatmagic.client.alarms import Alarms

PATIENCE = 30


def test_a_function_is_called_at_its_time_and_a_cancelled_one_is_not() -> None:
    """An earlier alarm that is set later comes first; one that fails stops no other."""
    made = Alarms()
    called: list[str] = []
    are_set = threading.Event()
    ended = threading.Event()

    def fail() -> None:
        called.append("fail")
        raise ValueError

    last = made.set(3600, lambda: called.append("last"))
    # The thread of all alarms waits in this one, so that none of the others comes too soon.
    made.set(0, lambda: are_set.wait(PATIENCE))
    cancelled = made.set(0, lambda: called.append("cancelled"))
    made.set(0.02, ended.set)
    made.set(0, fail)
    made.cancel(cancelled)
    are_set.set()
    assert ended.wait(PATIENCE)
    made.cancel(last)
    assert called == ["fail"]


def test_the_thread_ends_with_the_last_alarm_and_another_one_starts_it() -> None:
    """Nothing runs for a process that asks nothing."""
    made = Alarms()
    threads: list[threading.Thread] = []
    later = made.set(3600, print)
    for _ in range(2):
        ended = threading.Event()

        def note(ended: threading.Event = ended) -> None:
            threads.append(threading.current_thread())
            ended.set()

        made.set(0, note)
        assert ended.wait(PATIENCE)
        made.cancel(later)
        threads[-1].join(PATIENCE)
        assert not threads[-1].is_alive()
    assert threads[0] is not threads[1]
    assert {(thread.name, thread.daemon) for thread in threads} == {("chatmagic-timer", True)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_no_alarms_and_sets_its_own() -> None:
    """The thread of its parent is not there, and its own ends with its own alarms."""
    made = Alarms()
    alarm = made.set(3600, print)
    if (child := os.fork()) == 0:
        threads: list[threading.Thread] = []
        ended = threading.Event()

        def note() -> None:
            threads.append(threading.current_thread())
            ended.set()

        made.set(0, note)
        if ended.wait(PATIENCE):
            threads[0].join(PATIENCE)
        os._exit(0 if threads and not threads[0].is_alive() else 1)
    assert os.waitpid(child, 0)[1] == 0
    made.cancel(alarm)
