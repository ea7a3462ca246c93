"""Files with questions, found and read alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from audits import exchange, tape
from project import ROOT

from chatmagic.errors import InputError
from chatmagic.study.sources import kind_of_file, question_files, read_source

SAMPLES = ROOT / "tests" / "samples"


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("saved_notebook.ipynb", "notebook", 14),
        ("saved_cassette.jsonl", "cassette", 14),
        ("saved_job_file.jsonl", "map", 4),
    ],
)
def test_the_files_that_users_have(name: str, kind: str, count: int) -> None:
    """Each question with its place; a file of an earlier release lacks some facts."""
    source = read_source(SAMPLES / name)
    assert (source.kind, len(source.asked), source.problems) == (kind, count, [])
    assert len(source.sha256) == 64
    assert source.size == (SAMPLES / name).stat().st_size
    assert all(asked.where.startswith(asked.where.split()[0]) for asked in source.asked)


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    """Not for hidden ones, nor for the copies that a refresh makes."""
    tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    for name in ("talk.jsonl.before-20260101T000000Z", "notes.txt", ".hidden.jsonl"):
        (tmp_path / name).write_bytes(b"")
    assert question_files([tmp_path, tmp_path / "talk.jsonl"]) == [tmp_path / "talk.jsonl"]
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (empty, tmp_path / "none"):
        with pytest.raises(InputError):
            question_files([path])


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """One line says so."""
    with pytest.raises(InputError, match="cannot be read"):
        kind_of_file(tmp_path / "none.jsonl")
