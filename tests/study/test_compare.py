"""What changed between two files with questions, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audits import exchange, tape
from pages import Paper
from row_service import RowService
from shells import Shell, forget

import chatmagic
from chatmagic.archive.cassette_file import copies_before_refresh
from chatmagic.errors import InputError
from chatmagic.session.session import Session
from chatmagic.study import compare
from chatmagic.study.compare import Comparison
from chatmagic.study.comparison_output import comparison_text
from chatmagic.study.sources import read_source

Cells = dict[str, str]

BASE: Cells = {
    "values": "town = 'Lima'",
    "how": "%%chat_instructions\nBe brief.",
    "river": "%%chat\nName a river near {{ town }}.",
    "long": "%%chat -t 0.5\nHow long is it?",
    "hello": "%%chat --format text\nSay hello.",
    "side": "%%chat --thread side\nWhat is a median?",
}


def changed(**sources: str) -> Callable[[Cells], Cells]:
    """Return an edit of some cells' sources."""
    return lambda cells: {**cells, **sources}


def only(*names: str) -> Callable[[Cells], Cells]:
    """Return an edit that leaves some cells, in this order."""
    return lambda cells: {name: cells[name] for name in names}


ALL = ("values", "how", "river", "long", "hello", "side")
EDITS: dict[str, tuple[Callable[[Cells], Cells], dict[str, set[str]]]] = {
    "nothing": (dict, {}),
    "a prompt": (
        changed(long="%%chat -t 0.5\nHow wide is it?"),
        {"How wide": {"prompt"}, "Say hello": {"context"}},
    ),
    "a value": (
        changed(values="town = 'Quito'"),
        {"Name a": {"value"}, "How long": {"context"}, "Say hello": {"context"}},
    ),
    "instructions": (
        changed(how="%%chat_instructions\nBe loud."),
        {name: {"context"} for name in ("Name a", "How long", "Say hello", "What is")},
    ),
    "a temperature": (
        changed(long="%%chat -t 0.9\nHow long is it?"),
        {"How long": {"settings"}},
    ),
    "a form": (
        changed(hello="%%chat --format json\nSay hello."),
        {"Say hello": {"settings"}},
    ),
    "a model": (changed(long="%%chat -t 0.5 -m n\nHow long is it?"), {"How long": {"model"}}),
    "an order": (
        only("values", "how", "long", "river", "hello", "side"),
        {"How long": {"context"}, "Name a": {"context"}, "Say hello": {"context"}},
    ),
    "an order that ends another form": (
        only("values", "how", "hello", "river", "long", "side"),
        {"Say hello": {"context"}, "Name a": {"context"}, "How long": {"context"}},
    ),
    "two texts that changed their cells": (
        lambda cells: {**cells, "long": cells["hello"], "hello": cells["long"]},
        {"Say hello": {"context"}, "How long": {"context"}},
    ),
    "a prompt and a value": (
        changed(values="town = 'Quito'", river="%%chat\nName a lake near {{ town }}."),
        {"Name a lake": {"prompt", "value"}, "How long": {"context"}, "Say hello": {"context"}},
    ),
    "a prompt, a temperature and a model": (
        changed(hello="%%chat --format text -t 0 -m n\nSay goodbye."),
        {"Say goodbye": {"prompt", "settings", "model"}},
    ),
    "another cell in between": (
        lambda cells: {
            **only("values", "how", "river")(cells),
            "new": "%%chat\nWhy?",
            **only("long", "hello", "side")(cells),
        },
        {"Why?": set(), "How long": {"context"}, "Say hello": {"context"}},
    ),
    "other cells": (
        lambda cells: {f"{name} again": source for name, source in cells.items()},
        {},
    ),
    "a cell less": (
        only("values", "how", "river", "hello", "side"),
        {"Say hello": {"context"}, "How long": set()},
    ),
}


def run(shell: Shell, folder: Path, cells: Cells) -> dict[str, Path]:
    """Run a notebook as a page does, and record it; return both files."""
    forget()
    shell.shell.run_line_magic("reload_ext", "chatmagic")
    folder.mkdir()
    shell.do(f"%chat_cassette {folder / 'talk.jsonl'} --record")
    paper = Paper(folder / "talk.ipynb")
    for name, source in cells.items():
        paper.ran(name, source, shell.do(source, cell=name).outputs)
    shell.do("%chat_cassette --off")
    return {"notebook": paper.save(), "cassette": folder / "talk.jsonl"}


def causes(comparison: Comparison) -> dict[str, set[str]]:
    """Return the causes of each question that differs, by the beginning of its prompt."""
    found: dict[str, set[str]] = {}
    for pair in comparison.pairs:
        asked = pair.new or pair.old
        assert asked is not None
        if pair.differs:
            found[asked.typed[:80]] = {change.cause for change in pair.changes}
    return found


@pytest.fixture
def both(shell: Shell, tmp_path: Path) -> dict[str, Path]:
    """Return the files of the notebook before it is edited."""
    return run(shell, tmp_path / "before", BASE)


