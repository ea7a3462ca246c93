"""Coverage of the intervals of ``chatmagic.agreement``: studies whose true values are known.

1,500 studies of 300 rows with 5 answers each, and some of fewer and of more rows, by turns of every
kind: flip rates of .02 to .3, or a tenth of the rows with .4 and the others with .01; two labels, a
rare one of 5 % or 2 %, or three. A figure is the share of the shown intervals that hold the true
value; 0.95 is what they promise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, product
from math import prod
from typing import Any, Final

import numpy as np
from rows import OURS, Row

from chatmagic import agreement
from chatmagic.study import agreement as names
from chatmagic.study import measures

STUDIES: Final = {300: 1_500, 100: 480, 60: 480, 6_000: 240}
"""Numbers of studies, by their numbers of rows; the last ones have percentile intervals."""
ANSWERS: Final = 5
RESAMPLES: Final = 999
"""Resamples of an interval; a study of one's own has more, whose ends differ less by chance."""
SHARES: Final = ((0.5, 0.5), (0.6, 0.3, 0.1), (0.95, 0.05), (0.98, 0.02))
"""Shares of the labels in the rows."""
FLIPS: Final = (
    ((0.02, 1.0),),
    ((0.05, 1.0),),
    ((0.1, 1.0),),
    ((0.2, 1.0),),
    ((0.3, 1.0),),
    ((0.01, 0.9), (0.4, 0.1)),
)
"""Rates at which an answer is another label, each with the share of the rows that have it."""
TARGET: Final = "≥ 0.925"


@dataclass(frozen=True, slots=True)
class Study:
    """Kind of study.

    Args:
        shares: shares of the labels in the rows.
        flips: rates of answers with another label, each with its share of the rows.
    """

    shares: tuple[float, ...]
    flips: tuple[tuple[float, float], ...]

    def drawn(self, random: np.random.Generator, rows: int) -> dict[str, list[Any]]:
        """Return the columns of a study: true labels and answers.

        Args:
            random: the source of its chance.
            rows: its number of rows.
        """
        labels = len(self.shares)
        gold = random.choice(labels, rows, p=self.shares)
        rates = random.choice(
            [rate for rate, _ in self.flips], rows, p=[share for _, share in self.flips]
        )
        is_other = random.random((rows, ANSWERS)) < rates[:, None]
        others = gold[:, None] + random.integers(1, labels, (rows, ANSWERS))
        answers = np.where(is_other, others % labels, gold[:, None])
        return {"gold": gold.tolist(), "replies": answers.tolist()}

    def truth(self) -> Mapping[str, float]:
        """Return the true values of the measures."""
        labels = len(self.shares)
        right = sum(share * (1 - rate) for rate, share in self.flips)
        wrong = (1 - right) / (labels - 1)
        pairs = sum(
            share * ((1 - rate) ** 2 + rate**2 / (labels - 1)) for rate, share in self.flips
        )
        given = [share * right + (1 - share) * wrong for share in self.shares]
        by_chance = sum(share * other for share, other in zip(self.shares, given, strict=True))
        twice = sum(share**2 for share in given)
        return {
            names.PAIRS: pairs,
            names.ALPHA: 1 - (1 - pairs) / (1 - twice),
            names.ACCURACY: right,
            names.KAPPA: (right - by_chance) / (1 - by_chance),
            names.MAJORITY_ACCURACY: sum(
                share * chance_of_majority(rate, labels) for rate, share in self.flips
            ),
        }


def chance_of_majority(rate: float, labels: int) -> float:
    """Return the chance that the true label alone is the most frequent of the answers.

    Args:
        rate: the chance of another label.
        labels: number of labels.
    """
    chances = [1 - rate, *[rate / (labels - 1)] * (labels - 1)]
    answers = product(range(labels), repeat=ANSWERS)
    return sum(
        prod(chances[label] for label in given)
        for given in answers
        if given.count(0) > max(given.count(label) for label in range(1, labels))
    )


def rows() -> Iterator[Row]:
    """Draw the studies, and yield the coverage of each measure: in all, and at its lowest rate."""
    measures.RESAMPLES = RESAMPLES  # type: ignore[misc]
    random = np.random.default_rng(41)
    for number, studies in STUDIES.items():
        yield from rows_of(number, studies, random)


def rows_of(number: int, studies: int, random: np.random.Generator) -> Iterator[Row]:
    """Draw studies of so many rows, and yield the coverage of each measure.

    Args:
        number: number of rows of a study.
        studies: number of studies.
        random: the source of their chance.
    """
    kinds = [Study(shares, flips) for shares, flips in product(SHARES, FLIPS)]
    holds: dict[str, dict[Study, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for kind in islice(cycle(kinds), studies):
        truth = kind.truth()
        for measure in agreement(kind.drawn(random, number), gold="gold").measures:
            if measure.low is not None and measure.high is not None:
                is_held = measure.low <= truth[measure.name] <= measure.high
                holds[measure.name][kind].append(is_held)
    for name, by_kind in holds.items():
        what = f"{number:,} rows, {name}"
        held = [each for kind in by_kind.values() for each in kind]
        yield row(f"{what}, {len(held):,} intervals", held)
        by_flips: dict[float, list[bool]] = defaultdict(list)
        for kind, each in by_kind.items():
            by_flips[kind.flips[-1][0]] += each
        rate, held = min(by_flips.items(), key=lambda item: sum(item[1]) / len(item[1]))
        yield row(f"{what}, lowest at flips of {rate}, {len(held):,} intervals", held)


def row(what: str, held: Sequence[bool]) -> Row:
    """Return the coverage of a measure as a row.

    Args:
        what: the measure, and its case.
        held: whether each interval holds the true value.
    """
    figures = {OURS: sum(held) / len(held), "always": 1.0}
    return Row(what, figures, "of the intervals", "always", TARGET)
