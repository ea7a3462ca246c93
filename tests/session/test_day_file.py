"""The file of what a user's kernels used in a day."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from chatmagic.archive.files import replace_content
from chatmagic.errors import ChatError, InputError
from chatmagic.session import day_file
from chatmagic.session.budget import Tally
from chatmagic.session.day_file import DayFile

if TYPE_CHECKING:
    from pathlib import Path

A = "https://a.example"
DAY = "2026-11-22"


def used(file: DayFile, credits: int, day: str = DAY, dearest: int | None = None) -> None:
    """Reserve what a request takes, and settle it."""
    file.reserve(A, day, "a", lambda _: credits)
    file.settle(A, day, "a", Tally(credits, 1, dearest))


def test_it_is_kept_by_service_and_day(tmp_path: Path) -> None:
    """Another kernel reads it; what is not there is 0."""
    file = DayFile(tmp_path / "state")
    assert file.read(A, DAY) == Tally()
    used(file, 3)
    used(file, 2)
    used(file, 7, "2026-11-23")
    assert DayFile(tmp_path / "state").read(A, DAY) == Tally(5, 2)
    assert file.read("https://b.example", DAY) == Tally()


def test_the_next_day_goes_by_the_estimate_of_the_last(tmp_path: Path) -> None:
    """Of the same service; what was used begins at 0."""
    file = DayFile(tmp_path)
    used(file, 3, dearest=3)
    assert file.read(A, DAY) == Tally(3, 1, 3)
    used(file, 4, "2026-11-23")
    assert file.read(A, "2026-11-25") == Tally(0, 0, 3)
    assert file.read(A, "2026-11-21") == file.read("https://b.example", DAY) == Tally()


def test_one_kernel_at_a_time_changes_it(tmp_path: Path) -> None:
    """Nothing is lost where several count at once."""

    def count(name: str) -> None:
        for _ in range(5):
            DayFile(tmp_path).reserve(A, DAY, name, lambda _: 9)
            DayFile(tmp_path).settle(A, DAY, name, Tally(1, 1))

    threads = [threading.Thread(target=count, args=[str(number)]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert DayFile(tmp_path).read(A, DAY) == Tally(20, 20)


def test_a_request_without_a_price_counts_as_others_took(tmp_path: Path) -> None:
    """As one credit, until a kernel knows better."""
    file = DayFile(tmp_path)
    file.reserve(A, DAY, "a", lambda _: 50)
    file.settle(A, DAY, "a", None)
    assert file.read(A, DAY) == Tally(1, 1)
    file.reserve(A, DAY, "b", lambda _: 49)
    file.settle(A, DAY, "b", Tally(3, 1, 3))
    assert file.read(A, DAY) == Tally(6, 2, 3)


@pytest.mark.parametrize("is_written", [False, True])
def test_an_interrupt_while_it_is_settled_settles_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_written: bool
) -> None:
    """Also a first request's, which has reserved all that is left."""
    write, strikes = replace_content, iter([True])

    def interrupted(path: Path, content: bytes) -> None:
        if is_written:
            write(path, content)
        if next(strikes, False):
            raise KeyboardInterrupt
        write(path, content)

    file = DayFile(tmp_path)
    file.reserve(A, DAY, "a", lambda _: 50)
    monkeypatch.setattr(day_file, "replace_content", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file.settle(A, DAY, "a", Tally(3, 1))
    assert DayFile(tmp_path).read(A, DAY) == Tally(3, 1)


def test_what_is_settled_twice_counts_once(tmp_path: Path) -> None:
    """And what was never reserved not at all."""
    file = DayFile(tmp_path)
    used(file, 3)
    file.settle(A, DAY, "a", Tally(3, 1))
    file.settle(A, DAY, "b", Tally(3, 1))
    assert file.read(A, DAY) == Tally(3, 1)


@pytest.mark.parametrize(
    ("facts", "is_under_way"),
    [
        ({}, True),
        ({"process": "dead"}, False),
        ({"process": 10**30}, False),
        ({"process": None}, False),
        ({"host": "another"}, True),
        ({"host": "another", "process": "dead"}, True),
        ({"host": "another", "since": "2026-01-01T00:00:00Z"}, False),
        ({"since": "2026-01-01T00:00:00Z"}, False),
        ({"since": "2999-01-01T00:00:00Z"}, False),
        ({"since": None}, False),
    ],
)
def test_a_reservation_of_who_died_counts_as_a_request(
    tmp_path: Path, facts: dict[str, Any], *, is_under_way: bool
) -> None:
    """Of a process that is no more, of another machine after a while; numbers are used again."""
    file = DayFile(tmp_path)
    file.reserve(A, DAY, "a", lambda _: 50)
    content = json.loads(file.path.read_text())
    if facts.get("process") == "dead":
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        facts = {**facts, "process": ended.pid}
    content[A][DAY]["held"]["a"].update(facts)
    file.path.write_text(json.dumps(content))
    assert file.read(A, DAY) == Tally(50 if is_under_way else 1, 1)
    file.reserve(A, DAY, "b", lambda _: 3)
    file.settle(A, DAY, "b", Tally(3, 1, 3))
    assert file.read(A, DAY) == Tally(3 + (50 if is_under_way else 3), 2, 3)


def test_who_may_not_be_looked_at_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of another user's, by the same number; on Windows, where looking would end it."""
    file = DayFile(tmp_path)
    file.reserve(A, DAY, "a", lambda _: 50)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.kill", refuse)
    assert file.read(A, DAY).credits == 50
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("os.kill", None)
    assert file.read(A, DAY).credits == 50


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"https://a.example": 3}', '{"https://a.example": {"2026-11-22": 3}}']
)
def test_another_file_in_its_place_sends_nothing(tmp_path: Path, content: str) -> None:
    """What was used is not known then."""
    file = DayFile(tmp_path)
    file.path.write_text(content)
    with pytest.raises(InputError, match=r"no file of a daily budget\. Nothing was sent\."):
        file.reserve(A, DAY, "a", lambda _: 1)
    assert file.path.read_text() == content


def test_a_file_that_cannot_be_written_sends_nothing(tmp_path: Path) -> None:
    """It says why."""
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(ChatError, match=r"could not be written: .*Nothing was sent\."):
        DayFile(tmp_path / "state").reserve(A, DAY, "a", lambda _: 1)
