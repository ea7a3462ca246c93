"""Markdown cells above a question: of the page that lists them, or of the notebook's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from logged import Emulator
from shells import Ran, Shell, asked

from chatmagic.conversation import template
from chatmagic.conversation.record import owner_of
from chatmagic.jupyter.cells.cells_above import listed_in_file, this_notebook
from chatmagic.session.current import current_session

SAMPLES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "samples" / "messages.json").read_text(encoding="utf-8")
)
UNKNOWN = "the Markdown cells above are not sent, as the notebook"
FILE: list[tuple[str, str]] = [
    ("markdown", "# Title"),
    ("code", "%load_ext chatmagic"),
    ("code", " "),
    ("raw", "raw"),
    ("markdown", "## Data"),
    ("code", "x = 1"),
    ("code", "%%chat\nWhy?"),
    ("code", "%%chat\nWhy?"),
]
RAN = [("l", "%load_ext chatmagic"), ("d", "x = 1"), ("q", "%%chat\nWhy?")]


def page(shell: Shell, code: str, cell: str, *above: tuple[str, str | None]) -> Ran:
    """Run a cell as a page does that lists the cells above."""
    told = {**SAMPLES["of a request to run a cell"][0], "above": above}
    metadata = {"cellId": cell, "deletedCells": [], "chatmagic": told}
    return shell.do(code, request={"metadata": metadata, "content": {"allow_stdin": True}})


def block(source: str, output: str = "") -> str:
    """Return a code cell as it stands in front of a question."""
    return f"{template.cell_text(source, output)}\n\n"


def words(source: str) -> str:
    """Return a Markdown cell as it stands in front of a question."""
    return f"{template.markdown_text(source)}\n\n"


def test_this_notebook_is_found_where_the_front_end_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Jupyter server and nbval tell it in the environment, VS Code in a variable."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper.ipynb").touch()
    path = Path("paper.ipynb")
    assert this_notebook({}, {"JPY_SESSION_NAME": "served/from/elsewhere/paper.ipynb"}) == path
    assert this_notebook({}, {"PYTEST_CURRENT_TEST": "sub/paper.ipynb::Cell 0 (setup)"}) == path
    told = str(tmp_path / path)
    assert this_notebook({"__vsc_ipynb_file__": told}, {"JPY_SESSION_NAME": "x"}) == Path(told)
    for name in ("console-1", "folder/renamed.ipynb", "a\0.ipynb"):
        assert this_notebook({"__vsc_ipynb_file__": name}, {"JPY_SESSION_NAME": name}) is None


@pytest.mark.parametrize(
    ("ran", "source", "count"),
    [
        (RAN[:2], "%%chat\nWhy?", 5),
        (RAN, "%%chat\nWhy?", 6),
        (RAN[1:2], "%%chat\nWhy?", 5),
        ([], "%%chat\nWhy?", None),  # twice in the file
        (RAN[:1], "%%chat\nWhy?", None),  # a cell between was not run
        (RAN[:2], "%%chat\nWho?", None),
        ([*RAN, RAN[-1]], "x", None),
    ],
)
def test_a_file_is_believed_if_its_cells_are_those_that_ran(
    tmp_path: Path, ran: list[tuple[str, str]], source: str, count: int | None
) -> None:
    """In order, from the cell that loaded the extension on, and in one place only."""
    cells = [
        {"id": f"c{at}", "cell_type": kind, "source": text.splitlines(keepends=True)}
        for at, (kind, text) in enumerate(FILE)
    ]
    path = tmp_path / "paper.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    load = "l" if RAN[0] in ran else ""
    expected: list[tuple[str, str | None]] = [
        (owner_of("c0"), "# Title"),
        (load, None),
        ("", None),
        (owner_of("c4"), "## Data"),
        ("d", None),
        ("q", None),
    ]
    listed = listed_in_file(path, ran, source)
    assert listed == (None if count is None else expected[:count])
    many = '{"cells": [' + "{}," * 500_000 + "{}]}"
    for content in (
        "",
        "[]",
        "[" * 100_000,
        many,
        '{"cells": 1}',
        '{"cells": [{"id": "a"}]}',
        '{"cells": [1]}',
    ):
        path.write_text(content)
        assert listed_in_file(path, ran, source) is None
    path.unlink()
    assert listed_in_file(path, ran, source) is None


def test_markdown_cells_go_along_in_their_places(shell: Shell, emulator: Emulator) -> None:
    """From the N-th code cell on; N counts code cells; the option leaves them out."""
    above = [("t", "# Title"), ("a", None), ("m", "## More {{ x }}"), ("gone", None), ("b", None)]
    shell.page("a = 1", "a")
    shell.page("b = 2", "b")
    ran = page(shell, "%%chat --above new\necho:q", "q", *above)
    everything = f"{words('# Title')}{block('a = 1')}{words('## More {{ x }}')}{block('b = 2')}"
    assert asked(emulator)[-1][-1] == f"{everything}echo:q"
    (record,) = ran.records
    names = [(value["kind"], value["expression"]) for value in record["values"]]
    assert names == [
        ("markdown", "2 above"),
        ("cell", "2 above"),
        ("markdown", "1 above"),
        ("cell", "1 above"),
    ]
    assert "markdown 2 above (" in ran.everything
    assert all("text" not in value for value in record["values"])
    above += [("q", None), ("n", "Now:")]
    for line, front in (
        ("--above new", words("Now:")),
        ("--above 1", f"{block('b = 2')}{words('Now:')}"),
        ("--above 9", f"{block('a = 1')}{words('## More {{ x }}')}{block('b = 2')}{words('Now:')}"),
        ("--above 0", ""),
        ("--above all --no-markdown", f"{block('a = 1')}{block('b = 2')}"),
    ):
        page(shell, f"%chat --no-history {line} echo:r", "r", *above)
        assert asked(emulator)[-1][-1] == f"{front}echo:r", line


def test_markdown_is_shown_limited_and_searched_for_secrets(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a code cell is."""
    monkeypatch.setenv("MY_API_TOKEN", "tok-5f2e77aa0b1c99d3")
    above = [("m", "tok-5f2e77aa0b1c99d3"), ("a", None)]
    shell.page("print('o' * 400)", "a")
    request = {"cellId": "q", "chatmagic": {"notebook": "s", "above": above}}
    person = {"metadata": request, "content": {"allow_stdin": True}}
    ran = shell.run("%chat --above new why?", request=person)
    assert "The text sent along (markdown 1 above) holds" in str(ran.error)
    assert emulator.requests == []
    above[0] = ("m", "Words.")
    shell.page("%config ChatMagics.above_limit = 300", "c")
    assert "markdown 1 above" in page(shell, "%chat --dry --above new why?", "q", *above).everything
    ran = page(shell, "%chat --above new why?", "q", *above)
    cut = template.cell_text("print('o' * 400)", "", 400)
    assert asked(emulator)[-1][-1] == f"{words('Words.')}{cut}\n\nwhy?"
    assert ran.records[0]["values"][0]["cell"] == owner_of("m")
    assert "left out of the cells above: 1 output (above_limit is 300)" in ran.everything


