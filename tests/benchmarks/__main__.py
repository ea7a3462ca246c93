"""The benchmarks: ``python -m tests.benchmarks [name …]`` prints ratios, measured in one run.

Without a name all row modules are run (see :mod:`rows`). Peers come with the extra ``bench``; an
absent one is left out by its name.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import rows  # noqa: E402 - found by the line above


def main() -> None:
    """Print the rows of the modules that the command line names; of all without a name."""
    texts = {path.stem: path.read_text("utf-8") for path in HERE.glob("[!_]*.py")}
    modules = sorted(name for name, text in texts.items() if "\ndef rows()" in text)
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description="Print ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(modules)}")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(modules):
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}")  # noqa: T201 - as below
    for line in printed(chosen.names or modules):
        print(line, flush=True)  # noqa: T201 - as below


def printed(names: list[str]) -> Iterator[str]:
    """Yield the lines of these modules' tables, each as soon as it is there."""
    for name in names:
        yield f"\n## {name}\n"
        yield rows.HEAD
        yield from map(str, import_module(name).rows())


if __name__ == "__main__":
    main()
