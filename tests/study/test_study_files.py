"""Files of a study, read together: each answer counts once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from audits import NOON, page
from pages import cell, output, save
from project import ROOT
from studies import AGREEMENT, field

from chatmagic.errors import InputError
from chatmagic.study import study_files
from chatmagic.study.agreement import METADATA
from chatmagic.study.methods import report, report_json
from chatmagic.study.report_fields import statement_of, unusual_counts

SAMPLES = ROOT / "tests" / "samples"


def test_a_notebook_and_its_cassette_are_one_study() -> None:
    """Each answer counts once, and the same files give the same report."""
    paths = [SAMPLES / "saved_notebook.ipynb", SAMPLES / "saved_cassette.jsonl"]
    both = study_files.read_study(paths)
    assert len(both.asked) == 14
    assert [item["questions"] for item in report_json(both)["files"]] == [14, 14]
    assert report(study_files.read_study(paths)) == report(both)
    assert f"SHA-256 {both.sources[0].sha256}" in field(both, "Raw AI output")


def test_files_without_a_question(tmp_path: Path) -> None:
    """There is nothing to report."""
    with pytest.raises(InputError, match="No file holds a question"):
        study_files.read_study([save(tmp_path / "a.ipynb", [])])


def test_an_agreement_that_a_notebook_shows(tmp_path: Path) -> None:
    """With its cell; one that cannot be read is a problem."""
    values: list[Any] = [AGREEMENT, []]
    shown = [cell("found", [output({"text/plain": ""}, {METADATA: value})]) for value in values]
    study = study_files.read_study([save(tmp_path / "a.ipynb", [page("q"), *shown])])
    assert "pairs: 0.500" in field(study, "a.ipynb, cell 2, nominal")
    assert "Agreement (a.ipynb, cell 2): pairs: 0.500" in " ".join(statement_of(study))
    assert "cell 3: its agreement cannot be read, and was left out." in study.sources[0].problems


def test_a_reply_that_was_put_back_is_one_answer(tmp_path: Path) -> None:
    """Its cell asked nothing, and is no question without a reply."""
    cells = [page("q", "a", date=NOON), page("q", "b"), page("q", "a", date=NOON, picked=True)]
    study = study_files.read_study([save(tmp_path / "a.ipynb", cells)])
    assert [asked.text for asked in study.asked] == ["a", "b"]
    assert unusual_counts(study) == ["earlier answers that were put back: 1"]


def test_a_copy_of_a_map_is_the_same_study(tmp_path: Path) -> None:
    """Its answers count once."""
    content = (SAMPLES / "saved_job_file.jsonl").read_bytes()
    for name in ("answers.jsonl", "backup.jsonl"):
        (tmp_path / name).write_bytes(content)
    assert len(study_files.read_study([tmp_path]).asked) == 4


def test_answers_without_a_date_are_told_apart_by_their_cells(tmp_path: Path) -> None:
    """A copied notebook has the same cells; another cell is another answer."""
    first, second = ({**page("q", "a"), "id": name} for name in ("one", "two"))
    save(tmp_path / "a.ipynb", [first, second])
    save(tmp_path / "b.ipynb", [second])
    assert len(study_files.read_study([tmp_path]).asked) == 2
