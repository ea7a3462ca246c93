"""Loading: the package, the extension, and the first question, in fresh processes.

The extension and the first ``%%chat`` are timed in fresh kernels, beside ``import requests`` in
another one; the first question is asked of a server in this process, which answers at once. The
byte code is there, as after an installation. The least of several figures counts.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from collections.abc import Iterator

import loopback
from kernels import kernel
from project import ROOT
from rows import OURS, Row, by_turns

ROUNDS: Final = 15
CLOCK: Final = """
import sys, time
connects, begun = [], []
sys.addaudithook(
    lambda event, _: connects.append(time.process_time()) if event == "socket.connect" else None
)
get_ipython().events.register("pre_run_cell", lambda _: begun.append(time.process_time()))
"""
"""Notes the CPU time of each connection and of each cell's begin."""


def timed(code: str, clock: str) -> float:
    """Return the seconds that some code takes in a fresh kernel, by a clock of ``time``."""
    timing = f"import time\nstart = time.{clock}()\n{code}\nprint(time.{clock}() - start)"
    with kernel(python=sys.executable) as running:  # a fork would have imported all of it
        return float(running.run(timing).text)


def imported(name: str) -> float:
    """Return the CPU seconds that an import takes in a fresh process."""
    code = f"import time\nstart = time.process_time()\nimport {name}\n"
    words = [sys.executable, "-c", f"{code}print(time.process_time() - start)"]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def sent() -> float:
    """Return the CPU seconds of a kernel from the first ``%%chat`` to its connection."""
    script = loopback.once(loopback.stream(loopback.event("Yes."), loopback.DONE))
    with loopback.Server(script) as server:
        place = {"CHATMAGIC_AUTH": "none", "CHATMAGIC_BASE_URL": server.origin}
        with kernel(place, python=sys.executable) as running:
            running.run(CLOCK)
            running.run("%load_ext chatmagic", cell="load")
            running.run("%%chat\nHello?", cell="ask")
            end = "next(time for time in connects if time > begun[-2]) - begun[-2]"
            return float(running.run(f"print({end})").text)


def rows() -> Iterator[Row]:
    """Take the figures and return the rows."""
    compileall.compile_dir(ROOT / "chatmagic", quiet=1)
    load = 'get_ipython().run_line_magic("load_ext", "chatmagic")'
    peer = "import requests"
    figures = by_turns({OURS: lambda: timed(load, "perf_counter")}, ROUNDS)
    yield Row("`%load_ext`", {**figures, "the limit": 0.3}, "s", "the limit", "≤ 1")
    figures = by_turns({OURS: sent, peer: lambda: timed(peer, "process_time")}, ROUNDS)
    yield Row("the first `%%chat`: CPU until it is sent", figures, "s", peer, "≤ 1")
    runs = {OURS: lambda: imported("chatmagic"), peer: lambda: imported("requests")}
    yield Row("`import chatmagic`, CPU", by_turns(runs, ROUNDS), "s", peer, "≤ 0.2")
