"""The panel without a browser: what pages are told, and what becomes of what they say."""

from __future__ import annotations

import json
import re
import sys
import threading
from contextlib import closing
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from loopback import DONE, Peer, Server, document, event, head, stream, wait_for
from shells import Shell, alone

import chatmagic
from chatmagic import _lazy
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.turn import Turn
from chatmagic.emulator.server import Emulator, Settings
from chatmagic.jupyter import drawing
from chatmagic.jupyter.panel import actions, cell_export
from chatmagic.jupyter.panel import messages as board
from chatmagic.jupyter.panel.hub import Desk, Page
from chatmagic.models import Credits, Reply
from chatmagic.session.events import HELD_BACK, Ask, Began, Ended, Fragment, Silent
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 10.0
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOSTILE = "<script>x</script>\u202e\x1b[2J<img src=x onerror=y> [a](javascript:b)"
LIMITS = {
    "X-RateLimit-Limit": "10",
    "X-RateLimit-Remaining": "9",
    "X-RateLimit-Reset": "2026-01-02T00:00:00Z",
    "Date": "Thu, 01 Jan 2026 12:00:00 GMT",
}


class Kernel:
    """What the desk asks its kernel."""

    def __init__(self) -> None:
        """Say little."""
        self.given: dict[str, Any] = {}
        self.shows = True

    def now(self) -> datetime:
        """Stand still."""
        return NOON

    def standing(self) -> dict[str, Any]:
        """Say where."""
        return {"state": "live", "rows": [["Service", "here"]]}

    def defaults(self) -> dict[str, Any]:
        """Give the parameters."""
        return self.given

    def streams(self) -> bool:
        """Tell whether replies are shown while they come."""
        return self.shows


