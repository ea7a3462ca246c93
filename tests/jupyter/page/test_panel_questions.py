"""Questions of the panel: offered, asked, asked again, stopped, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from loopback import Peer, event, head, wait_for
from panel_views import (
    PATIENCE,
    Service,
    View,
    holding,
)

import chatmagic
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import Listener


def test_stop_ends_the_panels_reply_and_keeps_what_came(
    session: Session, page: View, service: Service
) -> None:
    """The connection is closed; the turn stays, marked, and nothing goes back."""
    gone = threading.Event()

    def play(peer: Peer) -> None:
        peer.send(head(headers={"Content-Type": "text/event-stream"}) + event("half a reply "))
        assert peer.gone()
        gone.set()

    service.reply = play
    key = page.ask("why?")
    page.streaming()
    page.say("stop", live=key)
    over = page.until("snapshot", live=key)
    wait_for(gone)
    assert over["ended"]["words"] == (
        "Interrupted after 3 words; the text so far is kept, marked. "
        'ask("Go on.") asks for the rest.'  # The session of these tests is plain Python's.
    )
    assert (over["ended"]["fine"], over["ended"]["prompt"]) == (False, None)
    (new,) = over["new"]
    assert new["reply"]["states"] == ["Interrupted: this reply is not complete."]
    assert session.conversation.turns[0].state == "interrupted"


def test_a_waiting_ask_says_for_which_and_can_be_stopped(
    session: Session, page: View, service: Service
) -> None:
    """Stopped, it is never sent, and its prompt goes back; the cell's reply goes on."""
    service.reply, go_on = holding("half ")
    cell = threading.Thread(
        target=session.run, args=[Ask("cell", asker="cell [3]", owner="c" * 16), Listener(None)]
    )
    cell.start()
    page.streaming()
    key = page.ask("panel")
    waits = page.until("pending", stage="waiting")
    assert waits["note"] == "Waiting for the reply to cell [3] to end."
    page.say("stop", live=key)
    over = page.until("snapshot", live=key)
    assert over["ended"]["prompt"] == "panel"
    assert over["entries"] == []
    go_on.set()
    cell.join(PATIENCE)
    page.until("snapshot", fine=True)
    assert service.bodies == [["cell"]]


def test_stop_ends_a_cells_reply_by_name(session: Session, page: View, service: Service) -> None:
    """A cell's ask is stopped from the panel; one that is over stops no other one."""
    service.reply, go_on = holding("half ")
    stopped: list[BaseException] = []

    def run() -> None:
        try:
            session.run(Ask("cell", asker="cell [3]", owner="c" * 16), Listener(None))
        except KeyboardInterrupt as error:
            stopped.append(error)

    cell = threading.Thread(target=run)
    cell.start()
    key = page.until("pending", stage="began")["live"]
    page.streaming()
    page.say("stop", live=key)
    page.until("stopping")
    assert page.until("snapshot", live=key)["new"][0]["reply"]["states"]
    cell.join(PATIENCE)
    go_on.set()
    assert isinstance(stopped[0], chatmagic.errors.ChatInterrupted)
    page.say("stop", live=key)
    page.say("ping")
    page.until("pong")
    assert page.kinds.count("stopping") == 1


def test_what_was_taken_back_is_never_sent(page: View, service: Service) -> None:
    """An offer that the page does not take up is dropped; go after stop or go does nothing."""
    page.say("ask", text="why?", nonce="1", replaces=None)
    key = page.until("offer")["live"]
    page.say("stop", live=key)
    assert page.until("snapshot", live=key)["ended"]["prompt"] == "why?"
    page.say("go", live=key)
    page.say("ask", text="left alone", nonce="2", replaces=None)
    left = page.until("offer", nonce="2")["live"]
    page.say("ask", text="this one", nonce="3", replaces=None)
    key = page.until("offer", nonce="3")["live"]
    page.say("go", live=key)
    page.say("go", live=key)
    page.until("snapshot", live=key)
    assert page.until("snapshot", live=left)["ended"]["prompt"] == "left alone"
    page.asked("next")
    assert [one[-1] for one in service.bodies] == ["this one", "next"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"text": " \n", "replaces": None}, "empty"),
        ({"text": None, "replaces": None}, "empty"),
        ({"text": "x", "replaces": 99}, "no longer the panel's"),
        ({"text": None, "replaces": 99}, "no longer the panel's"),
        ({"text": "of a cell", "replaces": 1}, "no longer the panel's"),
    ],
)
def test_a_prompt_that_cannot_be_sent_is_refused(
    session: Session, page: View, service: Service, said: dict[str, Any], why: str
) -> None:
    """It says why, to the page that asked, and nothing is sent."""
    session.run(Ask("why?", owner="c" * 16, entry="cell", asker="cell [3]"), Listener(None))
    page.say("ask", nonce="1", **said)
    assert why in page.until("notice", nonce="1")["words"]
    assert service.bodies == [["why?"]]


def test_one_question_of_the_panel_at_a_time(page: View, service: Service) -> None:
    """A second one is refused and says why."""
    service.reply, go_on = holding("half ")
    key = page.ask("one")
    page.streaming()
    page.say("ask", text="two", nonce="2", replaces=None)
    assert "under way already" in page.until("notice")["words"]
    go_on.set()
    page.until("snapshot", live=key)


def test_a_turn_is_asked_again_in_its_place(session: Session, page: View, service: Service) -> None:
    """Asked again or edited, it carries what stands above, and replaces the old one."""
    page.asked("one")
    first = session.conversation.turns[0].number
    page.asked("two")
    page.asked("one, edited", replaces=first)
    assert service.bodies[-1] == ["one, edited"]
    assert [one.prompt for one in session.conversation] == ["one, edited", "two"]
    asks = [one for one in page.messages if one.get("html") == "" and one["replaces"]]
    assert [(one["replaces"], one["after"]) for one in asks] == [([first], first)] * 2
    page.say("step", step="undo")
    assert page.until("notice")["words"] == "Undone: the new reply to “one, edited”."
    assert [one.prompt for one in session.conversation] == ["one", "two"]
    page.say("step", step="redo")
    assert "edited" in page.until("notice")["words"]
