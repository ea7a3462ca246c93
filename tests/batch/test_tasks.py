"""Tasks: which rows are still to be asked, in which order, and how each is known again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chatmagic.batch.job_file import JobFile
from chatmagic.batch.row_reply import RowReply, replay_key
from chatmagic.batch.rows import Rows
from chatmagic.batch.tasks import Tasks
from chatmagic.errors import InputError
from chatmagic.models import Message
from chatmagic.protocol.wire import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


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
    assert (again.answered, again.failed, again.keys) == (1, 1, keys)


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
