"""How long loading the extension takes beside ``import requests``: run by hand, prints ratios.

Each pair is taken in one fresh kernel, the extension first. The byte code is there, as after an
installation.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from kernels import kernel
from project import ROOT

CODE = """
import time
start = time.perf_counter()
get_ipython().run_line_magic("load_ext", "chatmagic")
loaded = time.perf_counter()
import requests
print(loaded - start, time.perf_counter() - loaded)
"""


def main() -> None:
    """Print the ratio for a few fresh kernels."""
    compileall.compile_dir(ROOT / "chatmagic", quiet=1)
    ratios = []
    for _ in range(5):
        with kernel(python=sys.executable) as running:  # a fork would have imported all of it
            ours, theirs = map(float, running.run(CODE).text.split())
        ratios.append(ours / theirs)
        print(f"{ours * 1000:.1f} ms / {theirs * 1000:.1f} ms = {ratios[-1]:.3f}")  # noqa: T201
    print(f"median {median(ratios):.3f}")  # noqa: T201 - figures are what this is for


if __name__ == "__main__":
    main()
