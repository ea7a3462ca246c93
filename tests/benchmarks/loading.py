"""Loading: the extension, the first question, the emulator and the command line.

The extension and the first ``%%chat`` are timed in fresh kernels, beside ``import requests`` in
another fresh one, and in a shell without a kernel, beside the same there; the first question is
asked of a server in this process, which answers at once. Some kernels rest between the two cells,
as long as a person does who types a question. The byte code is there, as after an installation.
"""

from __future__ import annotations

import compileall
import http.client
import os
import re
import subprocess
import sys
import time
from functools import partial
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
REST: Final = 2.0
"""Seconds between the cell that loads the extension and the question, where it is not at once."""
SHELL: Final = """
import time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
"""
BODY: Final = b'{"messages": [{"role": "user", "content": "hi"}]}'


class Service:
    """A service that notes when a request is there, and answers it with one word."""

    def __init__(self) -> None:
        """Begin without a request."""
        self.asked = 0.0

    def asked_after(self, start: str) -> float:
        """Return the seconds from a time of ``monotonic`` until the request was there."""
        return self.asked - float(start)

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


def timed_in_shell(code: str) -> float:
    """Return the seconds that some code takes in a fresh shell without a kernel."""
    end = "\nprint(time.perf_counter() - start)"
    return float(_in_shell(f"start = time.perf_counter()\n{code}{end}", {}))


def first_question_in_shell() -> float:
    """Return the seconds from the begin of the first ``%%chat`` until its request is there."""
    service = Service()
    load = "shell.run_line_magic('load_ext', 'chatmagic')\nstart = time.monotonic()"
    ask = "shell.run_cell_magic('chat', '--quiet', 'Hello?')\nprint(start)"
    with loopback.Server(service) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        return service.asked_after(_in_shell(f"{load}\n{ask}", place))


def _in_shell(code: str, place: dict[str, str]) -> str:
    words = [sys.executable, "-c", SHELL + code]
    ran = subprocess.run(
        words, env={**os.environ, **place}, capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()[-1]


def first_question(
    end: Callable[[Service, list[tuple[float, dict[str, Any]]]], float], rest: float = 0.0
) -> float:
    """Return the seconds from the begin of the first ``%%chat`` to some moment of it.

    Args:
        end: gives the moment, from the service and the messages of the cell.
        rest: seconds for which the kernel rests before it.
    """
    service = Service()
    with loopback.Server(service) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        with kernel(place, python=sys.executable) as running:
            running.run("%load_ext chatmagic", cell="load")
            time.sleep(rest)
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
    bare = {"import requests": lambda: timed_in_shell("import requests")}
    load = 'get_ipython().run_line_magic("load_ext", "chatmagic")'
    figures = by_turns({OURS: lambda: timed(load), **base}, ROUNDS, middle)
    yield Row("`%load_ext`", figures, "s", "import requests", "≤ 0.15")
    figures = by_turns({OURS: first_question_in_shell, **bare}, ROUNDS, middle)
    what = "the first `%%chat` in a shell without a kernel: until it is sent"
    yield Row(what, figures, "s", "import requests", "≤ 1.6")
    for when, rest in (("at once", 0.0), ("of a kernel that rested", REST)):
        sent = partial(first_question, lambda service, _: service.asked, rest)
        figures = by_turns({OURS: sent, **base}, ROUNDS, middle)
        what = f"the first `%%chat`, {when}: until it is sent"
        yield Row(what, figures, "s", "import requests", "≤ 1.6")
        shown = partial(first_question, lambda _, messages: _first_word(messages), rest)
        figures = by_turns({OURS: shown, **base}, ROUNDS, middle)
        what = f"the first `%%chat`, {when}: until its first word is shown"
        yield Row(what, figures, "s", "import requests")
    python = {"python": lambda: command("-c", "pass")}
    shows = {OURS: lambda: command("-m", "chatmagic", "--help"), **python}
    figures = by_turns(shows, ROUNDS, middle)
    added = 1e3 * (figures[OURS] - figures["python"])
    yield Row(f"`chatmagic --help` ({added:+.0f} ms)", figures, "s", "python", "≤ 150 ms added")
    starts = {OURS: emulator, "0.3 s": lambda: 0.3}
    figures = by_turns(starts, ROUNDS, middle)
    yield Row("the emulator's start to its first answer", figures, "s", "0.3 s", "≤ 1")
