"""Loading: the extension, the first question, the emulator and the command line.

The extension and the first ``%%chat`` are timed in fresh kernels, beside ``import requests`` in
another fresh one, and in a shell without a kernel, beside the same there; the first question is
asked of a server in this process, which answers at once. The byte code is there, as after an
installation.
What goes before the request is CPU time, of all threads; the least of several figures counts.
How many of our functions a question calls, and of how many modules, is counted for the second one.
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
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from collections.abc import Callable, Iterator

import loopback
from kernels import kernel
from project import ROOT
from rows import OURS, Row, by_turns

ROUNDS: Final = 15
WORD: Final = "estimator"
SHELL: Final = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
"""
CLOCK: Final = """
import sys, time
connects, begun = [], []
sys.addaudithook(
    lambda event, _: connects.append(time.process_time()) if event == "socket.connect" else None
)
"""
"""Notes the CPU time of each connection that is made."""
COUNT: Final = """
import chatmagic, pathlib, threading
root, files = str(pathlib.Path(chatmagic.__file__).parent), []

def note(frame, event, _):
    if event == "call" and frame.f_code.co_filename.startswith(root):
        files.append(frame.f_code.co_filename)

shell.run_line_magic("load_ext", "chatmagic")
shell.run_cell_magic("chat", "--quiet", "Hello?")
threading.setprofile(note)
sys.setprofile(note)
shell.run_cell_magic("chat", "--quiet", "Hello?")
sys.setprofile(None)
threading.setprofile(None)
start, end = 0, {}
"""
"""Notes the files of our functions that the second question of a shell calls."""
BODY: Final = b'{"messages": [{"role": "user", "content": "hi"}]}'


class Service:
    """A service that answers at once, with one word."""

    def __call__(self, peer: loopback.Peer) -> None:
        """Answer the requests of one connection."""
        while peer.request():
            peer.send(loopback.head(headers={**loopback.EVENTS, "Connection": "close"}))
            peer.send(loopback.event(f"**{WORD}**"), loopback.DONE)
            return


def timed(code: str, clock: str = "perf_counter") -> float:
    """Return the seconds that some code takes in a fresh kernel, by a clock of ``time``."""
    timing = f"import time\nstart = time.{clock}()\n{code}\nprint(time.{clock}() - start)"
    with kernel(python=sys.executable) as running:  # a fork would have imported all of it
        return float(running.run(CLOCK + timing).text)


def timed_in_shell(code: str) -> float:
    """Return the CPU seconds that some code takes in a fresh shell without a kernel."""
    return _in_shell(f"start = time.process_time()\n{code}\nend = time.process_time()", {})


def sent_in_shell() -> float:
    """Return the CPU seconds from the begin of the first ``%%chat`` until it connects."""
    load = "shell.run_line_magic('load_ext', 'chatmagic')\nstart = time.process_time()"
    ask = "shell.run_cell_magic('chat', '--quiet', 'Hello?')\nend = connects[0]"
    with loopback.Server(Service()) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        return _in_shell(f"{load}\n{ask}", place)


def _in_shell(code: str, place: dict[str, str]) -> float:
    words = [sys.executable, "-c", f"{SHELL}{CLOCK}{code}\nprint(end - start)"]
    ran = subprocess.run(
        words, env={**os.environ, **place}, capture_output=True, text=True, check=True
    )
    return float(ran.stdout.splitlines()[-1])


def called(count: str) -> float:
    """Return a count of what a question calls: an expression of the ``files``."""
    with loopback.Server(Service()) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        return _in_shell(COUNT.format(count), place)


def sent() -> float:
    """Return the CPU seconds of a kernel from the first ``%%chat`` to its connection."""
    note = (
        "get_ipython().events.register('pre_run_cell', lambda _: begun.append(time.process_time()))"
    )
    with loopback.Server(Service()) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        with kernel(place, python=sys.executable) as running:
            running.run(f"{CLOCK}\n{note}")
            running.run("%load_ext chatmagic", cell="load")
            running.run("%%chat\nHello?", cell="ask")
            end = "next(time for time in connects if time > begun[-2]) - begun[-2]"
            return float(running.run(f"print({end})").text)


def first_word() -> float:
    """Return the seconds from the begin of the first ``%%chat`` until its first word is shown."""
    with loopback.Server(Service()) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        with kernel(place, python=sys.executable) as running:
            running.run("%load_ext chatmagic", cell="load")
            ran = running.run("%%chat\nHello?", cell="ask")
            return _first_word(ran.messages) - ran.messages[0][0]


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
    cpu = {"import requests": lambda: timed("import requests", "process_time")}
    shell = {"import requests": lambda: timed_in_shell("import requests")}
    load = 'get_ipython().run_line_magic("load_ext", "chatmagic")'
    first = "the first `%%chat`"
    in_shell = f"{first} in a shell without a kernel"
    asks: tuple[tuple[str, Callable[[], float], dict[str, Callable[[], float]], str], ...] = (
        ("`%load_ext`", lambda: timed(load), {"0.3 s": lambda: 0.3}, "≤ 1"),
        (f"{in_shell}: CPU until it is sent", sent_in_shell, shell, "≤ 1"),
        (f"{first}: CPU until it is sent", sent, cpu, "≤ 1"),
        (f"{first}: until its first word is shown", first_word, base, ""),
    )
    for what, run, beside, target in asks:
        figures = by_turns({OURS: run, **beside}, ROUNDS)
        yield Row(what, figures, "s", next(iter(beside)), target)
    for what, count in (("calls", "len(files)"), ("modules", "len(set(files))")):
        yield Row(f"the second `%%chat`: {what} of ours", {OURS: called(count), "1": 1.0}, "", "1")
    python = {"python": lambda: command("-c", "pass")}
    shows = {OURS: lambda: command("-m", "chatmagic", "--help"), **python}
    figures = by_turns(shows, ROUNDS)
    added = 1e3 * (figures[OURS] - figures["python"])
    yield Row(f"`chatmagic --help` ({added:+.0f} ms)", figures, "s", "python", "≤ 150 ms added")
    starts = {OURS: emulator, "0.3 s": lambda: 0.3}
    figures = by_turns(starts, ROUNDS)
    yield Row("the emulator's start to its first answer", figures, "s", "0.3 s", "≤ 1")
