"""A server on loopback that plays a script, byte for byte; for tests of what crosses the wire.

A script is a function that gets each new connection as a :class:`Peer`. It reads requests
from it, writes whatever bytes it likes, and waits for the test where the order matters.
"""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import trustme

PATIENCE: Final = 60.0
"""Seconds after which a wait is given up, so that a test fails instead of hanging."""

DONE: Final = b"data: [DONE]\n\n"
EVENTS: Final = {"Content-Type": "text/event-stream"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came over the wire."""

    raw: bytes

    @property
    def target(self) -> str:
        """What stands between the method and the version."""
        return self.raw.split(b" ", 2)[1].decode()

    @property
    def headers(self) -> dict[str, str]:
        """The headers, their names in lower case."""
        lines = self.raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def body(self) -> Any:
        """The JSON of the body."""
        return json.loads(self.raw.partition(b"\r\n\r\n")[2])


class Peer:
    """One connection, as the server sees it."""

    def __init__(self, server: Server, sock: socket.socket) -> None:
        """Take over a connection that was accepted."""
        self._server = server
        self._sock = sock
        self._idle = False
        sock.settimeout(PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def wait_up_to(self, seconds: float) -> None:
        """Wait longer for what the client sends than for most tests is sensible."""
        self._sock.settimeout(seconds)

    def request(self) -> Asked | None:
        """Read one request; ``None`` when the client has closed, or the server stops."""
        raw = b""
        self._idle = True
        if self._server.closing:
            return None
        while b"\r\n\r\n" not in raw or len(raw) < self._length(raw):
            piece = self._sock.recv(65_536)
            self._idle = False
            if not piece:
                return None
            raw += piece
        asked = Asked(raw)
        self._server.asked.append(asked)
        return asked

    def piece(self, most: int = 65_536) -> bytes:
        """Read what comes next, as it is; empty at the end."""
        return self._sock.recv(most)

    def send(self, *pieces: bytes) -> None:
        """Write each piece by itself."""
        for piece in pieces:
            self._sock.sendall(piece)

    def repeat(self, piece: bytes, every: float = 0.0) -> None:
        """Write a piece, and again every so many seconds, until the client has closed."""
        pause = threading.Event()
        with contextlib.suppress(ConnectionError):
            while not pause.wait(every):
                self.send(piece)

    def gone(self) -> bool:
        """Wait until the client has closed its end; False if it does not."""
        try:
            while self._sock.recv(65_536):
                pass
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def dismiss(self) -> None:
        """Wake the script if it waits for a request, so that a server can stop."""
        if self._idle:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, before the script ends."""
        self._sock.close()

    def reset(self) -> None:
        """Close with a reset, as a machine that goes down does."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    @staticmethod
    def _length(raw: bytes) -> int:
        head, _, _ = raw.partition(b"\r\n\r\n")
        fields = (line.partition(b":") for line in head.lower().split(b"\r\n"))
        length = next((int(value) for name, _, value in fields if name == b"content-length"), 0)
        return len(head) + 4 + length


class Server:
    """Plays ``script`` for every connection, each in a thread of its own.

    Args:
        script: what is done with a connection; it is closed when this returns.
        tls: the server's side of TLS; ``None`` speaks plainly.
        handshakes_fail: the clients are meant to refuse TLS; ``None`` lets them do either.
    """

    def __init__(
        self,
        script: Callable[[Peer], object],
        tls: ssl.SSLContext | None = None,
        *,
        handshakes_fail: bool | None = False,
    ) -> None:
        """Listen."""
        self.asked: list[Asked] = []
        self.accepted = 0
        self._script = script
        self._tls = tls
        self._handshakes_fail = handshakes_fail
        self.closing = False
        self._peers: list[Peer] = []
        self._closed = threading.Semaphore(0)
        self._failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.origin = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self.url = f"{self.origin}/v1/chat/completions"

    def __enter__(self) -> Self:
        """Start to accept connections."""
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop, and fail with what failed in a script unless the test has failed already."""
        # To shut a listener down wakes who waits on it; not everywhere does closing.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.closing = True
        for peer in self._peers:
            peer.dismiss()
        if kind is not None:
            return  # a script may wait for the test that has failed, whose failure is what counts
        for thread in self._threads:
            thread.join(2 * PATIENCE)
            assert not thread.is_alive(), "a script of the server did not end"
        if self._failures:
            raise self._failures[0]

    def wait_closed(self) -> None:
        """Wait until the server has closed one more connection."""
        assert self._closed.acquire(timeout=PATIENCE), "no connection was closed"

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._start(self._play, sock)

    def _play(self, sock: socket.socket) -> None:
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
                assert self._handshakes_fail is not True, "the client took the certificate"
            peer = Peer(self, sock)
            self._peers.append(peer)
            self._script(peer)
        except OSError as failure:
            if self._handshakes_fail is False:
                self._failures.append(failure)
        except BaseException as failure:  # noqa: BLE001 - the test's own thread reports it
            self._failures.append(failure)
        finally:
            sock.close()
            self._closed.release()


def serving(certificate: trustme.LeafCert) -> ssl.SSLContext:
    """Give a server's side of TLS with a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def head(status: str = "200 OK", headers: dict[str, str] | None = None) -> bytes:
    """Give a status line and headers."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in (headers or {}).items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def answer(body: bytes, status: str = "200 OK", headers: dict[str, str] | None = None) -> bytes:
    """Give a whole answer with a ``Content-Length``."""
    return head(status, {**(headers or {}), "Content-Length": str(len(body))}) + body


def document(value: object, status: str = "200 OK", headers: dict[str, str] | None = None) -> bytes:
    """Give a whole answer that is JSON."""
    typed = {"Content-Type": "application/json", **(headers or {})}
    return answer(json.dumps(value).encode(), status, typed)


def chunked(*pieces: bytes) -> bytes:
    """Give the pieces as HTTP chunks."""
    return b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces)


