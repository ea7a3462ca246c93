"""A job: which rows it asks, by a few threads, into one file, and what ends it early."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from jobs import PATIENCE, Rig, Slow, capitals, compose, raising

from chatmagic.batch.job import Tasks
from chatmagic.batch.job_file import JobFile, RowReply, replay_key
from chatmagic.batch.rows import Rows
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    RateLimitError,
    ServiceError,
)
from chatmagic.models import Reply


@pytest.fixture
def file(tmp_path: Path) -> Iterator[JobFile]:
    """Give the file of a new job."""
    opened = JobFile(tmp_path / "job.jsonl").open()
    yield opened
    opened.close()


def tasks(source: Any, file: JobFile, address: str | None = "https://a", **more: Any) -> Tasks:
    """Give the tasks of some rows."""
    return Tasks(Rows(source), more.pop("compose", compose), address, file, **more)


@pytest.mark.parametrize("once", [False, True])
def test_rows_that_failed_come_first(file: JobFile, *, once: bool) -> None:
    """Those with an answer are not asked; rows that are read once come in their order."""
    keys = tasks(["a", "b", "c", "d"], file).keys
    file.append(RowReply(row=0, key=keys[0], text="A"))
    file.append(RowReply(row=2, key=keys[2], error="No."))
    source = iter("abcd")
    again = tasks(source if once else [*"abcd"], file)
    left = iter(again)
    first = next(left)
    assert [*source] == (["c", "d"] if once else [*"abcd"])
    assert [task.line.row for task in (first, *left)] == ([1] if once else [2, 1, 3])
    assert once or (again.failed, again.keys) == (1, keys)


def test_a_key_names_the_whole_request(file: JobFile) -> None:
    """The address, the model and the place among equal requests are part of it."""
    keys = tasks(["a", "b", "a"], file).keys
    assert len({*keys}) == 3
    assert tasks(["a", "a"], file).keys == [keys[0], keys[2]]
    assert tasks(["a"], file, "https://b").keys != keys[:1]
    other = partial(compose, model="n")
    assert tasks(["a"], file, compose=other).keys != keys[:1]
    # In a replay it is known by what a cassette goes by: neither the address nor the model.
    replayed = tasks(["a", "b", "a"], file, None)
    assert replayed.keys == tasks(["a", "b", "a"], file, None, compose=other).keys
    lines = [task.line for task in replayed]
    assert replayed.keys == [replay_key(line.request, line.occurrence) for line in lines]
    assert len({*replayed.keys}) == 3


@pytest.fixture
def rig(tmp_path: Path) -> Callable[..., Rig]:
    """Give a maker of jobs with a file."""
    return partial(Rig, tmp_path / "job.jsonl")


@pytest.mark.parametrize("workers", [1, 3, 32])
def test_each_row_is_asked_once(rig: Callable[..., Rig], workers: int) -> None:
    """And stored with its place, whatever order they end in."""
    made = rig(workers=workers)
    job = made.job(list("abcdefgh"))
    job.run()
    assert sorted(made.asking.asked) == list("abcdefgh")
    assert [made.kept()[row].text for row in range(8)] == list("ABCDEFGH")
    assert (job.progress.answered, job.progress.failed) == (8, 0)
    assert made.asking.closed == workers


def test_as_many_are_under_way_as_there_are_workers(rig: Callable[..., Rig]) -> None:
    """No more rows are read than these, and one that waits to be handed out."""
    meet = threading.Barrier(3)

    def rows() -> Iterator[int]:
        for number in range(9):
            assert number - job.progress.answered <= 3
            yield number

    def answer(prompt: str, halt: Halt) -> str:
        meet.wait(PATIENCE)
        return capitals(prompt, halt)

    made = rig(answer, workers=3)
    job = made.job(rows())
    job.run()
    assert len(made.kept()) == 9


def test_an_error_stands_beside_the_others(rig: Callable[..., Rig]) -> None:
    """A row that is not to be sent, too; what came of a broken reply is kept with its error."""

    def answer(prompt: str, halt: Halt) -> str:
        if prompt == "b":
            raise ServiceError("Down.")
        if prompt == "d":
            raise ChatError("Cut.", reply=Reply("half", state="cut off"))
        return capitals(prompt, halt)

    made = rig(answer)
    job = made.job(["a", "b", "bad", "c", "d"])
    job.run()
    kept = [(row, reply.text, reply.error) for row, reply in made.kept().items()]
    assert kept == [
        (0, "A", None),
        (1, None, "Down."),
        (2, None, "No."),
        (3, "C", None),
        (4, "half", "Cut."),
    ]
    assert "bad" not in made.asking.asked
    assert (job.progress.answered, job.progress.failed) == (2, 3)


def limited(seconds: float) -> RateLimitError:
    """Give a refusal that names a time."""
    return RateLimitError("Wait.", retry_after=datetime.now(UTC) + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("error", "waits", "asked"),
    [
        (lambda: AuthenticationError("Key."), False, "abc"),
        (lambda: BudgetError("Used up."), False, "abc"),
        (lambda: limited(3_600), False, "abc"),
        (lambda: limited(0.01), True, "abcc"),
        (lambda: RateLimitError("No."), True, "abc"),
    ],
)
def test_what_all_rows_would_fail_of_ends_it(
    rig: Callable[..., Rig], error: Callable[[], ChatError], asked: str, *, waits: bool
) -> None:
    """The row has no line: it is asked first thing again. A limit that stays ends it, too."""
    made = rig(raising(error, "cdefgh"), workers=1, waits=waits)
    with pytest.raises(type(error())):
        made.job(list("abcdefgh")).run()
    assert made.asking.asked == [*asked]
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
    """The row under way ends, and is kept."""
    slow = Slow()

    def rows() -> Iterator[str]:
        yield "a"
        slow.wait(1)
        slow.go.set()
        raise ZeroDivisionError

    made = rig(slow)
    with pytest.raises(ZeroDivisionError):
        made.job(rows()).run()
    assert made.kept()[0].text == "A"


@pytest.mark.parametrize("start", [False, True])
def test_an_error_of_a_threads_own_ends_it(
    rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch, *, start: bool
) -> None:
    """Such as one of a schema's own code, or of a process with too many threads."""
    made = rig(raising(ZeroDivisionError, "a"), workers=4)
    job = made.job(list("abcdefgh"))
    if start:
        monkeypatch.setattr("threading.Thread.start", Mock(side_effect=ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        job.run()
    assert not [each for each in threading.enumerate() if each.name == "chatmagic-map"]


def test_a_row_that_is_begun_as_all_are_cut_off_is_cut_off_too(rig: Callable[..., Rig]) -> None:
    """Its halt was not known to what stopped the others."""

    def answer(prompt: str, halt: Halt) -> str:
        assert halt.reason is not None
        raise ChatInterrupted("Interrupted.", reply=Reply(prompt, state="interrupted"))

    made = rig(answer, workers=1)
    job = made.job(["a", "b"])

    def cost() -> int:
        job.interrupt()
        job.interrupt()
        return 1

    made.asking.cost = cost  # type: ignore[method-assign]
    job.run()
    assert [reply.error for reply in made.kept().values()] == ["Interrupted."]


def test_a_limit_of_a_moment_is_waited_for(rig: Callable[..., Rig]) -> None:
    """The row that was refused is sent again, once; no other is sent meanwhile."""
    refused = ["b"]

    def answer(prompt: str, halt: Halt) -> str:
        if prompt in refused:
            refused.remove(prompt)
            raise limited(0.2)
        return capitals(prompt, halt)

    made = rig(answer, workers=1)
    job = made.job(list("abc"))
    job.run()
    assert job.progress.waiting == ""
    assert made.asking.asked == ["a", "b", "b", "c"]
    assert len(made.kept()) == 3


@pytest.mark.parametrize("seconds", [2, 3_600])
def test_a_stop_ends_a_wait(rig: Callable[..., Rig], seconds: float) -> None:
    """However long that would be; the row is not sent again, though that would be due."""
    made = rig(raising(lambda: limited(seconds), "a"), workers=1, waits=True)
    job = made.job(list("ab"))
    job.run(lambda: job.hand_out(lambda: job.stop() if job.progress.waiting else None))
    assert made.asking.asked == ["a"]
    assert re.fullmatch(r"waiting until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", job.progress.waiting)


def test_a_row_waits_for_the_others_where_a_budget_has_room_for_one(
    rig: Callable[..., Rig],
) -> None:
    """While it is not known what a request takes, the first one reserves all."""
    holder = threading.Lock()

    def answer(prompt: str, halt: Halt) -> str:
        if not holder.acquire(blocking=False):
            raise BudgetError("Not enough.")
        time.sleep(0.05)
        holder.release()
        return capitals(prompt, halt)

    made = rig(answer, workers=4)
    made.job(list("abcdef")).run()
    assert [reply.error for reply in made.kept().values()] == [None] * 6
