"""A job: which rows it asks, by a few threads, into one file, and what ends it early."""

from __future__ import annotations

import _thread
import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from libraries import library
from row_service import RowService

import chatmagic
from chatmagic.batch.job import Bar, Job, MapHandle, Progress, Tasks
from chatmagic.batch.job_file import JobFile, RowReply, replay_key
from chatmagic.batch.rows import Rows
from chatmagic.client.client import Client
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
from chatmagic.models import Credits, Message, Reply
from chatmagic.protocol.wire import Request

PATIENCE = 60.0


@pytest.fixture
def file(tmp_path: Path) -> Iterator[JobFile]:
    """Give the file of a new job."""
    opened = JobFile(tmp_path / "job.jsonl").open()
    yield opened
    opened.close()


def compose(
    number: int, row: Mapping[str, Any], model: str = "m"
) -> tuple[Request, InputError | None]:
    """Make the request of a row."""
    del number
    problem = InputError("No.") if row["it"] == "bad" else None
    return Request((Message("user", str(row["it"])),), extra={"model": model}), problem


def tasks(source: Any, file: JobFile, address: str | None = "https://a", **more: Any) -> Tasks:
    """Give the tasks of some rows."""
    return Tasks(Rows(source), more.pop("compose", compose), address, file, **more)


def test_rows_that_failed_come_first(file: JobFile) -> None:
    """Those with an answer are not asked."""
    keys = tasks(["a", "b", "c", "d"], file).keys
    file.append(RowReply(row=0, key=keys[0], text="A"))
    file.append(RowReply(row=2, key=keys[2], error="No."))
    again = tasks(["a", "b", "c", "d"], file)
    assert [task.row for task in again] == [2, 1, 3]
    assert (again.failed, again.keys) == (1, keys)


def test_rows_that_are_read_once_come_in_their_order(file: JobFile) -> None:
    """They are read as they are needed."""
    keys = tasks(["a", "b", "c"], file).keys
    file.append(RowReply(row=0, key=keys[0], text="A"))
    file.append(RowReply(row=2, key=keys[2], error="No."))
    source = iter(["a", "b", "c", "d"])
    some = iter(tasks(source, file))
    assert next(some).row == 1
    assert next(source) == "c"
    assert [task.row for task in some] == [2]


def test_a_key_names_the_whole_request(file: JobFile) -> None:
    """The address, the model and the place among equal requests are part of it."""
    keys = tasks(["a", "b", "a"], file).keys
    assert len({*keys}) == 3
    assert tasks(["a", "a"], file).keys == [keys[0], keys[2]]
    assert tasks(["a"], file, "https://b").keys != keys[:1]

    def other(number: int, row: Mapping[str, Any]) -> tuple[Request, InputError | None]:
        return compose(number, row, "n")

    assert tasks(["a"], file, compose=other).keys != keys[:1]
    # In a replay it is known by what a cassette goes by: neither the address nor the model.
    replayed = tasks(["a", "b", "a"], file, None)
    assert replayed.keys == tasks(["a", "b", "a"], file, None, compose=other).keys
    assert replayed.keys == [replay_key(t.request.digest(), t.occurrence) for t in replayed]
    assert len({*replayed.keys}) == 3


def test_a_row_that_is_not_to_be_sent_says_so(file: JobFile) -> None:
    """And has a key as the others have, so that its error stands beside it."""
    good, bad = tasks(["a", "bad"], file)
    assert good.problem is None
    assert str(bad.problem) == "No."
    assert good.key != bad.key


def test_nothing_is_kept_that_is_not_wanted(file: JobFile) -> None:
    """Of rows that outgrow the memory."""
    made = tasks(iter("abc"), file, keeps=False)
    assert len(list(made)) == 3
    assert made.keys == []


class Asking:
    """What a job asks by, as a test wants it.

    Args:
        answer: returns the reply to a prompt, or raises.
    """

    credits: Credits | None = None

    service = "https://a"

    def __init__(self, answer: Callable[[str, Halt], str]) -> None:
        """Ask nothing yet."""
        self.answer = answer
        self.asked: list[str] = []
        self.closed = 0

    @contextlib.contextmanager
    def connect(self) -> Iterator[Client]:
        """Give a client that is not used, and count those that are closed."""
        yield chatmagic.Client(transport=RowService())
        self.closed += 1

    def ask(self, client: Client, request: Request, halt: Halt) -> Reply:
        """Answer by the test's function."""
        del client
        prompt = request.messages[-1].content
        self.asked.append(prompt)
        return Reply(self.answer(prompt, halt), finish_reason="stop")

    def cost(self) -> int:
        """Give a credit."""
        return 1


