"""Changes of the conversation that a page asks for: steps, other replies, cells."""

from __future__ import annotations

import pytest
from panel_views import (
    Service,
    View,
)

from chatmagic.conversation.record import owner_of
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import Listener


def test_a_step_that_fails_is_said(
    session: Session, page: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who pressed a button hears of it."""
    monkeypatch.setattr(session.changes, "make", lambda _: 1 / 0)
    page.say("step", step="clear")
    assert page.until("notice")["words"].startswith("That was not done: ")


def test_turns_become_cells_that_take_them_over(
    session: Session, page: View, service: Service
) -> None:
    """Run, such a cell replaces the panel's turn; no request carries both."""
    session.run(Ask("above", owner=owner_of("A"), asker="cell [1]"), Listener(None))
    page.asked("first")
    page.asked("second {{ x }}")
    page.say("put", turns=None, cells=["P", "A", "Z"])
    first, second = page.until("insert")["cells"]
    assert first["after"] == "A"
    assert second["after"] == first["cell"]["id"]
    assert first["cell"]["source"] == "%%chat\nfirst"
    assert second["cell"]["source"] == "%%chat --raw\nsecond {{ x }}"
    (output,) = first["cell"]["outputs"]
    assert output["data"]["text/plain"] == "fine"
    owner = owner_of(first["cell"]["id"])
    assert output["metadata"]["chatmagic"]["owner"] == owner
    page.say("placed", turn=first["turn"], cell=first["cell"]["id"])
    (taken_over,) = page.until("snapshot", ended=None)["new"]
    assert (taken_over["id"], taken_over["by"]) == (first["turn"], "a cell of the notebook")
    assert session.conversation.turns[1].owner == owner
    session.run(Ask("first", owner=owner, execution="2", asker="cell [2]"), Listener(None))
    assert service.bodies[-1] == ["above", "fine", "first"]
    assert [one.prompt for one in session.conversation] == ["above", "first", "second {{ x }}"]


def test_replies_are_stepped_through(session: Session, page: View) -> None:
    """Those of a turn that was asked again; what is no reply of it changes nothing."""
    page.asked("why?")
    assert page.log()[0]["replies"] == []
    page.asked(None, replaces=1)
    (entry,) = page.log()
    assert (entry["id"], entry["replies"]) == (2, [1, 2])
    depth = session.conversation.undo_depth
    page.say("pick", turn=2, reply=7)
    page.say("pick", turn=1, reply=2)
    page.say("pick", turn=2, reply=1)
    page.until("snapshot", undo=True, count=1)
    page.say("step", step="undo")
    assert page.until("notice")["words"] == "Undone: the choice of a reply to “why?”."
    assert session.conversation.undo_depth == depth
    page.say("pick", turn=2, reply=1)
    page.asked("next")
    assert [entry["id"] for entry in page.log()] == [1, 5]
