"""CSV file of a review: filled in, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from reviews import review

from chatmagic.errors import InputError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_csv_file_is_filled_in_and_read_back() -> None:
    """With any separator of a spreadsheet; texts are no formulas; the model's label is absent."""
    found = review()
    found.give(found.sample[0], "-1", "=note")
    found.to_csv("l.csv")
    text = Path("l.csv").read_text("utf-8-sig")
    head, first, second, *others = text.splitlines()
    assert head == "id,text: text,label,note"
    assert first.split(",")[1:] == ["'=text 1", "'-1", "'=note"]
    assert "good" not in text
    filled = [head, first, f"{second.rsplit(',', 2)[0]},bad, sure ", *others]
    Path("l.csv").write_text("\r\n".join(filled).replace(",", ";"), "utf-8-sig")
    assert found.read_csv("l.csv") == 1  # the first is as it was
    assert found.read_csv("l.csv") == 0
    judgement = found.judgement(found.sample[1])
    assert judgement is not None
    assert (judgement.label, judgement.note, judgement.seen) == ("bad", "sure", False)
    with pytest.raises(InputError, match=r"^l\.csv exists already, and may be filled in"):
        found.to_csv("l.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "There is no file l.csv."),
        ("", "l.csv has no columns id and label."),
        ("a,b\n1,2\n", "l.csv has no columns id and label."),
        ("id,label\nrow-1,good\n", "l.csv, line 2: the table has no such row."),
        (
            "id,label\nrow-1,\nrow-2,fine\n",
            "l.csv, line 3: 'fine' is none of the labels. Nothing was recorded.",
        ),
    ],
)
def test_a_csv_file_that_does_not_fit_is_one_line(content: str | None, message: str) -> None:
    """And nothing of it is recorded."""
    if content is not None:
        Path("l.csv").write_text(content, "utf-8")
    found = review()
    with pytest.raises(InputError) as caught:
        found.read_csv("l.csv")
    assert caught.value.message == message
    assert not found.file.exists()
