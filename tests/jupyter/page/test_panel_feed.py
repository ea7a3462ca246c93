"""What all panels are sent, in which order, and by which context."""

from __future__ import annotations

import threading
from contextlib import closing
from contextvars import ContextVar
from typing import Any

import pytest
from panel_views import (
    PATIENCE,
    Kernel,
    Service,
    View,
    holding,
    words,
)

import chatmagic
from chatmagic.client.halt import Halt
from chatmagic.jupyter.page import reply_under_way
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.panel import Panels
from chatmagic.jupyter.page.panel_feed import Shown
from chatmagic.session.ask import Ask
from chatmagic.session.events import Began, Ended, Fragment
from chatmagic.session.session import Session


def test_what_the_bridge_paints_is_not_told_twice(
    session: Session, kernel: Kernel, loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its script finds the panel's box, too, which comes with the first drawing."""
    monkeypatch.setattr(reply_under_way, "SECONDS_BETWEEN", 0.0)
    loop.painted()
    with closing(Panels(session, kernel, loop)) as pages:
        page = View(pages)
        ask = Ask("a question", entry="cell", asker="cell [7]", owner="0123456789abcdef")
        before = len(page.messages)
        session.followers.tell(Began(ask, (), session.conversation.turns, Halt()))
        for fragment in ("one ", "two ", "three"):
            session.followers.tell(Fragment(ask, fragment))
        session.followers.tell(Ended(ask, None, chatmagic.errors.ServiceError("down")))
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
