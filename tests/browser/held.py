"""A service whose replies come in parts, each when a test lets it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import loopback

SECONDS: Final = 300.0
"""A bound against hanging: a page may take longer than a test without one."""


class HeldReplies:
    """Replies in parts.

    Args:
        parts: of each reply; behind each part it waits.
        repeats: what is sent again and again behind some part while that waits.
        behind: the number of that part.
        headers: more headers of the answers.
    """

    def __init__(
        self, parts: tuple[str, ...], repeats: str, behind: int, headers: Mapping[str, str]
    ) -> None:
        """Hold them all."""
        self.parts = parts
        self.gates = [threading.Event() for _ in parts]
        self._repeats = repeats
        self._behind = behind
        self.setup = ""
        """The cell that loads the extension and connects to the service."""
        self._headers = {**loopback.EVENTS, "Transfer-Encoding": "chunked", **headers}

    def answer(self, peer: loopback.Peer) -> None:
        """Answer one connection's requests; one for ``echo:`` and a text at once."""
        peer.wait_up_to(SECONDS)
        while asked := peer.request():
            peer.send(loopback.head(headers=self._headers))
            prompt = asked.body["messages"][-1]["content"]
            if prompt.startswith("echo:"):
                peer.send(loopback.chunked(loopback.event(prompt.removeprefix("echo:"))))
            else:
                for text, gate in zip(self.parts, self.gates, strict=True):
                    peer.send(loopback.chunked(loopback.event(text)))
                    repeated = self._repeats and gate is self.gates[self._behind]
                    while repeated and not gate.wait(0.3):
                        peer.send(loopback.chunked(loopback.event(self._repeats)))
                    assert gate.wait(SECONDS)
            peer.send(loopback.chunked(loopback.DONE), loopback.CHUNKS_END)

    def go(self, *numbers: int) -> None:
        """Let what follows parts come; without numbers, all of it."""
        for number in numbers or range(len(self.gates)):
            self.gates[number].set()


@contextmanager
def held(*parts: str, repeats: str = "", behind: int = 0, **headers: str) -> Iterator[HeldReplies]:
    """Run the service.

    Args:
        parts: as :class:`HeldReplies` has them.
        repeats: as there.
        behind: as there.
        headers: as there.
    """
    replies = HeldReplies(parts, repeats, behind, headers)
    with loopback.Server(replies.answer) as service:
        connect = f"%config ChatMagics.auth = 'none'\n%chat_connect {service.origin}"
        replies.setup = f"%load_ext chatmagic\n{connect}"
        yield replies
