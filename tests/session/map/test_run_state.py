"""The state of a run: it goes on until a stop, an error, or the end of the program."""

from __future__ import annotations

import threading

import pytest
from jobs import PATIENCE, FakeClock

from chatmagic.session.map.run_state import Clock, RunState


def test_a_stop_wakes_a_thread_that_waits() -> None:
    """It need not wait for its time."""
    run = RunState(Clock())
    waits = threading.Event()

    def wait() -> None:
        with run.changed:
            waits.set()
            run.wait(PATIENCE)

    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(PATIENCE)
    assert run.goes_on()
    run.stop()
    thread.join(PATIENCE / 2)
    assert not thread.is_alive()
    assert not run.goes_on()


def test_the_first_error_counts() -> None:
    """A later one is often of its making."""
    run = RunState(FakeClock())
    first = ValueError()
    run.end(first)
    run.end(KeyError())
    assert run.error is first
    assert run.is_stopped


def test_the_end_of_the_program_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a map in the background that waits for a limit would hold the program up."""
    run = RunState(FakeClock())
    monkeypatch.setattr(threading, "main_thread", threading.Thread)
    assert not run.goes_on()
    assert str(run.error) == "the program has ended"
