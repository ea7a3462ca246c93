"""The audit of one cassette."""

from __future__ import annotations

import json
from pathlib import Path

from audits import Ran, exchange, tape

from chatmagic.models import Usage


def test_a_cassette_is_tabulated(tmp_path: Path, ran: Ran) -> None:
    """A line an exchange; what it carried and does not hold is no fault."""
    headers = (("Date", "Thu, 01 Jan 2026 12:00:00 GMT"), ("X-RateLimit-Remaining", "9"))
    path = tape(
        tmp_path / "c.jsonl",
        exchange("a", "1", took=2, headers=headers, usage=Usage(1, 2, 3)),
        exchange("b", "2", "a", "1", origin="emulator"),
        exchange("c", "3", "not", "held"),
        exchange("d", None, status=429, error={"error": "x"}, model=None, finish_reason=None),
    )
    code, told = ran(path)
    assert code == 0
    assert told.splitlines() == [
        f"{path}  no problem  4 turns (3 live, 1 emulator)",
        (
            "exchange  prompt  model  tokens              credits  cost  ended  origin    "
            "as asked  order"
        ),
        "1         a       m      1 sent, 2 received  9        2     stop   live      yes       -",
        "2         b       m      ?                   ?        ?     stop   emulator  yes       -",
        "3         c       m      ?                   ?        ?     stop   live      yes       -",
        "4         d       ?      ?                   ?        ?     error  live      yes       -",
    ]


def test_a_cassette_that_is_not_in_order_is_told(tmp_path: Path, ran: Ran) -> None:
    """What stands twice, a changed word, none at all; no order, and no two that may be equal."""
    left = (("X-RateLimit-Remaining", "9"),)
    a, b = exchange("a", "1", headers=left), exchange("b", "2", "a", "1")
    refused = exchange("a", None, headers=left, status=429, error={"error": "x"})
    damaged = tape(tmp_path / "damaged.jsonl", a)
    damaged.write_text(damaged.read_text().replace('"reply": "1"', '"reply": "2"'))
    for path, said in (
        # A refresh puts the new reply in the old one's place.
        (tape(tmp_path / "order.jsonl", b, a), ""),
        (tape(tmp_path / "errors.jsonl", refused, refused), ""),
        (tape(tmp_path / "equal.jsonl", b, b), ""),
        (tape(tmp_path / "twice.jsonl", a, b, a), "! exchange 3: it stands above once more."),
        (damaged, "the exchange is not the one that was recorded"),
        (tmp_path / "none.jsonl", "is not there."),
    ):
        code, told = ran(path)
        assert (code, said in told, "once more" in told) == (bool(said), True, "once more" in said)
        assert json.loads(ran(path, "--json")[1])[0]["kind"] == "cassette"


def test_a_cassette_with_a_merge_conflict_is_checked_as_both(tmp_path: Path, ran: Ran) -> None:
    """A remark says so, and both of its halves are in the table."""
    path = tape(tmp_path / "talk.jsonl", exchange("a", "1"), exchange("b", "2"))
    head, *lines = path.read_text().splitlines(keepends=True)
    ours, theirs = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    text = [head, "<<<<<<< a\n", *ours, "=======\n", *theirs, ">>>>>>> b\n"]
    path.write_text("".join(text))
    code, told = ran(path)
    assert code == 0
    assert "it has the marks of a merge conflict, and both halves were read." in told
    turns = json.loads(ran(path, "--json")[1])[0]["turns"]
    assert [turn["prompt"] for turn in turns] == ["a", "b"]
