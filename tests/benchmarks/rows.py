"""Rows of the benchmarks: what a row is, and how its figures are taken.

A row module is a file in this folder with one function::

    def rows() -> Iterator[Row]:
        '''Take the figures and return the rows, each as soon as it is there.'''

``python -m tests.benchmarks NAME`` finds it by its name, so nothing is to be registered. It
measures ours and the peers by turns with :func:`by_turns`, in one run; what is printed are the
ratios to the peer that the row is measured by. A peer that is not installed is left out of the
figures and named with :func:`missing`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from statistics import median
from typing import Final, NamedTuple

OURS: Final = "chatmagic"


class Row(NamedTuple):
    """Row of the table: one thing measured, of ours and of peers.

    Args:
        what: what is measured, and in which case.
        figures: the figures by name, of which :data:`OURS` is one; all of one unit.
        unit: the figures' unit.
        base: name of the figure that the others are divided by.
        target: what our ratio should be, in words; empty where there is no target.
    """

    what: str
    figures: Mapping[str, float]
    unit: str
    base: str
    target: str = ""

    def __str__(self) -> str:
        """Return the row as a line of a Markdown table."""
        base = self.figures[self.base]
        ours = f"{self.figures[OURS] / base:.2f}" if OURS in self.figures else "-"
        others = [
            f"{name} {figure / base:.2f}"
            for name, figure in sorted(self.figures.items(), key=lambda item: item[1])
            if name not in (OURS, self.base)
        ]
        unit = f"{self.base} = {base:.4g} {self.unit}"
        return f"| {self.what} | {ours} | {self.target} | {', '.join(others)} | {unit} |"


HEAD: Final = "| what | chatmagic | target | peers | 1.00 is |\n| --- | --- | --- | --- | --- |"


def by_turns(
    runs: Mapping[str, Callable[[], float]],
    rounds: int,
    best: Callable[[Sequence[float]], float] = min,
) -> dict[str, float]:
    """Return a figure of each run; they are run by turns, so that noise meets all of them.

    Args:
        runs: the runs by name; each measures itself and returns its figure.
        rounds: how often each is run, after one run that does not count.
        best: what is made of a run's figures; the minimum where the claim is CPU time.
    """
    figures: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            gc.collect()
            figure = run()
            if number:
                figures[name].append(figure)
    return {name: best(found) for name, found in figures.items()}


def middle(figures: Sequence[float]) -> float:
    """Return the median, for figures that are times on the clock."""
    return median(figures)


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds that this process spends on some work, in all its threads."""
    before = time.process_time()
    work()
    return time.process_time() - before


def missing(names: Iterable[str]) -> set[str]:
    """Return which modules of peers are not installed, and say so.

    Args:
        names: the modules that the peers need (the extra ``bench`` has them).
    """
    absent = {name for name in names if find_spec(name) is None}
    for name in sorted(absent):
        print(f"Left out, not installed: {name}")  # noqa: T201 - figures are what this is for
    return absent
