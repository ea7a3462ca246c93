"""A job of many rows: its threads, its pace, its interrupts and its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from jobs import (
    PATIENCE,
    Rig,
    Slow,
    capitals,
    limited,
    raising,
)

from chatmagic.client.halt import Halt
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    InputError,
    RateLimitError,
    ServiceError,
)
from chatmagic.models import Reply
from chatmagic.session.map.job import Job
from chatmagic.session.map.progress import Bar

EMPTY = "This row makes an empty prompt, which is not sent."


@pytest.fixture
def slow() -> Slow:
    """Give answers that wait."""
    return Slow()


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Give a maker of jobs with a file."""
    return Rig(tmp_path / "job.jsonl")


def test_a_key_names_the_whole_request(rig: Rig) -> None:
    """The address, the model and the place among equal requests are part of it."""

    def keys(*rows: str) -> list[bytes]:
        job = rig.job(rows)
        job.file.close()
        return job.to_ask.keys

    first = keys("a", "b", "a")
    assert len({*first}) == 3
    assert keys("a", "a") == [first[0], first[2]]
    rig.asking.address = "https://b"
    assert keys("a") != first[:1]
    rig.asking.address, rig.model = "https://a", "n"
    assert keys("a") != first[:1]
    # In a replay it is known by what a cassette goes by: neither the address nor the model.
    rig.asking.address = None
    replayed = keys("a", "b", "a")
    rig.model = "m"
    assert replayed == keys("a", "b", "a")
    assert len({*replayed}) == 3


def test_as_many_are_under_way_as_there_are_workers(rig: Rig) -> None:
    """As many more are read, and one that waits to be handed out; each is asked once."""
    meet = threading.Barrier(3)

    def rows() -> Iterator[int]:
        for number in range(9):
            assert number - job.answered <= 6
            yield number

    def answer(prompt: str, halt: Halt) -> str:
        meet.wait(PATIENCE)
        return capitals(prompt, halt)

    job = rig.job(rows(), answer, workers=3)
    job.run(is_watched=False)
    assert sorted(rig.asking.asked) == [*"012345678"]
    assert [rig.kept()[row].text for row in range(9)] == [*"012345678"]
    assert rig.asking.closed == 1


def test_an_error_stands_beside_the_others(rig: Rig) -> None:
    """A row that is not to be sent, too; the part of a broken reply is kept with its error."""
    problems = {"b": ServiceError("Down."), "d": ChatError("Cut.", reply=Reply("half"))}

    def answer(prompt: str, halt: Halt) -> str:
        if prompt in problems:
            raise problems[prompt]
        return capitals(prompt, halt)

    job = rig.job(["a", "b", " ", "c", "d"], answer)
    replies = job.run(is_watched=False)
    kept = [("A", None), (None, "Down."), (None, EMPTY), ("C", None), ("half", "Cut.")]
    assert [(reply.text, reply.error) for reply in replies] == kept
    assert " " not in rig.asking.asked
    assert (job.answered, job.failed) == (2, 3)


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (lambda: AuthenticationError("Key."), ""),
        (lambda: BudgetError("Used up."), ""),
        (lambda: RateLimitError("Pay.", status=402), ""),
        (lambda: limited(3_600), " wait=True waits for the reset."),
    ],
)
def test_an_error_of_all_rows_ends_it(
    rig: Rig, error: Callable[[], ChatError], hint: str, *, block: bool
) -> None:
    """The row has no line: it is asked first thing again."""
    job = rig.job(list("abcdefgh"), raising(error, "cdefgh"), workers=1)
    if not block:
        job.start()
    with pytest.raises(type(error())) as caught:
        job.run(is_watched=False) if block else job.result()
    assert str(caught.value) == (
        f"{error().message}{hint} 2 rows answered by this run, kept in job.jsonl: the same call "
        "resumes."
    )
    assert rig.asking.asked == [*"abc"]
    assert [*rig.kept()] == [0, 1]


