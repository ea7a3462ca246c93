"""What panels show: entries, pages of them, figures, the state, one thread."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loopback import document
from panel_views import (
    LIMITS,
    Kernel,
    Service,
    View,
    fill,
    holding,
    turn,
)

from chatmagic.conversation.steering import ThreadStart
from chatmagic.jupyter.page import panel_requests
from chatmagic.jupyter.page.panel import Panels
from chatmagic.jupyter.page.panel_content import LogEntries
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import Listener


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
    session.changes.make(lambda conversation: conversation.hand_over(40, "c" * 16))
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
    assert new["reply"]["tokens"] == "3 tokens sent, 5 received"
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


def test_what_another_thread_asks_is_not_shown(
    session: Session, page: View, service: Service
) -> None:
    """Nor does the panel change its thread while its own question is under way."""
    session.changes.steer(ThreadStart("sql", owner="s" * 16, execution="1"))
    session.run(Ask("why?", owner="c" * 16, thread="main"), Listener(None))
    # Its snapshots are sent in order, and this one is the last.
    assert page.sync()["count"] == 0
    assert not any(message.get("ended") for message in page.messages)
    service.reply, go_on = holding("half ")
    key = page.ask("mine")
    page.streaming()
    page.say("thread", thread="main")
    assert page.until("notice")["words"] == panel_requests.UNDER_WAY
    go_on.set()
    assert page.until("snapshot", live=key)["thread"] == "sql"
    assert [message["kind"] for message in page.messages].count("pending") >= 1
    assert all(m["prompt"] == "mine" for m in page.messages if m["kind"] == "pending")