class Told:
    """A page that keeps what it is told, and says what a reader does."""

    def __init__(self, desk: Desk, role: Any = "panel") -> None:
        """Join, and greet."""
        self.messages: list[dict[str, Any]] = []
        self.went = False
        self._news = threading.Condition()
        self._desk = desk
        self.page = Page(role, self.take)
        desk.join(self.page)

    def take(self, message: dict[str, Any]) -> None:
        """Keep a message, as it crosses the wire."""
        if self.went:
            raise RuntimeError("the page went away")
        with self._news:
            self.messages.append(json.loads(json.dumps(message)))
            self._news.notify_all()

    def say(self, kind: str, **more: Any) -> None:
        """Say something, from whatever thread."""
        self._desk.hear(self.page, {"kind": kind, "view": "v", **more})

    def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Wait for a message, and give it; the same one is not given twice."""

        def found() -> int | None:
            wanted = {"kind": kind, **fields}
            for place, message in enumerate(self.messages):
                if not message.get("seen") and wanted.items() <= message.items():
                    return place
            return None

        with self._news:
            assert self._news.wait_for(lambda: found() is not None, PATIENCE), self.messages
            message = self.messages[found() or 0]
            message["seen"] = True
            return message

    def ask(self, text: str, **more: Any) -> int:
        """Ask as a reader does, and give the key."""
        nonce = f"nonce {len(self.messages)}"
        self.say("ask", text=text, nonce=nonce, **more)
        key = self.until("offer", nonce=nonce)["key"]
        self.say("go", key=key)
        return int(key)

    def asked(self, text: str, **more: Any) -> dict[str, Any]:
        """Ask, and wait for the end."""
        return self.until("changed", key=self.ask(text, **more))

    @property
    def kinds(self) -> list[str]:
        """What it was told, in order, without repetitions."""
        kinds = [str(message["kind"]) for message in self.messages]
        return [kind for place, kind in enumerate(kinds) if kinds[place - 1 : place] != [kind]]


class Service:
    """A server whose replies the test sends piece by piece."""

    def __init__(self) -> None:
        """Reply with one word until told otherwise."""
        self.reply: Callable[[Peer], object] = lambda peer: peer.send(words("fine"))
        self.server = Server(self._play)

    def _play(self, peer: Peer) -> None:
        while peer.request():
            self.reply(peer)

    @property
    def bodies(self) -> list[list[str]]:
        """The contents of the messages of each request."""
        return [[one["content"] for one in asked.body["messages"]] for asked in self.server.asked]


def words(*fragments: str) -> bytes:
    """Give a whole reply."""
    return stream(*map(event, fragments), DONE, headers=LIMITS)


def words_cut(*fragments: str) -> bytes:
    """Give a reply that ends before its end."""
    return stream(*map(event, fragments), headers=LIMITS)


def holding(*fragments: str) -> tuple[Callable[[Peer], None], threading.Event]:
    """Give a reply that begins, and goes on when told."""
    go_on = threading.Event()

    def play(peer: Peer) -> None:
        from loopback import CHUNKS_END, EVENTS, chunked  # noqa: PLC0415 - of this reply alone

        peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}))
        peer.send(*(chunked(event(fragment)) for fragment in fragments))
        wait_for(go_on)
        peer.send(chunked(DONE) + CHUNKS_END)

    return play, go_on


@pytest.fixture
def service() -> Iterator[Service]:
    """Give a server."""
    made = Service()
    with made.server:
        yield made


@pytest.fixture
def session(service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Session]:
    """Give a session that the environment connects to the server."""
    with alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_BASE_URL", service.server.origin)
        monkeypatch.setenv("CHATMAGIC_AUTH", "none")
        made = Session()
        yield made
        made.close()


@pytest.fixture
def kernel() -> Kernel:
    """Give what the desk asks."""
    return Kernel()


@pytest.fixture
def desk(session: Session, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Give a desk that draws every fragment."""
    monkeypatch.setattr(drawing, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(drawing, "BYTES_A_SECOND", float("inf"))
    made = Desk(session, kernel)
    yield made
    made.close()


@pytest.fixture
def page(desk: Desk) -> Told:
    """Give a panel's page."""
    return Told(desk)


def turn(which: int, **more: Any) -> Turn:
    """Give a turn."""
    return Turn(prompt=f"question {which}", reply=Reply(f"answer *{which}*"), **more)


def filled(session: Session, count: int) -> None:
    """Put turns into a conversation."""
    for number in range(count):
        carried = tuple(range(1, number + 1))
        session.conversation.add(turn(number, carried=carried, entry="python", asker="Python"))


def following(session: Session, page: Told, fragments: list[str]) -> list[dict[str, Any]]:
    """Let a page follow a reply, and give what it was told of it."""
    ask = Ask("a question", entry="cell", asker="cell [7]", owner="0123456789abcdef")
    before = len(page.messages)
    session._tell(Began(ask, (), session.conversation.turns))
    for fragment in fragments:
        session._tell(Fragment(fragment))
    session._tell(Ended(ask, None, chatmagic.errors.ServiceError("down")))
    page.until("changed", said="down")
    return page.messages[before:]


def test_what_a_fragment_costs_does_not_depend_on_the_history(
    session: Session, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 5 turns and with 500 a reply is told in the same messages, byte for byte."""
    monkeypatch.setattr(drawing, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(drawing, "BYTES_A_SECOND", float("inf"))
    fragments = [f"word{number} " for number in range(50)]
    told = []
    for count in (5, 500):
        session.conversation = Conversation()
        filled(session, count)
        with closing(Desk(session, kernel)) as desk:
            page = Told(desk)
            page.say("hello")
            first = page.until("all")
            assert (len(first["turns"]), first["earlier"]) == (min(count, 30), max(0, count - 30))
            told.append(following(session, page, fragments))
    few, many = ([one for one in messages if one["kind"] == "text"] for messages in told)
    assert len(few) == len(fragments)
    assert few == many
    assert [one["kind"] for one in told[0]] == [one["kind"] for one in told[1]]
    sizes = [[len(json.dumps(one)) for one in messages] for messages in told]
    assert max(abs(a - b) for a, b in zip(*sizes, strict=True)) < 10


def test_drawing_is_paced_by_the_length(
    session: Session, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first fragment is drawn at once; then nothing until the pause is over."""
    monkeypatch.setattr(drawing, "SECONDS_BETWEEN", 3600.0)
    with closing(Desk(session, kernel)) as desk:
        page = Told(desk)
        told = following(session, page, ["one ", "two ", "three"])
    assert ["one" in one["html"] for one in told if one["kind"] == "text"] == [True]
    assert "two" not in json.dumps(told)


def test_a_reply_is_told_in_order(session: Session, page: Told, service: Service) -> None:
    """Offered, begun, drawn, ended; the turn is the panel's and stands in the conversation."""
    service.reply = lambda peer: peer.send(words("**one** ", "two"))
    page.say("hello")
    page.until("all")
    over = page.asked("why?")
    assert page.kinds == ["all", "live", "offer", "live", "text", "changed"]
    stages = [message["stage"] for message in page.messages if message["kind"] == "live"]
    assert stages == ["asked", "began"]
    (new,) = over["turns"]
    assert (new["prompt"], new["by"], new["mine"], new["after"]) == ("why?", "the panel", True, 0)
    assert "<strong>one</strong>" in new["html"]
    assert new["text"] == "**one** two"
    assert (over["said"], over["fine"], over["back"]) == ("Complete, 2 words.", True, None)
    assert over["gone"] == []
    assert (over["undo"], over["redo"], over["count"]) == (True, False, 1)
    (only,) = session.conversation.turns
    assert only.entry == "panel"


def test_a_cell_is_followed_and_named(session: Session, page: Told) -> None:
    """What a cell asks is told as it streams, with the cell's number, by every panel."""
    session.run(Ask("why?", owner="c" * 16, entry="cell", asker="cell [3]"), Silent())
    live = page.until("live")
    assert (live["by"], live["mine"], live["prompt"]) == ("cell [3]", False, "why?")
    (new,) = page.until("changed")["turns"]
    assert (new["by"], new["mine"]) == ("cell [3]", False)


def test_the_next_cell_carries_the_panels_turn_and_says_so(
    session: Session, page: Told, service: Service
) -> None:
    """The panel's own next question carries it, too, and needs no words about it."""
    page.asked("first")
    page.asked("second")
    session.run(Ask("third", owner="c" * 16, asker="cell [3]"), Silent())
    page.until("live", by="cell [3]")
    assert service.bodies[-1] == ["first", "fine", "second", "fine", "third"]
    notes = [
        (message["by"], message["note"])
        for message in page.messages
        if message["kind"] == "live" and message["stage"] == "began"
    ]
    assert notes == [
        ("the panel", ""),
        ("the panel", ""),
        ("cell [3]", "with 2 turns from the panel"),
    ]


def test_two_panels_agree(desk: Desk, page: Told) -> None:
    """What one asks both are told; answers to one view go to its page alone."""
    other = Told(desk)
    page.asked("why?")
    assert other.until("changed")["turns"] == page.messages[-1]["turns"]
    assert "offer" not in other.kinds
    page.say("hello")
    page.until("all")
    assert "all" not in other.kinds


def test_a_page_that_went_away_silences_nobody(desk: Desk, page: Told) -> None:
    """The others are told on."""
    page.went = True
    other = Told(desk)
    other.asked("why?")
    desk.leave(page.page)


def test_a_view_that_opens_in_the_middle_sees_what_came(
    page: Told, desk: Desk, service: Service
) -> None:
    """The ask under way is in what it is told first, with the text so far; so is a reload."""
    service.reply, go_on = holding("half ")
    key = page.ask("why?")
    page.until("text")
    late = Told(desk)
    late.say("hello", first=True)
    everything = late.until("all")
    assert everything["reloaded"] is False
    (live,) = everything["live"]
    assert (live["key"], live["stage"]) == (key, "began")
    assert "half" in live["html"]
    go_on.set()
    page.until("changed", key=key)
    late.until("changed", key=key)
    late.say("hello", first=False)
    assert late.until("all")["reloaded"] is False
    late.say("hello", first=True)
    assert late.until("all")["reloaded"] is True


def test_without_streaming_a_reply_is_drawn_once(
    page: Told, kernel: Kernel, service: Service
) -> None:
    """`ChatMagics.stream = off` tells nothing between the beginning and the end."""
    kernel.shows = False
    service.reply = lambda peer: peer.send(words("one ", "two"))
    page.asked("why?")
    assert "text" not in page.kinds


def test_stop_ends_the_panels_reply_and_keeps_what_came(
    session: Session, page: Told, service: Service
) -> None:
    """The connection is closed; the turn stays, marked, and nothing goes back."""
    gone = threading.Event()

    def play(peer: Peer) -> None:
        peer.send(head(headers={"Content-Type": "text/event-stream"}) + event("half a reply "))
        assert peer.gone()
        gone.set()

    service.reply = play
    key = page.ask("why?")
    page.until("text")
    page.say("stop", key=key)
    over = page.until("changed", key=key)
    wait_for(gone)
    assert over["said"] == "Interrupted after 3 words; what came is kept, marked."
    assert (over["fine"], over["back"], over.get("asides")) == (False, None, None)
    assert over["turns"][0]["states"] == ["Interrupted: this reply is not complete."]
    assert session.conversation.turns[0].state == "interrupted"


def test_a_waiting_ask_says_for_whom_and_can_be_stopped(
    session: Session, page: Told, service: Service
) -> None:
    """Stopped, it is never sent, and its prompt goes back; the cell's reply goes on."""
    service.reply, go_on = holding("half ")
    cell = threading.Thread(
        target=session.run, args=[Ask("cell", asker="cell [3]", owner="c" * 16), Silent()]
    )
    cell.start()
    page.until("text")
    key = page.ask("panel")
    waits = page.until("live", stage="waiting")
    assert waits["note"] == "Waiting for the reply to cell [3] to end."
    page.say("stop", key=key)
    over = page.until("changed", key=key)
    assert over["back"] == "panel"
    assert "asides" not in over
    go_on.set()
    cell.join(PATIENCE)
    page.until("changed", fine=True)
    assert service.bodies == [["cell"]]


def test_stop_ends_a_cells_reply_by_name(session: Session, page: Told, service: Service) -> None:
    """A cell's ask is stopped from the panel; one that is over stops no other one."""
    service.reply, go_on = holding("half ")
    stopped: list[BaseException] = []

    def run() -> None:
        try:
            session.run(Ask("cell", asker="cell [3]", owner="c" * 16), Silent())
        except KeyboardInterrupt as error:
            stopped.append(error)

    cell = threading.Thread(target=run)
    cell.start()
    key = page.until("live", stage="began")["key"]
    page.until("text")
    page.say("stop", key=key)
    page.until("stopping")
    assert page.until("changed", key=key)["turns"][0]["states"]
    cell.join(PATIENCE)
    go_on.set()
    assert isinstance(stopped[0], chatmagic.errors.ChatInterrupted)
    page.say("stop", key=key)
    page.say("ping")
    page.until("pong")
    assert page.kinds.count("stopping") == 1


def test_what_was_taken_back_is_never_sent(page: Told, service: Service) -> None:
    """An offer that the page does not take up is dropped; go after stop does nothing."""
    page.say("ask", text="why?", nonce=1)
    key = page.until("offer")["key"]
    page.say("stop", key=key)
    assert page.until("changed", key=key)["back"] == "why?"
    page.say("go", key=key)
    page.say("ask", text="left alone", nonce=2)
    lost = page.until("offer", nonce=2)["key"]
    page.asked("this one")
    assert page.until("changed", key=lost)["back"] == "left alone"
    assert service.bodies == [["this one"]]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"text": " \n"}, "empty"),
        ({"text": None}, "empty"),
        ({"text": ["x"]}, "empty"),
        ({"text": "x" * 1_000_001}, "million"),
        ({"text": "x", "instead": 99}, "not the panel's"),
        ({"text": None, "instead": {}}, "not the panel's"),
    ],
)
def test_a_prompt_that_cannot_be_sent_is_refused(
    page: Told, service: Service, said: dict[str, Any], why: str
) -> None:
    """It says why, to the page that asked, and nothing is sent."""
    page.say("ask", nonce=1, **said)
    assert why in page.until("refused", nonce=1)["why"]
    assert service.bodies == []


