"""A saved notebook as its own cassette."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pages import cell, output, save
from saved_notebooks import NOON, page, record

from chatmagic._json import chain_of, timestamp
from chatmagic.cassette import from_notebook
from chatmagic.cassette.from_notebook import headers_for
from chatmagic.conversation.request_facts import ASKED_FOR_THE_REST
from chatmagic.errors import InputError
from chatmagic.models import Credits, Message, Usage
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.wire import Request

if TYPE_CHECKING:
    from pathlib import Path
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
    first, second, third = from_notebook.recorded(save(tmp_path / "n.ipynb", cells))
    assert first.request == Request((Message("user", "a"),)).digest()
    assert (first.prompt, first.text, first.owner, first.took) == ("a", "one", "o", 1)
    assert first.parameters == {"stream": False, "max_tokens": 5}
    assert dict(first.headers)["X-RateLimit-Remaining"] == "99"
    assert (first.model, first.finish_reason, first.refusal) == ("m", "stop", "No.")
    assert (first.origin, second.origin, third.origin) == ("emulator", "emulator", "live")
    assert second.parameters == {"stream": True}


def test_turns_are_named_as_in_a_cassette(tmp_path: Path) -> None:
    """By the turns' own digests; what no output of the notebook tells has one name."""
    first = record("a", "1")
    turn, chain = str(first.turn), chain_of([str(first.turn)])
    cells = [
        page("a", "1"),
        page("b", "2", carried=(turn,)),
        page("c", "3", carried=("2" * 64,), earlier=1, chain=chain),
    ]
    held = from_notebook.recorded(save(tmp_path / "n.ipynb", cells))
    names = (held[0].turn, str(chain)[:16], "2" * 16)
    assert [item.before for item in held] == [(), names[:1], names[1:]]


def test_a_changed_reply_is_refused(tmp_path: Path) -> None:
    """One word is enough, and nothing of the notebook is replayed."""
    cells = [page("a", "one two"), page("b"), page("c", "three")]
    for number in (0, 2):
        cells[number]["outputs"][0]["data"]["text/plain"] = ["one too"]
        with pytest.raises(InputError, match="nothing is replayed") as caught:
            from_notebook.recorded(save(tmp_path / "n.ipynb", cells))
    assert "cells 1 and 3 no longer hold" in str(caught.value)


@pytest.mark.parametrize("forged", [{"prompt": "x"}, {"seal": None}, {"took": 7}])
def test_a_changed_record_is_refused_for_replay(tmp_path: Path, forged: dict[str, Any]) -> None:
    """A reply whose record nobody wrote so is not replayed; the cell is named."""
    cells = [page("a"), page("b")]
    cells[1]["outputs"][0]["metadata"]["chatmagic"].update(forged)
    with pytest.raises(InputError, match="cell 2 no longer holds what was recorded and sealed"):
        from_notebook.recorded(save(tmp_path / "n.ipynb", cells))


def test_a_notebook_that_cannot_be_replayed_says_why(tmp_path: Path) -> None:
    """Its outputs were stripped, or there never were any."""
    for cells, said in (
        ([cell("%%chat\nx")], "Cell 1 asks and has no output: .*stripped"),
        ([], "None of its outputs"),
        ([{**page(), "outputs": [output({}, {"chatmagic": 5})]}], "cell 1: a malformed record"),
    ):
        with pytest.raises(InputError, match=said):
            from_notebook.recorded(save(tmp_path / "n.ipynb", cells))


def test_a_continued_reply_is_that_to_the_instruction(tmp_path: Path) -> None:
    """Its request carried the first part, and was not the question once more."""
    first = record("a", "one ")
    part = page("a", "two", id="c", carried=(first.request,), continues=first.turn)
    path = save(tmp_path / "n.ipynb", [page("a", "one "), part])
    _, asked = from_notebook.recorded(path)
    assert (asked.prompt, asked.text, asked.typed) == (ASKED_FOR_THE_REST, "two", None)
    assert asked.before == (first.request[:16], str(first.turn)[:16])


@pytest.mark.parametrize(
    "told",
    [
        Credits(100, 97, 3, datetime(2026, 1, 2, tzinfo=UTC), CAME),
        Credits(100, None, None, None, CAME),
        Credits(None, 5, None, None, CAME),
    ],
)
def test_headers_say_again_what_a_record_knows(told: Credits) -> None:
    """Credits written as headers are read as the same credits."""
    assert crediting.from_headers(headers_for(told, CAME), CAME) == told
    assert crediting.from_headers(headers_for(told, None), datetime.now(UTC)) == told


def test_headers_of_nothing_known_are_none() -> None:
    """Without credits there is the date at most."""
    assert headers_for(None, None) == ()
    assert headers_for(None, CAME) == (("Date", "Thu, 01 Jan 2026 12:00:00 GMT"),)
