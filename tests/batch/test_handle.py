"""The handle of a map that runs beside the notebook."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from libraries import library
from test_job import PATIENCE, Rig

from chatmagic.batch.handle import Bar, MapHandle
from chatmagic.batch.job import Progress
from chatmagic.errors import AuthenticationError, ChatInterrupted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chatmagic.client.halt import Halt


SO_FAR = Progress(answered=2, failed=1, waiting="waiting until noon")


class Slow:
    """Answers that wait until a test lets them."""

    def __init__(self) -> None:
        """Let none go."""
        self.sent, self.go = threading.Event(), threading.Event()

    def __call__(self, prompt: str, halt: Halt) -> str:
        """Answer in capitals."""
        del halt
        self.sent.set()
        assert self.go.wait(PATIENCE)
        return prompt.upper()


@pytest.fixture
def slow() -> Slow:
    """Give answers that wait."""
    return Slow()


def made(path: Path, answer: Callable[[str, Halt], str], rows: list[str]) -> MapHandle:
    """Give the handle of a job with one thread."""
    rig = Rig(path / "job.jsonl", answer, workers=1)
    job = rig.job(rows)

    def collect() -> Any:
        return [reply.text for reply in rig.kept().values()]

    return MapHandle(job, rig.tasks, collect)


def test_the_notebook_goes_on(tmp_path: Path, slow: Slow) -> None:
    """The handle says how far it is, and has the result."""
    handle = made(tmp_path, slow, ["a", "b"])
    handle.start()
    assert handle.is_running
    assert repr(handle) == "<map, running: 0 of 2 rows answered, 0 failed; job.jsonl>"
    assert slow.sent.wait(PATIENCE)
    handle._job.progress.waiting = "waiting until noon"
    assert repr(handle).startswith("<map, waiting until noon: 0 of")
    slow.go.set()
    assert handle.result() == handle.result() == ["A", "B"]
    assert (handle.answered, handle.failed, handle.credits_left) == (2, 0, None)
    assert repr(handle) == "<map, not running: 2 of 2 rows answered, 0 failed; job.jsonl>"


def test_a_stop(tmp_path: Path, slow: Slow) -> None:
    """The row under way ends; the result is an error that says how to go on."""
    handle = made(tmp_path, slow, ["a", "b", "c"])
    handle.start()
    assert slow.sent.wait(PATIENCE)
    handle.stop()
    slow.go.set()
    with pytest.raises(ChatInterrupted) as caught:
        handle.result()
    assert str(caught.value) == (
        "Stopped. 1 row answered by this run, kept in job.jsonl: the same call goes on."
    )


def test_an_interrupt_of_the_wait_stops_nothing(
    tmp_path: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, as rows that are asked are paid for."""
    handle = made(tmp_path, slow, ["a", "b"])
    handle.start()
    sleep = time.sleep

    def interrupted(_: float) -> None:
        monkeypatch.undo()
        threading.Timer(0.0, _thread.interrupt_main).start()
        for _ in range(6_000):  # it comes between two of these: none of them hears it
            sleep(0.01)

    monkeypatch.setattr(time, "sleep", interrupted)
    with pytest.raises(ChatInterrupted) as caught:
        handle.result()
    assert str(caught.value) == "Interrupted while waiting: the map goes on. stop() ends it."
    assert handle.is_running
    slow.go.set()
    assert handle.result() == ["A", "B"]


def test_an_error_is_raised_where_the_result_is_wanted(tmp_path: Path) -> None:
    """With how far it came."""

    def answer(prompt: str, halt: Halt) -> str:
        del halt
        if prompt == "b":
            raise AuthenticationError("Key.", hint="Log in.")
        return prompt.upper()

    handle = made(tmp_path, answer, ["a", "b", "c"])
    handle.start()
    with pytest.raises(AuthenticationError) as caught:
        handle.result()
    assert str(caught.value) == (
        "Key. Log in. 1 row answered by this run, kept in job.jsonl: the same call goes on."
    )


def test_an_interrupt_says_how_to_go_on(tmp_path: Path, slow: Slow) -> None:
    """Where the map is waited for."""

    def rows() -> Any:
        slow.go.set()
        yield "a"
        assert slow.sent.wait(PATIENCE)
        raise KeyboardInterrupt

    rig = Rig(tmp_path / "job.jsonl", slow, workers=1)
    handle = MapHandle(rig.job(rows()), rig.tasks, list)
    with pytest.raises(ChatInterrupted, match=r"Interrupted\. 1 row answered by this run, kept"):
        handle.run(is_watched=False)


def test_a_person_sees_rows_and_credits(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing of it once it is closed."""
    library("tqdm")
    bar = Bar(9, is_watched=True)
    bar.show(SO_FAR, 7)
    shown = capsys.readouterr().err
    assert "3/9" in shown
    assert "7 credits left, waiting until noon" in shown
    bar.close()
    assert capsys.readouterr().err.rpartition("\r")[0].endswith(" ")


def test_nobody_sees_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headless, and where tqdm is not installed."""
    for is_watched in (False, True):
        bar = Bar(9, is_watched=is_watched)
        bar.show(SO_FAR, 7)
        bar.close()
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert capsys.readouterr() == ("", "")