def test_go_said_twice_sends_once(page: Told, service: Service) -> None:
    """Two views may both hear an offer, and a message may come twice."""
    page.say("ask", text="why?", nonce=1)
    key = page.until("offer")["key"]
    page.say("go", key=key)
    page.say("go", key=key)
    page.until("changed", key=key)
    page.asked("next")
    assert [one[-1] for one in service.bodies] == ["why?", "next"]


def test_a_page_is_told_in_the_context_in_which_it_spoke(desk: Desk) -> None:
    """By it a kernel knows the thread that takes what the page says next."""
    spoken: ContextVar[str] = ContextVar("spoken", default="nowhere")
    seen: list[str] = []
    page = Told(desk)
    told = page.page.send

    def take(message: dict[str, Any]) -> None:
        seen.append(spoken.get())
        told(message)

    page.page = Page("panel", take)
    desk.join(page.page)

    def speak() -> None:
        spoken.set("a subshell")
        page.say("ping")

    speaker = threading.Thread(target=speak)
    speaker.start()
    speaker.join(PATIENCE)
    page.until("pong")
    assert seen == ["a subshell"]


def test_a_loop_in_a_cell_replaces_nothing_of_its_own(session: Session, page: Told) -> None:
    """The second ask of one execution stands behind the first; the next execution's replaces."""
    lives = []
    for execution in ("1", "1", "2"):
        ask = Ask("why?", owner="c" * 16, execution=execution, asker="cell [3]")
        session.run(ask, Silent())
        lives.append(page.until("live"))
        page.until("changed", key=lives[-1]["key"])
    assert [one["instead"] for one in lives] == [[], [], [1, 2]]
    assert [one["after"] for one in lives] == [None, 1, 2]


