"""The clock of an exchange, and the key on the wire: over real sockets."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from exchanges import ANSWERS, BEGUN, FRAMES, KEY, SHORT, chain, rest, send
from loopback import (
    CHUNKS_END,
    DONE,
    PATIENCE,
    Peer,
    Server,
    chunked,
    head,
    once,
    playing,
    wait_for,
)

from chatmagic.client import alarms
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    ChatError,
    CutOffError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.protocol.auth import Auth, Secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from chatmagic.client.alarms import Alarm
    from chatmagic.client.transport import HttpTransport


def drip(begun: bytes, drop: bytes = b"x") -> Callable[[Peer], None]:
    """Make the script that begins an answer and then sends one byte after the other."""

    def script(peer: Peer) -> None:
        peer.piece()
        peer.send(begun)
        peer.repeat(drop, every=0.01)

    return script


TLS_RECORD_BEGUN = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"


@pytest.mark.parametrize(
    ("begun", "scheme", "which"),
    [
        (TLS_RECORD_BEGUN, "https", "connect"),
        (TLS_RECORD_BEGUN, "https", "total"),
        (b"HTTP/1.1 2", "http", "first_byte"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", "http", "first_byte"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", "http", "total"),
        (head(headers=FRAMES["chunked"]) + b"1;", "http", "first_byte"),
        (head(headers=FRAMES["until close"]), "http", "total"),
        (head("500 Oops", FRAMES["until close"]), "http", "total"),
    ],
)
def test_what_drips_for_ever_is_ended(
    connect: Callable[..., HttpTransport], begun: bytes, scheme: str, which: str
) -> None:
    """Each byte comes in time, and yet a time-out counts the whole wait, and says which."""
    with Server(drip(begun)) as server:
        transport = connect(f"{scheme}://127.0.0.1:{server.port}/", **{which: SHORT})
        with pytest.raises(RequestTimeoutError, match=r"time-out of 0\.15 s") as caught:
            rest(send(transport))
    assert caught.value.which == which


def test_a_request_that_is_not_taken_in_is_the_first_byte_time_out(
    connect: Callable[..., HttpTransport],
) -> None:
    """A server that takes a connection, and reads nothing, is not waited for for ever."""
    over = threading.Event()
    with Server(lambda _: over.wait(PATIENCE)) as server:
        transport = connect(server, first_byte=SHORT)
        with pytest.raises(
            RequestTimeoutError, match=r"first-byte time-out of 0\.15 s; a proxy on the way may"
        ):
            transport.send(b"x" * 40_000_000, stream=True, halt=Halt())
        over.set()


def test_total_ends_a_reply_that_drips(connect: Callable[..., HttpTransport]) -> None:
    """The total time-out counts although every piece comes in time."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]))
        peer.repeat(chunked(b":\n"), every=0.01)

    with Server(script) as server:
        transport = connect(server, total=SHORT)
        with pytest.raises(RequestTimeoutError, match=r"total time-out of 0\.15 s") as caught:
            rest(send(transport))
    assert caught.value.which == "total"


@pytest.mark.parametrize(
    ("begun", "which"),
    [(b"", "first_byte"), (head(headers=FRAMES["chunked"]), "first_byte"), (BEGUN, "silence")],
    ids=["no headers", "no body", "in the body"],
)
def test_a_time_out_names_itself(
    connect: Callable[..., HttpTransport], begun: bytes, which: str
) -> None:
    """Which wait ran out stands in the message, and the connection is closed."""
    has_come = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        has_come.set()
        peer.send(begun)
        assert peer.gone()

    with Server(script) as server:
        times = {"first_byte": PATIENCE, "silence": PATIENCE, which: SHORT}
        with pytest.raises(RequestTimeoutError, match=which.replace("_", "-")) as caught:
            rest(send(connect(server, **times)))
        assert caught.value.which == which
        wait_for(has_come)  # the time may be up before the server has read it
        assert len(server.asked) == 1


def test_a_handshake_that_takes_too_long_is_the_connect_time_out(
    connect: Callable[..., HttpTransport],
) -> None:
    """TLS belongs to the connection: nothing was sent, and the message says so."""
    with Server(lambda peer: peer.gone()) as server:
        transport = connect(server.url.replace("http:", "https:"), connect=SHORT)
        with pytest.raises(RequestTimeoutError, match="Nothing was sent") as caught:
            send(transport)
    assert caught.value.which == "connect"


