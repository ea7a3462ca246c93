"""The panel without a browser: what views are sent, what they ask for, and its magic."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from contextvars import ContextVar
from typing import Any
from unittest.mock import Mock

import pytest
from comms import Widgets, Wire
from loopback import DONE, Peer, document, event, head, stream, wait_for
from message_types import conforms, types
from panel_views import (
    HOSTILE,
    LIMITS,
    PATIENCE,
    Kernel,
    Service,
    View,
    fill,
    holding,
    turn,
    words,
    words_cut,
)
from shells import KEY, Page, Shell

import chatmagic
from chatmagic.client.halt import Halt
from chatmagic.conversation.question import A_MODEL
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.steering import ThreadStart
from chatmagic.jupyter.page import drawing_loop, panel
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.messages import PROTOCOL
from chatmagic.jupyter.page.panel import Panels, PendingAsk, Shown
from chatmagic.jupyter.page.panel_content import LogEntries
from chatmagic.jupyter.transcript import NEEDS_A_PAGE
from chatmagic.session.events import Ask, Began, Ended, Fragment, Listener
from chatmagic.session.session import Session


def test_what_the_bridge_paints_is_not_told_twice(
    session: Session, kernel: Kernel, loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its script finds the panel's box, too, which comes with the first drawing."""
    monkeypatch.setattr(drawing_loop, "SECONDS_BETWEEN", 0.0)
    loop.painted()
    with closing(Panels(session, kernel, loop)) as pages:
        page = View(pages)
        ask = Ask("a question", entry="cell", asker="cell [7]", owner="0123456789abcdef")
        before = len(page.messages)
        session.tell(Began(ask, (), session.conversation.turns, Halt()))
        for fragment in ("one ", "two ", "three"):
            session.tell(Fragment(ask, fragment))
        session.tell(Ended(ask, None, chatmagic.errors.ServiceError("down")))
        page.until("snapshot", words="down")
        heard = page.messages[before:]
    (text,) = [one for one in heard if one.get("html")]
    assert "chatmagic-at-0" in text["html"]
    assert not [one for one in heard if one["kind"] == "paint"]


def test_a_reply_is_told_in_order(session: Session, page: View, service: Service) -> None:
    """Offered, begun, drawn, ended; the turn is the panel's and stands in the conversation."""
    service.reply = lambda peer: peer.send(words("**one** ", "two"))
    page.sync()
    over = page.asked("why?")
    kinds = [kind for kind in page.kinds if kind != "paint"]
    assert kinds == ["snapshot", "pending", "offer", "pending", "snapshot"]
    assert page.kinds[-2:] == ["paint", "snapshot"]
    stages = [message["stage"] for message in page.messages if message["kind"] == "pending"]
    assert stages == ["asked", "began", "began"]
    (new,) = over["new"]
    assert over["entries"] == [[new["id"], new["version"]]]
    assert (new["prompt"], new["by"], new["mine"]) == ("why?", "the panel", True)
    assert "<strong>one</strong>" in new["reply"]["html"]
    assert new["reply"]["text"] == "**one** two"
    assert over["ended"]["words"] == "Complete, 2 words."
    assert (over["ended"]["fine"], over["ended"]["prompt"], over["pending"]) == (True, None, [])
    assert (over["undo"], over["redo"], over["count"]) == (True, False, 1)
    (only,) = session.conversation.turns
    assert only.entry == "panel"


def test_the_next_cell_carries_the_panels_turn_and_says_so(
    session: Session, page: View, service: Service
) -> None:
    """The panel's own next question carries it, too, and needs no words about it."""
    page.asked("first")
    page.asked("second")
    session.run(Ask("third", owner="c" * 16, asker="cell [3]"), Listener(None))
    assert page.until("pending", by="cell [3]")["mine"] is False
    (new,) = page.until("snapshot", count=3)["new"]
    assert (new["by"], new["mine"]) == ("cell [3]", False)
    assert service.bodies[-1] == ["first", "fine", "second", "fine", "third"]
    notes = [
        (message["by"], message["note"])
        for message in page.messages
        if message["kind"] == "pending" and message["stage"] == "began" and not message["html"]
    ]
    assert notes == [
        ("the panel", ""),
        ("the panel", ""),
        ("cell [3]", "with 2 turns from the panel"),
    ]