def test_failures_are_told_without_what_acts() -> None:
    """Whatever an error says, whoever raised it."""
    ours = chatmagic.errors.ServiceError("bad \x1b[2J", hint="do \u202e this")
    assert board.failure(ours) == ("bad \u241b[2J", "do \ufffd this")
    assert board.failure(ValueError("x\x1b")) == ("ValueError: x\u241b", "")


def test_one_question_of_the_panel_at_a_time(page: Told, service: Service) -> None:
    """A second one is refused and says why."""
    service.reply, go_on = holding("half ")
    key = page.ask("one")
    page.until("text")
    page.say("ask", text="two", nonce=2)
    assert "under way already" in page.until("refused")["why"]
    go_on.set()
    page.until("changed", key=key)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"kind": None},
        {"kind": []},
        {"kind": "go", "key": "x"},
        {"kind": "go", "key": None},
        {"kind": "stop", "key": []},
        {"kind": "step", "step": "dump"},
        {"kind": "earlier", "before": {}},
        {"kind": "put", "turns": "all", "cells": [1, None]},
        {"kind": "placed", "turn": [], "cell": 3},
        {"kind": "hello", "view": {"deep": []}},
        "not a dict",
    ],
)
def test_no_message_of_a_page_stops_the_desk(page: Told, desk: Desk, said: Any) -> None:
    """Whatever a page says, it is served on."""
    desk.hear(page.page, said)
    page.say("ping")
    page.until("pong")
    assert page.asked("still there?")["fine"]


@pytest.mark.parametrize("offered", [False, True])
def test_an_errand_that_fails_is_refused(
    page: Told, service: Service, monkeypatch: pytest.MonkeyPatch, *, offered: bool
) -> None:
    """In one line, which quotes nothing; the page does not wait, and the next one is asked."""

    def fail(*_: object) -> Any:
        raise LookupError("sk-errand-7f3a")

    with monkeypatch.context() as patch:
        patch.setattr(_lazy, "load", fail)
        if not offered:
            patch.setattr(actions, "without_lone_surrogates", fail)
        page.say("ask", text="a question", nonce="n")
        if offered:
            page.say("go", key=page.until("offer")["key"])
            told = page.until("changed")
            why = told["said"]
            assert told["back"] == "a question"
        else:
            why = page.until("refused", nonce="n")["why"]
    assert why.startswith("Nothing was sent: ")
    assert "(LookupError)" in why
    assert "sk-errand" not in json.dumps(page.messages)
    assert service.bodies == []
    assert page.asked("another")["fine"]