class Rig:
    """A job of some rows, and what its file has in the end."""

    def __init__(self, path: Path, answer: Callable[[str, Halt], str], **how: Any) -> None:
        """Make it."""
        self.path = path
        self.asking = Asking(answer)
        self.how = {"workers": 2, "waits": False, **how}

    def job(self, rows: Iterable[object]) -> Job:
        """Give the job of some rows."""
        file = JobFile(self.path).open()
        self.tasks = Tasks(Rows(rows), compose, "https://a", file)
        return Job(self.tasks, file, self.asking, **self.how)

    def kept(self) -> dict[int, RowReply]:
        """Give what the file has, by row."""
        file = JobFile(self.path).open()
        replies = [reply for reply in file.replies(self.tasks.keys) if reply is not None]
        file.close()
        return {reply.row: reply for reply in replies}


@pytest.fixture
def rig(tmp_path: Path) -> Callable[..., Rig]:
    """Give a maker of jobs with a file."""
    return lambda answer=lambda prompt, _: prompt.upper(), **how: Rig(
        tmp_path / "job.jsonl", answer, **how
    )


def raising(error: Callable[[], BaseException], at: set[str]) -> Callable[[str, Halt], str]:
    """Give an answer that raises for some prompts."""

    def answer(prompt: str, halt: Halt) -> str:
        del halt
        if prompt in at:
            raise error()
        return prompt.upper()

    return answer


@pytest.mark.parametrize("workers", [1, 3, 32])
def test_each_row_is_asked_once(rig: Callable[..., Rig], workers: int) -> None:
    """And stored with its place, whatever order they end in."""
    made = rig(workers=workers)
    job = made.job(list("abcdefgh"))
    job.run()
    assert sorted(made.asking.asked) == list("abcdefgh")
    assert [made.kept()[row].text for row in range(8)] == list("ABCDEFGH")
    assert (job.progress.answered, job.progress.failed) == (8, 0)
    assert 1 <= made.asking.closed <= workers


def test_as_many_are_under_way_as_there_are_workers(rig: Callable[..., Rig]) -> None:
    """No more rows are read than these, and one that waits to be handed out."""
    meet = threading.Barrier(3)

    def rows() -> Iterator[int]:
        for number in range(9):
            assert number - job.progress.ended <= 3
            yield number

    def answer(prompt: str, halt: Halt) -> str:
        del halt
        meet.wait(PATIENCE)
        return prompt

    made = rig(answer, workers=3)
    job = made.job(rows())
    job.run()
    assert len(made.kept()) == 9


def test_an_error_stands_beside_the_others(rig: Callable[..., Rig]) -> None:
    """A row that is not to be sent, too; the others are asked."""
    made = rig(raising(lambda: ServiceError("Down."), {"b"}))
    job = made.job(["a", "b", "bad", "c"])
    job.run()
    errors = {row: reply.error for row, reply in made.kept().items()}
    assert errors == {0: None, 1: "Down.", 2: "No.", 3: None}
    assert "bad" not in made.asking.asked
    assert (job.progress.answered, job.progress.failed) == (2, 2)


def test_what_came_of_a_broken_reply_is_kept(rig: Callable[..., Rig]) -> None:
    """With its error, so that it is asked again."""
    made = rig(raising(lambda: ChatError("Cut.", reply=Reply("half", state="cut off")), {"a"}))
    made.job(["a"]).run()
    assert made.kept()[0].text == "half"
    assert made.kept()[0].error == "Cut."


def test_what_all_rows_would_fail_of_ends_it(rig: Callable[..., Rig]) -> None:
    """The row has no line: nothing was sent of it, and it is asked first thing again."""
    made = rig(raising(lambda: AuthenticationError("Key."), set("cdefgh")), workers=1)
    with pytest.raises(AuthenticationError):
        made.job(list("abcdefgh")).run()
    assert made.asking.asked == ["a", "b", "c"]
    assert [*made.kept()] == [0, 1]


