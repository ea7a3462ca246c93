"""Reviews and agreements in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from studies import AGREEMENT, DRAWN, label, written

import chatmagic
from chatmagic.errors import InputError
from chatmagic.study.review_files import BEGINNING, read_agreement, read_review


def test_a_review(tmp_path: Path) -> None:
    """The last label of a row counts; what is no label is counted."""
    told = label("1", "b", seen=True, at="2026-02-04T10:00:00Z")
    skipped = label("2", None)
    other = label("1", "a", "Bob", at="no time")
    lines = (label("1", "a"), told, skipped, other, "{", "", {"key": 1}, label("3", 4))
    review = read_review(written(tmp_path / "r.jsonl", DRAWN, *lines))
    assert (review.seed, review.n, review.rows, review.unread) == (7, 50, 300, 3)
    ann, bob = review.reviewers["Ann"], review.reviewers["Bob"]
    assert (ann.labelled, ann.changed, bob.labelled, bob.changed) == (1, 1, 1, 0)
    assert (ann.first[:10], ann.last[:10], bob.first) == ("2026-02-03", "2026-02-04", "")


@pytest.mark.parametrize("lines", [(), ({"review": 1, "seed": -1},), (label("1", "a"),)])
def test_no_review(lines: tuple[Any, ...], tmp_path: Path) -> None:
    """A file that does not say how its sample was drawn."""
    with pytest.raises(InputError, match="no file of a review"):
        read_review(written(tmp_path / "r.jsonl", *lines))


def test_an_agreement(tmp_path: Path) -> None:
    """As it was written."""
    read = read_agreement(written(tmp_path / "a.json", AGREEMENT))
    assert [measure.name for measure in read.measures] == ["pairs", "m: alpha"]
    assert (read.measures[0].low, read.measures[1].value, read.level) == (0.4, None, "nominal")
    assert read.notes == ("All answers are the same.",)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {**AGREEMENT, "measures": {}},
        {**AGREEMENT, "measures": [1]},
        {**AGREEMENT, "measures": [{"name": 1}]},
        {**AGREEMENT, "level": None},
        {**AGREEMENT, "notes": 1},
    ],
)
def test_no_agreement(value: Any, tmp_path: Path) -> None:
    """Any other JSON is refused in one line."""
    with pytest.raises(InputError):
        read_agreement(written(tmp_path / "a.json", value))


def test_the_file_of_a_review(tmp_path: Path) -> None:
    """As ``chatmagic.review`` writes it."""
    rows = [{"text": f"t{number}", "reply": "a"} for number in range(9)]
    path = tmp_path / "review.jsonl"
    review = chatmagic.review(rows, labels=["a", "b"], n=3, seed=5, file=path, reviewer="Ann")
    review.give(review.sample[0], "a")
    review.model_label(review.sample[0])
    review.give(review.sample[0], "b")
    read = read_review(path)
    assert (read.seed, read.n, read.rows, read.unread) == (5, 3, 9, 0)
    assert (read.reviewers["Ann"].labelled, read.reviewers["Ann"].changed) == (1, 1)
    assert path.read_bytes().startswith(BEGINNING)
