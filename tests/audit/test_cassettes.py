"""Cassettes, audited, and notebooks compared with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pages import save

from chatmagic.models import Usage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

from audits import exchange, page, run, tape


def test_a_cassette_is_tabulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line an exchange; what it carried and does not hold is no fault."""
    headers = (("Date", "Thu, 01 Jan 2026 12:00:00 GMT"), ("X-RateLimit-Remaining", "9"))
    path = tape(
        tmp_path / "c.jsonl",
        exchange("a", "1", took=2, headers=headers, usage=Usage(1, 2, 3)),
        exchange("b", "2", "a", "1", origin="emulator"),
        exchange("c", "3", "not", "held"),
        exchange("d", None, status=429, error={"error": "x"}, model=None, finish_reason=None),
        exchange("c", "three", "not", "held", superseded=True),
    )
    code, told = run(capsys, [path])
    assert code == 0
    assert told.splitlines() == [
        str(path),
        "exchange  prompt  model  tokens  credits  took  ended  origin    agrees  order",
        "1         a       m      1 + 2   9        2     stop   live      yes     yes",
        "2         b       m      ?       ?        ?     stop   emulator  yes     yes",
        "3         c       m      ?       ?        ?     stop   live      yes     -",
        "4         d       ?      ?       ?        ?     error  live      yes     yes",
        "5         c       m      ?       ?        ?     stop   live      yes     -",
        "5 turns, 1 error, 3 tokens, reported for 1, about 2 credits, known for 1.",
        "exchanges 3 and 5 answer the same request, in this order.",
        "exchange 5 is superseded: asked differently since.",
    ]


def test_a_cassette_that_is_not_in_order_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Order, what stands twice, a changed word, and none at all; each by its exchange or line."""
    left = (("X-RateLimit-Remaining", "9"),)
    a, b = exchange("a", "1", headers=left), exchange("b", "2", "a", "1")
    damaged = tape(tmp_path / "damaged.jsonl", a)
    damaged.write_text(damaged.read_text().replace('"reply": "1"', '"reply": "2"'))
    for path, said in (
        (tape(tmp_path / "order.jsonl", b, a), "! exchange 1: it carried a turn that is recorded"),
        (tape(tmp_path / "twice.jsonl", a, b, a), "! exchange 3: it is exchange 1 once more."),
        (damaged, "the exchange is not the one that was recorded"),
        (tmp_path / "none.jsonl", "is not there."),
    ):
        code, told = run(capsys, [path])
        assert code == 1
        assert said in told
        assert json.loads(run(capsys, [path, "--json"])[1])[0]["kind"] == "cassette"


def test_equal_exchanges_that_may_both_have_been_are_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same error twice, or the same words where no credits are told."""
    error: dict[str, Any] = {"status": 429, "error": {"error": "x"}}
    refused = exchange("a", None, headers=(("X-RateLimit-Remaining", "0"),), **error)
    for one in (refused, exchange("a", "1")):
        code, told = run(capsys, [tape(tmp_path / "c.jsonl", one, one)])
        assert code == 0
        assert told.endswith("\nexchange 2: it is exchange 1 once more.\n")


def test_a_notebook_is_compared_with_a_cassette(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each whole reply that is shown is held, for the same request and with the same words."""
    early = page("c", state="interrupted", parameters={"last": 0})
    other = page("d", by_order=True, parameters={"last": 0})
    book = save(tmp_path / "n.ipynb", [page("p"), early, other])
    whole = tape(tmp_path / "whole.jsonl", exchange("p", "r", usage=Usage(1, 2, 3)))
    empty = tape(tmp_path / "empty.jsonl", exchange("q", "r"))
    changed = tape(tmp_path / "changed.jsonl", exchange("p", "another"), exchange("e", "r"))
    assert run(capsys, [book, whole])[0] == 0
    assert run(capsys, [book, empty, whole])[0] == 0
    code, told = run(capsys, [book, empty])
    assert code == 1
    said = "does not hold its reply with this text, model, end and tokens."
    assert f"! cell 1: empty.jsonl {said}" in told
    code, told = run(capsys, [changed, book])
    assert code == 1
    assert f"! cell 1: changed.jsonl {said}" in told
    for altered in ({"usage": Usage(1, 2, 4)}, {"model": "n"}, {"finish_reason": "length"}):
        held = exchange("p", "r", **{"usage": Usage(1, 2, 3), **altered})
        code, told = run(capsys, [tape(tmp_path / "x.jsonl", held), book])
        assert code == 1
        assert f"! cell 1: x.jsonl {said}" in told
