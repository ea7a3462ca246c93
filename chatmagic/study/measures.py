"""Measures of agreement, and their intervals over rows.

Each measure is a function of the weights of the rows: all rows once give its value, and the numbers
of times that rows are drawn give its values in the resamples of a bootstrap. The rows are the units
that are drawn, with all their answers, so answers to one row need not be independent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from chatmagic.errors import InputError
from chatmagic.study.answers import Level

Array = Any
"""Array of numpy, which is loaded at its first use."""
Statistic = Callable[[Array], Array]
"""Measure of weights: of an array of resamples by rows, with a value for each resample."""
SEED: Final = 20260101
"""Seed of the resamples, so that an interval is the same each time."""
RESAMPLES: Final = 9_999
FEWEST_ROWS: Final = 50
"""Number of rows below which no bootstrap interval is shown."""
FEWEST_OTHERS: Final = 5
"""Number of rows with another label than the most frequent one that an interval of a measure needs
whose chance agreement depends on them."""
FEW_ROWS: Final = 300
"""Number of rows below which such an interval needs more of them."""
FEWEST_OTHERS_OF_FEW: Final = 20
"""Number of them that it needs then."""
MOST_ROWS: Final = 5_000
"""Number of rows above which a percentile interval replaces BCa, whose corrections vanish."""
_FEWER: Final = 1_999
_AT_ONCE: Final = 2_000_000
_LARGEST_ARRAY: Final = 10_000_000
_CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """Value of a measure with its interval of 95 %.

    Args:
        value: the value; ``None`` if it is not defined.
        low: the interval's lower end; ``None`` without an interval.
        high: its upper end.
        rows: number of the rows that it is computed from.
        interval: the interval's name; empty without one.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    interval: str = ""


