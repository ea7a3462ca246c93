"""A notebook as a cassette."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cassettes import exchange_of
from pages import cell, output, save
from project import ROOT
from saved_notebooks import NOON, page, record

from chatmagic._json import chain_of, timestamp, turn_digest
from chatmagic.cassette.notebook_cassette import from_notebook
from chatmagic.conversation.question import ASKED_FOR_THE_REST, Value
from chatmagic.errors import InputError
from chatmagic.models import Credits, Message, Usage
from chatmagic.protocol.request import Request

CAME = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_exchanges_for_replay(tmp_path: Path) -> None:
    """What a cassette needs of each whole reply; no interrupted one."""
    credits = Credits(100, 99, 1, timestamp("2026-01-02T00:00:00Z"), NOON)  # type: ignore[arg-type]
    given: dict[str, Any] = {
        "credits": credits, "date": NOON, "usage": Usage(1, 2, 3), "took": 1, "refusal": "No.",
        "parameters": {"max_tokens": 5, "last": 1, "stream": False, "history": False},
    }  # fmt: skip
    cells = [
        page("a", "one", owner="o", origin="emulator", **given),
        page("b", origin="replay", recorded="emulator"),
        page("c", origin="replay"),
        page("d", state="interrupted"),
    ]
    first, second, third = from_notebook(save(tmp_path / "n.ipynb", cells))
    assert first.request == Request((Message("user", "a"),)).digest()
    assert (first.prompt, first.text, first.owner, first.took) == ("a", "one", "o", 1)
    assert first.parameters == {"stream": False, "max_tokens": 5}
    assert dict(first.headers)["X-RateLimit-Remaining"] == "99"
    assert (first.model, first.finish_reason, first.refusal) == ("m", "stop", "No.")
    assert (first.origin, second.origin, third.origin) == ("emulator", "emulator", "live")
    assert second.parameters == {"stream": True}


def test_turns_are_named_as_in_a_cassette(tmp_path: Path) -> None:
    """By the turns' own digests; those that no output of the notebook tells have one name."""
    turn, unknown = str(record("a", "1").turn), chain_of(["0" * 64])
    cells = [
        page("a", "1"),
        page("b", "2", carried=(turn,)),
        page("c", "3", carried=("2" * 64,), earlier=(1, chain_of([turn]))),
        page("d", "4", carried=("2" * 64,), earlier=(1, unknown)),
    ]
    held = from_notebook(save(tmp_path / "n.ipynb", cells))
    first, more = held[0].turn, "2" * 16
    assert [item.before for item in held] == [
        (), (first,), (first, more), (str(unknown)[:16], more),
    ]  # fmt: skip


def test_a_notebook_knows_the_markdown_cells_by_its_turns(tmp_path: Path) -> None:
    """Its prompts stand as typed; the digest of a turn is of the prompt as it was sent."""
    cells = [page("a", "r", values=(Value.of_text("x", "1"),), turn=turn_digest("# T a", "r"))]
    (held,) = from_notebook(save(tmp_path / "n.ipynb", cells))
    for prompt, is_same in (("# T a", True), ("# U a", False), ("a", False)):
        asked = exchange_of(Request((Message("user", prompt),)), request=held.request)
        assert held.answers(asked)
        assert held.has_markdown_of(asked) is is_same


def test_a_changed_reply_or_record_is_refused(tmp_path: Path) -> None:
    """One word is enough, and nothing of the notebook is replayed; the cells are named."""
    cells = [page("a", "one two"), *(page("b") for _ in range(3)), page("c", "three")]
    cells[0]["outputs"][0]["data"]["text/plain"] = ["one too"]
    for number, forged in enumerate(({"prompt": "x"}, {"seal": None}, {"took": 7}), 1):
        cells[number]["outputs"][0]["metadata"]["chatmagic"].update(forged)
    with pytest.raises(InputError, match="nothing is replayed") as caught:
        from_notebook(save(tmp_path / "n.ipynb", cells))
    assert "cells 1, 2, 3 and 4 not as recorded and sealed" in str(caught.value)


def test_a_notebook_that_cannot_be_replayed_says_why(tmp_path: Path) -> None:
    """Its outputs were stripped, or there never were any."""
    for cells, said in (
        ([cell("%%chat\nx")], "cell 1 asks and has no output: .*stripped"),
        ([], "none of its outputs"),
        ([{**page(), "outputs": [output({}, {"chatmagic": 5})]}], "cell 1: a malformed record"),
    ):
        with pytest.raises(InputError, match=said):
            from_notebook(save(tmp_path / "n.ipynb", cells))


def test_a_continued_reply_is_that_to_the_instruction(tmp_path: Path) -> None:
    """Its request carried the first part, and was not the question once more."""
    first = record("a", "one ")
    part = page("a", "two", id="c", carried=(first.request,), continues=first.turn)
    path = save(tmp_path / "n.ipynb", [page("a", "one "), part])
    _, asked = from_notebook(path)
    assert (asked.prompt, asked.text, asked.typed) == (ASKED_FOR_THE_REST, "two", None)
    assert asked.before == (first.request[:16], str(first.turn)[:16])


def test_a_notebook_of_an_earlier_form_gives_all_its_exchanges() -> None:
    """Those of the saved sample."""
    assert len(from_notebook(ROOT / "tests" / "samples" / "saved_notebook.ipynb")) == 14
