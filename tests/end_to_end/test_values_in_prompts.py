"""Values of a real kernel's namespace: described the same in each kernel, and replayed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from kernels import PLAIN_ENVIRONMENT, Kernel, kernel
from libraries import library
from logged import Emulator
from shells import KEY

SETUP = """\
import matplotlib.figure, numpy, pandas, polars
df = pandas.DataFrame({"n": range(80), "word": ["{{ n }}", None] * 40})
frame = polars.DataFrame({"n": [1, None]})
array = numpy.arange(12.0).reshape(3, 4)
words = {"red", "green", "blue", "yellow"}
figure = matplotlib.figure.Figure()
figure.subplots().plot([1, 2], [3, 4], label="rising")

def half(x):
    return x / 2

class Point:
    x: int
"""
CELLS = [
    ("load", "%load_ext chatmagic"),
    ("setup", SETUP),
    ("value", "half(3)"),
    ("ask", "%%chat\nA {x} $y$: {{ df }} {{ frame }} {{ array }} {{ words }}"),
    ("more", "%%chat\n{{ half }} {{ Point }} {{ figure }} {{ numpy }} {{ In[3] }} {{ Out[3] }}"),
]


def run(running: Kernel) -> list[Any]:
    """Run the notebook, and give what each cell showed."""
    ran = [running.run(source, cell=cell) for cell, source in CELLS]
    assert [each.status for each in ran] == ["ok"] * len(CELLS)
    return ran


def test_each_kernel_describes_them_the_same(service: Emulator, tmp_path: Path) -> None:
    """What one sent, another replays whose hashes are its own; it finds no other body."""
    for name in ("matplotlib", "numpy", "pandas", "polars"):
        library(name)
    told = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
    told |= {"CHATMAGIC_CASSETTE": str(tmp_path / "values.jsonl")}
    replies, orders = [], []
    for seed, mode in (("1", "record"), ("2", "replay")):
        made = {**PLAIN_ENVIRONMENT, **told, "CHATMAGIC_MODE": mode, "PYTHONHASHSEED": seed}
        # A fork would have the hashes of the process that it comes from.
        with kernel(made, python=sys.executable) as running:
            ran = run(running)
            orders.append(running.run("print(words)").text)
        replies.append([each.replies[0]["data"] for each in ran[3:]])
    live = next(m for _, m in ran[3].messages if m["msg_type"] == "display_data")
    assert "df: 80 rows, sent as " in live["content"]["data"]["text/html"]
    assert orders[0] != orders[1]
    assert replies[0] == replies[1]
    bodies = [request.body for request in service.requests]
    first, second = (body["messages"][-1]["content"] for body in bodies)
    assert first.startswith("A {x} $y$: pandas DataFrame: 80 rows, 2 columns\n")
    assert "\n0    0  {{ n }}\n" in first
    assert first.endswith("{'blue', 'green', 'red', 'yellow'}")
    assert second.startswith("def half(x):\n    return x / 2 class Point:\n    x: int matplotlib")
    assert "module numpy half(3)" in second
    assert second.endswith(" half(3) 1.5")
