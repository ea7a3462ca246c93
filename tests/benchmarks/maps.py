"""Maps: rows a second and CPU a row, beside a thread pool with ``http.client``; a resumed map."""

from __future__ import annotations

import contextlib
import http.client
import json
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import row_server
from rows import OURS, Row, by_turns, middle

from chatmagic import Client, Session, Usage
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.session.ask import Ask
from chatmagic.session.environment import Environment
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.row_template import RowTemplate
from chatmagic.session.map.rows import Rows

PEER: Final = "http.client"
CASES: Final = [(delay, workers) for delay in (50, 500) for workers in (4, 32, 128, 256)]
"""Milliseconds of an answer, and requests under way."""
SECONDS: Final = 3
"""Length of a run at full speed."""
ROUNDS: Final = 3
ANSWERED: Final = 100_000
ADDRESS: Final = "http://127.0.0.1:9"
TEMPLATE: Final = "Classify the review as positive or negative: {{ it }}"


class Measured:
    """Time and CPU of some work.

    Args:
        rows: number of its rows.
    """

    def __init__(self, rows: int) -> None:
        """Begin."""
        self.rows = rows
        self._began = time.perf_counter()
        self._cpu = time.process_time()

    def end(self) -> tuple[float, float]:
        """Return the rows a second, and the CPU seconds a row."""
        seconds = time.perf_counter() - self._began
        return self.rows / seconds, (time.process_time() - self._cpu) / self.rows


def by_peer(port: int, delay: int, workers: int, rows: int) -> tuple[float, float]:
    """Ask by a pool of threads, each with a connection of its own; nothing is stored."""
    local = threading.local()

    def ask(number: int) -> str:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", port)
        text = TEMPLATE.replace("{{ it }}", f"review {number}")
        body = json.dumps({"messages": [{"role": "user", "content": text}], "stream": False})
        headers = {"Content-Type": "application/json"}
        local.connection.request("POST", f"/{delay}/v1/chat/completions", body, headers)
        value = json.loads(local.connection.getresponse().read())
        return str(value["choices"][0]["message"]["content"])

    measured = Measured(rows)
    with ThreadPoolExecutor(workers) as pool:
        assert set(pool.map(ask, range(rows))) == {"positive"}
    return measured.end()


def by_map(port: int, delay: int, workers: int, rows: int) -> tuple[float, float]:
    """Ask by a map, which stores each reply."""
    with tempfile.TemporaryDirectory() as folder:
        client = Client(f"http://127.0.0.1:{port}/{delay}", auth="none")
        texts = [f"review {number}" for number in range(rows)]
        measured = Measured(rows)
        path = Path(folder, "rows.jsonl")
        replies = Session(client).map(
            TEMPLATE, texts, workers=workers, stream=False, yes=True, file=path
        )
        figures = measured.end()
        assert {reply.text for reply in replies} == {"positive"}
    return figures


def write_answers(texts: Sequence[str], path: Path) -> None:
    """Write the file of a map whose rows are all answered."""
    ask = Ask(TEMPLATE, stream=False, history=False)
    setup = ServiceSetup(Endpoint(ADDRESS, "none", None, "the benchmark"))
    template = RowTemplate(ask, Environment(), setup)
    with path.open("wb") as file:
        for row in template.rows(Rows(texts), ADDRESS):
            reply = RowReply(
                row=row.number,
                key=row.key,
                request=row.request,
                occurrence=row.occurrence,
                service=ADDRESS,
                text="positive",
                model="some-model",
                finish_reason="stop",
                usage=Usage(30, 1, 31),
                ended_at=datetime.now(UTC),
            )
            file.write(reply.to_line())


def resumed() -> float:
    """Return the CPU seconds of a map whose rows are all answered."""
    texts = [f"review {number}" for number in range(ANSWERED)]
    with tempfile.TemporaryDirectory() as folder, Client(ADDRESS, auth="none") as client:
        path = Path(folder, "rows.jsonl")
        write_answers(texts, path)
        began = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            replies = Session(client).map(TEMPLATE, texts, stream=False, file=path)
        used = time.process_time() - began
        assert replies[-1].text == "positive"
    return used


def first_request() -> float:
    """Return the seconds until a map of a million rows sends its first request."""
    texts = [f"review {number}" for number in range(1_000_000)]
    with tempfile.TemporaryDirectory() as folder, row_server.running() as port:
        client = Client(f"http://127.0.0.1:{port}/0", auth="none")
        session = Session(client)
        began = time.perf_counter()
        path = Path(folder, "rows.jsonl")
        job = session.map(TEMPLATE, texts, stream=False, yes=True, file=path, block=False)
        while not session.ledger.under_way:
            time.sleep(0.001)
        seconds = time.perf_counter() - began
        job.stop()
        with contextlib.suppress(KeyboardInterrupt):
            job.result()
    return seconds


def both(port: int, delay: int, workers: int) -> Iterator[Row]:
    """Take the figures of a case, of ours and of the peer by turns."""
    count = SECONDS * workers * 1000 // delay
    used: dict[str, list[float]] = {OURS: [], PEER: []}

    def run(name: str, ask: Callable[[int, int, int, int], tuple[float, float]]) -> float:
        speed, cpu_of_a_row = ask(port, delay, workers, count)
        used[name].append(cpu_of_a_row)
        return speed

    runs = {OURS: partial(run, OURS, by_map), PEER: partial(run, PEER, by_peer)}
    speeds = by_turns(runs, ROUNDS, middle)
    case = f"{workers} under way, {delay} ms"
    yield Row(f"rows a second, {case}", speeds, "rows/s", PEER, ">= 0.9")
    least = {name: min(figures) for name, figures in used.items()}
    yield Row(f"CPU a row, {case}", least, "s", PEER, "<= 3")


def rows() -> Iterator[Row]:
    """Take the figures."""
    for what, figure, limit in [
        (f"resume of {ANSWERED:,} rows, CPU", resumed, 3.0),
        ("first request of a million rows", first_request, 1.0),
    ]:
        yield Row(what, {OURS: figure(), "limit": limit}, "s", "limit", "<= 1")
    with row_server.running() as port:
        for delay, workers in CASES:
            yield from both(port, delay, workers)
