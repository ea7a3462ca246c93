"""A SOCKS proxy on loopback (RFC 1928, RFC 1929; SOCKS 4 and 4a), and the passing on of bytes."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from loopback import PATIENCE, Peer

GRANTED: Final = 0
"""The answer of SOCKS 5 to a request that it fulfils."""


def pass_on(peer: Peer, port: int) -> None:
    """Connect to a port of this machine, and pass on what both sides send."""
    with socket.create_connection(("127.0.0.1", port)) as onward:

        def carry(read: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
            # A connection that is closed with unread tickets of TLS ends with a reset.
            with contextlib.suppress(OSError):
                for piece in iter(read, b""):
                    write(piece)

        back = threading.Thread(target=carry, args=(lambda: onward.recv(65_536), peer.send))
        back.start()
        carry(peer.piece, onward.sendall)
        with contextlib.suppress(OSError):
            onward.shutdown(socket.SHUT_RDWR)
        back.join(PATIENCE)


@dataclass
class SocksProxy:
    """Script of a SOCKS proxy that connects each request to one port, whatever it asks for.

    Args:
        port: the port of this machine.
        password: a name and a password that are required; ``None`` for none.
        status: the answer to a request, as SOCKS 5 numbers it.
    """

    port: int
    password: tuple[bytes, bytes] | None = None
    status: int = GRANTED
    asked: list[tuple[int, bytes, int]] = field(default_factory=list)
    """The version, the host as it was sent and the port of each request."""
    users: list[tuple[bytes, bytes]] = field(default_factory=list)
    """The names with their passwords that were sent."""

    def __call__(self, peer: Peer) -> None:
        """Play the proxy for one connection."""
        version = self._read(peer, 1)[0]
        is_granted = self._socks5(peer) if version == 5 else self._socks4(peer)
        if is_granted:
            pass_on(peer, self.port)

    def _read(self, peer: Peer, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = peer.piece(count - len(data))
            if not piece:
                raise ConnectionResetError
            data += piece
        return data

    def _until_zero(self, peer: Peer) -> bytes:
        data = b""
        while not data.endswith(b"\0"):
            data += self._read(peer, 1)
        return data[:-1]

    def _socks5(self, peer: Peer) -> bool:
        methods = self._read(peer, self._read(peer, 1)[0])
        method = 2 if self.password else 0
        if method not in methods:
            peer.send(b"\5\xff")
            return False
        peer.send(bytes([5, method]))
        if self.password:
            self._read(peer, 1)
            user = self._read(peer, self._read(peer, 1)[0])
            self.users.append((user, self._read(peer, self._read(peer, 1)[0])))
            if self.users[-1] != self.password:
                peer.send(b"\1\1")
                return False
            peer.send(b"\1\0")
        kind = self._read(peer, 4)[3]
        size = {1: 4, 4: 16}.get(kind) or self._read(peer, 1)[0]
        host = self._read(peer, size)
        self.asked.append((5, host, int.from_bytes(self._read(peer, 2))))
        peer.send(bytes([5, self.status, 0, 1]) + bytes(6))
        return self.status == GRANTED

    def _socks4(self, peer: Peer) -> bool:
        self._read(peer, 1)
        port = int.from_bytes(self._read(peer, 2))
        host = self._read(peer, 4)
        self.users.append((self._until_zero(peer), b""))
        if host[:3] == bytes(3):
            host = self._until_zero(peer)
        self.asked.append((4, host, port))
        is_granted = self.status == GRANTED
        peer.send(bytes([0, 0x5A if is_granted else 0x5B]) + bytes(6))
        return is_granted