def test_rows_that_failed_are_asked_last(rig: Rig) -> None:
    """Though they may be the fault of the service, and end the map."""
    rows = [*map(str, range(20)), *(f"bad {n}" for n in range(12)), *map(str, range(20, 120))]
    bad = {row for row in rows if row.startswith("bad")}
    broken = raising(lambda: ServiceError("Broken.", status=500), bad)
    for asked in (30, 112):
        rig.asking.asked.clear()
        with pytest.raises(ServiceError, match="10 rows in succession"):
            rig.job(rows, broken, workers=1).run(is_watched=False)
        assert len(rig.asking.asked) == asked
    assert [reply.error for reply in rig.kept().values()].count(None) == 120


def test_a_later_row_that_the_template_does_not_fit_fails_alone(rig: Rig) -> None:
    """As others were sent before it; the first one is refused before anything is sent."""
    rows: list[object] = [f"{n}" for n in range(3)]
    job = rig.job(iter([*rows, {"other": 1, "it": Unreadable()}, "3"]), workers=1)
    job.run(is_watched=False)
    assert (job.answered, job.failed) == (4, 1)
    assert rig.asking.asked == [*"0123"]
    assert str(rig.kept()[3].error).startswith("Row 3: ")
    with pytest.raises(InputError, match="Row 0: "):
        rig.job(iter([Unreadable()]), workers=1).run(is_watched=False)


def test_an_error_of_the_rows_own_ends_it(rig: Rig, slow: Slow) -> None:
    """The row under way ends, and is kept."""

    def rows() -> Iterator[str]:
        yield "a"
        slow.wait(1)
        slow.go.set()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rig.job(rows(), slow).run(is_watched=False)
    assert rig.kept()[0].text == "A"


class Unreadable:
    """A value that has no text."""

    def __str__(self) -> str:
        """Fail."""
        raise ZeroDivisionError


def test_the_notebook_goes_on(rig: Rig, slow: Slow) -> None:
    """The handle says how far it is, and has the result."""
    job = rig.job(["a", "b"], slow)
    job.start()
    assert job.is_running
    assert repr(job) == "<map, running: 0 of 2 rows answered, 0 failed; job.jsonl>"
    slow.wait(1)
    job.pool.run.waiting = "waiting until noon"
    assert repr(job).startswith("<map, waiting until noon: 0 of")
    slow.go.set()
    assert [reply.text for reply in job.result()] == ["A", "B"]
    assert (job.answered, job.failed, job.credits_left) == (2, 0, None)
    assert repr(job) == "<map, not running: 2 of 2 rows answered, 0 failed; job.jsonl>"


def test_a_stop(rig: Rig, slow: Slow) -> None:
    """The rows under way end; the result is an error that says how to go on."""
    job = rig.job([*"abcd"], slow)
    job.start()
    slow.wait(2)
    job.stop()
    job.stop()
    slow.go.set()
    for _ in range(2):
        with pytest.raises(ChatInterrupted) as caught:
            job.result()
        assert str(caught.value) == (
            "Stopped. 2 rows answered by this run, kept in job.jsonl: the same call resumes."
        )