def test_a_turn_is_stale_when_markdown_that_went_along_was_edited(shell: Shell) -> None:
    """As soon as the page tells; a line in the history names it."""
    shell.page("a = 1", "a")
    page(shell, "%%chat --above new\necho:q", "q", ("a", None), ("m", "Old."))
    conversation = current_session().conversation
    page(shell, "%%chat --above new\necho:r", "r", ("a", None), ("m", "Old."), ("q", None))
    assert conversation.stale_turns() == ()
    page(shell, "%%chat --above new\necho:r", "r", ("a", None), ("m", "New."), ("q", None))
    assert conversation.turns[0] in conversation.stale_turns()
    cause = conversation.causes().cause_of(conversation.turns[0].number)
    assert cause is not None
    assert cause.words == "because a Markdown cell, sent along with it, has changed"
    notes = shell.kernel.settings.notes
    assert notes is not None
    notes.edit_markdown({owner_of("m"): "Old.", owner_of("other"): "x"})
    assert conversation.stale_turns() == ()
    assert owner_of("other") not in notes


def test_a_run_that_does_not_know_the_notebook_says_so(
    shell: Shell, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file is told, a machine sends what a page sends."""
    dry = "%chat --dry --above 1 why?"
    shell.machine("a = 1")
    assert UNKNOWN in shell.machine(dry).everything
    remedy = (
        "JPY_SESSION_NAME=FILE names the notebook (of papermill, the one that it writes); "
        "--no-markdown sends none anywhere."
    )
    assert (
        f"Note: {UNKNOWN}'s file is not known. {remedy}"
        in shell.machine("%chat --above 1 q").warned
    )
    assert UNKNOWN not in shell.machine("%chat --dry --above 1 --no-markdown why?").everything
    assert UNKNOWN not in shell.do(dry).everything  # a console has no Markdown
    cells = [("code", source) for _, source in shell.kernel.settings.notes.sources]
    cells.insert(-5, ("markdown", "# Title"))
    path = tmp_path / "paper.ipynb"
    source = "%chat --above all why?"
    listed = [{"cell_type": kind, "source": text} for kind, text in [*cells, ("code", source)]]
    path.write_text(json.dumps({"cells": listed}))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    ran = shell.machine(source)
    assert UNKNOWN not in ran.everything + ran.warned
    assert asked(emulator)[-1][-1] == f"{words('# Title')}{block('a = 1')}why?"


def test_a_recording_of_a_page_is_replayed_without_markdown(
    shell: Shell, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a request that only carries it in an earlier turn; the cassette's line says so."""
    tape = tmp_path / "tape.jsonl"
    shell.page(f"%chat_cassette {tape} --record", "c")
    shell.page("a = 1", "a")
    asked = "%%chat --above 1\necho:q", "%%chat\necho:again"
    page(shell, asked[0], "q", ("a", None), ("m", "# T"))
    shell.page(asked[1], "r")
    count = len(emulator.requests)
    shell.page("%chat_reset", "z")
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    for source in asked:
        assert UNKNOWN not in shell.machine(source).warned
    assert len(emulator.requests) == count
    said = "; 2 with other Markdown cells than recorded"
    assert said in shell.machine("%chat_cassette").everything
    shell.page("%chat_reset", "z")
    note = "the Markdown cells that it carries are not those that were recorded"
    ran = page(shell, asked[0], "q", ("a", None), ("m", "# Edited"))
    assert note in ran.everything
    assert note in shell.page(asked[1], "r").everything
    shell.page("%chat_reset", "z")
    ran = page(shell, asked[0], "q", ("a", None), ("m", "# T"))
    assert note not in ran.everything + shell.page(asked[1], "r").everything
    assert len(emulator.requests) == count


def test_a_request_with_markdown_cells_is_shown_as_it_was_sent(
    shell: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    """Also one that carries them in an earlier turn; where they are not kept, that is said."""
    shell.page("a = 1", "a")
    page(shell, "%%chat --above 1\nq", "q", ("a", None), ("m", "# T"))
    shell.page("%%chat\nagain", "r")
    for place in (1, 2):
        text = shell.machine(f"%chat_history {place} --request").texts[0]
        assert "By its digest, which leaves Markdown cells out, this is the request as" in text
        assert "# T" in text
    shell.page(f"%chat_save {tmp_path / 'talk.json'}", "s")
    shell.page("%chat_reset", "z")
    shell.page(f"%chat_load {tmp_path / 'talk.json'}", "l")
    text = shell.machine("%chat_history 2 --request").texts[0]
    assert "Not all of it is kept: names stand for values" in text
    assert len(emulator.requests) == 2


def test_an_edited_markdown_cell_is_sent_again_while_recording(
    shell: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    """Above the question, and above an earlier one that the request carries."""
    shell.page(f"%chat_cassette {tmp_path / 'tape.jsonl'} --record", "c")
    shell.page("a = 1", "a")
    for title, count in (("# T", 2), ("# T", 2), ("# Edited", 4), ("# T", 4)):
        page(shell, "%%chat --above 1\necho:q", "q", ("a", None), ("m", title))
        shell.page("%%chat\necho:again", "r")
        assert len(emulator.requests) == count
