"""Measures of agreement: worked examples of the literature, and their intervals.

The examples are cited by their original sources, whose tables could not be read. The figures were
read in packages that repeat them, with the same citations: krippendorff's docstring, the page of
R's irr (the data), the tests of scikit-learn and statsmodels, the tests of several packages with
Newcombe's Table I, method 3, and those of a port of Efron's bootstrap (Table 14.2, page 183).
Computed by the library alone: alpha for intervals (.849).
"""

from __future__ import annotations

from typing import Any, Literal

import pytest
from libraries import library

from chatmagic.errors import InputError
from chatmagic.study import measures
from chatmagic.study.measures import Estimate

np: Any = library("numpy")

DATA_C = (
    (1, 1, None, 1),
    (2, 2, 3, 2),
    (3, 3, 3, 3),
    (3, 3, 3, 3),
    (2, 2, 2, 2),
    (1, 2, 3, 4),
    (4, 4, 4, 4),
    (1, 1, 2, 1),
    (2, 2, 2, 2),
    (None, 5, 5, 5),
    (None, None, 1, 1),
    (None, 3, None, None),
)
"""Section C of Krippendorff (2011): twelve units, four observers, five labels, missing answers.

The docstring of ``alpha`` of the package ``krippendorff`` and ``?kripp.alpha`` of R's ``irr`` have
it, too.
"""
LABELS = ("1", "2", "3", "4", "5")
TABLE_4 = ((46, 6, 0), (0, 32, 0), (0, 6, 10))
"""Table 4 of Artstein and Poesio (2008), Computational Linguistics 34(4): 100 utterances.

The tests of scikit-learn (``test_cohen_kappa``) have it, with the kappa 0.8013.
"""
SPATIAL = (
    *(48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6),
    *(0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41),
)
"""Spatial test data A of Efron and Tibshirani (1993), Table 14.1."""


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Ask for what the measures need; to import it takes longer than all tests of a folder."""
    for name in ("krippendorff", "scipy.stats", "statsmodels.stats.inter_rater"):
        library(name)


def counts_c() -> Any:
    """Return how often each unit of section C has each label."""
    rows = [[None if value is None else str(value) for value in unit] for unit in DATA_C]
    return measures.counts_of(rows, LABELS)


def sides_of(table: tuple[tuple[int, ...], ...]) -> tuple[Any, Any]:
    """Return the labels of two sides as shares, a row for each item of a table of counts."""
    items = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    one, other = zip(*items, strict=True)
    return np.eye(len(table))[list(one)], np.eye(len(table))[list(other)]


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
@pytest.mark.parametrize("largest", [measures._LARGEST_ARRAY, 0])
def test_alpha_is_krippendorffs(
    level: Literal["nominal", "ordinal", "interval"],
    value: float,
    largest: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C.

    The package computes it, and for large tables the sums that the resamples use.
    """
    monkeypatch.setattr(measures, "_LARGEST_ARRAY", largest)
    found = measures.alpha(counts_c(), LABELS, level)
    assert found.value == pytest.approx(value, abs=0.0005)
    assert found.rows == 11  # the twelfth unit has one answer, which is compared with nothing


def test_alpha_of_one_label_is_not_defined() -> None:
    """Nor is it without two answers to any row."""
    assert measures.alpha(np.array([[3.0, 0.0]]), ("a", "b"), "nominal").value is None
    assert measures.alpha(np.array([[1.0, 0.0]]), ("a", "b"), "nominal").rows == 0


def test_pairs_agree_as_in_fleiss() -> None:
    """The table of ten subjects and fourteen raters, with its column P_i and their mean 0.378.

    It is that of the article "Fleiss' kappa" of Wikipedia and of the tests of statsmodels
    (``test_inter_rater.py``, ``table0``), for the P_i of Fleiss (1971).
    """
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    shares = measures.pair_shares(np.array(table, float))
    expected = [1.000, 0.253, 0.308, 0.440, 0.330, 0.462, 0.242, 0.176, 0.286, 0.286]
    assert shares == pytest.approx(expected, abs=0.0005)
    assert measures.mean(shares).value == pytest.approx(0.378, abs=0.0005)


