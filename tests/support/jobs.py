"""Jobs of many rows, asked by a function of the test."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from row_service import RowService

import chatmagic
from chatmagic.advice import Place
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.client.halt import Halt
from chatmagic.conversation.question import RequestFacts
from chatmagic.errors import ChatError, RateLimitError
from chatmagic.models import Credits, Reply
from chatmagic.protocol.request import Request
from chatmagic.session.ask import Ask
from chatmagic.session.environment import Environment
from chatmagic.session.map.job import Job
from chatmagic.session.map.row_asker import JobOptions
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.map.rows import Rows
from chatmagic.session.map.run_state import Clock
from chatmagic.session.map.shared_files import SharedFile
from chatmagic.session.meter import Meter

PATIENCE = 60.0
Answer = Callable[[str, Halt], str]


def capitals(prompt: str, halt: Halt) -> str:
    """Answer in capitals."""
    del halt
    return prompt.upper()


def raising(error: Callable[[], BaseException], at: Iterable[str]) -> Answer:
    """Give an answer that raises for some prompts."""

    def answer(prompt: str, halt: Halt) -> str:
        if prompt in at:
            raise error()
        return capitals(prompt, halt)

    return answer


def limited(seconds: float) -> RateLimitError:
    """Give a refusal that names a time."""
    return RateLimitError("Wait.", retry_after=datetime.now(UTC) + timedelta(seconds=seconds))


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


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Slow:
    """Answers in capitals that wait until a test lets them."""

    def __init__(self) -> None:
        """Let none go."""
        self.sent, self.go = threading.Semaphore(0), threading.Event()

    def __call__(self, prompt: str, halt: Halt) -> str:
        """Wait, and answer; a stop does not wake it, as of a server that does not answer yet."""
        self.sent.release()
        assert self.go.wait(PATIENCE)
        return capitals(prompt, halt)

    def wait(self, rows: int) -> None:
        """Wait until so many more rows are under way."""
        assert all(self.sent.acquire(timeout=PATIENCE) for _ in range(rows))


class FakeClock(Clock):
    """Clock whose waits take no time."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        """Give the time."""
        return self.seconds

    def wait(self, changed: threading.Condition, seconds: float) -> None:
        """Let the time pass; other threads may do something meanwhile."""
        self.seconds += seconds
        self.waits.append(seconds)
        changed.wait(0.001)


class Asking(RowSender):
    """Sender of a job's rows, as a test wants it.

    Args:
        answer: returns the reply to a prompt, or raises.
    """

    address: str | None = "https://a"
    credits: Credits | None = None
    service = "https://a"
    meter = Meter()
    place: Place = "python"

    def __init__(self, answer: Answer) -> None:
        """Ask nothing yet."""
        self.environment = Environment()
        self.replayed = None
        self.answer = answer
        self.asked: list[str] = []
        self.closed = 0

    @contextlib.contextmanager
    def connect(self) -> Iterator[Client]:
        """Give a client that is not used, and count those that are closed."""
        yield chatmagic.Client(transport=RowService())
        self.closed += 1

    def send(
        self, client: Client, request: Request, digest: str, question: RequestFacts, halt: Halt
    ) -> Reply:
        """Answer by the test's function."""
        del client, digest, question
        prompt = request.messages[-1].content
        self.asked.append(prompt)
        return Reply(self.answer(prompt, halt), finish_reason="stop")


class Rig:
    """A job of some rows, and the lines of its file."""

    def __init__(self, path: Path) -> None:
        """Ask in capitals."""
        self.path = path
        self.asking = Asking(capitals)
        self.model = "m"
        self.clock: Clock = Clock()

    def job(self, rows: Iterable[object], answer: Answer | None = None, **how: Any) -> Job:
        """Give the job of some rows, with two threads; an empty row is not sent."""
        self.asking.answer = answer or self.asking.answer
        file = SharedFile(self.path).open()
        ask = Ask("{{ it }}", model=self.model, history=False)
        setup = ServiceSetup(Endpoint("https://a", "none", None, "the test"))
        template = RowTemplate(ask, self.asking.environment, setup)
        options = JobOptions(**{"workers": 2, **how})
        return Job(template, self.asking, Rows(rows), file, options, clock=self.clock)

    def kept(self) -> dict[int, RowReply]:
        """Give the replies of the file, by row."""
        replies = map(RowReply.from_line, self.path.read_bytes().splitlines())
        return {reply.row: reply for reply in replies}


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
