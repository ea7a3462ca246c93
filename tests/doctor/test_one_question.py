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
        seen = ask(session)
        body = server.asked[0].body
    assert body["messages"] == [{"role": "user", "content": QUESTION}]
    assert (body["max_tokens"], body["model"], body["stream"]) == (MOST_TOKENS, "small", True)
    assert (seen.error, seen.status, seen.fragments) == (None, 200, 9)
    assert (seen.took, seen.remaining) == (2, 7)
    assert seen.clock_off is not None
    assert seen.clock_off > timedelta(days=1)
    assert [row.entry for row in session.ledger] == ["doctor", "doctor"]
    assert len(session.conversation) == 0


def test_an_answer_of_a_transport_that_was_given() -> None:
    """It tells no time, and nothing of a connection."""
    exchange = Played(200, *REPLY)
    exchange.headers = [("Content-Type", "text/event-stream")]
    with Client(transport=exchange) as client:
        seen = ask(Session(client))
    assert (seen.fragments, seen.connection, seen.has_date) == (9, None, False)
    assert 0 < seen.first <= seen.last < PATIENCE


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
        seen = ask(Session(client))
    assert (seen.error, seen.connection) == (None, becomes)


def test_what_answers_is_no_chat_service() -> None:
    """The error is told as for a question."""
    page = answer(b"<html>Sign in</html>", headers={"Content-Type": "text/html", **NOW})
    with Server(playing(page)) as server, Client(server.origin, "k") as client:
        session = Session(client)
        seen = ask(session)
        assert len(server.asked) == 1
    assert "What answered is not the chat service" in str(seen.error)
    assert (seen.status, seen.connection) == (200, None)
    assert seen.has_date
    assert [row.error for row in session.ledger] == ["NotUnderstoodError"]


def test_a_budget_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is sent."""
    monkeypatch.setattr(_startup, "BUDGET", "1 turn")
    with Server(playing(stream(*REPLY))) as server, Client(server.origin, "k") as client:
        session = Session(client)
        ask(session)
        seen = ask(session)
        assert len(server.asked) == 1
    assert not seen.is_sent
    assert "budget of 1 turn" in str(seen.error)


def test_a_replay_never_sends(
    session: Session, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cassette in replay refuses."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tmp_path / "tape.jsonl"))
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    with pytest.raises(NotRecordedError, match="Nothing was sent"):
        ask(session)
    assert emulator.requests == []