def test_kappa_is_cohens() -> None:
    """Artstein and Poesio (2008), Table 4: observed agreement 0.88, kappa 0.8013."""
    one, other = sides_of(TABLE_4)
    assert measures.kappa(one, other).value == pytest.approx(0.8013, abs=0.00005)
    assert measures.mean((one * other).sum(axis=1)).value == pytest.approx(0.88)


def test_kappa_of_several_answers_is_that_of_one() -> None:
    """Each row counts once: a half of its answers counts as a half."""
    one, other = sides_of(((20, 20), (10, 50)))
    assert measures.kappa(one, other).value == pytest.approx(0.348, abs=0.0005)  # of scikit-learn
    both = np.array([[1.0, 0.0], [0.0, 1.0]])
    halves = np.array([[0.5, 0.5], [0.5, 0.5]])
    assert measures.kappa(both, halves).value == pytest.approx(0)


def test_kappa_of_one_label_is_not_defined() -> None:
    """Nor is that of no row."""
    same = np.array([[1.0, 0.0]] * 3)
    assert measures.kappa(same, same) == Estimate(None, None, None, 3)
    assert measures.kappa(same[:0], same[:0]) == Estimate(None, None, None, 0)


@pytest.mark.parametrize(
    ("right", "rows", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_a_share_has_wilsons_interval(right: int, rows: int, low: float, high: float) -> None:
    """Newcombe (1998), Statistics in Medicine 17, 857-872, Table I, method 3 (score)."""
    found = measures.proportion(right, rows)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.00006)
    assert (found.value, found.interval) == (right / rows, "Wilson")
    assert measures.proportion(0, 0) == Estimate(None, None, None, 0)


def test_the_bootstrap_is_bca() -> None:
    """Efron and Tibshirani (1993), Table 14.2 (page 183): 90 % of a variance, (115.8, 259.6).

    Theirs has 2,000 resamples, so its ends are a little different by chance.
    """
    data = np.array(SPATIAL, float)

    def variance(weights: Any) -> Any:
        number = weights.sum(axis=1)
        return weights @ data**2 / number - (weights @ data / number) ** 2

    assert variance(np.ones((1, 26)))[0] == pytest.approx(171.5, abs=0.05)
    ends = measures.interval(variance, 26, 0.9)
    assert ends == pytest.approx((115.8, 259.6), rel=0.02)
    assert measures.interval(variance, 26, 0.9) == ends  # the same each time


def test_an_interval_of_a_large_study_has_no_corrections(monkeypatch: pytest.MonkeyPatch) -> None:
    """They vanish, and their cost grows as the square of the rows."""
    values = np.array([0.0] * 30 + [1.0] * 90)
    by_bca = measures.mean(values)
    monkeypatch.setattr(measures, "MOST_ROWS", 100)
    by_percentile = measures.mean(values)
    assert (by_bca.interval, by_percentile.interval) == ("BCa", "percentile")
    assert by_percentile.low == pytest.approx(by_bca.low, abs=0.02)


def test_an_interval_that_would_not_hold_is_not_shown() -> None:
    """Of few rows, of rows that are alike, and of kappa and alpha where a label is too rare."""
    assert measures.mean(np.array([0.0, 1.0] * 24)).low is None
    assert measures.mean(np.array([0.0, 1.0] * 25)).low is not None
    assert measures.mean(np.array([0.5] * 99)).low is None
    for common, rare, is_shown in (
        (290, 4, False),
        (290, 5, True),
        (250, 19, False),
        (60, 19, False),
        (60, 20, True),
    ):
        one, other = sides_of(((common, 14), (0, rare)))
        assert (measures.kappa(one, other).low is not None) is is_shown
        rows = [["a"] * 3] * common + [["a", "a", "b"]] * 15 + [["b", "b", "a"]] * rare
        counts = measures.counts_of(rows, ("a", "b"))
        assert (measures.alpha(counts, ("a", "b"), "nominal").low is not None) is is_shown


def test_a_missing_library_names_its_extra() -> None:
    """In one line."""
    with pytest.raises(InputError) as caught:
        measures.library("krippendorff_that_is_absent.part")
    message = "Agreement needs krippendorff_that_is_absent, which is not installed."
    assert (caught.value.message, caught.value.hint) == (message, "pip install 'chatmagic[stats]'")
