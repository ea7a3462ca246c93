"""A mapper: a function of a table that can be pickled, and its folder of answers."""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from jobs import PATIENCE, full_disk
from libraries import library
from loopback_rows import RowServer
from project import ROOT

import chatmagic
from chatmagic.client import config
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    InputError,
    NotRecordedError,
    RateLimitError,
)
from chatmagic.session import current
from chatmagic.session.session import Session

KEY = "sk-correct-horse-battery"
TEMPLATE = "Classify: {{ text }}"


@dataclass
class City:
    """What a reply is to be."""

    name: str
    people: int


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[RowServer]:
    """Give a server that counts, at the address of the environment, with a session of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "kernel", None)
    monkeypatch.setattr(current, "_current", None)
    for name in [name for name in os.environ if name.startswith("CHATMAGIC")]:
        monkeypatch.delenv(name)
    with RowServer() as running:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", running.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield running
        chatmagic.current_session().close()


def frame(*texts: str) -> Any:
    """Give a table of some texts."""
    return library("pandas").DataFrame({"text": list(texts)})


def files() -> list[Path]:
    """Give the files of the folder."""
    return sorted(Path("answers").glob("*.jsonl"))


def label(**how: Any) -> chatmagic.Mapper:
    """Give a mapper of a folder in the working folder."""
    return chatmagic.mapper(TEMPLATE, "answers", **how)


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow", "columns"])
def test_a_table_comes_back_with_replies(server: RowServer, name: str) -> None:
    """Of any library; equal rows are one row, and no row is asked twice."""
    columns = {"text": ["a", "b", "a"]}
    tables: dict[str, Callable[[], Any]] = {
        "pandas": lambda: library("pandas").DataFrame(columns, index=[7, 5, 3]),
        "polars": lambda: library("polars").DataFrame(columns),
        "pyarrow": lambda: library("pyarrow").table(columns),
        "columns": lambda: columns,
    }
    made = tables[name]()
    for _ in range(2):
        answered = label()(made)
        replies = answered["reply"]
        replies = replies.to_pylist() if name == "pyarrow" else list(replies)
        assert replies == ["CLASSIFY: A", "CLASSIFY: B", "CLASSIFY: A"]
        assert sorted(server.prompts) == ["Classify: a", "Classify: b"]
    assert server.keys == {f"Bearer {KEY}"}


def test_two_tasks_at_once_share_rows(server: RowServer) -> None:
    """Each row is asked once, by the task that comes first to it."""
    meet = threading.Barrier(2)
    first = itertools.count()
    server.before = lambda _: next(first) < 2 and meet.wait(PATIENCE)
    parts = [frame(*"abcd"), frame(*"dcbe")]
    made: list[Any] = []
    threads = [
        threading.Thread(target=lambda part=part: made.append(label(workers=1)(part)))
        for part in parts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(server.prompts) == [f"Classify: {text}" for text in "abcde"]
    assert [list(table.error.isna()) for table in made] == [[True] * 4] * 2


def test_the_key_is_in_no_pickle_and_no_file(server: RowServer) -> None:
    """Nor in the repr, also of a mapper that has asked."""
    mapper = label(schema=City, columns=True)
    mapper(frame("a"))
    for kept in (pickle.dumps(mapper), repr(mapper).encode(), *(f.read_bytes() for f in files())):
        assert KEY.encode() not in kept
    again = pickle.loads(pickle.dumps(mapper))  # noqa: S301 - our own
    server.answers = lambda _: '{"name": "A", "people": 7}'
    made = again(frame("a"))
    assert made.drop(columns="reply").to_dict("records") == [
        {"text": "a", "name": "A", "people": 7, "error": made["error"][0]}
    ]
    assert [str(kind) for kind in made.dtypes] == ["str", "str", "str", "Int64", "str"]


def test_other_parts_and_another_order_ask_nothing(server: RowServer) -> None:
    """By whichever mapper of the folder; rows in another order are the same task."""
    texts = [f"text {number}" for number in range(12)]
    rows = frame(*texts, "text 1", "text 1")
    for begin in range(0, 14, 5):
        label()(rows[begin : begin + 5])
    assert len(server.prompts) == 12
    before = {path: path.read_bytes() for path in files()}
    for size in (1, 3, 14):
        for begin in range(0, 14, size):
            label(workers=2)(rows[::-1][begin : begin + size])
    assert len(server.prompts) == 12
    assert {path: path.read_bytes() for path in files()} == before


def test_repeats_ask_only_what_is_missing(server: RowServer) -> None:
    """In other parts, too."""
    made = label(repeats=2)(frame("a", "b"))
    assert list(made.columns) == ["text", "reply", "agree", "replies", "error"]
    assert made["replies"][0] == ["CLASSIFY: A"] * 2
    assert len(server.prompts) == 4
    assert label(repeats=3)(frame("b"))["replies"][0] == ["CLASSIFY: B"] * 3
    assert label(repeats=1)(frame("b", "a"))["reply"][0] == "CLASSIFY: B"
    assert len(server.prompts) == 5


def test_no_row_and_an_invented_row_send_nothing(server: RowServer) -> None:
    """Dask learns the columns from the types; a lazy graph sends nothing until it is computed."""
    dd = library("dask.dataframe")
    mapper = label(schema=City, columns=True)
    server.answers = lambda _: '{"name": "A", "people": 7}'
    types = {"text": "str", "reply": "str", "name": "str", "people": "Int64", "error": "str"}
    assert {name: str(kind) for name, kind in mapper(frame("a").head(0)).dtypes.items()} == types
    lazy = dd.from_pandas(frame("a", "b", "c"), npartitions=2)
    for made in (lazy.pipe(mapper), lazy.map_partitions(mapper)):
        kinds = {name: str(kind) for name, kind in made.dtypes.items()}
        assert {**kinds, "text": "str"} == types
        assert server.prompts == []
    groups = lazy.assign(group=1).groupby("group")
    with pytest.warns(UserWarning, match="meta"):
        made_of_groups = groups.apply(mapper)
    assert str(made_of_groups.dtypes["people"]) == "Int64"
    assert server.prompts == []
    for scheduler in ("synchronous", "threads"):
        assert list(made.compute(scheduler=scheduler)["people"]) == [7] * 3
        assert list(made_of_groups.compute(scheduler=scheduler)["people"]) == [7] * 3
    assert len(server.prompts) == 3
    assert not Path("answers", ".pause").exists()


def calling(module: str, name: str) -> Callable[..., Any]:
    """Give a function of a module that calls another one, as an engine's own code does."""
    names: dict[str, Any] = {"__name__": module}
    exec(f"def {name}(call, *given): return call(*given)", names)  # noqa: S102 - names of the tests' own
    made: Callable[..., Any] = names[name]
    return made


