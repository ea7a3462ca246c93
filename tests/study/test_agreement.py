"""Agreement: measures, confusion and notes of a study, as a table, a plot and a page."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from libraries import library

import chatmagic
from chatmagic.errors import InputError
from chatmagic.study import agreement as names
from chatmagic.study import measures

HOSTILE = "<img src=x onerror=alert(1)>"
ALL = [
    names.PAIRS,
    names.ALPHA,
    names.ACCURACY,
    names.KAPPA,
    names.MAJORITY_ACCURACY,
    names.MAJORITY_KAPPA,
]


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Ask for what the measures need; to import it takes longer than all tests of a folder."""
    for name in ("krippendorff", "scipy.stats", "statsmodels.stats.inter_rater"):
        library(name)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw fewer resamples, which is faster."""
    monkeypatch.setattr(measures, "RESAMPLES", 499)


def study(flips: float, rows: int = 120, answers: int = 3) -> dict[str, list[Any]]:
    """Return the columns of a study with three labels, whose answers are false at a rate."""
    source = random.Random(41)  # noqa: S311 - the same each time
    gold = [source.choice("abc") for _ in range(rows)]
    replies = [
        [source.choice("abc") if source.random() < flips else label for _ in range(answers)]
        for label in gold
    ]
    return {"label": gold, "replies": replies}


def test_a_study_has_each_measure_with_its_interval() -> None:
    """BCa over rows, Wilson for the majority's accuracy, and none for the majority's kappa."""
    found = chatmagic.agreement(study(0.2), gold="label")
    assert [measure.name for measure in found.measures] == ALL
    intervals = [measure.interval for measure in found.measures]
    assert intervals == ["BCa", "BCa", "BCa", "BCa", "Wilson", ""]
    for measure in found.measures[:-1]:
        assert measure.low is not None
        assert measure.value is not None
        assert measure.high is not None
        assert measure.low < measure.value < measure.high
        assert measure.n == 120
    assert found.measures[-1].value is not None
    assert found.measures[-1].low is None
    assert chatmagic.agreement(study(0.2), gold="label") == found  # the same each time


def test_the_table_and_the_confusion_are_dataframes() -> None:
    """With what is not defined as NaN, and the answers counted one by one."""
    rows = {"replies": [["a", "a"], ["b", "a"], ["b", "b"]], "label": ["a", "b", "c"]}
    found = chatmagic.agreement(rows, gold="label")
    table = found.table
    assert [*table.columns] == ["value", "low", "high", "n", "interval"]
    assert table.loc[names.ACCURACY, "value"] == pytest.approx(0.5)
    assert table.loc[names.MAJORITY_ACCURACY, "value"] == pytest.approx(1 / 3)
    assert table.loc[names.ACCURACY, ["low", "high"]].isna().all()
    assert found.confusion.loc["b"].to_dict() == {"a": 1, "b": 1, "c": 0}
    assert [*found.confusion.index] == ["a", "b", "c"]
    assert chatmagic.agreement(rows).confusion is None
    assert [*chatmagic.agreement(rows).table.index] == ALL[:2]


def test_what_the_measures_do_not_say_is_said() -> None:
    """Ties, missing answers and true labels, unequal numbers, unknown labels, few rows."""
    rows = {
        "replies": [["a", "b"], ["a", None, "a"], ["b"], []],
        "label": ["a", "a", None, "z"],
    }
    assert chatmagic.agreement(rows, gold="label").notes == (
        "The rows have 1 to 2 answers each.",
        "1 of 6 answers are missing, and are left out.",
        "1 row has no most frequent answer (a tie); none of them counts as right.",
        "3 of 4 rows have a true label.",
        "No answer is 'z', which is a true label.",
        "Below 50 rows a bootstrap interval does not hold what it promises, so none is shown.",
    )


def test_equal_answers_are_a_sentence() -> None:
    """Alpha and kappa are not defined, and nothing fails; one answer a row says so, too."""
    found = chatmagic.agreement({"replies": [["yes"]] * 60, "label": ["yes"] * 60}, gold="label")
    assert found.notes[0] == "All answers are the same, 'yes', so alpha is not defined."
    assert found.notes[1] == "Each row has one answer, so nothing is known of repeats."
    values = {measure.name: measure.value for measure in found.measures}
    assert [values[name] for name in ALL] == [None, None, 1.0, None, 1.0, None]
    same = chatmagic.agreement({"replies": [["yes", "yes"]] * 60})
    assert same.notes[-1] == (
        f"No interval, as too few rows differ from the others: {names.PAIRS}."
    )


def test_two_models_are_compared_row_by_row() -> None:
    """Each by itself, their agreement with one another, and the difference in accuracy."""
    good = study(0.1)
    bad = {**good, "replies": study(0.6)["replies"]}
    found = chatmagic.agreement({"good": good, "bad": bad}, gold="label")
    between = [(measure.of, measure.name) for measure in found.measures[12:]]
    assert between == [
        ("good, bad", names.BETWEEN_PAIRS),
        ("good, bad", names.BETWEEN_KAPPA),
        ("good - bad", names.DIFFERENCE),
    ]
    table = found.table
    gap = table.loc[("good - bad", names.DIFFERENCE)]
    accuracies = [table.loc[(name, names.ACCURACY), "value"] for name in ("good", "bad")]
    assert gap["value"] == pytest.approx(accuracies[0] - accuracies[1])
    assert 0 < gap["low"] < gap["value"] < gap["high"]
    assert {*found.confusion} == {"good", "bad"}
    last = chatmagic.agreement({"a": good, "b": bad}).measures[-2:]
    assert [measure.of for measure in last] == ["a, b"] * 2
    with pytest.raises(InputError, match=r"^a has 120 rows, and b 90: they are compared"):
        chatmagic.agreement({"a": good, "b": study(0.1, rows=90)})
    with pytest.raises(InputError, match=r"^a and b have other true labels"):
        chatmagic.agreement({"a": good, "b": {**good, "label": ["a"] * 120}}, gold="label")


def test_true_labels_may_be_given_themselves() -> None:
    """Any iterable, read once for several tables; a row without one has no part in accuracy."""
    rows = study(0.2)
    some = [label if place % 2 else None for place, label in enumerate(rows["label"])]
    found = chatmagic.agreement({"a": rows, "b": rows}, gold=iter(some))
    numbers = {measure.name: measure.n for measure in found.measures}
    assert (numbers[names.PAIRS], numbers[names.ACCURACY], numbers[names.DIFFERENCE]) == (
        120,
        60,
        60,
    )


def test_a_review_has_the_true_labels(tmp_path: Path) -> None:
    """Those of its own reviewer; what is no list of labels is one line."""
    rows = {**study(0.2), "text": [str(n) for n in range(120)]}
    review = chatmagic.review(rows, ["abc"], show="text", file=tmp_path / "r.jsonl")
    review.give(review.sample[0], "abc")
    found = chatmagic.agreement(rows, gold=review)
    assert {measure.n for measure in found.measures[2:]} == {1}
    with pytest.raises(InputError, match=r"^gold is a list, and not 5\.$"):
        chatmagic.agreement(rows, gold=5)  # type: ignore[arg-type]


def test_a_page_shows_labels_as_text() -> None:
    """Of models and of data: neither markup nor formulas; the names of tables, too."""
    rows = {"replies": [[HOSTILE, "$x$"]] * 2, "label": [HOSTILE, "b"]}
    found = chatmagic.agreement({HOSTILE: rows, "b": rows}, gold="label")
    page = found._repr_html_()
    assert "<img" not in page
    assert page.startswith('<div class="mathjax_ignore')
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert repr(found).splitlines()[0].split() == [
        "measure",
        "value",
        "low",
        "high",
        "n",
        "interval",
    ]
    assert all(note in repr(found) for note in found.notes)
    hostile = chatmagic.agreement({"replies": [["\x1b[31m\n\u202e"]] * 2})
    assert not {"\x1b", "\u202e"} & {*repr(hostile), *hostile._repr_html_()}


def test_a_plot_has_points_with_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """On new Axes or on given ones; a name with dollars is no formula."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot = library("matplotlib.pyplot")
    rows = study(0.2)
    found = chatmagic.agreement({r"$\frac$": rows, "b": rows}, gold="label")
    ax = found.plot()
    ax.figure.canvas.draw()
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    assert ticks[0] == rf"$\frac$: {names.PAIRS}"
    defined = [measure for measure in found.measures if measure.value is not None]
    assert len(ticks) == len(defined)
    assert len(ax.lines) == len(defined) + sum(bool(m.interval) for m in defined)
    assert found.plot(ax) is ax
    pyplot.close(ax.figure)