def test_a_step_that_fails_is_said(
    session: Session, page: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who pressed a button hears of it."""
    monkeypatch.setattr(session, "change", lambda _: 1 / 0)
    page.say("step", step="clear")
    assert page.until("said")["words"].startswith("That was not done: ")


def test_an_end_that_cannot_be_told_is_no_wait_without_end(
    page: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page hears that it is over, and asks for everything; what came is not lost."""
    with monkeypatch.context() as patch:
        patch.setattr(board, "difference", lambda *_: 1 / 0)
        key = page.ask("one")
        over = page.until("again")
    assert over["key"] == key
    assert over["said"]
    page.say("hello")
    everything = page.until("all")
    assert not everything["live"]
    assert [turn["prompt"] for turn in everything["turns"]] == ["one"]
    assert page.asked("two")["fine"]


def test_a_failure_stands_in_the_log_with_what_to_do(
    session: Session, page: Told, service: Service
) -> None:
    """What happened, what to do, and the prompt goes back; the next view sees it, too."""
    session.conversation.add(turn(1))
    service.reply = lambda peer: peer.send(
        document({"error": "invalid", "message": f"bad key {HOSTILE}"}, "401 Unauthorized")
    )
    over = page.asked("why?")
    assert (over["fine"], over["back"], over["turns"][1:]) == (False, "why?", [])
    (aside,) = over["asides"]
    assert (aside["prompt"], aside["failed"], aside["after"]) == ("why?", True, 1)
    assert "bad key <script>" in aside["what"]
    assert "\u202e" not in aside["what"] + over["said"]
    assert "\x1b" not in aside["what"] + over["said"]
    assert aside["hint"]
    page.say("hello")
    assert page.until("all")["asides"] == [aside]
    assert [one["prompt"] for one in page.asked("again?")["asides"]] == ["why?", "again?"]
    page.say("step", step="clear")
    assert page.until("changed", count=0)["asides"] == []


def test_a_reply_that_was_cut_off_is_kept_with_the_reason_below(
    page: Told, service: Service
) -> None:
    """The turn is there, marked; the reason stands behind it without the prompt again."""
    service.reply = lambda peer: peer.send(words_cut("half "))
    over = page.asked("why?")
    (aside,) = over["asides"]
    assert (aside["prompt"], aside["reply"], over["back"]) == ("", None, None)
    assert over["turns"][0]["states"] == ["Cut off: this reply is not complete."]
    assert over["turns"][0]["n"] == aside["after"]


def test_without_history_a_reply_is_shown_and_not_kept(
    session: Session, page: Told, kernel: Kernel
) -> None:
    """The settings of every question count here, too."""
    kernel.given = {"history": False, "temperature": 0.5}
    over = page.asked("why?")
    (aside,) = over["asides"]
    assert aside["reply"]["text"] == "fine"
    assert aside["what"].startswith("Not kept")
    assert over["turns"] == []
    assert len(session.conversation) == 0


def test_what_is_hostile_is_shown_and_acts_nowhere(page: Told, service: Service) -> None:
    """Prompt, reply and model: as safe HTML, or as text without characters that act."""
    hostile = f'{{"model": {json.dumps(HOSTILE)}, "choices": [{{"delta": {{"content": '
    hostile += f"{json.dumps(HOSTILE)}}}}}]}}"
    service.reply = lambda peer: peer.send(stream(f"data: {hostile}\n\n".encode(), DONE))
    over = page.asked(HOSTILE)
    (new,) = over["turns"]
    for told in [new["html"], *(one["html"] for one in page.messages if one["kind"] == "text")]:
        assert "<script" not in told
        assert "<img" not in told
        assert "href" not in told
        assert "&lt;script&gt;" in told
    everything = json.dumps(page.messages, ensure_ascii=False)
    assert "\u202e" not in everything
    assert "\\u001b" not in everything
    assert new["prompt"].startswith("<script>")  # as text


def test_a_turn_is_asked_again_in_its_place(session: Session, page: Told, service: Service) -> None:
    """Asked again or edited, it carries what stands above, and replaces the old one."""
    page.asked("one")
    first = session.conversation.turns[0].number
    page.asked("two")
    over = page.asked("one, edited", instead=first)
    assert service.bodies[-1] == ["one, edited"]
    assert over["gone"] == [first]
    (new,) = over["turns"]
    assert (new["prompt"], new["after"]) == ("one, edited", 0)
    assert over["notes"] == [[2, "the panel", [board.STALE]]]
    assert [one.prompt for one in session.conversation] == ["one, edited", "two"]
    lives = [one for one in page.messages if one["kind"] == "live" and one["instead"]]
    assert [(one["instead"], one["after"]) for one in lives] == [([first], first)] * 2
    page.say("step", step="undo")
    assert page.until("said")["words"] == "Took back the new reply to “one, edited”."
    assert [one.prompt for one in session.conversation] == ["one", "two"]
    page.say("step", step="redo")
    assert "edited" in page.until("said")["words"]


def test_asked_again_a_prompt_is_sent_letter_for_letter(page: Told, service: Service) -> None:
    """Also one with characters that its page shows otherwise."""
    page.asked(HOSTILE)
    page.say("ask", nonce=1, text=None, instead=1)
    page.say("go", key=page.until("offer", nonce=1)["key"])
    page.until("changed", gone=[1])
    assert service.bodies == [[HOSTILE], [HOSTILE]]


def test_a_cells_turn_is_not_the_panels_to_ask_again(session: Session, page: Told) -> None:
    """The cell owns it; run the cell again."""
    session.run(Ask("why?", owner="c" * 16, entry="cell", asker="cell [3]"), Silent())
    page.say("ask", text="other", nonce=1, instead=1)
    assert "not the panel's" in page.until("refused")["why"]


def test_clear_and_undo_tell_the_difference(session: Session, page: Told) -> None:
    """Cleared: all gone; undone: back, each behind the one before it."""
    page.asked("one")
    page.asked("two")
    page.say("step", step="clear")
    cleared = page.until("changed", count=0)
    assert cleared["gone"] == [1, 2]
    page.say("step", step="undo")
    back = page.until("changed", count=2, gone=[], redo=True)
    assert [(one["n"], one["after"]) for one in back["turns"]] == [(1, 0), (2, 1)]
    assert len(session.conversation) == 2


def test_where_much_has_changed_a_page_asks_for_everything(session: Session, page: Told) -> None:
    """More than a page of new turns, or another order, is not told one by one."""
    filled(session, 40)
    session.change(lambda _: None)
    page.until("again")
    page.say("earlier", before=11)
    earlier = page.until("earlier")
    assert [one["n"] for one in earlier["turns"]] == list(range(1, 11))
    assert earlier["earlier"] == 0


def test_another_order_is_told_as_such() -> None:
    """The same turns in another order are no difference that can be told in numbers."""
    conversation = Conversation()
    for owner in ("a", "b"):
        conversation.add(turn(1, owner=owner))
    before = board.notes(conversation)
    assert board.difference(before, conversation) == {"gone": [], "turns": [], "notes": []}
    conversation.arrange(["b", "a"])
    assert board.difference(before, conversation) is None


def test_a_turn_says_what_it_was_asked_with() -> None:
    """As its cell does; nothing where the service's own settings counted."""
    conversation = Conversation()
    conversation.add(turn(1, entry="panel"))
    conversation.add(replace(turn(2, entry="panel"), temperature=0.2, asked_model="small"))
    plain, set_so = board.notes(conversation).values()
    assert plain[1] == ()
    assert set_so[1][-1] == "t 0.2 · model small"


def test_a_turn_that_was_held_back_says_so() -> None:
    """In the panel as at its cell, and not in what a notebook saves of the panel."""
    conversation = Conversation()
    held = turn(1, entry="panel")
    conversation.add(replace(held, reply=replace(held.reply, held_back=True)))
    (said,) = board.notes(conversation).values()
    assert HELD_BACK in said[1]
    assert HELD_BACK not in "".join(board.saved(conversation))


def test_a_prompt_is_shown_as_markdown_that_cannot_act(page: Told, service: Service) -> None:
    """Line for line, with its formulas as typed; under way, as a turn, and as what failed."""
    text = f"**bold**\nand $x$\n- point\n\n{HOSTILE}"
    key = page.ask(text)
    live = page.until("live", key=key, stage="asked")
    (new,) = page.until("changed", key=key)["turns"]
    service.reply = lambda peer: peer.send(document({"error": "down"}, "500 Down"))
    (aside,) = page.asked(text)["asides"]
    for told in (live, new, aside):
        assert told["prompt"].startswith("**bold**\nand $x$")
        assert "<strong>bold</strong><br>\nand <code>$x$</code>" in told["asked"]
        assert "<li>point" in told["asked"]
        assert "&lt;script&gt;" in told["asked"]
        assert not re.search("<(script|img)|href=.javascript|\u202e", told["asked"])


def test_a_long_prompt_is_shown_as_typed() -> None:
    """Nobody waits until a pasted file is drawn."""
    (shown,) = board.turns(one_of("**x** & y\n" * 5_000))[0]
    assert "**x** &amp; y\n" * 5_000 in shown["asked"]
    (shown,) = board.turns(one_of("**x** & y"))[0]
    assert "<strong>x</strong> &amp; y" in shown["asked"]


def one_of(prompt: str) -> Conversation:
    """Give a conversation of one turn."""
    conversation = Conversation()
    conversation.add(Turn(prompt=prompt, reply=Reply("fine"), entry="panel"))
    return conversation


def test_under_a_turn_stand_its_tokens_and_no_credits(page: Told, service: Service) -> None:
    """The gauge above the log tells the credits, once."""
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    choice = {"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}
    whole = {"model": "m", "choices": [choice], "usage": usage}
    service.reply = lambda peer: peer.send(document(whole, headers=LIMITS))
    over = page.asked("why?")
    (new,) = over["turns"]
    assert new["tokens"] == "3 + 5 tokens"
    assert over["credits"]["words"] == "9 of 10 credits left"
    assert "credits" not in json.dumps(new)


def test_turns_become_cells_that_take_them_over(
    session: Session, page: Told, service: Service
) -> None:
    """Run, such a cell replaces the panel's turn; no request carries both."""
    session.run(Ask("above", owner=owner_of("A"), asker="cell [1]"), Silent())
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
    page.until("changed", turns=[], notes=[[first["turn"], "a cell of the notebook", []]])
    assert session.conversation.turns[1].owner == owner
    session.run(Ask("first", owner=owner, execution="2", asker="cell [2]"), Silent())
    assert service.bodies[-1] == ["above", "fine", "first"]
    assert [one.prompt for one in session.conversation] == ["above", "first", "second {{ x }}"]


def test_where_cells_go() -> None:
    """Below the cell of the turn above, else above that of the turn below, else anywhere."""
    turns = [
        turn(1, number=1, entry="panel", owner="p1"),
        turn(2, number=2, owner=owner_of("A")),
        turn(3, number=3, entry="panel", owner="p3"),
    ]
    plan = cell_export.planned(turns, None, ["A"], {})
    assert [(one.get("before"), one.get("after")) for one in plan] == [("A", None), (None, "A")]
    (alone_,) = cell_export.planned(turns, [3], [], {})
    assert "before" not in alone_
    assert "after" not in alone_
    assert alone_["cell"]["outputs"][0]["metadata"] == {}


def test_the_records_of_cells_do_not_grow_with_the_panel() -> None:
    """Each lists the turn whose cell stands before it, and those that no cell shows."""
    turns = [turn(number, number=number, entry="panel", owner=f"p{number}") for number in range(5)]
    digests = [one.digest for one in turns]
    records = {n: one.to_record(digests[:n], "0" * 64) for n, one in enumerate(turns)}
    for wanted, expected in (
        (None, [[], *([digest] for digest in digests[:4])]),
        ([0, 2, 4], [[], digests[:2], digests[2:4]]),
    ):
        plan = cell_export.planned(turns, wanted, [], records)
        told = [one["cell"]["outputs"][0]["metadata"]["chatmagic"] for one in plan]
        assert [one["carried"] for one in told] == expected


@pytest.mark.parametrize("text", ["# NBVAL_SKIP\nx", "#| echo: false\nx", "{{ x }}"])
def test_a_cell_sends_the_prompt_letter_for_letter(text: str) -> None:
    """What a cell would refuse or fill in is marked as raw."""
    assert cell_export.source(text) == f"%%chat --raw\n{text}"


def test_gauges_follow_every_request(session: Session, desk: Desk) -> None:
    """Whoever asks; what is unknown is said to be unknown."""
    gauge = Told(desk, "gauge")
    gauge.say("hello")
    unknown = gauge.until("credits")["credits"]
    assert (unknown["words"], unknown["level"]) == ("credits unknown", "unknown")
    assert unknown["limit"] is unknown["left"] is unknown["resets"] is unknown["seen"] is None
    session.ask("why?")
    known = gauge.until("credits")["credits"]
    assert (known["words"], known["limit"], known["left"]) == ("9 of 10 credits left", 10, 9)
    assert (known["resets"], known["seen"]) == ("2026-01-02T00:00:00Z", "2026-01-01T12:00:00Z")
    assert known["now"] == "2026-01-01T12:00:00Z"
    assert gauge.kinds == ["credits"]


def test_low_and_empty_are_said_in_words() -> None:
    """The page gets the words and the level, not a colour."""
    low = board.credits(Credits(100, 10, 90, None, NOON), 2, now=NOON)
    assert (low["level"], low["words"], low["took"]) == ("low", "credits low: 10 of 100 left", 2)
    empty = board.credits(Credits(100, 0, 100, None, NOON), None, now=NOON)
    assert (empty["level"], empty["words"]) == ("empty", "no credits left of 100")


def test_requests_left_are_told_beside_the_credits(page: Told, service: Service) -> None:
    """With the end of their window, after which they say nothing."""
    headers = {"RateLimit": '"a";r=93;t=30', "RateLimit-Policy": '"a";q=100', **LIMITS}
    service.reply = lambda peer: peer.send(stream(event("fine"), DONE, headers=headers))
    told = page.asked("why?")["credits"]
    assert told["requests"] == "93 of 100 requests left in this window"
    assert told["until"] == "2026-01-01T12:00:30Z"
    unknown = board.credits(None, None, now=NOON)
    assert (unknown["requests"], unknown["until"]) == ("", None)


def test_what_a_saved_notebook_shows() -> None:
    """The panel's turns in full and safe; those of cells, which have outputs, by a line."""
    conversation = Conversation()
    conversation.add(turn(1, owner="c", asker="cell [3]"))
    partial = Reply("**bold** " + HOSTILE, state="interrupted")
    conversation.add(Turn(prompt=HOSTILE, reply=partial, entry="panel"))
    html, text = board.saved(conversation)
    assert "chatmagic-saved" in html
    assert "1. You, in a cell: question 1" in html
    assert "answer" not in html
    assert "<strong>bold</strong>" in html
    assert "Interrupted: this reply is not complete." in html
    assert "<script" not in html
    assert text.startswith(board.AS_SAVED)
    assert board.saved(Conversation())[1] == board.NOTHING_SAVED
    assert "**bold**" in text
    assert "\x1b" not in text


def test_what_is_saved_of_a_long_conversation_is_bounded() -> None:
    """The newest turns of panel and cells, each under its own number, and how many more."""
    conversation = Conversation()
    for number in range(1, 501):
        reply = Reply(f"a{number}.")
        conversation.add(Turn(prompt="q", reply=reply, entry="panel" if number % 2 else "cell"))
    html, text = board.saved(conversation)
    for shown in (html, text):
        assert shown.count(". You, in ") == 100
        assert "400 earlier turns are not saved here" in shown
        assert "401. You, in the panel" in shown
        assert "a499." in shown
    more = text.count("\n\n")
    conversation.add(Turn(prompt="long", reply=Reply("x" * 90_000), entry="panel"))
    conversation.add(Turn(prompt="longer", reply=Reply("y" * 90_000), entry="panel"))
    _, text = board.saved(conversation)
    assert text.count("You, in the panel") == 1
    assert "451 earlier turns" in text
    assert text.count("\n\n") == more - 49
    assert len(text) < 2 * board.MOST_TEXT_SAVED


def test_a_kernel_that_cannot_say_its_state_still_has_a_panel(
    page: Told, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that is wrong is shown where the settings are."""
    monkeypatch.setattr(kernel, "standing", lambda: 1 / 0)
    page.say("hello")
    assert page.until("all")["standing"]["state"] == "unknown"


def test_what_a_cell_has_set_is_shown(
    page: Told, desk: Desk, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the cell's end, if it is something that a panel shows; not what has not changed."""
    page.say("hello")
    assert page.until("all")["standing"]["state"] == "live"
    desk.look()
    page.say("ping")
    page.until("pong")
    assert "standing" not in page.kinds
    monkeypatch.setattr(kernel, "standing", lambda: {"state": "replay", "rows": []})
    desk.look()
    assert page.until("standing")["standing"]["state"] == "replay"


# The magics.


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    """Give a shell connected to an emulator."""
    with alone(monkeypatch, tmp_path), Emulator(Settings(now=NOON)) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", "sk-panel-0d1c")
        yield Shell()


def panels(shell: Shell) -> Any:
    """Give the shell's panels."""
    return shell.shell.magics_manager.registry["ChatMagics"].commands._panels


def test_the_magic_shows_a_widget_and_an_output_that_is_saved(shell: Shell) -> None:
    """Two outputs: without a kernel the second one is there to read."""
    widget, saved = shell.page("%chat_panel", "P").messages
    assert "application/vnd.jupyter.widget-view+json" in widget["data"]
    assert widget["data"]["text/plain"] == board.NEEDS_A_PAGE
    # Not trusted, the page shows the HTML of the widget's own output; an export shows nothing.
    assert "run this cell again, or trust the notebook" in widget["data"]["text/html"]
    assert "chatmagic-saved" not in widget["data"]["text/html"]
    assert widget["data"]["text/markdown"] == ""
    assert "chatmagic-saved" in saved["data"]["text/html"]
    # The line that says what is missing stands in the one, and not in both.
    assert board.NEEDS_A_PAGE not in str(saved["data"])
    assert saved["id"]
    shell.page("%%chat\necho:hello", "A")
    until = [one for one in shell._page.messages if one["id"] == saved["id"]]
    assert until[-1]["data"]["text/plain"].count("echo:hello") <= 1


def test_the_state_follows_the_cells(shell: Shell) -> None:
    """Another service, another setting: a panel says what is in force, before the next question."""
    shell.page("%chat_panel", "P")
    told = Told(panels(shell)._desk)
    told.say("hello")
    assert told.until("all")["standing"]["state"] == "live"
    shell.do("%chat_connect emulator")
    assert told.until("standing")["standing"]["state"] == "emulator"
    shell.do("%config ChatMagics.temperature = 0.5")
    assert ["Temperature", "0.5"] in told.until("standing")["standing"]["rows"]


def test_a_panel_shown_again_keeps_its_draft_and_ends_the_old_one(shell: Shell) -> None:
    """The same cell, run again, has one widget."""
    shell.page("%chat_panel", "P")
    ((old, pages),) = panels(shell)._shown.values()
    old.draft = "half a question"
    shell.page("%chat_panel", "P")
    ((new, _),) = panels(shell)._shown.values()
    assert new is not old
    assert new.draft == "half a question"
    assert old.comm is None
    assert not set(pages) & set(panels(shell)._desk._pages)
    shell.page("%chat_panel", "Q")
    shell.page("%chat_credits --live", "P")
    assert len(panels(shell)._shown) == 3


def test_the_history_is_no_trait(shell: Shell) -> None:
    """What is synchronised with the page does not grow with the conversation."""
    shell.page("%chat_panel", "P")
    ((widget, _),) = panels(shell)._shown.values()
    before = len(repr(widget.get_state()))
    shell.page("%%chat\necho:" + "word " * 100, "A")
    assert len(repr(widget.get_state())) == before
    assert "sk-panel-0d1c" not in repr(widget.get_state())


def test_in_a_console_one_line_says_that_it_needs_a_page(shell: Shell) -> None:
    """And asking goes on."""
    ran = shell.do("%chat_panel")
    assert ran.printed.strip() == board.NEEDS_A_PAGE
    assert ran.messages == []
    assert "credits" in shell.do("%chat_credits --live").texts[0].lower()
    shell.do("%chat hello")


def test_what_a_live_gauge_saves_does_not_grow_old(shell: Shell) -> None:
    """It says when the figures were told, and nothing that depends on when that was saved."""
    shell.page("%chat hello", "A")
    _, saved = shell.page("%chat_credits --live", "G").messages
    # The emulator's clock stands still, long before this one.
    assert saved["data"]["text/plain"].endswith("As of 2026-01-01 12:00:00 UTC.")


def test_a_machine_shows_what_a_page_saves(shell: Shell) -> None:
    """Whatever of it nbval compares is the same, so that either can save the notebook."""
    shell.machine("%chat hello")
    machines = [one["data"] for one in shell.machine("%chat_panel").outputs]
    pages = [one["data"] for one in shell.page("%chat_panel", "P").outputs]
    assert pages[0].pop("application/vnd.jupyter.widget-view+json")
    assert machines == pages
    assert "hello" in machines[1]["text/plain"]
    assert "credits" in shell.machine("%chat_credits --live").texts[0].lower()


def test_without_the_widgets_installed_one_line_says_so(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cell fails with what to do, and asking goes on."""
    monkeypatch.delitem(sys.modules, "chatmagic.jupyter.panel.widgets", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    failed = shell.fails("%chat_panel", cell="P")
    assert "pip install anywidget" in str(failed.error)
    shell.page("%%chat\necho:hello", "A")


@pytest.mark.parametrize("line", ["%chat_panel now", "%chat_credits --live now"])
def test_words_after_the_name_are_refused(shell: Shell, line: str) -> None:
    """Neither takes any."""
    shell.fails(line, cell="P")


def test_unloading_takes_the_panels_away(shell: Shell) -> None:
    """No thread and no widget stays."""
    shell.page("%chat_panel", "P")
    ((widget, _),) = panels(shell)._shown.values()
    shell.do("%unload_ext chatmagic")
    assert widget.comm is None
    for thread in threading.enumerate():
        if thread.name in {"chatmagic-tell", "chatmagic-ask"}:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_a_turn_that_comes_while_pages_are_told_is_told_next(
    session: Session, page: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell's reply and the panel's that end at the same moment are both in the log."""
    find = board.difference

    def meanwhile(*arguments: Any) -> dict[str, Any] | None:
        found = find(*arguments)
        if len(session.conversation) == 1:
            session.conversation.add(turn(7))
        return found

    monkeypatch.setattr(board, "difference", meanwhile)
    session.ask("one")
    first = page.until("changed")
    session.ask("two")
    second = page.until("changed")
    assert [[one["n"] for one in told["turns"]] for told in (first, second)] == [[1], [2, 3]]