def test_two_panels_agree(pages: Panels, page: View) -> None:
    """What one asks both are told, and a page that went away silences nobody.

    Answers to one view go to its page alone.
    """
    other = View(pages)
    over = page.asked("why?")
    assert other.until("snapshot")["new"] == over["new"]
    assert "offer" not in other.kinds
    page.sync()
    assert [one.get("view") for one in other.messages if one["kind"] == "snapshot"] == [None]
    page.went = True
    other.asked("and then?")
    pages.leave(page.shown)
    assert [entry["prompt"] for entry in other.log()] == ["why?", "and then?"]


def test_a_view_that_opens_in_the_middle_sees_what_came(
    page: View, pages: Panels, service: Service
) -> None:
    """The ask under way is in what it is told first, with the text so far; so is a reload."""
    service.reply, go_on = holding("half ")
    key = page.ask("why?")
    shown = page.streaming()
    late = View(pages)
    first = late.sync(first=True)
    assert first["reloaded"] is False
    (ask,) = first["pending"]
    assert (ask["live"], ask["stage"]) == (key, "began")
    assert "half" in ask["html"]
    assert ask["html"] == shown["html"]  # marked by what it shows
    go_on.set()
    page.until("snapshot", live=key)
    late.until("snapshot", live=key)
    assert late.sync(first=False)["reloaded"] is False
    assert late.sync(first=True)["reloaded"] is True


def test_without_streaming_a_reply_is_drawn_once(
    page: View, kernel: Kernel, service: Service
) -> None:
    """`ChatMagics.stream = off` tells nothing between the beginning and the end."""
    kernel.shows = False
    service.reply = lambda peer: peer.send(words("one ", "two"))
    page.asked("why?")
    assert not [one for one in page.messages if one["kind"] == "paint" or one.get("html")]


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


def test_a_page_is_told_in_the_context_in_which_it_spoke(pages: Panels) -> None:
    """By it a kernel knows the thread that takes what the page says next."""
    spoken: ContextVar[str] = ContextVar("spoken", default="nowhere")
    seen: list[str] = []
    page = View(pages)
    take = page.shown.send

    def note(message: dict[str, Any]) -> None:
        seen.append(spoken.get())
        take(message)

    page.shown = Shown(note, page.save)
    pages.join(page.shown)

    def speak() -> None:
        spoken.set("a subshell")
        page.say("ping")

    speaker = threading.Thread(target=speak)
    speaker.start()
    speaker.join(PATIENCE)
    page.until("pong")
    assert seen == ["a subshell"]


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