def test_an_interrupt_of_the_wait_stops_nothing(
    rig: Rig, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, as rows that are asked are paid for."""
    job = rig.job(["a", "b"], slow)
    job.start()
    with monkeypatch.context() as patch:
        patch.setattr("time.sleep", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(ChatInterrupted) as caught:
            job.result()
    assert str(caught.value) == "Interrupted while waiting: the map goes on. stop() ends it."
    assert job.is_running
    slow.go.set()
    assert [reply.text for reply in job.result()] == ["A", "B"]


@pytest.mark.parametrize(("times", "texts"), [(1, "AB"), (2, "ab"), (3, "ab")])
def test_an_interrupt_lets_rows_under_way_end_and_a_second_one_cuts_them_off(
    rig: Rig, slow: Slow, monkeypatch: pytest.MonkeyPatch, times: int, texts: str
) -> None:
    """No other row is begun; all are kept as what they are. A third one does not wait."""
    interrupts, interrupt = [KeyboardInterrupt()] * times, Job.interrupt

    def rows() -> Iterator[str]:
        yield from "ab"
        slow.wait(2)
        raise interrupts.pop()

    def answer(prompt: str, halt: Halt) -> str:
        reply = slow(prompt, halt)
        if halt.reason is not None:
            raise ChatInterrupted("Interrupted.", reply=Reply(prompt, state="interrupted"))
        return reply

    def interrupted(job: Job) -> None:
        interrupt(job)
        if interrupts:
            raise interrupts.pop()
        slow.go.set()

    monkeypatch.setattr(Job, "interrupt", interrupted)
    job = rig.job(rows(), answer)
    with pytest.raises(ChatInterrupted, match=r"^Interrupted\. \d rows? answered by this run"):
        job.run(is_watched=False)
    assert job.is_running == (times == 3)
    slow.go.set()
    with pytest.raises(ChatInterrupted):
        job.result()
    assert sorted(rig.asking.asked) == ["a", "b"]
    kept = [(rig.kept()[row].text, rig.kept()[row].error) for row in range(2)]
    assert kept == [(text, "Interrupted." if times > 1 else None) for text in texts]


def test_a_person_sees_rows_and_credits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of it once it is closed; a program sees nothing at all."""
    monkeypatch.setattr(Job, "credits_left", 7)
    for name, watched in [("a", True), ("b", False)]:
        job = Rig(tmp_path / f"{name}.jsonl").job([*"abc"])
        assert [reply.text for reply in job.run(is_watched=watched)] == [*"ABC"]
        shown = capsys.readouterr()
        assert shown.out == ""
        if watched:
            assert "3/3 rows, 7 credits left" in shown.err
            assert shown.err.endswith("\r")
        else:
            assert shown.err == ""


class Watching:
    """View of a bar that does something once it shows some words.

    Args:
        acts: what it does, by the words.
    """

    def __init__(self, **acts: Callable[[], object]) -> None:
        """Show nothing yet."""
        self.acts = acts
        self.states: list[str] = []
        self.removed = 0

    def show(self, bar: Bar) -> None:
        """Keep the state."""
        self.states.append(bar.state)
        for words, act in self.acts.items():
            if words in bar.words:
                act()

    def remove(self) -> None:
        """Count a removal."""
        self.removed += 1


def test_a_person_sees_that_it_stops(rig: Rig, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar goes on until the requests under way have ended, and says what else can be done."""
    job = rig.job([*"abcdefgh"], slow)
    view = Watching(stopping=lambda: job.interrupt() if len(view.states) == 2 else None)
    view.acts["interrupt again"] = slow.go.set
    monkeypatch.setattr(rig.asking.environment, "bar_view", lambda: view)

    def stop() -> None:
        slow.wait(2)
        job.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(ChatInterrupted):
        job.run(is_watched=True)
    stopper.join()
    under_way = "stopping: 2 requests under way"
    assert view.states[:3] == ["", under_way, f"{under_way} (interrupt again to cut off)"]
    assert view.removed == 1


def test_a_person_who_waits_for_a_result_sees_the_bar(
    rig: Rig, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a map that was not started in the background; a program sees none."""
    view = Watching(rows=slow.go.set)
    monkeypatch.setattr(rig.asking.environment, "bar_view", lambda: view)
    monkeypatch.setattr(rig.asking.environment, "is_watched", lambda: True)
    job = rig.job([*"ab"], slow)
    job.start()
    assert [reply.text for reply in job.result()] == [*"AB"]
    assert view.removed == 1
    assert [reply.text for reply in job.result()] == [*"AB"]
    assert view.removed == 1