def test_it_is_json_for_a_report() -> None:
    """With the same figures."""
    found = chatmagic.agreement(study(0.2), gold="label")
    held = found.to_json()
    assert held["level"] == "nominal"
    assert held["measures"][0] == {
        "of": "",
        "name": names.PAIRS,
        "value": found.measures[0].value,
        "low": found.measures[0].low,
        "high": found.measures[0].high,
        "n": 120,
        "interval": "BCa",
    }
    assert sum(map(sum, held["confusion"][0]["counts"])) == 360
    assert held["notes"] == [*found.notes]
    data, metadata = found._repr_mimebundle_()
    assert data == {"text/html": found._repr_html_(), "text/plain": repr(found)}
    assert metadata == {names.METADATA: held}


def test_levels_differ_by_how_far_labels_are_apart() -> None:
    """A neighbour is a smaller disagreement than the other end, unless labels are only names."""
    rows = {"replies": [["low", "middle"], ["low", "low"], ["high", "high"], ["high", "middle"]]}
    order = ["low", "middle", "high"]
    nominal = chatmagic.agreement(rows)
    ordinal = chatmagic.agreement(rows, level="ordinal", labels=order)
    assert nominal.measures[1].value < ordinal.measures[1].value  # type: ignore[operator]
    with pytest.raises(InputError, match=r"needs numbers"):
        chatmagic.agreement(rows, level="interval")


def test_it_cannot_be_changed() -> None:
    """It is a value, as are its measures."""
    found = chatmagic.agreement({"replies": [["a", "b"]]})
    with pytest.raises(AttributeError):
        found.level = "interval"  # type: ignore[misc]
