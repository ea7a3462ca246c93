"""The sender of a map's rows: one request, through the links, by the session's clients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from loopback import PATIENCE, Peer, Server, document
from row_service import RowService

import chatmagic
from chatmagic.client.current_exchange import CURRENT
from chatmagic.client.halt import Halt
from chatmagic.errors import RateLimitError
from chatmagic.models import Message, Reply
from chatmagic.protocol.request import Request
from chatmagic.protocol.url import EMULATOR
from chatmagic.session.ask import Ask
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.environment import Environment
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.ledger import Ledger
from chatmagic.session.map.row_sender import RowSender
from chatmagic.session.map.shared_files import PAUSE, FolderPause


def test_a_row_is_sent_through_the_links(tmp_path: Path) -> None:
    """It is in the ledger, which learns how many tokens a character takes."""
    del tmp_path
    service = RowService(credits=9)
    ledger = Ledger()
    with chatmagic.Client(transport=service) as client:
        sender = RowSender(Environment(), ledger, ClientPool(client), [ledger])
        request = Request((Message("user", "abcd"),))
        with sender.connect() as own:
            reply = sender.send(own, request, request.digest(), Ask("{{ it }}"), Halt())
        assert own is client  # threads share a transport of the user's own
    assert reply.text == "ABCD"
    (row,) = ledger
    assert (row.entry, row.request, row.service) == ("map", request.digest(), sender.service)
    assert ledger.token_rate == 0.5
    assert sender.credits is not None
    assert sender.credits.remaining == 8
    assert sender.meter is ledger.meter(sender.service)
    assert sender.address not in (None, EMULATOR)
    assert (sender.place, sender.replayed) == ("python", None)


@pytest.mark.parametrize("is_given", [False, True], ids=["a server", "a transport of the user's"])
def test_requests_are_under_way_together(*, is_given: bool) -> None:
    """One thread at a time works, if its waits for the network are known."""
    meet = threading.Barrier(2)
    holds_lock: list[bool] = []
    request = Request((Message("user", "abcd"),))
    service = RowService()
    service.before = lambda _: meet.wait(PATIENCE)

    def script(peer: Peer) -> None:
        if peer.request():
            meet.wait(PATIENCE)
            peer.send(document({"choices": [{"message": {"content": "ABCD"}}]}))

    def look(sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        holds_lock.append(CURRENT.work_lock is not None)
        answer = proceed(sending)
        holds_lock.append(CURRENT.work_lock is not None)
        return answer

    with Server(script) as server, ThreadPoolExecutor(2) as pool:
        transport = service if is_given else None
        with chatmagic.Client(server.url, auth="none", transport=transport) as client:
            sender = RowSender(Environment(), Ledger(), ClientPool(client), [look])

            def send(_: int) -> str:
                return sender.send(own, request, "digest", Ask("{{ it }}"), Halt()).text

            with sender.connect() as own:
                assert [*pool.map(send, range(2))] == ["ABCD", "ABCD"]
    assert holds_lock == [not is_given] * 4
    assert CURRENT.work_lock is None


@pytest.mark.parametrize("sooner", [0, 30])
def test_the_soonest_time_of_a_refusal_is_shared(tmp_path: Path, sooner: float) -> None:
    """With the other processes of the folder, as this one tries it, too."""
    later = datetime.now(UTC) + timedelta(seconds=55)
    error = RateLimitError("Wait.", status=429, retry_after=later)
    error.retry_soonest = later - timedelta(seconds=sooner) if sooner else None

    def refuse(sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        del sending, proceed
        return Answer(Reply(""), problem=error)

    request = Request((Message("user", "abcd"),))
    with chatmagic.Client(transport=RowService()) as client:
        sender = RowSender(Environment(), Ledger(), ClientPool(client), [refuse])
        sender.pause = FolderPause(tmp_path, 60)
        with sender.connect() as own, pytest.raises(RateLimitError):
            sender.send(own, request, "digest", Ask("{{ it }}"), Halt())
    until = (tmp_path / PAUSE).stat().st_mtime
    assert until == pytest.approx(later.timestamp() - sooner, abs=0.01)
