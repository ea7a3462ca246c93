"""A study from its requests to its figures, on a service with a known rate of false answers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from libraries import library
from row_service import RowService

import chatmagic
from chatmagic.session.session import Session
from chatmagic.study import agreement as names
from chatmagic.study import measures

FLIPS = 0.2
ROWS = 150


@pytest.mark.release
def test_a_study_finds_what_the_service_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeats, some of which fail; a reviewed sample; two wordings; intervals with the truth."""
    pandas = library("pandas")
    for name in ("krippendorff", "statsmodels.stats.inter_rater"):
        library(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measures, "RESAMPLES", 999)
    source = random.Random(4)  # noqa: S311 - the same each time; of 20 intervals one may fail
    truth = [source.choice(["good", "bad"]) for _ in range(ROWS)]
    frame = pandas.DataFrame({"text": [f"{n}: {label}" for n, label in enumerate(truth)]})
    service = RowService()

    def answer(prompt: str) -> str:
        """Return the label of a row, or at a rate the other one."""
        label = prompt.rpartition(" ")[2]
        return {"good": "bad", "bad": "good"}[label] if source.random() < FLIPS else label

    service.answers = answer
    service.refuses = lambda prompt: 400 if "7: good" in prompt or "7: bad" in prompt else 200
    with chatmagic.Client(transport=service) as client:
        session = Session(client)
        first = session.map("{{ text }}", frame, repeats=5, workers=1, yes=True)
        second = session.map("Say: {{ text }}", frame, repeats=5, workers=1, yes=True)
    failed = sum(n % 10 == 7 for n in range(ROWS))

    review = chatmagic.review(first, ["good", "bad"], n=100, seed=7)
    for place in review.sample:
        review.give(place, truth[place])
    again = chatmagic.review(second, ["good", "bad"])  # the same texts, so the same file
    assert again.sample[:50] == review.sample[:50]

    found = chatmagic.agreement({"plain": first, "say": second}, gold=again)
    right = 1 - FLIPS
    majority = sum(ways * right**k * FLIPS ** (5 - k) for k, ways in ((5, 1), (4, 5), (3, 10)))
    true = {
        names.PAIRS: right**2 + FLIPS**2,
        names.ACCURACY: right,
        names.MAJORITY_ACCURACY: majority,
        names.DIFFERENCE: 0.0,
        names.BETWEEN_PAIRS: right**2 + FLIPS**2,
    }
    for measure in found.measures:
        if measure.name in true:
            assert measure.low is not None
            assert measure.high is not None
            assert measure.low < true[measure.name] < measure.high, measure
    numbers = {(measure.of, measure.name): measure.n for measure in found.measures}
    assert numbers["plain", names.PAIRS] == ROWS - failed
    assert numbers["plain", names.ACCURACY] < 100  # of those that were drawn some had failed
    assert f"plain: {5 * failed:,} of {5 * ROWS:,} answers are missing, and are left out." in (
        found.notes
    )
    assert f"plain: 100 of {ROWS} rows have a true label." in found.notes
    assert found.plot() is not None
