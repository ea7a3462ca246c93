"""The requests of pages: any message is served, a failure is reported, choices hold for all."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import Mock

import pytest
from panel_views import Service, View

from chatmagic.conversation.question import A_MODEL
from chatmagic.conversation.steering import ThreadStart
from chatmagic.jupyter.page import panel_questions
from chatmagic.jupyter.page.panel import Panels
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import Listener


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


def test_an_action_that_fails_is_refused(
    page: View, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, which quotes nothing; the page does not wait, and the next one is asked."""
    fail = Mock(side_effect=LookupError("sk-action-7f3a"))
    with monkeypatch.context() as patch:
        patch.setattr(panel_questions, "without_lone_surrogates", fail)
        page.say("ask", text="a question", nonce="n", replaces=None)
        why = page.until("notice", nonce="n")["words"]
    assert why.startswith("Nothing was sent: ")
    assert "(LookupError)" in why
    assert "sk-action" not in json.dumps(page.messages)
    assert service.bodies == []
    assert page.asked("another")["ended"]["fine"]


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
    assert (
        other.until("notice")["words"] == "Model of the panel's questions: the model of the cells."
    )
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
    words = "The thread main begins again without its turns; Undo brings them back."
    assert page.until("notice")["words"] == words
    assert [turn.prompt for turn in session.conversation] == ["second"]
    page.say("thread", thread="none")
    assert page.until("snapshot", thread="sql")["count"] == 1