@pytest.mark.parametrize("task", ["ray.util.dask.scheduler", "distributed.worker"])
def test_real_rows_are_asked_beneath_dasks_own_code(server: RowServer, task: str) -> None:
    """In a task, and where there are more rows than Dask invents; else they had no reply."""
    mapper = label()
    invents = calling("dask.dataframe.core", "emulate")
    assert list(invents(mapper, frame("a", "b"))["reply"].isna()) == [True, True]
    assert server.prompts == []
    nested = calling("dask.dataframe.core", "apply")
    in_a_task = nested(calling(task, "run"), mapper, frame("a"))
    assert list(in_a_task["reply"].isna()) == [False]
    assert list(invents(mapper, frame("c", "d", "e"))["reply"].isna()) == [False] * 3
    assert len(server.prompts) == 4


def test_another_address_or_release_is_refused(
    server: RowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words, before anything is sent; the model is the mapper's own."""
    monkeypatch.setenv("CHATMAGIC_MODEL", "large")
    mapper = label()
    monkeypatch.setenv("CHATMAGIC_MODEL", "small")
    mapper(frame("a"))
    assert '"model":"large"' in files()[0].read_text("utf-8").replace(" ", "").replace("\\", "")
    old = replace(mapper, version="0.0.1")
    with pytest.raises(InputError, match=r"made by chatmagic 0\.0\.1, and .* runs it here"):
        old(frame("a"))
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://127.0.0.1:9/v1")
    here = r"made for http://127.*: requests go to http://127\.0\.0\.1:9/v1/chat/completions here"
    with pytest.raises(InputError, match=here):
        mapper(frame("a"))
    monkeypatch.delenv("CHATMAGIC_BASE_URL")
    with pytest.raises(ChatError, match="No address is set"):
        mapper(frame("a"))
    with pytest.raises(ChatError, match="Not connected"):
        label()
    assert len(server.prompts) == 1


@pytest.mark.parametrize("spelling", ["/", "/v1", "/v1/"])
def test_an_address_in_another_spelling_asks_nothing_again(
    server: RowServer, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    """On a worker, where the same requests would be posted to the same address."""
    mapper = label()
    mapper(frame("a"))
    monkeypatch.setenv("CHATMAGIC_BASE_URL", server.url + spelling)
    assert list(mapper(frame("a", "b"))["reply"]) == ["CLASSIFY: A", "CLASSIFY: B"]
    monkeypatch.setenv("CHATMAGIC_BASE_URL", server.url)
    mapper(frame("b", "a"))
    assert server.prompts == ["Classify: a", "Classify: b"]


def test_a_lazy_table_of_polars_asks_when_it_is_computed(server: RowServer) -> None:
    """A later step may use any column, of rows or replies."""
    polars = library("polars")
    lazy = polars.LazyFrame({"text": ["a", "b", "c"], "n": [1, 2, 3]}).pipe(label())
    kinds = {"text": "String", "n": "Int64", "reply": "String", "error": "String"}
    assert {name: str(kind) for name, kind in lazy.collect_schema().items()} == kinds
    assert server.prompts == []
    wanted = lazy.filter(polars.col("reply") != "CLASSIFY: A").select("reply", "n").collect()
    assert wanted.rows() == [("CLASSIFY: B", 2), ("CLASSIFY: C", 3)]
    assert len(server.prompts) == 3


def test_a_replay_needs_no_key_no_address_and_no_network(
    server: RowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder answers, in whichever parts; what it lacks is refused."""
    server.refuses = lambda prompt: (400, {}, {"error": "no"}) if prompt.endswith("b") else None
    before = label()(frame("a", "b", "c"))
    monkeypatch.delenv("CHATMAGIC_BASE_URL")
    monkeypatch.delenv("CHATMAGIC_API_KEY")
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    kept = {path: path.read_bytes() for path in files()}
    mapper = label()
    assert mapper(frame("a", "b", "c")).equals(before)
    assert mapper(frame("c"))["reply"][0] == "CLASSIFY: C"
    with pytest.raises(NotRecordedError, match=r"row 1 has no answer in answers\. Nothing was se"):
        mapper(frame("a", "d"))
    assert len(server.prompts) == 3
    assert {path: path.read_bytes() for path in files()} == kept
    monkeypatch.undo()
    monkeypatch.setenv("CHATMAGIC_BASE_URL", server.url)
    with pytest.raises(InputError, match="while a cassette was replayed"):
        mapper(frame("d"))


def test_what_is_no_table_is_refused(server: RowServer) -> None:
    """And a column that is there already, and a folder that is none."""
    for rows in (["a"], "a", 7, {"text": "a"}):
        with pytest.raises(InputError, match="A mapper takes a table"):
            label()(rows)
    lazy = library("dask.delayed").delayed(frame("a"))
    with pytest.raises(InputError, match="not dask's DelayedLeaf"):
        label()(lazy)
    with pytest.raises(InputError, match="have a column reply already"):
        label()(frame("a").assign(reply="x"))
    with pytest.raises(InputError, match=r"no name of a row\. Nothing was sent"):
        label()(frame("a").rename(columns={"text": "other"}))
    with pytest.raises(InputError, match="s3://bucket/a is an address, not a folder"):
        chatmagic.mapper(TEMPLATE, "s3://bucket/a")
    Path("file").write_text("x", "utf-8")
    with pytest.raises(InputError, match="folder inner cannot be made: Not a directory"):
        chatmagic.mapper(TEMPLATE, "file/inner")(frame("a"))
    with pytest.raises(InputError, match="workers is a number"):
        label(workers=0)
    with pytest.raises(InputError, match="The prompt is empty"):
        chatmagic.mapper("", "answers")
    assert server.prompts == []


def test_quote_answers_and_repr(server: RowServer) -> None:
    """A worker's warnings reach nobody: the folder tells."""
    mapper = label(workers=1)
    assert repr(mapper) == "<mapper of answers: 0 answered, 0 failed>"
    assert mapper.answers() == []
    assert library("dask.utils").funcname(mapper) == "mapper"
    server.refuses = lambda prompt: (400, {}, {"error": "no"}) if prompt.endswith("b") else None
    assert "3 rows, 3 to ask; answers go to " in mapper.quote(frame("a", "b", "c", "a"))
    assert not Path("answers").exists()
    mapper(frame("a", "b", "c"))
    assert repr(mapper) == "<mapper of answers: 2 answered, 1 failed>"
    assert "4 rows, 2 to ask" in mapper.quote(frame("a", "b", "c", "d"))
    server.refuses = lambda _: None
    mapper(frame("b", "x"))
    assert repr(mapper) == "<mapper of answers: 4 answered, 0 failed>"
    answers = mapper.answers()
    assert sorted(str(each.text) for each in answers) == [f"CLASSIFY: {c}" for c in "ABCX"]
    assert [each.error for each in answers] == [None] * 4
    table = answers.to_dataframe()
    assert {"row", "key", "request", "text", "error", "ended_at"} <= {*table.columns}


def test_the_credits_are_those_that_a_worker_was_told(server: RowServer) -> None:
    """Of the last line of the folder, also in a process that has asked nothing."""
    left = [7, 6]
    server.headers = lambda: {"X-RateLimit-Limit": "9", "X-RateLimit-Remaining": str(left.pop(0))}
    mapper = label(workers=1)
    mapper(frame("a"))
    mapper(frame("b"))
    current._current = None
    assert repr(mapper) == "<mapper of answers: 2 answered, 0 failed, 6 credits left>"


def test_two_tasks_with_the_same_rows_at_once(server: RowServer) -> None:
    """One waits for the other, by its lock, and asks nothing."""
    rows = frame(*(str(number) for number in range(20)))
    server.before = lambda _: time.sleep(0.01)
    made: list[Any] = []
    parts = (rows, rows[::-1])
    threads = [threading.Thread(target=lambda p=part: made.append(label()(p))) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.prompts) == 20
    assert made[0].sort_index().equals(made[1].sort_index())
    assert len(files()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="has other locks")
def test_without_locks_nothing_is_damaged(
    server: RowServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each task has a file that nobody else can know; later tasks read them all."""
    without = OSError(errno.ENOLCK, "No locks available")
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=without))
    monkeypatch.setattr("fcntl.lockf", Mock(side_effect=without))
    rows = frame(*(f"{number} " * 50 for number in range(20)))
    meet = threading.Barrier(2)
    first = itertools.count()
    server.before = lambda _: next(first) < 2 and meet.wait(PATIENCE)
    made: list[Any] = []
    threads = [
        threading.Thread(target=lambda part=part: made.append(label(workers=1)(part)))
        for part in (rows, rows[::-1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[0].sort_index().equals(made[1].sort_index())
    assert made[0]["error"].isna().all()
    asked = len(server.prompts)
    assert asked <= 40
    assert label()(rows[::-1])["error"].isna().all()
    assert len(server.prompts) == asked


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_holds_for_all_processes_of_the_folder(server: RowServer, status: int) -> None:
    """A refusal that names a time is noted for the others, who send nothing until then."""
    refused = threading.Event()

    def refuses(_: str) -> Any:
        if refused.is_set():
            return None
        refused.set()
        return status, {"Retry-After": "1"}, {"error": "busy"}

    server.refuses = refuses
    mapper = label(workers=1)
    first = threading.Thread(target=mapper, args=(frame("a"),))
    first.start()
    pause = Path("answers", ".pause")
    while not (refused.is_set() and pause.exists() and pause.stat().st_mtime > time.time()):
        time.sleep(0.005)
    until = pause.stat().st_mtime
    mapper(frame("b", "c"))
    assert time.time() >= until
    first.join()
    assert len(server.prompts) == 4


def test_a_limit_of_hours_ends_a_task_and_blocks_nobody(server: RowServer) -> None:
    """Unless it is to wait; the next call asks at once what the limit is now."""
    reset = (datetime.now(UTC) + timedelta(hours=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {"error": "rate_limit_exceeded", "limit": 9, "used": 9, "resetAt": reset}
    server.refuses = lambda _: (429, {}, body)
    with pytest.raises(RateLimitError, match="wait=True waits for the reset"):
        label(workers=1)(frame("a"))
    os.utime("answers/.pause", (0, 0))
    server.refuses = lambda _: None
    assert label()(frame("a"))["reply"][0] == "CLASSIFY: A"


def test_a_full_disk_loses_no_reply(server: RowServer) -> None:
    """No row is sent whose reply has no room; the same call goes on where there is some."""
    rows = frame(*(f"{number} " * 9_000 for number in range(12)))
    with full_disk(300_000), pytest.raises(ChatError, match="cannot be written"):
        label(workers=3)(rows)
    came = len(server.prompts)
    assert 3 <= came < 12
    assert label()(rows)["error"].isna().all()
    assert len(server.prompts) == 12


def test_an_error_of_a_task_can_be_pickled(server: RowServer) -> None:
    """An engine hands it on."""
    server.refuses = lambda _: (401, {}, {"error": "unauthorized"})
    with pytest.raises(ChatError) as caught:
        label()(frame("a"))
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert str(again) == str(caught.value)
    assert KEY not in repr(again.__dict__)


PROGRAM = """
import sys, pickle
label = pickle.loads(open(sys.argv[1], "rb").read())
label({"text": [f"text {number}" for number in range(60)]})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_a_task_that_is_killed(server: RowServer, tmp_path: Path) -> None:
    """In the middle: nothing is lost, and at most the requests under way are paid for again."""
    pickled = tmp_path / "label.pickle"
    pickled.write_bytes(pickle.dumps(label(workers=3)))
    half = threading.Semaphore(0)

    def before(_: str) -> None:
        half.release()
        time.sleep(0.01)

    server.before = before
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(pickled)], cwd=ROOT) as process:
        assert all(half.acquire(timeout=60) for _ in range(30))
        process.kill()
    server.before = str
    rows = frame(*(f"text {number}" for number in range(60)))
    assert label()(rows[::-1])["error"].isna().all()
    assert {*server.prompts} == {f"Classify: text {number}" for number in range(60)}
    assert len(server.prompts) <= 60 + 3


def test_an_interrupt_of_a_call_here(server: RowServer) -> None:
    """The rows under way end, and are kept."""
    begun = threading.Event()

    def before(_: str) -> None:
        begun.set()
        time.sleep(0.01)

    server.before = before
    main = threading.main_thread().ident or 0

    def interrupt() -> None:
        assert begun.wait(60)
        signal.pthread_kill(main, signal.SIGINT)

    stopper = threading.Thread(target=interrupt)
    stopper.start()
    with pytest.raises(ChatInterrupted, match="the same call resumes"):
        label(workers=2)(frame(*map(str, range(100))))
    stopper.join()
    asked = len(server.prompts)
    assert 0 < asked < 100
    assert repr(label()) == f"<mapper of answers: {asked} answered, 0 failed>"


def test_a_mapper_of_a_kernel_or_a_session_of_ones_own(server: RowServer) -> None:
    """It asks by the process's session, whose ledger counts its requests."""
    before = len(Session.ledger)
    label()(frame("a", "b"))
    assert [row.entry for row in [*Session.ledger][before:]] == ["map", "map"]
    assert len(server.prompts) == 2
