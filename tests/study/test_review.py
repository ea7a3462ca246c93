"""Review: a random sample of rows that persons label, in a file to which lines are only added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import each_case
from reviews import LABELS, review, rows

from chatmagic.errors import ChatError, InputError
from chatmagic.session.map.row_reply import RowReply
from chatmagic.study.review import KEYS, Review
from chatmagic.study.review_file import ReviewFile


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sample_is_drawn_by_its_seed() -> None:
    """The same each time and on each machine; a larger one holds it; no row is drawn twice."""
    found = review()
    assert found.sample == (1, 19, 9, 18, 12)
    assert review(n=9).sample[:5] == found.sample
    assert sorted(review(n=99).sample) == list(range(20))
    assert review(seed=2, file="other.jsonl").sample != found.sample
    counts = [0] * 20
    for seed in range(400):
        for place in Review(rows(), LABELS, n=5, seed=seed, file="x.jsonl").sample:
            counts[place] += 1
    assert min(counts) > 70  # of 100 each; 70 is 3.5 standard deviations below
    assert max(counts) < 130


def test_each_label_is_in_the_file_at_once() -> None:
    """Nothing recorded is removed: the last one counts, a skipped row has none, notes are kept."""
    found = review()
    found.give(found.sample[0], "bad", " odd ")
    found.give(found.sample[0], "good")
    found.give(found.sample[1], None)
    lines = [json.loads(line) for line in found.file.read_text("utf-8").splitlines()]
    assert [line.get("label") for line in lines] == [None, "bad", "good", None]
    assert lines[0]["seed"] == 1
    assert lines[1]["note"] == "odd"
    assert [place for place, label in enumerate(found.gold) if label] == [found.sample[0]]
    again = review(seed=None)
    assert again.gold == found.gold
    assert again.sample == found.sample
    assert again.reviewed == 1
    assert repr(again) == (
        "<review: 1 of 5 rows labelled by gold, drawn from 20 with seed 1; r.jsonl>"
    )


def test_a_row_is_known_by_its_text() -> None:
    """A table may have other answers, another order and more rows; equal texts are two rows."""
    found = review()
    found.give(found.sample[0], "bad")
    other = [{**row, "reply": "bad"} for row in reversed(rows(22))]
    gold = Review(other, LABELS, n=5, file="r.jsonl").gold
    assert [other[place]["text"] for place, label in enumerate(gold) if label] == ["=text 1"]
    same = Review([{"text": "a"}, {"text": "a"}], LABELS, file="same.jsonl")
    same.give(0, "good")
    assert same.gold == ["good", None]


def test_the_models_label_comes_after_the_persons() -> None:
    """And a label that was changed after that is counted."""
    found = review()
    place = found.sample[0]
    assert found.model_label(place) is None
    found.give(place, None)
    assert found.model_label(place) is None
    found.give(place, "bad")
    assert found.model_label(place) == "good"
    found.give(place, "good")
    found.give(found.sample[1], "bad")
    found.give(found.sample[1], "good")  # before it was told
    found.give(found.sample[2], None)
    held = ReviewFile.of(found.file).to_json()
    assert held == found.to_json()
    assert held["reviewers"] == [{"reviewer": "gold", "labelled": 2, "skipped": 1, "changed": 1}]
    drawn = held["drawn"]
    assert (drawn["seed"], drawn["n"], drawn["rows"]) == (1, 5, 20)
    assert review(file="new.jsonl").to_json()["drawn"]["at"] == ""
    assert ReviewFile.of(Path("absent.jsonl")).to_json() == {"drawn": None, "reviewers": []}


def test_two_reviewers_give_two_columns() -> None:
    """In one file; neither sees the other's labels, and each has a gold column."""
    ann = review(reviewer="ann")
    ben = review(reviewer=" ben ")
    ann.give(ann.sample[0], "good")
    assert ben.judgement(ben.sample[0]) is None
    late = review(reviewer="late")
    assert (late.judgement(late.sample[0]), late.model_label(late.sample[0])) == (None, None)
    ben.give(ben.sample[0], "bad")
    columns = ann.columns
    assert [*columns] == ["ann", "ben"]
    assert (columns["ann"][1], columns["ben"][1]) == ("good", "bad")
    assert ann.gold == columns["ann"]
    assert review(reviewer="cleo").gold == [None] * 20


