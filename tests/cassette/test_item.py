"""A request to look up, and a recorded interaction with its uses."""

from __future__ import annotations

from cassettes import exchange_of

from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.item import CassetteItem, Query
from chatmagic.models import Message
from chatmagic.protocol.request import Request


def exchange(text: str, owner: str | None = None) -> Interaction:
    """Return an exchange with this reply."""
    return exchange_of(Request((Message("user", "a"),)), text=text, owner=owner)


def test_requests_of_one_execution_share_its_key() -> None:
    """Those without a cell share one; those of a cell whose execution is unknown share none."""
    here = [Query(exchange("1", "x"), "3"), Query(exchange("2", "x"), "3")]
    assert here[0].execution_key == here[1].execution_key == "3"
    unknown = [Query(exchange("1", "x")), Query(exchange("1", "x"))]
    assert unknown[0].execution_key != unknown[1].execution_key
    assert Query(exchange("1"), "3").execution_key is Query(exchange("1"), "4").execution_key


def test_an_item_belongs_to_the_cells_that_recorded_or_used_it() -> None:
    """None belongs to a request without a cell."""
    item = CassetteItem(exchange("1", "x"), owners={"y", None})
    assert [item.is_own(Query(exchange("", cell))) for cell in ("x", "y", "z", None)] == [
        True,
        True,
        False,
        False,
    ]
    assert not item.is_fresh
    item.uses["x"] += 1
    assert not CassetteItem(exchange("1"), uses=item.uses).is_fresh
    assert CassetteItem(exchange("1")).is_fresh


def test_a_new_reply_says_whether_the_words_changed() -> None:
    """Once changed, or new in this refresh, it stays so; the cell that recorded it stays."""
    item = CassetteItem(exchange("1", "x"), was_saved=True)
    item.replace(exchange("1"))
    assert (item.outcome, item.recorded.owner, item.was_saved) == ("kept", "x", False)
    item.replace(exchange("2", "y"))
    assert (item.outcome, item.recorded.owner) == ("changed", "y")
    item.replace(exchange("2"))
    assert item.outcome == "changed"
    new = CassetteItem(exchange("1"), outcome="new")
    new.replace(exchange("2"))
    assert (new.outcome, new.recorded.text) == ("new", "2")
