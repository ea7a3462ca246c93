"""A job of many rows: its threads, its pace, its interrupts and its end."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest
from jobs import PATIENCE, FakeClock, Rig, Slow, capitals, raising

from chatmagic.client.halt import Halt
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    InputError,
    RateLimitError,
    ReplyFormatError,
    RequestRejectedError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.models import Reply
from chatmagic.session.map.job import Job
from chatmagic.session.map.pace import Pace

EMPTY = "Row 2 makes an empty prompt, which is not sent."


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


def limited(seconds: float) -> RateLimitError:
    """Give a refusal that names a time."""
    return RateLimitError("Wait.", retry_after=datetime.now(UTC) + timedelta(seconds=seconds))


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


def test_ten_failures_of_the_service_in_succession_end_it(rig: Rig) -> None:
    """A row that was not sent does not count, and one that succeeds begins anew."""
    rows = [*map(str, range(9)), "ok", " ", *map(str, range(9, 30))]
    answer = raising(lambda: ServiceError("Down."), {str(n) for n in range(30)})
    with pytest.raises(ServiceError, match="The map ended, as 10 rows in succession failed"):
        rig.job(rows, answer, workers=1).run(is_watched=False)
    assert len(rig.asking.asked) == 20
    assert len(rig.kept()) == 21


@pytest.mark.parametrize(
    "error",
    [
        ReplyFormatError("The reply is no JSON.", reply=Reply("x")),
        RequestRejectedError("Filtered.", status=400),
        ServiceError("Filtered.", status=200),
        CutOffError("Filtered.", reply=Reply("x")),
    ],
)
def test_bad_rows_never_block_good_ones(rig: Rig, error: ChatError) -> None:
    """A row's own failure does not count, and rows that failed are asked last."""
    rows = [*map(str, range(20)), *(f"bad {n}" for n in range(12)), *map(str, range(20, 120))]
    bad = {row for row in rows if row.startswith("bad")}
    job = rig.job(rows, raising(lambda: error, bad), workers=1)
    job.run(is_watched=False)
    assert (job.answered, job.failed) == (120, 12)


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


@pytest.mark.parametrize("start", [False, True])
def test_an_error_of_a_threads_own_ends_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, *, start: bool
) -> None:
    """Such as one of a schema's own code, or of a process with too many threads."""
    job, real = rig.job(list("abcdefgh"), raising(ZeroDivisionError, "a"), workers=4), Thread.start

    def failing(thread: Thread) -> None:
        if thread.name == "chatmagic-map":
            raise ZeroDivisionError
        real(thread)

    if start:
        monkeypatch.setattr(Thread, "start", failing)
    with pytest.raises(ZeroDivisionError):
        job.run(is_watched=False)
    assert not [each for each in threading.enumerate() if each.name == "chatmagic-map"]


