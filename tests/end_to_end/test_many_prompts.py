"""A map that is killed again and again, and one whose budget others use, too: the server counts."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

import pytest
from loopback import Peer, Server, document
from project import ROOT
from row_service import RowService
from served import LIMIT

import chatmagic
from chatmagic.session.map import job as many
from chatmagic.session.session import Session

WORKERS: Final = 4
PROGRAM: Final = """
import os, signal, sys, threading
from chatmagic.session.map import job_file
from chatmagic.client import credit_tracker, transport
from chatmagic.session.map.answer_writer import AnswerWriter
import chatmagic

origin, key, path, point, passing, rows, workers = sys.argv[1:]
left = int(passing)
lock = threading.Lock()

def killing(name, original, after=False, torn=False):
    def called(*args, **options):
        global left
        result = original(*args, **options) if after else None
        if name == point:
            with lock:
                left -= 1
                if left == 0:
                    if torn:
                        # Another thread may be writing its own line at this place.
                        args[0]._lock.__enter__()
                        file, end = args[0]._file.fileno(), args[0]._writer.end
                        os.pwrite(file, args[1].to_line()[:-40], end)
                    os.kill(os.getpid(), signal.SIGKILL)
        return result if after else original(*args, **options)
    return called

Tracker, File, Transport = credit_tracker.CreditTracker, job_file.JobFile, transport.HttpTransport
Transport.send = killing("as it is sent", Transport.send)
Tracker.note_requests = killing("as the headers come", Tracker.note_requests)
AnswerWriter.add = killing("before it is stored", AnswerWriter.add)
File.append = killing("in the middle of its line", File.append, torn=True)
File.append = killing("when it is stored", File.append, after=True)
client = chatmagic.Client(origin, key)
chatmagic.Session(client).map(
    "{{ it }}", range(int(rows)), file=path, workers=int(workers), yes=True
)
"""
"""A map that kills itself where it passes a point for the so-many-th time."""
POINTS: Final = (
    "as it is sent",
    "as the headers come",
    "before it is stored",
    "in the middle of its line",
    "when it is stored",
)


class Counting:
    """A service that counts how often each row was asked, and says what it took.

    Args:
        credits: how many there are.
        cost: how many the request of so many takes.
    """

    def __init__(self, credits: int = 10**6, cost: Callable[[int], int] = lambda _: 1) -> None:
        """Have seen nothing."""
        self.before: Callable[[str], object] = str
        self.asked = Counter[str]()
        self.by_key: dict[str, Counter[str]] = defaultdict(Counter)
        self.credits, self.cost = credits, cost
        self._lock = threading.Lock()

    def __call__(self, peer: Peer) -> None:
        """Serve one connection."""
        with contextlib.suppress(OSError):
            while (asked := peer.request()) is not None:
                prompt = asked.body["messages"][-1]["content"]
                with self._lock:
                    self.asked[prompt] += 1
                    self.by_key[asked.headers["authorization"]][prompt] += 1
                    left = self.credits - self.cost(self.asked.total())
                    self.credits = max(left, 0)
                if left < 0:
                    peer.send(document(LIMIT, "429 Too Many Requests"))
                    continue
                self.before(prompt)
                message = {"role": "assistant", "content": f"<{prompt}>"}
                told = {"X-RateLimit-Limit": str(10**6), "X-RateLimit-Remaining": str(left)}
                peer.send(document({"choices": [{"message": message}]}, headers=told))


def in_file(path: Path) -> set[str]:
    """Give the rows that a file has whole lines of."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return {str(json.loads(line)["row"]) for line in lines}


def killed(path: Path, plan: list[tuple[str, int]], rows: int) -> tuple[Counter[str], int]:
    """Run a map that is killed as planned, then once to its end.

    Returns:
        How often each row was asked, and how often one was that the file had.
    """
    service, had = Counting(), list[set[str]]()
    with Server(service) as server:
        for number, (point, passing) in enumerate([*plan, ("none", 1)]):
            had.append(in_file(path))
            # Each has a key of its own, by which its requests are known, however late they come.
            command = [PROGRAM, server.origin, f"k{number}", path, point, passing, rows, WORKERS]
            done = subprocess.run(
                [sys.executable, "-c", *map(str, command)], check=False, capture_output=True
            )
            assert done.returncode == (0 if point == "none" else -9), done.stderr.decode()
    asked, again = Counter[str](), 0
    for number, before in enumerate(had):
        own = service.by_key[f"Bearer k{number}"]
        again += sum(own[row] for row in before)
        assert {*own.values()} <= {1}
        # Each row that is asked a second time was under way when the one before was killed.
        assert sum(row in asked for row in own) <= WORKERS
        asked += own
    return asked, again


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signal")
@pytest.mark.parametrize(
    "points",
    [POINTS[3:4], pytest.param(POINTS, marks=pytest.mark.release)],
    ids=["one point", "all points"],
)
def test_a_killed_map_goes_on(tmp_path: Path, points: tuple[str, ...]) -> None:
    """No row in the file is asked again, and of the others no more than were under way."""
    path = tmp_path / "rows.jsonl"
    plan = [(point, 3 + 2 * number) for number, point in enumerate(points)]
    asked, again = killed(path, plan, 80)
    assert again == 0
    assert len(asked) == 80
    assert asked.total() <= 80 + WORKERS * len(plan)
    texts = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert {line["row"]: line["text"] for line in texts} == {n: f"<{n}>" for n in range(80)}


