"""The one question: sent once, beside the conversation, counted, and watched."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from loopback import DONE, EVENTS, PATIENCE, Peer, Server, answer, event, head, playing, stream
from served import Played, left

from chatmagic import _startup
from chatmagic.client import connections
from chatmagic.client.client import Client
from chatmagic.doctor.one_question import MOST_TOKENS, QUESTION, ask
from chatmagic.errors import NotRecordedError
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator

REPLY = [event(f"{number} ") for number in range(9)] + [event("", finish_reason="stop"), DONE]
NOW = {"Date": "Sun, 01 Mar 2026 12:00:00 GMT"}


def test_one_request_beside_the_conversation() -> None:
    """The ledger has it, budgets count it, and the conversation does not."""
    told = [stream(*REPLY, headers=left(count)) for count in (9, 7)]
    with Server(playing(*told)) as server, Client(server.origin, "k", model="small") as client:
        session = Session(client)
        ask(session)
        seen, clock = ask(session)
        body = server.asked[0].body
    assert body["messages"] == [{"role": "user", "content": QUESTION}]
    assert (body["max_tokens"], body["model"], body["stream"]) == (MOST_TOKENS, "small", True)
    assert (seen.trouble, seen.status, seen.fragments) == (None, 200, 9)
    assert seen.cost == "it took 2 credits, 7 are left"
    assert clock.is_compared
    assert clock.off is not None
    assert clock.off > timedelta(days=1)
    assert [row.entry for row in session.ledger] == ["doctor", "doctor"]
    assert len(session.conversation) == 0


def test_reads_are_counted() -> None:
    """By how many of them brought something."""
    exchange = Played(200, *REPLY)
    exchange.headers = [("Content-Type", "text/event-stream")]
    with Client(transport=exchange) as client:
        seen, clock = ask(Session(client))
    assert (seen.reads, seen.fragments, seen.connection) == (len(REPLY), 9, None)
    assert 0 <= seen.first <= seen.last < PATIENCE
    assert not clock.is_compared


@pytest.mark.parametrize(
    ("reply", "becomes"),
    [
        (stream(*REPLY), "kept"),
        (stream(*REPLY), "dropped"),
        (stream(*REPLY, headers={"Connection": "close"}), "ended"),
        (head(headers=EVENTS).replace(b"1.1", b"1.0") + b"".join(REPLY), "ended"),
    ],
    ids=["kept", "dropped", "close", "HTTP/1.0"],
)
def test_whether_the_connection_is_kept(
    reply: bytes, becomes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that closes it without a word is told from one that says so."""
    if becomes == "dropped":
        monkeypatch.setattr(connections, "WATCH", PATIENCE)

    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(reply)
            if becomes != "kept":
                peer.close()
                return

    with Server(script) as server, Client(server.origin, "k") as client:
        seen, _ = ask(Session(client))
    assert (seen.trouble, seen.connection) == (None, becomes)


def test_what_answers_is_no_chat_service() -> None:
    """The error is told as for a question."""
    page = answer(b"<html>Sign in</html>", headers={"Content-Type": "text/html", **NOW})
    with Server(playing(page)) as server, Client(server.origin, "k") as client:
        session = Session(client)
        seen, clock = ask(session)
        assert len(server.asked) == 1
    assert seen.trouble is not None
    assert "What answered is not the chat service" in seen.trouble.what
    assert (seen.status, seen.connection) == (200, None)
    assert clock.is_compared
    assert [row.error for row in session.ledger] == ["NotUnderstoodError"]


def test_a_budget_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is sent."""
    monkeypatch.setattr(_startup, "BUDGET", "1 turn")
    with Server(playing(stream(*REPLY))) as server, Client(server.origin, "k") as client:
        session = Session(client)
        ask(session)
        seen, _ = ask(session)
        assert len(server.asked) == 1
    assert seen.trouble is not None
    assert "budget of 1 turn" in seen.trouble.what


def test_a_replay_never_sends(
    session: Session, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cassette in replay refuses."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tmp_path / "tape.jsonl"))
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    with pytest.raises(NotRecordedError, match="Nothing was sent"):
        ask(session)
    assert emulator.requests == []
