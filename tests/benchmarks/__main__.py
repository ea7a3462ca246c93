"""The benchmarks: ``python -m tests.benchmarks [name …]`` prints ratios, measured in one run.

Without a name all row modules are run (see :mod:`rows`). Peers come with the extra ``bench``; an
absent one is left out by its name.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import picture  # noqa: E402 - found by the line above
import rows  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Print the rows of the modules that the command line names; of all without a name."""
    texts = {path.stem: path.read_text("utf-8") for path in HERE.glob("[!_]*.py")}
    modules = sorted(name for name, text in texts.items() if "\ndef rows()" in text)
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description="Print ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(modules)}")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write a picture (SVG)")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(modules):
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}")  # noqa: T201 - as below
    taken = list(printed(chosen.names or modules))
    if chosen.picture:
        chosen.picture.write_text(picture.svg(taken), "utf-8")


def printed(names: list[str]) -> Iterator[rows.Row]:
    """Return the rows of these modules, each printed as soon as it is there."""
    for name in names:
        print(f"\n## {name}\n", flush=True)  # noqa: T201 - figures are what this is for
        for number, row in enumerate(import_module(name).rows()):
            print(*([] if number else [rows.HEAD]), row, sep="\n", flush=True)  # noqa: T201 - as above
            yield row


if __name__ == "__main__":
    main()
