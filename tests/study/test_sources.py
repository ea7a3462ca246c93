"""Questions and answers in files, read alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from audits import exchange, page, tape
from pages import save
from project import ROOT

from chatmagic.errors import InputError
from chatmagic.study.sources import files_in, kind_of, read_source

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


def test_a_notebook_and_its_cassette_tell_the_same() -> None:
    """Of each question: the prompt, what it carried, the reply, the model and the date."""
    read = [read_source(SAMPLES / f"saved_{name}") for name in ("notebook.ipynb", "cassette.jsonl")]
    facts = [
        {(a.request, a.typed, a.text, a.model, a.date, a.context) for a in source.asked}
        for source in read
    ]
    assert facts[0] == facts[1]


def test_a_hidden_turn_and_commands_are_told() -> None:
    """They are no answers, and are counted."""
    source = read_source(SAMPLES / "saved_notebook.ipynb")
    assert any(asked.is_hidden for asked in source.asked)
    assert source.counts["commands undo"] == 1


def test_what_no_reply_came_to_is_counted(tmp_path: Path) -> None:
    """A cell that failed, and one that was not run."""
    failed = page("a")
    failed["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]
    silent = page("b")
    silent["outputs"] = []
    source = read_source(save(tmp_path / "a.ipynb", [page("c"), failed, silent]))
    assert source.counts["cells whose question failed"] == 1
    assert source.counts["cells whose question has no reply in the file"] == 1
    assert source.problems


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    """Not for hidden ones, nor for the copies that a refresh makes."""
    tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    for name in ("talk.jsonl.before-20260101T000000Z", "notes.txt", ".hidden.jsonl"):
        (tmp_path / name).write_bytes(b"")
    assert files_in([tmp_path, tmp_path / "talk.jsonl"]) == [tmp_path / "talk.jsonl"]
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (empty, tmp_path / "none"):
        with pytest.raises(InputError):
            files_in([path])


def test_a_map_with_damaged_lines(tmp_path: Path) -> None:
    """They are left out, and told."""
    lines = (SAMPLES / "saved_job_file.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "map.jsonl"
    path.write_bytes(lines[0] + b"{\n" + b"\n" + lines[1])
    source = read_source(path)
    assert len(source.asked) == 2
    assert source.problems == ["line 2 cannot be read, and was left out."]
    path.write_bytes(b'{"key": "')
    with pytest.raises(InputError, match="no file of a map"):
        read_source(path)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """One line says so."""
    with pytest.raises(InputError, match="cannot be read"):
        kind_of(tmp_path / "none.jsonl")