def test_rows_under_way_as_the_interpreter_exits_are_stored(tmp_path: Path) -> None:
    """They are paid for; of a map beside the program no more rows are begun."""
    service, path = Counting(), tmp_path / "rows.jsonl"
    program = (
        "import itertools, sys, time, chatmagic\n"
        "origin, path = sys.argv[1:]\n"
        "session = chatmagic.Session(chatmagic.Client(origin, 'k'))\n"
        "rows = itertools.count()\n"
        "job = session.map('{{ it }}', rows, file=path, yes=True, block=False)\n"
        "while job.answered < 20:\n"
        "    time.sleep(0.001)\n"
    )
    with Server(service) as server:
        done = subprocess.run(
            [sys.executable, "-c", program, server.origin, str(path)],
            check=False, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert in_file(path) == {*service.asked}
    assert service.asked.total() == len(service.asked) >= 20


PLACES: Final = tuple(
    str(ROOT / "chatmagic" / name)
    for name in (
        "session/map/job.py",
        "session/map/job_file.py",
        "session/map/line_writer.py",
        "session/map/map.py",
        "session/map/row_file.py",
        "session/map/row_index.py",
        "session/map/rows.py",
        "session/map/row_template.py",
        "session/worker.py",
    )
)


class Striking:
    """What interrupts where a line is run for the first time; before, it notes all lines.

    Args:
        place: the line.
    """

    def __init__(self, place: tuple[str, int] | None = None) -> None:
        """Have seen nothing."""
        self.places: dict[tuple[str, int], None] = {}
        self._place = place

    def __call__(self, frame: FrameType, what: str, _: object) -> Striking | None:
        """Follow a frame."""
        if frame.f_code.co_filename not in PLACES:
            return None
        place = (frame.f_code.co_filename, frame.f_lineno)
        if what == "line" and place not in self.places:
            self.places[place] = None
            if place == self._place:
                raise KeyboardInterrupt
        return self


def struck(striking: Striking, path: Path) -> None:
    """Run a map that is struck; what came is in its file, and the same call goes on from there."""
    service = RowService()
    session = Session(chatmagic.Client(transport=service))
    held: BaseException | None = None
    before = set(threading.enumerate())
    sys.settrace(striking)
    try:
        session.map("{{ it }}", range(8), yes=True, workers=3, file=path)
    except KeyboardInterrupt as error:
        held = error  # as IPython does, with all its frames
    finally:
        sys.settrace(None)
    left = set(threading.enumerate()) - before
    assert not [each.name for each in left if each.name.startswith("chatmagic-map")]
    assert in_file(path) == {*service.prompts}
    replies = session.map("{{ it }}", range(8), yes=True, workers=3, file=path)
    assert [reply.text for reply in replies] == [str(number) for number in range(8)]
    assert len(service.prompts) == 8
    del held


@pytest.mark.parametrize("every", [25, pytest.param(7, marks=pytest.mark.release)])
def test_an_interrupt_at_any_line_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """No row is lost or asked twice, no thread stays, and the file is free.

    Of the lines that a map runs through in its own thread, each so-many-th is struck, and each of
    those that open the file and close it.
    """
    monkeypatch.setattr(many, "NAP", 0.01)
    seen = Striking()
    struck(seen, tmp_path / "rows.jsonl")
    assert {name for name, _ in seen.places} == {*PLACES}
    lines = [*seen.places]
    places = {*lines[::every], *(place for place in lines if place[0].endswith("map/map.py"))}
    for number, place in enumerate(sorted(places)):
        struck(Striking(place), tmp_path / f"rows-{number}.jsonl")
