"""Replies of a notebook that no cassette holds."""

from __future__ import annotations

from pathlib import Path

from audits import Ran, exchange, page, tape
from pages import save

from chatmagic.models import Usage


def test_a_notebook_is_compared_with_a_cassette(tmp_path: Path, ran: Ran) -> None:
    """Each whole reply that is shown is held, for the same request and with the same words."""
    early = page("c", state="interrupted", parameters={"last": 0})
    other = page("d", by_order=True, parameters={"last": 0})
    book = save(tmp_path / "n.ipynb", [page("p"), early, other])
    whole = tape(tmp_path / "whole.jsonl", exchange("p", "r", usage=Usage(1, 2, 3)))
    empty = tape(tmp_path / "empty.jsonl", exchange("q", "r"))
    changed = tape(tmp_path / "changed.jsonl", exchange("p", "another"), exchange("e", "r"))
    assert ran(book, whole)[0] == 0
    assert ran(book, empty, whole)[0] == 0
    rich = exchange("# T p", "r", usage=Usage(1, 2, 3), request=exchange("p", "r").request)
    assert ran(book, tape(tmp_path / "rich.jsonl", rich))[0] == 0
    code, told = ran(book, empty)
    assert code == 1
    said = "its reply, with this text, model, end and tokens, is not in "
    assert f"! cell 1: {said}empty.jsonl." in told
    code, told = ran(changed, book)
    assert (code, f"! cell 1: {said}changed.jsonl." in told) == (1, True)
    # A notebook that names cassettes of its own is compared with those.
    named = {**page("p"), "source": "%chat_cassette 'whole.jsonl'\n%chat p"}
    own = save(tmp_path / "own.ipynb", [named])
    assert ran(own, empty)[0] == 0
    assert ran(own, empty.rename(whole))[0] == 1
    for altered in ({"usage": Usage(1, 2, 4)}, {"model": "n"}, {"finish_reason": "length"}):
        held = exchange("p", "r", **{"usage": Usage(1, 2, 3), **altered})
        code, told = ran(tape(tmp_path / "x.jsonl", held), book)
        assert (code, f"! cell 1: {said}x.jsonl." in told) == (1, True)
