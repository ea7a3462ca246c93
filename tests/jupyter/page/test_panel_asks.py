"""The asks that panels show: where they stand, and what becomes of those that failed."""

from __future__ import annotations

from loopback import document
from message_types import conforms, types
from panel_views import (
    HOSTILE,
    Kernel,
    Service,
    View,
    turn,
    words_cut,
)

from chatmagic.jupyter.page.panel_asks import PendingAsk
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session


def test_a_failure_stands_in_the_log_with_what_to_do(
    session: Session, page: View, service: Service
) -> None:
    """What happened, what to do, and the prompt goes back; the next view sees it, too."""
    session.conversation.add(turn(1))
    service.reply = lambda peer: peer.send(
        document({"error": "invalid", "message": f"bad key {HOSTILE}"}, "401 Unauthorized")
    )
    over = page.asked("why?")
    assert (over["ended"]["fine"], over["ended"]["prompt"]) == (False, "why?")
    assert [id > 0 for id, _ in over["entries"]] == [True, False]
    aside = over["new"][-1]
    assert (aside["prompt"], aside["problem"]["failed"]) == ("why?", True)
    assert "bad key <script>" in aside["problem"]["what"]
    assert "\u202e" not in aside["problem"]["what"] + over["ended"]["words"]
    assert "\x1b" not in aside["problem"]["what"] + over["ended"]["words"]
    assert aside["problem"]["hint"]
    assert page.log()[-1] == aside
    page.asked("again?")
    assert [entry["prompt"] for entry in page.log()] == ["question 1", "why?", "again?"]
    page.say("step", step="clear")
    assert page.until("snapshot", count=0)["entries"] == []


def test_a_reply_that_was_cut_off_is_kept_with_the_reason_below(
    page: View, service: Service
) -> None:
    """The turn is there, marked; the reason stands behind it without the prompt again."""
    service.reply = lambda peer: peer.send(words_cut("half "))
    over = page.asked("why?")
    new, aside = over["new"]
    assert (aside["prompt"], aside["reply"], over["ended"]["prompt"]) == ("", None, None)
    assert new["reply"]["states"] == ["Cut off: this reply is not complete."]
    assert [id for id, _ in over["entries"]] == [new["id"], aside["id"]]


def test_without_history_a_reply_is_shown_and_not_kept(
    session: Session, page: View, kernel: Kernel
) -> None:
    """The settings of every question count here, too."""
    kernel.given = {"history": False, "temperature": 0.5}
    (aside,) = page.asked("why?")["new"]
    assert aside["reply"]["text"] == "fine"
    assert aside["problem"]["what"].startswith("Not kept")
    assert len(session.conversation) == 0


def test_an_ask_stands_where_its_turn_will() -> None:
    """Behind its owner's turns, of which it replaces those of other executions; else at the end."""
    turns = [
        turn(1, number=1, owner="a", execution="1"),
        turn(2, number=2, owner="a", execution="2"),
        turn(3, number=3, owner="b", execution="2"),
        turn(4, number=4),
    ]
    again = PendingAsk(Ask("why?", owner="a", execution="2"))
    again.place(turns)
    assert (again.after, again.replaces) == (2, [1])
    for unowned in (Ask("why?", owner="c"), Ask("why?")):
        new = PendingAsk(unowned)
        new.place(turns)
        assert (new.after, new.replaces) == (None, ())
    assert conforms(again.values(), types()["Pending"])
