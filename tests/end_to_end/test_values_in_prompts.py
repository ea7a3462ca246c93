"""Values of a real kernel's namespace: described the same in each kernel, and replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kernels import PLAIN_ENVIRONMENT, Kernel, kernel
from libraries import library
from logged import Emulator

from chatmagic.emulator.server import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-values-1d90"
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


@pytest.fixture
def service() -> Iterator[Emulator]:
    """A service on loopback."""
    with Emulator(Settings(credits=1000)) as emulator:
        yield emulator


def run(running: Kernel) -> list[Any]:
    """Run the notebook, and give what each cell showed."""
    ran = [running.run(source, cell=cell) for cell, source in CELLS]
    assert [each.status for each in ran] == ["ok"] * len(CELLS)
    return ran


def test_each_kernel_describes_them_the_same(service: Emulator, tmp_path: Path) -> None:
    """Two kernels send equal bodies, whatever their hashes; a third replays them unsent."""
    for name in ("matplotlib", "numpy", "pandas", "polars"):
        library(name)
    bodies = []
    told = {"CHATMAGIC_BASE_URL": service.url, "CHATMAGIC_API_KEY": KEY}
    told |= {"CHATMAGIC_CASSETTE": str(tmp_path / "values.jsonl")}
    for seed, mode in (("1", "record"), ("2", "refresh"), ("3", "replay")):
        made = {**PLAIN_ENVIRONMENT, **told, "CHATMAGIC_MODE": mode, "PYTHONHASHSEED": seed}
        with kernel(made) as running:
            ran = run(running)
        bodies.append([request.body for request in service.requests])
        service.requests.clear()
    live = next(m for _, m in ran[3].messages if m["msg_type"] == "display_data")
    assert "df: 80 rows described in " in live["content"]["data"]["text/html"]
    assert bodies[0] == bodies[1]
    assert bodies[2] == []
    first, second = (body["messages"][-1]["content"] for body in bodies[0])
    assert first.startswith("A {x} $y$: pandas DataFrame: 80 rows, 2 columns\n")
    assert "| 0 | 0 | {{ n }} |" in first
    assert first.endswith("{'blue', 'green', 'red', 'yellow'}")
    assert second.startswith("def half(x):\n    return x / 2 class Point:\n    x: int matplotlib")
    assert "module numpy: NumPy" in second
    assert second.endswith("half(3) 1.5")
