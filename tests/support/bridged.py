"""A page at the other end of a shell's bridge, without a browser."""

from __future__ import annotations

import threading
from typing import Any

import comm
import pytest
from comms import PageComm, page_comms
from shells import Shell

from chatmagic.jupyter.page.bridge import Bridge
from chatmagic.jupyter.page.messages import URGENT
from chatmagic.session.current import current_session

PATIENCE = 60.0


class Front:
    """A shell whose page has a bridge: says cells, and keeps what it is sent."""

    def __init__(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        """Listen to what the bridge sends."""
        self.shell = shell
        self.sent: list[dict[str, Any]] = []
        self.news = threading.Condition()
        self.comms = page_comms(monkeypatch, self._send)

    def _send(self, content: dict[str, Any]) -> None:
        with self.news:
            self.sent.append(content)
            self.news.notify_all()

    @property
    def bridge(self) -> Bridge:
        """The bridge, which the first reply has built."""
        found = self.shell.kernel.page.bridge
        assert isinstance(found, Bridge)
        return found

    @property
    def comm(self) -> PageComm:
        """The bridge's comm, as the page has it."""
        return self.comms[-1]

    @property
    def state(self) -> dict[str, Any]:
        """The kernel's state, as the page was told it last."""
        return [message for message in self.sent if message["kind"] == "state"][-1]

    def urges(self, content: object) -> None:
        """Say something that may not wait, in a comm of its own."""
        target = comm.get_comm_manager().targets[URGENT]
        target(self.comm, {"content": {"data": content}})

    def say(
        self, cells: str, *, page: str = "p", opened: bool = False, name: str = "", **owner: str
    ) -> None:
        """Say the page's cells, as ``bridge.js`` does."""
        listed = [[one, True, owner.get(one)] for one in cells]
        content = {"page": page, "notebook": "n", "name": name, "opened": opened, "cells": listed}
        self.comm.say({"kind": "cells", **content})

    def is_marked(
        self, marks: dict[str, str], below: dict[str, Any] | None = None, notebook: str = "n"
    ) -> None:
        """Wait until a notebook has been told marks; ``below`` may be left out of what counts."""
        wanted = {"kind": "marks", "notebook": notebook, "marks": marks}

        def told() -> bool:
            return any(
                {**message, **({} if below is None else {"below": below})} == message
                and {name: message.get(name) for name in wanted} == wanted
                for message in self.sent
            )

        with self.news:
            assert self.news.wait_for(told, PATIENCE), self.sent

    def hears(self, content: dict[str, Any]) -> None:
        """Wait until it has been sent a message."""
        with self.news:
            assert self.news.wait_for(lambda: content in self.sent, PATIENCE), self.sent

    def paints(self) -> list[dict[str, Any]]:
        """Give what it was sent to paint."""
        return [message for message in self.sent if message["kind"] == "paint"]

    def said(self) -> list[str]:
        """Give what the status region was told."""
        return [message["text"] for message in self.sent if message["kind"] == "say"]

    def is_told(self, *texts: str) -> None:
        """Wait until the status region was told this, and nothing else, since the last time."""
        with self.news:
            assert self.news.wait_for(lambda: len(self.said()) >= len(texts), PATIENCE), self.sent
            assert self.said() == list(texts)
            self.sent.clear()

    def asks(self, *cells: str) -> None:
        """Wait until the page is told these cells as those whose replies come in the background."""
        with self.news:
            assert self.news.wait_for(
                lambda: [*filter(None, self.state["asks"].values())] == [*cells], PATIENCE
            )

    def ask(self, cell: str, code: str | None = None) -> None:
        """Ask in a cell of the page."""
        self.shell.page(code or f"%%chat\necho:{cell}", cell)


def prompts() -> list[str]:
    """Give the prompts of the conversation."""
    return [turn.prompt.removeprefix("echo:") for turn in current_session().conversation]


def stale_mark(cause: str) -> str:
    """Give the mark of a stale cell."""
    return f"Stale, because {cause}. Run the cell again to renew it."
