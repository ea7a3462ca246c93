"""Turns as rows: of notebook files and of a session."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from audits import changed
from audits import page as sealed_page
from environments import GivenEnvironment
from pages import cell, output
from project import ROOT
from saved_notebooks import page, record

import chatmagic
from chatmagic.archive import notebook
from chatmagic.archive.table import TurnRow, dataframe, of_conversation, of_file
from chatmagic.errors import InputError
from chatmagic.session.session import Session


def written(folder: Path, *cells: Any, name: str = "a.ipynb") -> Path:
    """Write a notebook of these cells."""
    path = folder / name
    path.write_text(json.dumps({"cells": list(cells), "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_a_file_has_a_row_for_each_turn(tmp_path: Path) -> None:
    """Flat, with its place in the conversation and its options; one is without history."""
    first = record("p", "r", parameters={"temperature": 0.5, "last": 2, "history": False})
    shown = output({"text/plain": "r"}, {"chatmagic": first.to_json()})
    path = written(tmp_path, cell("x = 1"), sealed_page("why", "so"), cell("%%chat\np", [shown]))
    one, other = of_file(str(path))
    assert (one.file, one.cell_number, one.thread, one.number) == (str(path), 2, "main", 1)
    assert (one.prompt, one.reply_text, one.history, one.format) == ("why", "so", True, "markdown")
    assert (one.prompt_tokens, one.credits_left, one.credits_limit, one.took) == (1, 99, 100, 1)
    assert (one.state, one.origin, one.carried, one.is_stale) == ("complete", "live", 0, False)
    assert (other.number, other.thread, other.is_stale) == (None, None, None)
    assert (other.temperature, other.last, other.history) == (0.5, 2, False)
    assert (one.error, other.error) == (None, None)


def test_errors_stand_beside_the_data(tmp_path: Path) -> None:
    """Of a turn that was changed, a reply that is gone, a record or a file that cannot be read."""
    gone = page("gone")
    del gone["outputs"][0]["data"]["text/plain"]
    broken = cell("%%chat\np", [output({"text/plain": "r"}, {"chatmagic": {"version": 1}})])
    path = written(tmp_path, sealed_page("good"), changed(sealed_page("bad")), gone, broken)
    rows = list(of_file(str(path)))
    assert [(row.prompt, row.reply_text, row.error) for row in rows] == [
        ("good", "r", None),
        (
            "bad",
            "another",
            "its record or its output was changed since it was asked: the seal does not match",
        ),
        ("gone", None, "its reply is gone"),
        (None, None, "cell 4: a malformed record was left out: its 'kind' cannot be read."),
    ]
    (tmp_path / "b.ipynb").write_text("{")
    assert list(of_file(str(tmp_path / "b.ipynb"))) == [
        TurnRow(
            file=str(tmp_path / "b.ipynb"),
            error=f"{tmp_path / 'b.ipynb'} is no notebook: it is not JSON (line 1, column 2). "
            + notebook.EARLIER,
        )
    ]


def test_the_manual_names_the_columns() -> None:
    """So a column that is added, or taken away, is told to readers."""
    page = (ROOT / "notebooks" / "reference" / "python.md").read_text("utf-8")
    table = page.partition("| Columns | Content |\n|---|---|\n")[2].partition("\n\n")[0]
    named = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()]
    assert sorted(chain.from_iterable(named)) == sorted(item.name for item in fields(TurnRow))


def test_files_are_named_by_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order; nothing is run, and a name of no file is an error, alone one that fails."""
    rows: list[TurnRow] = []

    def keep(_: type, made: Iterable[TurnRow]) -> str:
        rows[:] = made
        return "frame"

    monkeypatch.setattr("chatmagic.archive.table.dataframe", keep)
    written(tmp_path, page("two"), name="b.ipynb")
    written(tmp_path, page("one"), name="a.ipynb")
    (tmp_path / "deep").mkdir()
    last = written(tmp_path / "deep", page("three"), name="c.ipynb")
    monkeypatch.chdir(tmp_path)
    assert chatmagic.turns("*.ipynb", last) == "frame"
    assert [(row.file, row.prompt) for row in rows] == [
        ("a.ipynb", "one"),
        ("b.ipynb", "two"),
        (str(last), "three"),
    ]
    chatmagic.turns("**/*.ipynb")
    assert [row.prompt for row in rows] == ["one", "two", "three"]
    chatmagic.turns("*.ipynb", "*.txt")
    assert [row.prompt for row in rows] == ["one", "two", None]
    assert (rows[-1].file, rows[-1].error) == ("*.txt", "No file is named *.txt.")
    with pytest.raises(InputError, match=r"No file is named \*\.txt\."):
        chatmagic.turns("*.txt", "*.md")


def test_a_session_has_a_row_for_each_turn(session: Session) -> None:
    """In the order in which they stand; the record is the one of the output."""
    session.environment = GivenEnvironment(cell=("c", "e1"))
    session.ask("echo:one", temperature=0.5)
    session.ask("echo:two", last=0)
    first, second = of_conversation(session.conversation)
    assert (first.file, first.thread, first.number, first.entry) == (None, "main", 1, "python")
    assert (first.prompt, first.reply_text, first.cell) == ("echo:one", "one", "c")
    assert (first.temperature, second.last, second.number) == (0.5, 0, 2)


def test_the_frames_join_by_their_digests(session: Session) -> None:
    """The turns of a session, and the lessons' of their files, whatever is missing in them."""
    session.ask("echo:one", history=False)
    session.ask("echo:one")
    session.ask("echo:two")
    turns, ids = session.to_dataframe(), ["request", "reply"]
    asked = session.ledger.to_dataframe().drop_duplicates(ids, keep="last")
    joined = turns.merge(asked, on=ids, how="left", suffixes=("", "_of_request"))
    assert list(joined["prompt"]) == ["echo:one", "echo:two"]
    assert list(joined["number_of_request"]) == [2, 3]
    lessons = chatmagic.turns(ROOT / "notebooks" / "*.ipynb")
    assert list(lessons.dtypes) == list(turns.dtypes)
    assert len(lessons) > 20
    assert lessons["error"].isna().all()
    assert str(lessons["date"].dtype) == "datetime64[us, UTC]"


@dataclass
class Row:
    """A row of each type."""

    name: str | None = None
    count: int | None = None
    share: float | None = None
    good: bool = True
    time: datetime | None = None


def test_each_column_has_one_type() -> None:
    """Also where nothing is known, and where there are no rows."""
    types = dataframe(Row, []).dtypes.astype(str).to_dict()
    frame = dataframe(Row, [Row(), Row("a", 3, 0.5, time=datetime(2026, 1, 1, tzinfo=UTC))])
    assert frame.dtypes.astype(str).to_dict() == types
    assert types["time"] == "datetime64[us, UTC]"
    odd = dataframe(Row, [Row("\ud800", 10**30)])
    assert (odd["name"][0], odd["count"].isna()[0]) == ("\ufffd", True)
    assert (frame["count"][1], frame["count"].isna()[0], frame["name"][1]) == (3, True, "a")