def test_another_file_is_left_alone() -> None:
    """One that is no review's, and one that was drawn otherwise; more labels and rows may come."""
    Path("r.jsonl").write_text('{"a": 1}\n', "utf-8")
    with pytest.raises(InputError, match=r"^r\.jsonl is no file of a review\.$"):
        review()
    Path("r.jsonl").unlink()
    found = review()
    found.give(found.sample[0], "good")
    with pytest.raises(InputError, match=r"^r\.jsonl has a sample that was drawn with seed 1"):
        review(seed=2)
    more = Review(rows(), [*LABELS, "odd"], n=6, file="r.jsonl")
    more.give(more.sample[5], "odd")
    heads = [json.loads(line) for line in more.file.read_text("utf-8").splitlines()]
    assert [head["n"] for head in heads if "review" in head] == [5, 6]
    assert len(review(file=None).file.name) == len("review-0123456789ab.jsonl")


def test_a_file_that_cannot_be_written_is_said() -> None:
    """The label is not taken for recorded."""
    found = review(file="absent/r.jsonl")
    with pytest.raises(ChatError, match=r"^r\.jsonl cannot be written: .*was not recorded\.$"):
        found.give(found.sample[0], "good")
    assert found.reviewed == 0
    Path("folder.csv").mkdir()
    with pytest.raises(InputError, match=r"exists already"):
        found.to_csv("folder.csv")
    with pytest.raises(InputError, match=r"^l\.csv cannot be written: "):
        found.to_csv("absent/l.csv")


def test_a_person_reads_no_column_that_may_tell_a_label() -> None:
    """The only other column, or those that are named."""
    assert review().text(7) == [("text", "=text 7")]
    wide = [{**row, "label": "good"} for row in rows()]
    with pytest.raises(InputError, match=r"^Which columns.*there are: text, label\."):
        Review(wide, LABELS)
    assert Review(wide, LABELS, show="text").show == ("text",)
    assert Review(wide, LABELS, show=["text", "label"]).text(0)[1] == ("label", "good")
    with pytest.raises(InputError, match=r"^reply is the model's label, which is hidden"):
        Review(rows(), LABELS, show="reply")
    with pytest.raises(InputError, match=r"no column 'body'"):
        Review(rows(), LABELS, show="body")
    named = [{"text": None, "mood": "good", "mood_error": None, "mood_agree": 1.0}]
    assert Review(named, LABELS, model="mood").text(0) == [("text", "")]
    assert Review(["a", "b"], LABELS).text(1) == [("it", "b")]


KEY = "0" * 64
REPLY = RowReply(row=0, key=KEY, request=KEY, occurrence=1, text="good")


@each_case(
    ("frame", "labels", "n", "message"),
    [
        ([REPLY], LABELS, 5, "The replies of a map do not hold the texts"),
        ([], LABELS, 5, "The table has no rows."),
        (["a"], LABELS, 0, "n is a number of rows from 1, not 0."),
        (["a"], "good", 5, "labels is a list, and not 'good'."),
        (["a"], 5, 5, "labels is a list, and not 5."),
        (["a"], [], 5, f"labels is a list of 1 to {len(KEYS)} different labels"),
        (["a"], ["a", " a"], 5, f"labels is a list of 1 to {len(KEYS)} different labels"),
        (["a"], range(40), 5, f"labels is a list of 1 to {len(KEYS)} different labels"),
        (5, LABELS, 5, "This takes a table, and not int."),
    ],
)
def test_what_cannot_be_reviewed_is_one_line(frame: Any, labels: Any, n: int, message: str) -> None:
    """A table, labels or a number that do not fit."""
    with pytest.raises(InputError) as caught:
        Review(frame, labels, n=n)
    assert caught.value.message.startswith(message)


def test_only_its_labels_are_given() -> None:
    """Numbers are labels, too."""
    found = Review(["a"], [1, 2], file="n.jsonl")
    found.give(0, "2")
    assert found.gold == ["2"]
    with pytest.raises(InputError, match=r"^'3' is none of the labels"):
        found.give(0, "3")


def test_a_label_of_another_row_is_no_label_of_the_sample() -> None:
    """So a report may say that the rows were drawn; a row of an earlier sample may be judged."""
    found = review(n=2)
    found.give(found.sample[1], "good")
    with pytest.raises(InputError, match=r"^Row 9: this row was not drawn into the sample\."):
        found.give(9, "good")
    found.to_csv("l.csv")
    fewer = review(n=1)
    Path("l.csv").write_text(Path("l.csv").read_text("utf-8-sig").replace("good,", "bad,"))
    assert fewer.read_csv("l.csv") == 1
    assert [draw.n for draw in ReviewFile.of(found.file).draws] == [2, 1]
    with pytest.raises(InputError, match=r"^l\.csv, line 3: this row was not drawn"):
        review(n=1, seed=2, file="other.jsonl").read_csv("l.csv")


def test_no_key_is_used_twice() -> None:
    """By labels and by steps."""
    assert len({*KEYS, "b", "n", "s"}) == len(KEYS) + 3
