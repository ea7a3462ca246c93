"""The benchmarks: ``python -m tests.benchmarks [name …]`` prints ratios, measured in one run.

Without a name all row modules are run (see :mod:`rows`), and the scripts that print figures of
their own. Peers come with the extra ``bench``; an absent one is left out by its name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import rows  # noqa: E402 - found by the line above


def main(names: list[str]) -> None:
    """Print the rows of the modules with these names; of all without a name."""
    for name in names or sorted(path.stem for path in HERE.glob("[!_]*.py")):
        module = import_module(name)
        if hasattr(module, "rows"):
            print(f"\n## {name}\n\n{rows.HEAD}", flush=True)  # noqa: T201 - what this is for
            for row in module.rows():
                print(row, flush=True)  # noqa: T201 - as above
        elif hasattr(module, "main"):
            print(f"\n## {name}\n", flush=True)  # noqa: T201 - as above
            module.main()


if __name__ == "__main__":
    main(sys.argv[1:])