def test_each_edit_is_told_from_its_effects(
    both: dict[str, Path], shell: Shell, tmp_path: Path
) -> None:
    """In any mixture of files; what an edit changes further down is a context."""
    before = [read_source(path) for path in both.values()]
    for number, (name, (edit, expected)) in enumerate(EDITS.items()):
        after = run(shell, tmp_path / f"after {number}", edit(BASE))
        for new in map(read_source, after.values()):
            for old in before:
                found = causes(compare.compare(old, new))
                told = {begin: found[full] for full in found for begin in expected
                        if full.startswith(begin)}  # fmt: skip
                assert told == expected, (name, old.path, new.path, found)
                assert len(found) == len(expected), (name, found)


def rows(path: Path, values: list[Any], **how: Any) -> Path:
    """Ask rows into a file."""
    service = RowService()
    service.answers = how.pop("answers", str.upper)
    template = how.pop("template", "Label {{ it }}")
    with chatmagic.Client(transport=service) as client:
        Session(client).map(template, values, file=path, yes=True, workers=1, **how)
    return path


@pytest.mark.parametrize(
    ("values", "how", "expected"),
    [
        (["a", "b"], {}, {"asked again": 2}),
        (["a", "b"], {"answers": str.lower}, {"asked again": 2}),
        (["b", "a"], {}, {"asked again": 2}),
        (["a", "c"], {}, {"asked again": 1, "value": 1}),
        (["a", "b"], {"template": "Name {{ it }}"}, {"prompt": 2}),
        (["a", "b"], {"temperature": 1.0}, {"settings": 2}),
        (["a", "b"], {"instructions": "Be brief."}, {"context": 2}),
        (["a", "b"], {"model": "n"}, {"model": 2}),
        (["a", "b"], {"stream": False}, {"settings": 2}),
        (["a"], {}, {"asked again": 1, "gone": 1}),
    ],
)
def test_maps(
    values: list[Any], how: dict[str, Any], expected: dict[str, int], tmp_path: Path
) -> None:
    """A row stands beside itself, wherever it stands; another value in its place is one."""
    old = rows(tmp_path / "old.jsonl", ["a", "b"])
    new = rows(tmp_path / "new.jsonl", values, **how)
    found: list[list[str]] = [[change.cause for change in pair.changes] or ["gone"]
             for pair in compare.of_files([old, new]).pairs]  # fmt: skip
    counts = {name: sum(name in names for names in found) for names in found for name in names}
    assert counts == expected


def test_repeats_stand_beside_one_another(tmp_path: Path) -> None:
    """The second answer to a row beside the second one."""
    old = rows(tmp_path / "old.jsonl", ["a", "b"], repeats=2)
    new = rows(tmp_path / "new.jsonl", ["a", "b"], repeats=3)
    pairs = compare.of_files([old, new]).pairs
    assert sum(pair.old is None for pair in pairs) == 2
    assert all(pair.old.repeat == pair.new.repeat for pair in pairs if pair.old and pair.new)


def test_a_cassette_without_cells_is_compared_by_its_prompts(tmp_path: Path) -> None:
    """An edited prompt stands beside the one that is most like it; a new snapshot is a model."""
    old = tape(
        tmp_path / "old.jsonl",
        exchange("Name a river near Lima.", "Rímac"),
        exchange("What is a median?", "A middle value."),
        exchange("Gone soon", "yes"),
    )
    new = tape(
        tmp_path / "new.jsonl",
        exchange("What is a median?", "A middle value.", model="m-2"),
        exchange("Name a river near Quito.", "Machángara"),
        exchange("Something new entirely", None, status=500, error={"error": "no"}),
    )
    found = compare.of_files([old, new])
    assert causes(found) == {
        "What is a median?": {"model"},
        "Name a river near Quito.": {"prompt"},
        "Something new entirely": set(),
        "Gone soon": set(),
    }
    text = comparison_text(found)
    assert "answered m -> m-2" in text
    assert "[HTTP 500]" in text
    assert "only in the old one" in text


def test_a_refresh_keeps_the_old_text(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy beside the cassette; its end shows what changed, and so does the command."""
    monkeypatch.chdir(tmp_path)
    path = Path("talk.jsonl")
    for mode in ("--record", "--refresh"):
        shell.do(f"%chat_cassette {path} {mode}")
        shell.page("%%chat\nSay hello.", "a")
        shell.page("%%chat\nSay it again.", "b")
        if mode == "--record":
            before = path.read_bytes()
            with pytest.raises(InputError, match="no copy from before a refresh"):
                compare.of_files([path])
    assert "1 question" not in shell.do("%chat_cassette --off").printed
    (copy,) = copies_before_refresh(path)
    assert copy.read_bytes() == before
    assert not compare.of_files([path]).differs


def test_the_end_of_a_refresh_is_a_table() -> None:
    """Of the questions with another answer; new ones, and those that were not asked, are none."""
    days = [(("Date", f"Thu, 0{day} Jan 2026 12:00:00 GMT"),) for day in (1, 2)]
    stays = exchange("not renewed", "x")
    before = (exchange("q", "a", headers=days[0]), stays)
    after = (exchange("q", "b", headers=days[1]), stays, exchange("something new", "y"))
    found = compare.of_refresh("talk.jsonl", before, after)
    assert causes(found) == {"q": {"asked again"}}
    table = comparison_text(found)
    assert "2026-01-01" in table
    assert "2026-01-02" in table
    assert "something new" not in table
