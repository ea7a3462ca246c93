"""What each cell of this kernel has asked of a cassette's items, and where a new one goes."""

from __future__ import annotations

from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.items import Items, Query
from chatmagic.models import Message
from chatmagic.protocol.wire import Request


def one(prompt: str, owner: str | None = None) -> Interaction:
    """Return an interaction with a reply."""
    return Interaction.asked(Request((Message("user", prompt),)), text=f"re {prompt}", owner=owner)


def by(owner: str | None, execution: str = "1", order: tuple[str, ...] = ()) -> Query:
    """Return the question ``a`` of a cell."""
    return Query(one("a", owner), execution, order)


def test_each_execution_of_a_cell_asks_its_own_again() -> None:
    """What answered it once is its own in the next execution, whatever cell owns it."""
    items = Items([one("a", "x"), one("a")])
    mine, other = items.all
    cell = items.cell(by("x"))
    assert items.unused(cell, by("x"), items.all) == [mine]
    items.give(mine, cell)
    items.give(other, cell)
    assert items.unused(items.cell(by("x")), by("x"), items.all) == []
    again = items.cell(by("x", "2"))
    assert items.unused(again, by("x", "2"), items.all) == [mine, other]


def test_a_new_item_goes_behind_the_latest_answer_or_as_the_page_has_it() -> None:
    """One that was removed meanwhile counts as the last."""
    items = Items([one("a", "x"), one("b", "z")])
    assert items.new_place(by("y")) == 2
    items.give(items.all[0], items.cell(by("x")))
    assert items.new_place(by("y")) == 1
    assert items.following() == [items.all[1], items.all[0]]
    assert items.new_place(by("y", order=("z", "y"))) == 2
    assert items.new_place(by("w", order=("x", "w", "z"))) == 1
    del items.all[0]
    assert items.new_place(by("y")) == 1
