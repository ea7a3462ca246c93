"""The requests of pages: questions, steps, choices, and what is refused."""

from __future__ import annotations

import json
import threading
from typing import Any
from unittest.mock import Mock

import pytest
from loopback import Peer, event, head, wait_for
from panel_views import (
    PATIENCE,
    Service,
    View,
    holding,
)

import chatmagic
from chatmagic.conversation.question import A_MODEL
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.steering import ThreadStart
from chatmagic.jupyter.page import panel_requests
from chatmagic.jupyter.page.panel import Panels
from chatmagic.session.events import Ask, Listener
from chatmagic.session.session import Session


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


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "go", "live": "x"},
        {"kind": "go", "live": None},
        {"kind": "stop", "live": []},
        {"kind": "step", "step": "dump"},
        {"kind": "model"},
        {"kind": "model", "model": ["x"]},
        {"kind": "pong"},
        {"kind": {}},
        {},
        {"kind": "sync", "count": {}},
        {"kind": "sync", "count": -99},
        {"kind": "want", "ids": [None]},
        {"kind": "want", "ids": [99, -99]},
        {"kind": "ask", "nonce": "n", "text": ["x"], "replaces": None},
        {"kind": "ask", "nonce": "n", "text": None, "replaces": {}},
        {"kind": "ask"},
        {"kind": "put", "turns": "all", "cells": [1, None]},
        {"kind": "placed", "turn": [], "cell": 3},
        {"kind": "placed", "turn": 99, "cell": "A"},
        {"kind": "placed", "turn": 1, "cell": {"deep": []}},
        {"kind": "sync", "view": {"deep": []}},
        "not a dict",
    ],
)
def test_no_message_of_a_page_stops_a_panel(page: View, pages: Panels, content: Any) -> None:
    """Whatever a page says, it is served on."""
    pages.receive(page.shown, content)
    page.say("ping")
    page.until("pong")
    assert page.asked("still there?")["ended"]["fine"]


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


def test_an_action_that_fails_is_refused(
    page: View, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, which quotes nothing; the page does not wait, and the next one is asked."""
    fail = Mock(side_effect=LookupError("sk-action-7f3a"))
    with monkeypatch.context() as patch:
        patch.setattr(panel_requests, "without_lone_surrogates", fail)
        page.say("ask", text="a question", nonce="n", replaces=None)
        why = page.until("notice", nonce="n")["words"]
    assert why.startswith("Nothing was sent: ")
    assert "(LookupError)" in why
    assert "sk-action" not in json.dumps(page.messages)
    assert service.bodies == []
    assert page.asked("another")["ended"]["fine"]


def test_a_step_that_fails_is_said(
    session: Session, page: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who pressed a button hears of it."""
    monkeypatch.setattr(session.changes, "make", lambda _: 1 / 0)
    page.say("step", step="clear")
    assert page.until("notice")["words"].startswith("That was not done: ")


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
    assert page.until("notice")["words"] == "Took back the new reply to “one, edited”."
    assert [one.prompt for one in session.conversation] == ["one", "two"]
    page.say("step", step="redo")
    assert "edited" in page.until("notice")["words"]


def test_a_model_is_chosen_for_the_questions_of_all_panels(
    session: Session, pages: Panels, page: View, service: Service
) -> None:
    """Not for cells; a turn that is asked again keeps its own, one that is edited does not."""
    other = View(pages)
    page.say("model", model=" 'large' ")
    assert page.until("notice")["words"] == "Model of the panel's questions: large."
    assert other.until("snapshot")["model"] == "large"
    page.asked("one")
    session.run(Ask("of a cell", owner="c" * 16), Listener(None))
    assert View(pages).sync()["model"] == "large"
    other.say("model", model="")
    assert other.until("notice")["words"] == "Model of the panel's questions: the one in force."
    assert page.until("snapshot", model="")["count"] == 2
    page.asked(None, replaces=1)
    page.say("put", turns=None, cells=[])
    (put,) = page.until("insert")["cells"]
    assert put["cell"]["source"] == "%%chat -m large\none"
    assert page.log()[0]["notes"] == ["model large"]
    page.asked("one", replaces=put["turn"])
    assert page.log()[0]["notes"] == []
    asked = [(each.body["messages"][-1]["content"], each.body) for each in service.server.asked]
    assert [(prompt, body.get("model")) for prompt, body in asked] == [
        ("one", "large"),
        ("of a cell", None),
        ("one", "large"),
        ("one", None),
    ]


@pytest.mark.parametrize(
    ("typed", "shown"), [("m" * 301, f"'{'m' * 39}…'"), ("a\0b", "'a␀b'"), ("a b", "'a b'")]
)
def test_what_is_no_name_of_a_model_is_refused(page: View, typed: str, shown: str) -> None:
    """In the words of ``-m``; the model stays, and the page is told so."""
    page.say("model", model="large")
    page.until("snapshot", model="large")
    page.say("model", model=typed)
    page.until("notice")
    words = page.until("notice")["words"]
    assert words == f"Model takes {A_MODEL}, without spaces, not {shown}. Nothing was changed."
    page.until("snapshot", model="large")


def test_one_thread_is_shown_and_can_be_changed(
    session: Session, page: View, service: Service
) -> None:
    """The one at the end, or the one that is chosen; its questions are asked in it by name."""
    page.asked("first")
    assert page.sync()["threads"] == ["main"]
    session.changes.steer(ThreadStart("sql", owner="s" * 16, execution="1"))
    page.until("snapshot", thread="sql")
    page.asked("second")
    assert [entry["prompt"] for entry in page.log()] == ["second"]
    page.say("thread", thread="main")
    shown = page.until("snapshot", thread="main")
    assert (shown["threads"], shown["count"]) == (["main", "sql"], 1)
    page.asked("third")
    page.asked(None, replaces=2)
    assert service.bodies == [["first"], ["second"], ["first", "fine", "third"], ["second"]]
    assert [entry["prompt"] for entry in page.log()] == ["first", "third"]
    threads = [(window.thread, turn.thread) for turn, window in session.conversation.windows]
    assert threads == [("main", None), ("sql", "sql"), ("main", "main")]
    page.say("step", step="clear")
    words = "The turns of the thread main are set aside; Undo brings them back."
    assert page.until("notice")["words"] == words
    assert [turn.prompt for turn in session.conversation] == ["second"]
    page.say("thread", thread="none")
    assert page.until("snapshot", thread="sql")["count"] == 1


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
    assert page.until("notice")["words"] == "Took back the pick of a reply to “why?”."
    assert session.conversation.undo_depth == depth
    page.say("pick", turn=2, reply=1)
    page.asked("next")
    assert [entry["id"] for entry in page.log()] == [1, 5]
