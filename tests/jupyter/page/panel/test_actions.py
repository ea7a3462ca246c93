"""What a panel's page asks for: to ask, to stop, to undo, to put turns into the notebook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from panel_views import HOSTILE, Service, View, holding, words

from chatmagic.conversation.record import owner_of
from chatmagic.conversation.steering import ThreadStart
from chatmagic.errors import ReplyFormatError
from chatmagic.jupyter.page.panel import actions
from chatmagic.session.events import Ask, Listener

if TYPE_CHECKING:
    from chatmagic.session.session import Session


def test_what_was_taken_back_is_never_sent(page: View, service: Service) -> None:
    """An offer that the page does not take up is dropped; go after stop does nothing."""
    page.say("ask", text="why?", nonce="1", replaces=None)
    key = page.until("offer")["key"]
    page.say("stop", key=key)
    assert page.until("snapshot", key=key)["ended"]["prompt"] == "why?"
    page.say("go", key=key)
    page.say("ask", text="left alone", nonce="2", replaces=None)
    left = page.until("offer", nonce="2")["key"]
    page.asked("this one")
    assert page.until("snapshot", key=left)["ended"]["prompt"] == "left alone"
    assert service.bodies == [["this one"]]


@pytest.mark.parametrize(
    ("text", "replaces", "why"),
    [
        (" \n", None, "empty"),
        (None, None, "empty"),
        ("x", 99, "no longer the panel's"),
        (None, 99, "no longer the panel's"),
    ],
)
def test_a_prompt_that_cannot_be_sent_is_refused(
    page: View, service: Service, text: str | None, replaces: int | None, why: str
) -> None:
    """It says why, to the page that asked, and nothing is sent."""
    page.say("ask", nonce="1", text=text, replaces=replaces)
    assert why in page.until("refused", nonce="1")["words"]
    assert service.bodies == []


def test_go_said_twice_sends_once(page: View, service: Service) -> None:
    """Two views may both hear an offer, and a message may come twice."""
    page.say("ask", text="why?", nonce="1", replaces=None)
    key = page.until("offer")["key"]
    page.say("go", key=key)
    page.say("go", key=key)
    page.until("snapshot", key=key)
    page.asked("next")
    assert [one[-1] for one in service.bodies] == ["why?", "next"]


def test_one_question_of_the_panel_at_a_time(page: View, service: Service) -> None:
    """A second one is refused and says why."""
    service.reply, go_on = holding("half ")
    key = page.ask("one")
    page.until("text")
    page.say("ask", text="two", nonce="2", replaces=None)
    assert "under way already" in page.until("refused")["words"]
    go_on.set()
    page.until("snapshot", key=key)


@pytest.mark.parametrize("offered", [False, True])
def test_an_action_that_fails_is_refused(
    page: View, service: Service, monkeypatch: pytest.MonkeyPatch, *, offered: bool
) -> None:
    """In one line, which quotes nothing; the page does not wait, and the next one is asked."""

    def fail(*_: object) -> Any:
        raise LookupError("sk-action-7f3a")

    with monkeypatch.context() as patch:
        patch.setattr(actions, "Halt", fail)
        if not offered:
            patch.setattr(actions, "without_lone_surrogates", fail)
        page.say("ask", text="a question", nonce="n", replaces=None)
        if offered:
            page.say("go", key=page.until("offer")["key"])
            ended = page.until("snapshot")["ended"]
            why = ended["words"]
            assert ended["prompt"] == "a question"
        else:
            why = page.until("refused", nonce="n")["words"]
    assert why.startswith("Nothing was sent: ")
    assert "(LookupError)" in why
    assert "sk-action" not in json.dumps(page.messages)
    assert service.bodies == []
    assert page.asked("another")["ended"]["fine"]


def test_a_step_that_fails_is_said(
    session: Session, page: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who pressed a button hears of it."""
    monkeypatch.setattr(session, "change", lambda _: 1 / 0)
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
    asks = [one for one in page.messages if one["kind"] == "pending" and one["replaces"]]
    assert [(one["replaces"], one["after"]) for one in asks] == [([first], first)] * 2
    page.say("step", step="undo")
    assert page.until("notice")["words"] == "Took back the new reply to “one, edited”."
    assert [one.prompt for one in session.conversation] == ["one", "two"]
    page.say("step", step="redo")
    assert "edited" in page.until("notice")["words"]


def test_asked_again_a_prompt_is_sent_letter_for_letter(page: View, service: Service) -> None:
    """Also one with characters that its page shows otherwise."""
    page.asked(HOSTILE)
    page.asked(None, replaces=1)
    assert service.bodies == [[HOSTILE], [HOSTILE]]


def test_a_turn_below_json_asks_for_prose(session: Session, page: View, service: Service) -> None:
    """Its prompt stays as typed, asked again too; a reply in JSON is a tree in the panel."""
    service.reply = lambda peer: peer.send(words('{"a": 1}'))
    session.run(Ask("what?", entry="cell", format="json"), Listener(None))
    page.asked("why?")
    page.asked(None, replaces=2)
    prose = "Reply in prose again, as Markdown; the form of the earlier reply holds no longer."
    assert [body[-1] for body in service.bodies[1:]] == [f"{prose}\n\nwhy?"] * 2
    assert [turn.as_typed for turn in session.conversation] == ["what?", "why?"]
    asked, _ = page.log()
    assert "<summary>1 field</summary>" in asked["reply"]["html"]


def test_one_thread_is_shown_and_can_be_changed(
    session: Session, page: View, service: Service
) -> None:
    """The one at the end, or the one that is chosen; its questions are asked in it by name."""
    page.asked("first")
    assert "threads" not in page.sync()
    session.steer(ThreadStart("sql", owner="s" * 16, execution="1"))
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


def test_what_another_thread_asks_is_not_shown(
    session: Session, page: View, service: Service
) -> None:
    """Nor does the panel change its thread while its own question is under way."""
    session.steer(ThreadStart("sql", owner="s" * 16, execution="1"))
    session.run(Ask("why?", owner="c" * 16, thread="main"), Listener(None))
    # Its snapshots are sent in order, and this one is the last.
    assert page.sync()["count"] == 0
    assert not any(message.get("ended") for message in page.messages)
    service.reply, go_on = holding("half ")
    key = page.ask("mine")
    page.until("text")
    page.say("thread", thread="main")
    assert page.until("notice")["words"] == actions.UNDER_WAY
    go_on.set()
    assert page.until("snapshot", key=key)["thread"] == "sql"
    assert [message["kind"] for message in page.messages].count("pending") >= 1
    assert all(m["prompt"] == "mine" for m in page.messages if m["kind"] == "pending")


def test_what_is_no_json_is_told_in_the_panel(session: Session, page: View) -> None:
    """Its turn is there, and behind it what is wrong with it."""
    with pytest.raises(ReplyFormatError):
        session.run(Ask("what?", entry="cell", format="json"), Listener(None))
    ended = page.until("snapshot", fine=False)
    words = "The reply is no JSON: line 1, column 1: Expecting value."
    assert ended["ended"]["words"].startswith(words)
    turn, aside = page.log()
    assert "No JSON at line 1, column 1." in turn["reply"]["html"]
    assert aside["problem"]["what"] == words


def test_a_cells_turn_is_not_the_panels_to_ask_again(session: Session, page: View) -> None:
    """The cell owns it; run the cell again."""
    session.run(Ask("why?", owner="c" * 16, entry="cell", asker="cell [3]"), Listener(None))
    page.say("ask", text="other", nonce="1", replaces=1)
    assert "no longer the panel's" in page.until("refused")["words"]


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