def test_a_row_that_is_begun_as_all_are_cut_off_is_cut_off_too(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its halt was not known to what stopped the others."""

    def answer(prompt: str, halt: Halt) -> str:
        assert halt.reason is not None
        raise ChatInterrupted("Interrupted.", reply=Reply(prompt, state="interrupted"))

    job = rig.job(["a", "b"], answer, workers=1)

    def make_room(_: int) -> None:
        job.interrupt()
        job.interrupt()

    monkeypatch.setattr(job.file, "make_room", make_room)
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=False)
    assert [reply.error for reply in rig.kept().values()] == ["Interrupted."]


def test_a_limit_of_a_moment_is_waited_for(rig: Rig) -> None:
    """The row that was refused is sent again, once; no other is sent meanwhile."""
    refused = ["b"]

    def answer(prompt: str, halt: Halt) -> str:
        if prompt in refused:
            refused.remove(prompt)
            raise limited(0.2)
        return capitals(prompt, halt)

    job = rig.job(list("abc"), answer, workers=1)
    job.run(is_watched=False)
    assert job.waiting == ""
    assert rig.asking.asked == ["a", "b", "b", "c"]
    assert len(rig.kept()) == 3


class Unreadable:
    """A value that has no text."""

    def __str__(self) -> str:
        """Fail."""
        raise ZeroDivisionError


class Refusing:
    """Answers in capitals, but for the first so many requests of some rows.

    Args:
        error: the refusal.
        times: number of refusals of each row.
    """

    def __init__(self, error: Callable[[], ChatError], **times: int) -> None:
        """Refuse none yet."""
        self.error = error
        self.left = times
        self.lock = threading.Lock()

    def __call__(self, prompt: str, halt: Halt) -> str:
        """Answer or refuse."""
        with self.lock:
            if self.left.get(prompt, 0) > 0:
                self.left[prompt] -= 1
                raise self.error()
        return capitals(prompt, halt)


NOTHING_DONE: list[Callable[[], ChatError]] = [
    lambda: RateLimitError("Wait.", status=429),
    lambda: limited(-5),
    lambda: limited(0),
    lambda: ServiceError("Busy.", status=503),
    lambda: ServiceError("Busy.", status=529),
    lambda: ConnectError("No connection."),
    lambda: RequestTimeoutError("No connection.", which="connect"),
]


@pytest.mark.parametrize("error", NOTHING_DONE)
def test_what_was_not_done_is_asked_again(rig: Rig, error: Callable[[], ChatError]) -> None:
    """After 1, 2, 4 … seconds, where no time is named, or a past one."""
    rig.clock = clock = FakeClock()
    rig.job(list("abc"), Refusing(error, b=4), workers=1).run(is_watched=False)
    assert rig.asking.asked == [*"abbbbbc"]
    assert sum(clock.waits) == pytest.approx(1 + 2 + 4 + 8)
    assert [reply.error for reply in rig.kept().values()] == [None] * 3


@pytest.mark.parametrize("error", NOTHING_DONE)
def test_a_minute_without_an_answer_ends_it(rig: Rig, error: Callable[[], ChatError]) -> None:
    """The row has no line, and the message says how to go on."""
    rig.clock = clock = FakeClock()
    job = rig.job(list("abc"), Refusing(error, b=10**6), workers=1)
    with pytest.raises(type(error()), match=r"for a minute\. wait=True goes on\. 1 row answered"):
        job.run(is_watched=False)
    assert sum(clock.waits) == pytest.approx(60)
    assert rig.asking.asked == ["a", *"b" * 7]
    assert [*rig.kept()] == [0]


def test_a_map_that_waits_goes_on(rig: Rig) -> None:
    """However long it takes."""
    rig.clock = clock = FakeClock()
    job = rig.job(list("ab"), Refusing(lambda: RateLimitError("No."), b=20), workers=1, waits=True)
    job.run(is_watched=False)
    assert sum(clock.waits) == pytest.approx(63 + 14 * 60)
    assert job.answered == 2


def test_a_row_that_alone_is_refused_fails_in_the_end(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overloaded service that answers all the others is no limit."""
    monkeypatch.setattr(Pace, "refused", lambda *_: True)  # as if others were answered meanwhile
    busy = Refusing(lambda: ServiceError("Busy.", status=503), a=10**6)
    job = rig.job(["a", "b"], busy, workers=1)
    job.run(is_watched=False)
    assert (job.answered, job.failed) == (1, 1)
    assert rig.asking.asked == [*("a" * 11), "b"]


@pytest.mark.parametrize(
    "error",
    [
        ServiceError("Broken.", status=500),
        ServiceError("Broken.", status=502),
        ServiceError("Closed."),
        CutOffError("Cut."),
        RequestTimeoutError("Late.", which="first_byte"),
    ],
)
@pytest.mark.parametrize("retries", [0, 2])
def test_what_may_have_been_paid_is_asked_again_as_often_as_is_said(
    rig: Rig, error: ChatError, retries: int
) -> None:
    """And not at all by itself."""
    rig.clock = FakeClock()
    job = rig.job(list("abc"), Refusing(lambda: error, b=2), workers=1, retries=retries)
    job.run(is_watched=False)
    assert rig.asking.asked.count("b") == 1 + retries
    assert job.failed == (0 if retries else 1)


def test_refusals_do_not_use_up_the_retries(rig: Rig) -> None:
    """They are no failures."""
    rig.clock = FakeClock()
    errors = [ServiceError("Broken.", status=500), *[RateLimitError("Wait.")] * 3]
    refusing = Refusing(errors.pop, a=4)
    job = rig.job(["a"], refusing, workers=1, retries=1)
    job.run(is_watched=False)
    assert job.answered == 1


def stopped_when_it_waits(job: Job, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have a job stop at the first reason for a wait that it shows; return these reasons."""
    seen: list[str] = []

    def show(_: object, done: int, state: str) -> None:
        del done
        if state:
            seen.append(state)
            job.stop()

    monkeypatch.setattr("chatmagic.session.map.progress.Progress.show", show)
    return seen


@pytest.mark.parametrize("seconds", [2, 3_600])
def test_a_stop_ends_a_wait(rig: Rig, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """However long that would be; the row is not sent again, though that would be due."""
    job = rig.job(list("ab"), raising(lambda: limited(seconds), "a"), workers=1, waits=True)
    seen = stopped_when_it_waits(job, monkeypatch)
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=True)
    assert rig.asking.asked == ["a"]
    words = r"limit reached: waiting until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.fullmatch(words, seen[0])


def test_a_stop_ends_the_wait_for_another_task(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that another task asks is not asked here; a person sees why it waits."""
    job = rig.job(["a"], capitals, workers=1)
    monkeypatch.setattr(job.file, "claim", lambda _: False)
    seen = stopped_when_it_waits(job, monkeypatch)
    with pytest.raises(ChatInterrupted, match="Stopped"):
        job.run(is_watched=True)
    assert seen[0] == "another task asks the same rows"
    assert rig.asking.asked == []


def test_a_row_waits_for_the_others_where_a_budget_has_room_for_one(rig: Rig) -> None:
    """While it is not known what a request takes, the first one reserves all."""
    holder = threading.Lock()

    def answer(prompt: str, halt: Halt) -> str:
        if not holder.acquire(blocking=False):
            raise BudgetError("Not enough.")
        time.sleep(0.05)
        holder.release()
        return capitals(prompt, halt)

    rig.job(list("abcdef"), answer, workers=4).run(is_watched=False)
    assert [reply.error for reply in rig.kept().values()] == [None] * 6


def test_the_notebook_goes_on(rig: Rig, slow: Slow) -> None:
    """The handle says how far it is, and has the result."""
    job = rig.job(["a", "b"], slow)
    job.start()
    assert job.is_running
    assert repr(job) == "<map, running: 0 of 2 rows answered, 0 failed; job.jsonl>"
    slow.wait(1)
    job.pool.waiting = "waiting until noon"
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