def library(name: str) -> ModuleType:
    """Return a module of the extra ``stats``.

    Args:
        name: its name.

    Raises:
        InputError: its package is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise InputError(
            f"Agreement needs {package}, which is not installed.",
            hint="pip install 'chatmagic[stats]'",
        ) from None


def counts_of(rows: Sequence[Sequence[str | None]], labels: Sequence[str]) -> Array:
    """Return how often each row has each label: an array of rows by labels.

    Args:
        rows: the labels of each row; ``None`` counts for nothing.
        labels: all labels in their order.
    """
    np = library("numpy")
    places = {label: place for place, label in enumerate(labels)}
    counts = np.zeros((len(rows), len(labels)))
    for row, answers in zip(counts, rows, strict=True):
        for label in answers:
            if label is not None:
                row[places[label]] += 1
    return counts


def mean(values: Array) -> Estimate:
    """Return the mean of one figure a row.

    Args:
        values: a figure for each row.
    """
    if not len(values):
        return Estimate(None, None, None, 0)

    def statistic(weights: Array) -> Array:
        """Return the measure of each resample."""
        return weights @ values / weights.sum(axis=1)

    return _estimate(statistic, len(values), float(values.mean()))


def pair_shares(counts: Array) -> Array:
    """Return the share of agreeing pairs among the answers of each row with two or more.

    It is P_i of Fleiss (1971), "Measuring nominal scale agreement among many raters", equation 2.

    Args:
        counts: rows by labels.
    """
    counts = counts[counts.sum(axis=1) > 1]
    answers = counts.sum(axis=1)
    shares: Array = (counts * (counts - 1)).sum(axis=1) / (answers * (answers - 1))
    return shares


def alpha(counts: Array, labels: Sequence[str], level: Level) -> Estimate:
    """Return Krippendorff's alpha between the answers of a row.

    Its definition is that of Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability".

    Args:
        counts: rows by labels.
        labels: the labels in their order.
        level: their level of measurement, by which two labels differ.
    """
    np = library("numpy")
    counts = counts[counts.sum(axis=1) > 1]
    rows = len(counts)
    if np.count_nonzero(counts.sum(axis=0)) < 2:  # noqa: PLR2004 - one label cannot vary
        return Estimate(None, None, None, rows)
    is_number = level == "interval"
    positions = np.array([float(label) for label in labels]) if is_number else None
    statistic = _nominal_alpha(counts) if level == "nominal" else _ranked_alpha(counts, positions)
    # The package's arrays are as large as rows x labels x labels; the same sum needs no such array.
    if rows * len(labels) ** 2 > _LARGEST_ARRAY:
        value = statistic(np.ones((1, rows)))[0]
    else:
        domain = np.arange(len(labels)) if positions is None else positions
        value = library("krippendorff").alpha(
            value_counts=counts, value_domain=domain, level_of_measurement=level
        )
    return _estimate(statistic, rows, float(value), others=others(counts))


def others(shares: Array) -> int:
    """Return the number of rows whose label is not the most frequent one.

    Args:
        shares: rows by labels; a row's label is its most frequent one.
    """
    np = library("numpy")
    return len(shares) - int(np.bincount(shares.argmax(axis=1)).max())


def _nominal_alpha(counts: Array) -> Statistic:
    """Return alpha of labels without an order, as a function of weights."""
    np = library("numpy")
    answers = counts.sum(axis=1)
    observed = (answers**2 - (counts**2).sum(axis=1)) / (answers - 1)

    def statistic(weights: Array) -> Array:
        """Return the measure of each resample."""
        totals = weights @ counts
        number = totals.sum(axis=1)
        expected = number**2 - (totals**2).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Array = 1 - (number - 1) * (weights @ observed) / expected
        return result

    return statistic


def _ranked_alpha(counts: Array, positions: Array | None) -> Statistic:
    """Return alpha of labels at positions: numbers, or the middle of the ranks of each label.

    The ordinal difference of two labels is that of the middles of their ranks, squared.
    """
    np = library("numpy")
    answers = counts.sum(axis=1)

    def statistic(weights: Array) -> Array:
        """Return the measure of each resample."""
        totals = weights @ counts
        number = totals.sum(axis=1)
        if positions is None:
            places = totals.cumsum(axis=1) - totals / 2
        else:
            places = np.broadcast_to(positions - positions.mean(), totals.shape)
        sums = places @ counts.T
        squares = places**2 @ counts.T
        differing = 2 * (answers * squares - sums**2) / (answers - 1)
        observed = (weights * differing).sum(axis=1)
        expected = 2 * (
            number * (totals * places**2).sum(axis=1) - (totals * places).sum(axis=1) ** 2
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Array = 1 - (number - 1) * observed / expected
        return result

    return statistic


def kappa(first: Array, second: Array) -> Estimate:
    """Return Cohen's kappa of two sides, each with shares of the labels in each row.

    A row counts once, however many answers it has: each pair of an answer of one side and one of
    the other has an equal part of it. With one label on each side it is the kappa of Cohen (1960),
    "A Coefficient of Agreement for Nominal Scales".

    Args:
        first: rows by labels; each row adds up to 1.
        second: the same of the other side.
    """
    np = library("numpy")
    table = first.T @ second
    chance = (table.sum(axis=0) * table.sum(axis=1)).sum()
    if not len(first) or chance == table.sum() ** 2:
        return Estimate(None, None, None, len(first))
    value = library("statsmodels.stats.inter_rater").cohens_kappa(table, return_results=False)
    agreeing = (first * second).sum(axis=1)

    def statistic(weights: Array) -> Array:
        """Return the measure of each resample."""
        number = weights.sum(axis=1)
        by_chance = ((weights @ first) * (weights @ second)).sum(axis=1) / number**2
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Array = (weights @ agreeing / number - by_chance) / (1 - by_chance)
        return result

    fewest = min(others(first), others(second))
    return _estimate(statistic, len(first), float(value), others=fewest)


def proportion(right: int, rows: int) -> Estimate:
    """Return a share with the interval of Wilson (1927).

    Args:
        right: number of the rows that are right.
        rows: number of all rows.
    """
    if not rows:
        return Estimate(None, None, None, 0)
    test = library("scipy.stats").binomtest(right, rows)
    interval = test.proportion_ci(_CONFIDENCE, method="wilson")
    return Estimate(right / rows, float(interval.low), float(interval.high), rows, "Wilson")


def _estimate(
    statistic: Statistic, rows: int, value: float, *, others: int | None = None
) -> Estimate:
    """Return a value with its bootstrap interval, if the rows are enough for one."""
    fewest = FEWEST_OTHERS_OF_FEW if rows < FEW_ROWS else FEWEST_OTHERS
    is_enough = rows >= FEWEST_ROWS and (others is None or others >= fewest)
    ends = interval(statistic, rows) if is_enough else None
    if ends is None:
        return Estimate(value, None, None, rows)
    low, high = ends
    return Estimate(value, low, high, rows, "BCa" if rows <= MOST_ROWS else "percentile")


def interval(
    statistic: Statistic, rows: int, confidence: float = _CONFIDENCE
) -> tuple[float, float] | None:
    """Return the bootstrap interval of a measure; ``None`` if the rows do not differ enough.

    It is BCa of Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 14.

    Args:
        statistic: the measure, of weights: resamples by rows.
        rows: number of rows.
        confidence: the interval's confidence.
    """
    np = library("numpy")

    def of_drawn(drawn: Array, axis: int) -> Array:
        """Return the measure of resamples, each with the numbers of the rows that were drawn."""
        drawn = np.moveaxis(drawn, axis, -1)
        flat = drawn.reshape(-1, drawn.shape[-1])
        begins = np.arange(len(flat))[:, None] * rows
        weights = np.bincount((flat + begins).ravel(), minlength=len(flat) * rows)
        values: Array = statistic(weights.reshape(len(flat), rows).astype(float))
        return values.reshape(drawn.shape[:-1])

    is_large = rows > MOST_ROWS
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore")  # of rows that are all alike
        result = library("scipy.stats").bootstrap(
            (np.arange(rows),),
            of_drawn,
            vectorized=True,
            n_resamples=_FEWER if is_large else RESAMPLES,
            batch=max(_AT_ONCE // rows, 1),
            confidence_level=confidence,
            method="percentile" if is_large else "BCa",
            rng=np.random.default_rng(SEED),
        )
    low, high = (float(end) for end in result.confidence_interval)
    return (low, high) if low < high else None