def test_ten_failures_in_succession_end_it(rig: Callable[..., Rig]) -> None:
    """A row that was not sent does not count, and one that succeeds begins anew."""
    rows = [*map(str, range(9)), "ok", "bad", *map(str, range(9, 30))]
    made = rig(raising(lambda: ServiceError("Down."), {str(n) for n in range(30)}), workers=1)
    with pytest.raises(ServiceError, match="The map ended, as 10 rows in succession failed"):
        made.job(rows).run()
    assert len(made.asking.asked) == 20
    assert len(made.kept()) == 21


def test_an_error_of_the_rows_own_ends_it(rig: Callable[..., Rig]) -> None:
    """What was asked until then is kept."""
    is_asked = threading.Event()

    def rows() -> Iterator[str]:
        yield "a"
        assert is_asked.wait(PATIENCE)
        raise ZeroDivisionError

    def answer(prompt: str, halt: Halt) -> str:
        del halt
        is_asked.set()
        return prompt.upper()

    made = rig(answer)
    with pytest.raises(ZeroDivisionError):
        made.job(rows()).run()
    assert made.kept()[0].text == "A"


def test_an_error_of_a_threads_own_ends_it(rig: Callable[..., Rig]) -> None:
    """Such as one of a schema's own code; no thread is left."""
    made = rig(raising(ZeroDivisionError, {"a"}), workers=4)
    with pytest.raises(ZeroDivisionError):
        made.job(list("abcdefgh")).run()


class Interrupting:
    """Rows under way in a job that is interrupted, as often as is said."""

    def __init__(self, rig: Callable[..., Rig], times: int) -> None:
        """Run it to its end."""
        self.times, self.sent = times, threading.Semaphore(0)
        self.lets_go = times == 1
        self.go = threading.Event()
        made = rig(self.answer, workers=2)
        with pytest.raises(KeyboardInterrupt):
            made.job(list("abcdefgh")).run(self.tick)
        self.kept = made.kept()
        self.asked = sorted(made.asking.asked)

    def answer(self, prompt: str, halt: Halt) -> str:
        """Wait until the test lets go, or the halt stops it."""
        self.sent.release()
        while not self.go.is_set():
            if halt.reason is not None:
                raise ChatInterrupted("Interrupted.", reply=Reply(prompt, state="interrupted"))
            time.sleep(0.01)
        return prompt.upper()

    def tick(self) -> None:
        """Interrupt where two rows are under way, and let go of them after a single time."""
        if self.times and self.sent._value >= 2:
            self.times -= 1
            raise KeyboardInterrupt
        if self.lets_go and not self.times:
            self.go.set()


def test_an_interrupt_lets_rows_under_way_end(rig: Callable[..., Rig]) -> None:
    """No other row is begun."""
    done = Interrupting(rig, 1)
    assert done.asked == ["a", "b"]
    assert [reply.text for reply in done.kept.values()] == ["A", "B"]
    assert [reply.error for reply in done.kept.values()] == [None, None]


def test_a_second_interrupt_cuts_them_off(rig: Callable[..., Rig]) -> None:
    """They are kept as what they are."""
    done = Interrupting(rig, 2)
    assert done.asked == ["a", "b"]
    assert [reply.text for reply in done.kept.values()] == ["a", "b"]
    assert [reply.error for reply in done.kept.values()] == ["Interrupted."] * 2


def test_a_row_that_is_begun_as_all_are_cut_off_is_cut_off_too(rig: Callable[..., Rig]) -> None:
    """Its halt was not known to what stopped the others."""

    def answer(prompt: str, halt: Halt) -> str:
        assert halt.reason is not None
        raise ChatInterrupted("Interrupted.", reply=Reply(prompt, state="interrupted"))

    made = rig(answer, workers=1)
    job = made.job(["a", "b"])

    def cost() -> int:
        job.stop(cut=True)
        return 1

    made.asking.cost = cost  # type: ignore[method-assign]
    job.run()
    assert [reply.error for reply in made.kept().values()] == ["Interrupted."]