CHUNKS_END: Final = b"0\r\n\r\n"


def event(text: str, end: str = "\n\n", **more: object) -> bytes:
    """Give a stream chunk of the interface; ``more`` goes into its choice."""
    value = {"choices": [{"delta": {"content": text}, **more}]}
    return f"data: {json.dumps(value, ensure_ascii=False)}{end}".encode()


def stream(*pieces: bytes, headers: dict[str, str] | None = None) -> bytes:
    """Give a whole streamed answer, chunked."""
    typed = {**EVENTS, "Transfer-Encoding": "chunked", **(headers or {})}
    return head(headers=typed) + chunked(*pieces) + CHUNKS_END


def pouring(raw: bytes) -> Callable[[Peer], None]:
    """Make the script that answers as far as the client reads."""

    def script(peer: Peer) -> None:
        peer.request()
        with contextlib.suppress(OSError):
            peer.send(raw)

    return script


def playing(*answers: bytes) -> Callable[[Peer], None]:
    """Make the script that gives each request its answer in turn, then the last one again."""
    left = list(answers)

    def script(peer: Peer) -> None:
        while peer.request():
            peer.send(left.pop(0) if len(left) > 1 else left[0])

    return script


def once(*pieces: bytes) -> Callable[[Peer], None]:
    """Make the script that answers one request in these pieces and closes the connection."""

    def script(peer: Peer) -> None:
        if peer.request():
            peer.send(*pieces)

    return script


def leaving(gone: queue.Queue[bool], *pieces: bytes) -> Callable[[Peer], None]:
    """Make the script that answers one request in these pieces, and tells when the client left."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(*pieces)
        gone.put(peer.gone())

    return script


def wait_for(sign: threading.Event) -> None:
    """Wait for the other side, and fail if it does not come."""
    assert sign.wait(PATIENCE), "the other side did not come so far"


@contextlib.contextmanager
def unanswering() -> Iterator[str]:
    """Give an origin that neither takes a connection nor refuses it."""
    # A listener that takes one connection and is full; its system drops what comes then.
    with socket.socket() as listener, contextlib.ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        host, port = listener.getsockname()
        for _ in range(3):
            sock = waiting.enter_context(socket.socket())
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                sock.connect((host, port))
        yield f"http://{host}:{port}"
