"""A review in a page: its widget, without a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shells import Shell

import chatmagic
from chatmagic.jupyter.review_widget import Reviewing
from chatmagic.study.review import Review


class Widget:
    """What a review needs of a widget."""

    def __init__(self) -> None:
        """Hear nothing yet."""
        self.shown: dict[str, Any] = {}
        self.take: Any = None

    def on_msg(self, take: Any) -> None:
        """Keep what takes messages."""
        self.take = take

    def send(self, step: str, **more: Any) -> dict[str, Any]:
        """Send a message of the page about the shown row; return what is shown then."""
        self.take(self, {"at": self.shown["at"], "do": step, **more}, [])
        return self.shown


@pytest.fixture
def widget() -> Widget:
    """Give a widget."""
    return Widget()


@pytest.fixture
def review(tmp_path: Path) -> Review:
    """Give a review of three rows, all of which are drawn."""
    rows = {"text": ["A.\x1b", "B.", "C."], "reply": ["good", "bad", None]}
    return chatmagic.review(rows, ["good", "bad\u202e"], seed=1, file=tmp_path / "r.jsonl")


def test_rows_are_labelled_one_after_the_other(widget: Widget, review: Review) -> None:
    """The model's label comes with the person's; back shows both; a skipped row has none."""
    Reviewing(review, widget)
    assert widget.shown["labels"] == [["1", "good", "good"], ["2", "bad\u202e", "bad\ufffd"]]
    first = widget.shown
    assert (first["at"], first["label"], first["model"], first["said"]) == (0, None, "", "")
    assert "\x1b" not in str(first["text"])
    second = widget.send("label", label="good", note=" odd ")
    of_model = {0: "the same", 1: "bad", 2: None}[review.sample[0]]
    compared = "." if of_model is None else f", the model's is {of_model}."
    assert second["said"] == f"Row 1: your label is good{compared}"
    assert (second["at"], second["model"], second["done"]) == (1, "", 1)
    back = widget.send("back")
    assert (back["at"], back["label"], back["note"]) == (0, "good", "odd")
    assert widget.send("note", note="even")["note"] == "even"
    # The next row is the next one without a judgement.
    assert widget.send("label", label="bad\u202e")["at"] == 1
    assert widget.send("skip")["said"] == "Row 2 was skipped."
    last = widget.send("label", label="good")
    assert (last["at"], last["done"], "text" in last) == (3, 2, False)
    assert widget.send("back")["at"] == 2
    assert widget.send("back")["skipped"] is True


def test_a_restart_resumes(widget: Widget, review: Review) -> None:
    """At the first row that was not judged."""
    Reviewing(review, widget)
    widget.send("label", label="good")
    again = Widget()
    Reviewing(chatmagic.review({"text": ["A.\x1b", "B.", "C."]}, ["good"], file=review.file), again)
    assert (again.shown["at"], again.shown["done"]) == (1, 1)


@pytest.mark.parametrize(
    "message",
    [
        None,
        {},
        {"do": "label", "label": "good"},
        {"at": 1, "do": "label", "label": "good"},
        {"at": 0, "do": "label", "label": "fine"},
        {"at": 0, "do": "label", "label": ["good"]},
        {"at": 0, "do": "note", "note": "a note without a label"},
        {"at": 0, "do": "remove"},
    ],
)
def test_another_message_records_nothing(message: Any, widget: Widget, review: Review) -> None:
    """Of an earlier row, with another label, or of any form."""
    Reviewing(review, widget)
    widget.take(widget, message, [])
    assert widget.shown["at"] == 0
    assert not review.file.exists()


def test_a_label_that_was_not_saved_is_said(widget: Widget, tmp_path: Path) -> None:
    """And its row stays."""
    file = tmp_path / "absent" / "r.jsonl"
    Reviewing(chatmagic.review(["A."], ["good"], file=file), widget)
    shown = widget.send("label", label="good")
    assert (shown["at"], shown["done"]) == (0, 0)
    assert shown["said"].startswith("r.jsonl cannot be written: ")


def test_without_a_page_it_is_a_line(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That says how to go on by a file."""
    monkeypatch.chdir(tmp_path)
    shell.do("import chatmagic")
    ran = shell.run("chatmagic.review(['A.'], ['good'], seed=1, file='r.jsonl')")
    assert ran.error is None
    assert ran.texts[0].startswith("<review: 0 of 1 row labelled by gold")
    assert "review.to_csv('labels.csv')" in ran.texts[0]
    assert "anywidget" not in ran.texts[0]