def test_an_end_that_cannot_be_drawn_is_no_wait_without_end(
    page: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view hears that it is over, and asks for what it lacks; what came is not lost."""
    with monkeypatch.context() as patch:
        patch.setattr(LogEntries, "draw", lambda *_: 1 / 0)
        over = page.asked("one")
    assert over["new"] == []
    assert len(over["entries"]) == 1
    assert [entry["prompt"] for entry in page.log()] == ["one"]
    assert page.asked("two")["ended"]["fine"]


def test_the_gauge_alone_says_the_figures(page: View, service: Service) -> None:
    """The entry says what happened and what to do; a screen reader hears all of it."""
    used_up = {"error": "limit", "limit": 3, "used": 3, "resetAt": "2099-03-02T00:00:00Z"}
    service.reply = lambda peer: peer.send(document(used_up, "429 No"))
    over = page.asked("why?")
    problem = over["new"][-1]["problem"]
    assert problem["what"] == "No credits left (HTTP 429)."
    assert problem["hint"] == "Ask again after the reset."
    figures = "3 of 3 used, resets 2099-03-02 00:00 UTC."
    assert over["ended"]["words"] == f"{problem['what']} {figures} {problem['hint']}"
    assert over["credits"]["words"] == "0 of 3 credits left"


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


def test_what_is_hostile_is_shown_and_acts_nowhere(page: View, service: Service) -> None:
    """Prompt, reply and model: as safe HTML, or as text without characters that act."""
    hostile = f'{{"model": {json.dumps(HOSTILE)}, "choices": [{{"delta": {{"content": '
    hostile += f"{json.dumps(HOSTILE)}}}}}]}}"
    service.reply = lambda peer: peer.send(stream(f"data: {hostile}\n\n".encode(), DONE))
    (new,) = page.asked(HOSTILE)["new"]
    texts = [one["html"] for one in page.messages if one.get("html")]
    texts += ["".join(one["blocks"]) for one in page.messages if one.get("blocks")]
    assert texts
    for html in (new["reply"]["html"], *texts):
        assert "<script" not in html
        assert "<img" not in html
        assert "href" not in html
        assert "&lt;script&gt;" in html
    everything = json.dumps(page.messages, ensure_ascii=False)
    assert "\u202e" not in everything
    assert "\\u001b" not in everything
    assert new["prompt"].startswith("<script>")  # as text
    page.asked(None, replaces=1)
    assert service.bodies == [[HOSTILE], [HOSTILE]]  # letter for letter


def test_a_long_conversation_is_shown_page_by_page(session: Session, page: View) -> None:
    """A view opens with the newest turns; it asks for those before, and gets as many at once."""
    fill(session, 100)
    first = page.sync()
    assert [id for id, _ in first["entries"]] == list(range(61, 101))
    assert [entry["id"] for entry in first["new"]] == list(range(71, 101))
    assert first["earlier"] == 60
    page.say("want", ids=list(range(1, 101)))
    assert [entry["id"] for entry in page.until("entries")["entries"]] == list(range(71, 101))
    more = page.sync(count=70)
    assert (more["entries"][0][0], more["entries"][-1][0], more["earlier"]) == (31, 100, 30)
    assert page.sync(count=4711)["earlier"] == 0
    assert more["new"] == []
    # What changes is told of the newest; the others keep their version, or get another one.
    session.change(lambda conversation: conversation.hand_over(40, "c" * 16))
    assert page.until("snapshot", view=None, count=100)["entries"] == first["entries"]
    session.run(Ask("why?", owner="c" * 16, execution="2", asker="cell [3]"), Listener(None))
    later = dict(page.sync(count=70)["entries"])
    now = {id: version for id, version in more["entries"] if later.get(id) == version}
    assert list(now) == list(range(31, 40))  # those behind it are stale


def test_a_turn_that_comes_while_pages_are_told_is_told_next(
    session: Session, page: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell's reply and the panel's that end at the same moment are both in the log."""
    window = LogEntries.window

    def meanwhile(entries: LogEntries, *arguments: Any) -> Any:
        listed = window(entries, *arguments)
        if len(session.conversation) == 1:
            session.conversation.add(turn(7))
        return listed

    monkeypatch.setattr(LogEntries, "window", meanwhile)
    session.ask("one")
    first = page.until("snapshot")
    session.ask("two")
    second = page.until("snapshot")
    assert [[one["id"] for one in sent["new"]] for sent in (first, second)] == [[1], [2, 3]]


def test_under_a_turn_stand_its_tokens_and_no_credits(page: View, service: Service) -> None:
    """The gauge above the log tells the credits, once, and the requests left in their window."""
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    choice = {"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
    whole = {"model": "m", "choices": [choice], "usage": usage}
    left = {"limit": "100", "remaining": "93", "reset": "30s"}
    headers = {f"x-ratelimit-{name}-requests": value for name, value in left.items()} | LIMITS
    service.reply = lambda peer: peer.send(document(whole, headers=headers))
    over = page.asked("why?")
    (new,) = over["new"]
    assert new["reply"]["tokens"] == "3 + 5 tokens"
    assert over["credits"]["words"] == "9 of 10 credits left"
    assert over["credits"]["requests"] == "93 of 100 requests left in this window"
    assert over["credits"]["until"] == "2026-01-01T12:00:30Z"
    assert "credits" not in json.dumps(new)


def test_a_kernel_that_cannot_say_its_state_still_has_a_panel(
    page: View, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that is wrong is shown where the settings are."""
    monkeypatch.setattr(kernel, "standing", lambda: 1 / 0)
    assert page.sync()["standing"]["state"] == "unknown"


def test_what_a_cell_has_set_is_shown(
    page: View, pages: Panels, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the cell's end, if it is something that a panel shows; not what has not changed."""
    assert page.sync()["standing"]["state"] == "live"
    pages.look()
    page.say("ping")
    page.until("pong")
    assert page.kinds == ["snapshot", "pong"]
    standing = kernel.standing()
    monkeypatch.setattr(kernel, "standing", lambda: {**standing, "state": "replay"})
    pages.look()
    assert page.until("snapshot")["standing"]["state"] == "replay"


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
        patch.setattr(panel, "without_lone_surrogates", fail)
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
    page.streaming()
    page.say("thread", thread="main")
    assert page.until("notice")["words"] == panel.UNDER_WAY
    go_on.set()
    assert page.until("snapshot", live=key)["thread"] == "sql"
    assert [message["kind"] for message in page.messages].count("pending") >= 1
    assert all(m["prompt"] == "mine" for m in page.messages if m["kind"] == "pending")


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


def test_the_magic_shows_a_widget_and_an_output_that_is_saved(shell: Shell) -> None:
    """Two outputs: without a kernel the second one is there to read."""
    widget, saved = shell.page("%chat_panel", "P").messages
    assert "application/vnd.jupyter.widget-view+json" in widget["data"]
    assert widget["data"]["text/plain"] == NEEDS_A_PAGE
    # Not trusted, the page shows the HTML of the widget's own output; an export shows nothing.
    assert "run this cell again, or trust the notebook" in widget["data"]["text/html"]
    assert "chatmagic-saved" not in widget["data"]["text/html"]
    assert widget["data"]["text/markdown"] == ""
    assert "chatmagic-saved" in saved["data"]["text/html"]
    # The line that says what is missing stands in the one, and not in both.
    assert NEEDS_A_PAGE not in str(saved["data"])
    assert saved["id"]
    shell.page("%%chat\necho:hello", "A")
    page = shell.shell.display_pub
    assert isinstance(page, Page)
    texts: list[str] = []
    while not texts or "echo:hello" not in texts[-1]:
        # It is told after the cell, maybe.
        assert page.news.wait(PATIENCE), texts
        page.news.clear()
        texts = [one["data"]["text/plain"] for one in page.messages if one["id"] == saved["id"]]
    assert texts[-1].count("echo:hello") == 1


def test_the_state_follows_the_cells(shell: Shell, widgets: Widgets) -> None:
    """Another service, another setting: a panel says what is in force, before the next question.

    What the widget shares with the page holds neither conversation nor key, and names its modules
    so that no registry has code for them.
    """
    shell.page("%chat_panel", "P")
    (widget,) = widgets.having("draft")
    assert (widget.state["protocol"], widget.state["_view_module"][0]) == (PROTOCOL, "_")
    view = View(Wire(widget))
    assert view.sync()["standing"]["state"] == "live"
    shell.do("%chat_connect emulator")
    assert view.until("snapshot")["standing"]["state"] == "emulator"
    shell.do("%config ChatMagics.temperature = 0.5")
    assert ["Settings", "temperature = 0.5."] in view.until("snapshot")["standing"]["rows"]
    before = len(repr(widget.state))
    shell.page("%%chat\necho:" + "word " * 100, "A")
    assert len(repr(widget.state)) == before
    assert KEY not in repr(widget.state)


def test_a_panel_shown_again_keeps_its_draft_and_ends_the_old_one(
    shell: Shell, widgets: Widgets
) -> None:
    """The same cell, run again, has one widget."""
    shell.page("%chat_panel", "P")
    (old,) = widgets.having("draft")
    old.update(draft="half a question")
    shell.page("%chat_panel", "P")
    (new,) = widgets.having("draft")
    assert new is not old
    assert new.state["draft"] == "half a question"
    assert not old.is_open
    shell.page("%chat_panel", "Q")
    assert len(widgets.having("draft")) == 2
    view = View(Wire(old))
    shell.page("%%chat\necho:hello", "A")
    View(Wire(new)).sync()
    assert view.messages == []
