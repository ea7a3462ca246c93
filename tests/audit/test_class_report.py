"""The report on a class: what it counts, its two files, and what it does not overwrite."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from audits import changed, page, run
from pages import save

from chatmagic._json import timestamp
from chatmagic.audit.audit import audit_all
from chatmagic.audit.class_report import as_csv, students_of


def live(prompt: str, reply: str = "r", minute: int = 0, **facts: Any) -> dict[str, Any]:
    """Give a cell whose reply is a service's."""
    date = timestamp(f"2026-01-01T12:{minute:02}:00Z")
    return page(prompt, reply, origin="live", date=date, took=2, **facts)


def a_class(folder: Path) -> None:
    """Save three notebooks: one holds a reply of another, and one is none."""
    first = live("What is a median?")
    stuck = live("Why?", minute=2, state="interrupted")
    save(folder / "ann.ipynb", [first, live("What is  a MEDIAN", minute=1), stuck])
    save(folder / "ben.ipynb", [first, changed(live("And a mode?", minute=3)), page("practice")])
    (folder / "cy.ipynb").write_text("{")


def test_what_a_row_counts(tmp_path: Path) -> None:
    """Replies from elsewhere, copies in pairs, and where a student got stuck."""
    a_class(tmp_path)
    students, common = students_of(audit_all([tmp_path]))
    ann, ben, cy = (dict(student.figures) for student in students)
    other = str(tmp_path / "ben.ipynb")
    assert (ann["Questions"], ann["From a service"], ann["Same replies as"]) == (3, 3, other)
    assert (ann["Repeated"], ann["Failed or cut"], ann["Credits"]) == (1, 1, 6)
    assert (ben["Questions"], ben["Repeated"], ben["Same replies as"]) == (
        3,
        0,
        str(tmp_path / "ann.ipynb"),
    )
    assert ben["Not as asked"]
    assert {cy[head] for head in cy} == {0, ""}
    assert "is no notebook" in students[2].notes[0]
    assert "stuck: cell 3: no whole reply." in students[0].notes
    assert common == [("What is a median?", 2)]


def test_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page and a table beside it; the command itself prints and ends as without them."""
    a_class(tmp_path)
    out = tmp_path / "out.html"
    for _ in range(2):  # an earlier report is replaced
        code, told = run(capsys, [tmp_path, "--summary", "--html", out])
        assert code == 1
        assert "have the same reply of a service." in told
    rows = list(csv.reader(io.StringIO(out.with_suffix(".csv").read_text("utf-8"))))
    assert [len(row) for row in rows] == [12] * 4
    assert "What is a median?" in out.read_text("utf-8")


@pytest.mark.parametrize("name", ["out.html", "out.csv", "other.txt"])
def test_another_file_is_not_overwritten(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is one written whose name is that of no page."""
    a_class(tmp_path)
    (tmp_path / name).write_text("mine")
    code, _ = run(
        capsys,
        [
            tmp_path,
            "--html",
            (tmp_path / name).with_suffix(".txt" if name == "other.txt" else ".html"),
        ],
    )
    assert code == 2
    assert (tmp_path / name).read_text() == "mine"
    assert len([*tmp_path.glob("o*")]) == 1


def test_a_spreadsheet_computes_nothing(tmp_path: Path) -> None:
    """A file's name may begin as a formula."""
    students, _ = students_of(audit_all([save(tmp_path / "=1+1.ipynb", [live("a")])]))
    renamed = [type(students[0])("=1+1", students[0].figures)]
    assert as_csv(renamed).splitlines()[1].startswith("'=1+1,")
