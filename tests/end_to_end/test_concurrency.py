"""Many threads at once: one conversation, one client, several clients; and waiting in line."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from asking import Seen
from loopback import CHUNKS_END, DONE, EVENTS, PATIENCE, Peer, Server, chunked, event, head

import chatmagic
from chatmagic.client.halt import Halt
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.steering import ThreadStart
from chatmagic.errors import ChatInterrupted
from chatmagic.models import Message
from chatmagic.session.ask import Ask
from chatmagic.session.events import Event, Fragment
from chatmagic.session.session import Session

THREADS: Final = 8
EACH: Final = 42
"""Asks of each thread: three tests make a thousand rounds."""

STREAMED: Final = {**EVENTS, "Transfer-Encoding": "chunked"}


def echo(peer: Peer) -> None:
    """Answer each request with its prompt, a character an event."""
    while (asked := peer.request()) is not None:
        text = asked.body["messages"][-1]["content"]
        peer.send(head(headers=STREAMED))
        for letter in text:
            peer.send(chunked(event(letter)))
        # In one piece: a connection is drained for a moment only, which a busy machine exceeds.
        peer.send(chunked(DONE) + CHUNKS_END)


@pytest.fixture
def server() -> Iterator[Server]:
    """Give a server that answers with the prompt."""
    with Server(echo) as running:
        yield running


def at_once(work: Callable[[int], None]) -> None:
    """Do some work in many threads that start together, and fail with what fails in one."""
    start = threading.Barrier(THREADS)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait(PATIENCE)
            work(number)
        except BaseException as failure:  # noqa: BLE001 - the test's own thread reports it
            failures.append(failure)

    threads = [
        threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(12 * PATIENCE)
        assert not thread.is_alive(), "a thread waits for ever"
    if failures:
        raise failures[0]


def test_many_threads_share_a_conversation(server: Server) -> None:
    """Each turn is whole and there once; those of a thread are in its order."""
    with chatmagic.Client(server.origin, "k") as client:
        session = Session(client)

        def ask(number: int) -> None:
            for turn in range(EACH):
                text = f"{number}:{turn}"
                heard: list[str] = []
                assert session.ask(text, last=2, on_fragment=heard.append).text == text
                assert heard == list(text)

        at_once(ask)
        turns = session.conversation.turns
    assert len(turns) == len(server.asked) == THREADS * EACH
    assert all(turn.prompt == turn.reply.text for turn in turns)
    for number in range(THREADS):
        own = [turn.prompt for turn in turns if turn.prompt.startswith(f"{number}:")]
        assert own == [f"{number}:{turn}" for turn in range(EACH)]
    # One at a time: each request carried the two turns before it.
    sent = [asked.body["messages"] for asked in server.asked[2:]]
    prompts = [turn.prompt for turn in turns]
    assert [[message["content"] for message in messages[::2]] for messages in sent] == [
        prompts[at - 2 : at + 1] for at in range(2, len(prompts))
    ]
    assert server.accepted == 1


@pytest.mark.parametrize("shared", [False, True], ids=["a client each", "one client"])
def test_many_threads_ask_at_once(server: Server, *, shared: bool) -> None:
    """No fragment comes to another thread, whether the client is its own or shared."""
    clients = [chatmagic.Client(server.origin, "k") for _ in range(1 if shared else THREADS)]

    def ask(number: int) -> None:
        client = clients[number % len(clients)]
        for turn in range(EACH):
            text = f"{number}-{turn}"
            with client.stream([Message("user", text)]) as stream:
                assert "".join(stream) == text
            assert stream.reply.state == "complete"

    at_once(ask)
    assert len(server.asked) == THREADS * EACH
    # A slow end of a reply may cost a connection; they are kept all the same.
    assert server.accepted < THREADS * EACH // 4
    for client in clients:
        client.close()


def test_threads_of_a_conversation_are_asked_at_once(server: Server) -> None:
    """Unless one begins with turns of the other; a change of the conversation waits for all."""
    inside, go_on = threading.Semaphore(0), threading.Event()
    ended: list[str] = []

    def hold(event: Event) -> None:
        if isinstance(event, Fragment) and event.ask.live not in ended:
            ended.append(event.ask.live)
            inside.release()
            assert go_on.wait(PATIENCE)

    def begin(text: str, thread: str, act: Callable[[], object]) -> None:
        view, ask = Seen(at_wait=act), Ask(text, thread=thread, asker=text)
        views.append(view)
        run = threading.Thread(target=lambda: session.run(ask, view), daemon=True)
        runs.append(run)
        run.start()

    with chatmagic.Client(server.origin, "k") as client:
        session = Session(client)
        session.ask("a")
        session.changes.steer(ThreadStart("fork", 1, owner="o"))
        session.followers.add(hold)
        views: list[Seen] = []
        runs: list[threading.Thread] = []
        waits = threading.Event()
        begin("main two", "main", str)
        begin("other", "other", str)
        assert inside.acquire(timeout=PATIENCE)
        assert inside.acquire(timeout=PATIENCE)
        begin("in the fork", "fork", waits.set)
        assert waits.wait(PATIENCE)
        undo = threading.Thread(target=lambda: session.changes.make(Conversation.undo), daemon=True)
        undo.start()
        assert len(server.asked) == 3
        go_on.set()
        for run in (*runs, undo):
            run.join(PATIENCE)
    assert [view.names[0] for view in views] == ["began", "began", "waiting"]
    assert views[2].told[0] == ("waiting", "main two")
    sent = {one.body["messages"][-1]["content"]: len(one.body["messages"]) for one in server.asked}
    assert sent == {"a": 1, "main two": 3, "other": 1, "in the fork": 3}
    assert session.conversation.added == 4
    assert len(session.conversation) in {3, 4}  # the undo came behind one of them


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to a thread")
@pytest.mark.parametrize("how", ["a signal", "a halt"])
def test_who_waits_can_be_stopped(server: Server, how: str) -> None:
    """In the midst of its wait, by Ctrl-C or from another thread; the first goes on."""
    inside, go_on = threading.Event(), threading.Event()
    here, halt = threading.get_ident(), Halt()

    def hold(event: Event) -> None:
        if isinstance(event, Fragment):
            inside.set()
            assert go_on.wait(PATIENCE)

    def stop() -> None:
        if how == "a halt":
            halt.stop()
        else:
            signal.pthread_kill(here, signal.SIGINT)

    with chatmagic.Client(server.origin, "k") as client:
        session = Session(client)
        session.followers.add(hold)
        first = threading.Thread(target=lambda: session.ask("first"), daemon=True)
        first.start()
        assert inside.wait(PATIENCE)
        view = Seen(at_wait=lambda: threading.Timer(0.02, stop).start())
        with pytest.raises(ChatInterrupted, match="as it was"):
            session.run(Ask("second"), view, halt)
        assert view.told == [("waiting", "Python"), ("failed", None)]
        go_on.set()
        first.join(PATIENCE)
        assert [turn.prompt for turn in session.conversation] == ["first"]
        assert session.ask("third").text == "third"
    assert len(server.asked) == 2


def test_asks_without_history_run_side_by_side() -> None:
    """Neither carries or keeps a turn, so none waits for another one."""
    together = threading.Barrier(2)

    def meeting(peer: Peer) -> None:
        while peer.request() is not None:
            together.wait(PATIENCE)
            peer.send(head(headers=STREAMED), chunked(event("a")), chunked(DONE), CHUNKS_END)

    async def both(session: Session) -> list[str]:
        asks = (session.aask(text, history=False) for text in ("one", "two"))
        return [reply.text for reply in await asyncio.gather(*asks)]

    with Server(meeting) as server:
        session = Session(chatmagic.Client(server.origin, auth="none"))
        assert asyncio.run(both(session)) == ["a", "a"]
        session.close()