def test_a_thread_that_cannot_be_started_ends_it(
    rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a process that has too many, or that exits."""
    full = Mock(side_effect=RuntimeError("can't start new thread"))
    monkeypatch.setattr("threading.Thread.start", full)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        rig().job(list("abc")).run()


def test_a_thread_that_starts_late_asks_nothing(
    rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the interrupt that struck in its start, when the file is closed."""
    start, late = threading.Thread.start, list[threading.Thread]()

    def interrupted(thread: threading.Thread) -> None:
        late.append(thread)
        raise KeyboardInterrupt

    made = rig()
    job = made.job(list("abc"))
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        job.run()
    for thread in late:
        start(thread)
        thread.join()
    assert made.asking.asked == []


def test_a_third_interrupt_leaves_the_file_to_the_threads(rig: Callable[..., Rig]) -> None:
    """They are not waited for; the last one to end closes it, and the same call goes on."""
    sent, go = threading.Semaphore(0), threading.Event()

    def answer(prompt: str, halt: Halt) -> str:
        del halt  # as of a server that does not answer yet
        sent.release()
        assert go.wait(PATIENCE)
        return prompt.upper()

    made = rig(answer, workers=2)
    job = made.job(list("abcdefgh"))

    def tick() -> None:
        if sent._value >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(tick)
    go.set()
    while job.is_alive:
        time.sleep(0.01)
    assert [reply.text for reply in made.kept().values()] == ["A", "B"]


def limited(seconds: float) -> RateLimitError:
    """Give a refusal that names a time."""
    return RateLimitError("Wait.", retry_after=datetime.now(UTC) + timedelta(seconds=seconds))


def test_a_limit_ends_it(rig: Callable[..., Rig]) -> None:
    """The row that was refused has no line."""
    made = rig(raising(lambda: limited(3_600), {"b"}), workers=1)
    with pytest.raises(RateLimitError, match=r"Wait\."):
        made.job(list("abc")).run()
    assert made.asking.asked == ["a", "b"]
    assert [*made.kept()] == [0]


def test_a_limit_of_a_moment_is_waited_for(rig: Callable[..., Rig]) -> None:
    """The row that was refused is sent again, once; no other is sent meanwhile."""
    refused = ["b"]

    def answer(prompt: str, halt: Halt) -> str:
        del halt
        if prompt in refused:
            refused.remove(prompt)
            raise limited(0.2)
        return prompt.upper()

    made = rig(answer, workers=1)
    job = made.job(list("abc"))
    job.run()
    assert job.progress.waiting == ""
    assert made.asking.asked == ["a", "b", "b", "c"]
    assert len(made.kept()) == 3


def test_a_limit_that_stays_ends_it_all_the_same(rig: Callable[..., Rig]) -> None:
    """As does one that names no time."""
    made = rig(raising(lambda: limited(0.01), {"b"}), workers=1, waits=True)
    with pytest.raises(RateLimitError):
        made.job(list("abc")).run()
    assert made.asking.asked == ["a", "b", "b"]
    other = rig(raising(lambda: RateLimitError("No."), {"b"}), workers=1, waits=True)
    with pytest.raises(RateLimitError):
        other.job(list("abc")).run()
    assert other.asking.asked == ["b"]


def test_a_stop_ends_a_wait(rig: Callable[..., Rig]) -> None:
    """However long that would be."""
    made = rig(raising(lambda: limited(3_600), {"a"}), workers=1, waits=True)
    job = made.job(list("ab"))
    job.run(lambda: job.stop() if job.progress.waiting else None)
    assert made.asking.asked == ["a"]
    assert re.fullmatch(r"waiting until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", job.progress.waiting)


def test_an_interrupt_ends_a_wait(rig: Callable[..., Rig]) -> None:
    """The row is not sent again, though that would be due."""
    made = rig(raising(lambda: limited(2), {"a"}), workers=1, waits=True)

    interrupts = [KeyboardInterrupt()]

    def tick() -> None:
        if made.asking.asked and interrupts:
            raise interrupts.pop()

    with pytest.raises(KeyboardInterrupt):
        made.job(list("ab")).run(tick)
    assert made.asking.asked == ["a"]


def test_a_row_waits_for_the_others_where_a_budget_has_room_for_one(
    rig: Callable[..., Rig],
) -> None:
    """While it is not known what a request takes, the first one reserves all."""
    holder = threading.Lock()

    def answer(prompt: str, halt: Halt) -> str:
        del halt
        if not holder.acquire(blocking=False):
            raise BudgetError("Not enough.")
        time.sleep(0.05)
        holder.release()
        return prompt.upper()

    made = rig(answer, workers=4)
    made.job(list("abcdef")).run()
    assert [reply.error for reply in made.kept().values()] == [None] * 6


def test_a_budget_without_room_ends_it(rig: Callable[..., Rig]) -> None:
    """The row that did not go into it has no line."""
    made = rig(raising(lambda: BudgetError("Used up."), {"c", "d"}), workers=1)
    with pytest.raises(BudgetError):
        made.job(list("abcd")).run()
    assert [*made.kept()] == [0, 1]


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
