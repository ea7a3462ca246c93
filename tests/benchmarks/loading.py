"""Loading: the extension, the first question, the emulator and the command line.

The extension and the first ``%%chat`` are timed in fresh kernels, beside ``import requests`` in
another fresh one; the first question is asked of a server in this process, which answers at once.
The byte code is there, as after an installation.
"""

from __future__ import annotations

import compileall
import http.client
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import loopback
from kernels import kernel
from project import ROOT
from rows import OURS, Row, by_turns, middle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS: Final = 5
WORD: Final = "estimator"
BODY: Final = b'{"messages": [{"role": "user", "content": "hi"}]}'


class Service:
    """A service that notes when a request is there, and answers it with one word."""

    def __init__(self) -> None:
        """Begin without a request."""
        self.asked = 0.0

    def __call__(self, peer: loopback.Peer) -> None:
        """Answer the requests of one connection."""
        while peer.request():
            self.asked = time.monotonic()
            peer.send(loopback.head(headers={**loopback.EVENTS, "Connection": "close"}))
            peer.send(loopback.event(f"**{WORD}**"), loopback.DONE)
            return


def timed(code: str) -> float:
    """Return the seconds that some code takes in a fresh kernel."""
    timing = f"import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    with kernel(python=sys.executable) as running:  # a fork would have imported all of it
        return float(running.run(timing).text)


def first_question(end: Callable[[Service, list[tuple[float, dict[str, Any]]]], float]) -> float:
    """Return the seconds from the begin of the first ``%%chat`` to some moment of it.

    Args:
        end: gives the moment, from the service and the messages of the cell.
    """
    service = Service()
    with loopback.Server(service) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        with kernel(place, python=sys.executable) as running:
            running.run("%load_ext chatmagic", cell="load")
            ran = running.run("%%chat\nHello?", cell="ask")
            return end(service, ran.messages) - ran.messages[0][0]


def _first_word(messages: list[tuple[float, dict[str, Any]]]) -> float:
    return next(
        when for when, message in messages if WORD in str(message["content"].get("data", ""))
    )


def command(*words: str) -> float:
    """Return the seconds that a process of this Python takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return time.perf_counter() - start


def emulator() -> float:
    """Return the seconds from the start of the emulator's process to its first answer."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    words = [sys.executable, "-m", "chatmagic", "emulator"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        found = next(filter(None, (re.search(r":(\d+)", line) for line in process.stdout)))
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]))
        headers = {"Content-Type": "application/json", "Authorization": "Bearer x"}
        connection.request("POST", "/v1/chat/completions", BODY, headers)
        connection.getresponse().read()
        took = time.perf_counter() - start
        process.terminate()
    return took


def rows() -> Iterator[Row]:
    """Take the figures and return the rows."""
    compileall.compile_dir(ROOT / "chatmagic", quiet=1)
    base = {"import requests": lambda: timed("import requests")}
    load = 'get_ipython().run_line_magic("load_ext", "chatmagic")'
    asks: dict[str, tuple[Callable[[], float], str]] = {
        "`%load_ext`": (lambda: timed(load), "≤ 0.15"),
        "the first `%%chat`: until it is sent": (
            lambda: first_question(lambda service, _: service.asked),
            "≤ 1.6",
        ),
        "the first `%%chat`: until its first word is shown": (
            lambda: first_question(lambda _, messages: _first_word(messages)),
            "",
        ),
    }
    for what, (run, target) in asks.items():
        figures = by_turns({OURS: run, **base}, ROUNDS, middle)
        yield Row(what, figures, "s", "import requests", target)
    bare = {"python": lambda: command("-c", "pass")}
    shows = {OURS: lambda: command("-m", "chatmagic", "--help"), **bare}
    figures = by_turns(shows, ROUNDS, middle)
    added = 1e3 * (figures[OURS] - figures["python"])
    yield Row(f"`chatmagic --help` ({added:+.0f} ms)", figures, "s", "python", "≤ 150 ms added")
    starts = {OURS: emulator, "0.3 s": lambda: 0.3}
    figures = by_turns(starts, ROUNDS, middle)
    yield Row("the emulator's start to its first answer", figures, "s", "0.3 s", "≤ 1")