def test_no_clock_runs_on(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alarm of each time-out ends with the exchange, however that ended."""
    after, asked = alarms.after, []

    def noted(seconds: float, work: Callable[[], object]) -> Alarm:
        asked.append(after(seconds, work))
        return asked[-1]

    monkeypatch.setattr(alarms, "after", noted)
    with Server(once(ANSWERS["length"])) as server:
        rest(send(connect(server, total=60)))
        send(connect(server, total=60)).close(ended=False)
    with Server(once(b"")) as server, pytest.raises(ServiceError):
        send(connect(server, total=60))
    with Server(once(head(headers={"Content-Length": "9"}))) as server, pytest.raises(CutOffError):
        rest(send(connect(server, total=60)))
    assert len(asked) > 4
    assert not any(alarm.work for alarm in asked)


def test_any_byte_is_life(
    connect: Callable[..., HttpTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each comment gives the next piece all of the silence time-out; no alarm counts besides."""
    taken = threading.Semaphore(0)
    after, read = alarms.after, socket.SocketIO.readinto
    asked: list[Alarm] = []
    waits: list[tuple[float | None, bool]] = []

    def noted(seconds: float, work: Callable[[], object]) -> Alarm:
        asked.append(after(seconds, work))
        return asked[-1]

    def reading(stream: socket.SocketIO, buffer: Any) -> int | None:
        sock: socket.socket = stream._sock  # type: ignore[attr-defined] # it has no other name
        waits.append((sock.gettimeout(), any(alarm.work for alarm in asked)))
        return read(stream, buffer)

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(BEGUN)
        for _ in range(9):
            assert taken.acquire(timeout=PATIENCE)
            peer.send(chunked(b": life\n"))
        peer.send(chunked(DONE), CHUNKS_END)

    monkeypatch.setattr(alarms, "after", noted)
    monkeypatch.setattr(socket.SocketIO, "readinto", reading)
    with Server(script) as server:
        exchange = send(connect(server, silence=2 * PATIENCE))
        for _ in range(9):
            assert exchange.read()
            taken.release()
        assert rest(exchange).endswith(DONE)
    assert waits[-9:] == [(2 * PATIENCE, False)] * 9


def test_a_kept_connection_has_its_time_outs_back(connect: Callable[..., HttpTransport]) -> None:
    """The short wait of the drain does not stay on the connection."""
    arrived = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers=FRAMES["chunked"]), chunked(DONE), CHUNKS_END)
        peer.request()
        arrived.wait(0.1)
        peer.send(ANSWERS["length"])

    with Server(script) as server:
        transport = connect(server)
        exchange = send(transport)
        assert exchange.read() == DONE
        exchange.close(ended=True)
        assert rest(send(transport))
        assert server.accepted == 1


WAYS: dict[Auth, bytes] = {
    "bearer": b"Authorization: Bearer " + KEY.encode(),
    "x-api-key": b"X-API-Key: " + KEY.encode(),
    "query": b"?api_key=key-7d1f~%2F%2B%26%3D%25throw-away HTTP/1.1",
}


MARKS = (b"authorization", b"x-api-key", b"api_key")


@pytest.mark.parametrize("auth", [*WAYS, "none"])
def test_the_key_stands_in_exactly_one_place(
    connect: Callable[..., HttpTransport],
    auth: Auth,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the wire once, as configured, whatever .netrc has; in no log and no representation."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login who password netrc-secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    caplog.set_level(logging.DEBUG)
    with Server(playing(ANSWERS["length"])) as server:
        transport = connect(server, auth)
        exchange = send(transport)
        seen = [repr(thing) for thing in reachable(transport, exchange)]
        rest(exchange)
        rest(send(transport))
    assert caplog.records
    logged = caplog.text + " ".join(repr(vars(record)) for record in caplog.records)
    for text in (logged, *seen):
        assert "7d1f" not in text
    for asked in server.asked:
        lower = asked.raw.lower()
        assert sum(lower.count(mark) for mark in MARKS) == (auth != "none")
        assert lower.count(b"7d1f") == (auth != "none")
        assert auth == "none" or WAYS[auth] in asked.raw
        assert b"netrc" not in lower
        assert b"basic" not in lower


def reachable(*roots: object) -> list[object]:
    """Give everything that can be reached from objects by their attributes and items."""
    found: dict[int, object] = {}
    left = list(roots)
    while left:
        thing = left.pop()
        if id(thing) in found or isinstance(thing, (type(threading), Secret)):
            continue
        found[id(thing)] = thing
        if isinstance(thing, dict):
            left += [*thing.keys(), *thing.values()]
        elif isinstance(thing, (list, tuple, set, frozenset)):
            left += thing
        elif hasattr(thing, "__dict__") and not callable(thing):
            left += vars(thing).values()
        left += getattr(getattr(thing, "pool", None), "queue", ())
    assert len(found) > 50
    return list(found.values())


@pytest.mark.parametrize("auth", WAYS)
def test_no_failure_tells_the_key(
    connect: Callable[..., HttpTransport], auth: Auth, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No exception of any failure, nor any that hangs on to it, has the key in its text."""
    look_up = socket.getaddrinfo

    def offline(host: str, *args: int) -> object:
        if host.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *args)

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    failing = {
        "refused": f"http://127.0.0.1:{port}/v1",
        "no name": "http://no-such-host.invalid/v1",
        "no URL": "http://[::1/v1",
        "no TLS": "https://127.0.0.1:{port}/v1",
        "no answer": "http://127.0.0.1:{port}/nothing",
        "no HTTP": "http://127.0.0.1:{port}/garbage",
        "half an answer": "http://127.0.0.1:{port}/half",
        "late": "http://127.0.0.1:{port}/late",
    }
    answers = {b"garbage": b"\0\0\0\0\r\n", b"half": head(headers={"Content-Length": "9"})}

    def script(peer: Peer) -> None:
        line = peer.piece().partition(b"\r\n")[0]
        peer.send(*(given for word, given in answers.items() if word in line))
        if b"late" in line:
            assert peer.gone()

    with Server(script) as server:
        for what, url in failing.items():
            base_url = url.replace("{port}", str(server.port))
            with pytest.raises(ChatError) as caught:
                rest(send(connect(base_url, auth, first_byte=SHORT)))
            for error in chain(caught.value):
                told = f"{error} {error!r} {error.args!r} {vars(error)!r}"
                assert "7d1f" not in told, what
            assert "\n" not in str(caught.value)
            assert " object at 0x" not in str(caught.value)
