"""The audit of notebooks, as a function and as a command."""

from __future__ import annotations

from pathlib import Path

from audits import Ran, changed, exchange, page, tape
from pages import save, text_cell
from project import files

from chatmagic.audit import audit


def test_the_lessons_are_in_order() -> None:
    """What ships agrees with itself, and so does a cassette in which replies were asked anew."""
    for path in (*files("notebooks/*.ipynb"), *files("tests/samples/saved_cassette.jsonl")):
        (found,) = audit.audit_all([path])
        assert found.in_order, found
        assert found.turns


def test_secrets_alone(tmp_path: Path, ran: Ran) -> None:
    """A line for each place with one, in a notebook and in a cassette, and never the secret."""
    token = "ghp_" + "aB3dE6gH9kL2nP5rS8tU" * 2
    good = save(tmp_path / "good.ipynb", [page(), changed(page())])
    assert ran(good, "--secrets") == (0, "1 file, no secret.\n")
    bad = save(tmp_path / "bad.ipynb", [text_cell("a"), text_cell(f"{token} {token}")])
    held = tape(tmp_path / "tape.jsonl", exchange(f"use {token}", "r"), exchange("p", "r"))
    code, told = ran(good, bad, held, tmp_path / "none.jsonl", "--secrets")
    assert code == 1
    assert token not in told
    assert told.splitlines() == [
        f"{bad}: cell 2: it holds a text that looks like a GitHub token.",
        f"{held}: exchange 1: it holds a text that looks like a GitHub token.",
        f"{tmp_path / 'none.jsonl'}: {tmp_path / 'none.jsonl'} is not there.",
        "4 files, 3 problems.",
    ]
    (tmp_path / "empty").mkdir()
    assert ran(tmp_path / "empty", "--secrets")[0] == 1
