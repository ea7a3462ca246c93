"""The page's end of the kernel's widgets: what they send over their comms, and what a page says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm


class PageComm(BaseComm):
    """A comm of the kernel's, as the page at its other end sees it."""

    def __init__(self, *, heard: Callable[[Any], object], **given: Any) -> None:
        """Open it.

        Args:
            heard: called with the data of each message; of a widget's, with the content of each
                that is no trait's.
            given: what the kernel opens it with.
        """
        self.opened_with: dict[str, Any] = given["data"]
        self.is_open = False
        self.lost = False
        self.failed = threading.Event()
        self.heard = heard
        super().__init__(**given)

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        """Take a message of the kernel's, as a page does."""
        if self.lost:
            self.failed.set()
            raise OSError("the page is gone")
        self.is_open = msg_type != "comm_close"
        if self.is_open:
            self.take(data)

    def take(self, data: Any) -> None:
        """Take the data of a message."""
        self.heard(data)

    def say(self, content: Any) -> None:
        """Send the kernel a message."""
        self.handle_msg({"content": {"data": content}, "buffers": []})


def page_comms(monkeypatch: pytest.MonkeyPatch, heard: Callable[[Any], object]) -> list[PageComm]:
    """Return the comms that the kernel opens from now on, which a page has."""
    opened: list[PageComm] = []

    def create(**given: Any) -> PageComm:
        opened.append(PageComm(heard=heard, **given))
        return opened[-1]

    monkeypatch.setattr(comm, "create_comm", create)
    return opened


class WidgetComm(PageComm):
    """One widget, as a page sees it."""

    def __init__(self, **given: Any) -> None:
        """Open it, as a comm is opened."""
        self.state: dict[str, Any] = {}
        super().__init__(**given)

    def take(self, data: Any) -> None:
        """Take the traits of a message, or hear its content."""
        self.state.update(data.get("state", {}))
        if data.get("method") == "custom":
            self.heard(data["content"])

    def update(self, **traits: Any) -> None:
        """Change traits as the page does, of what a reader has typed."""
        super().say({"method": "update", "state": traits, "buffer_paths": []})

    def say(self, content: Any) -> None:
        """Send the widget a message, as its half in the page does."""
        super().say({"method": "custom", "content": content})


class Widgets(list[WidgetComm]):
    """The widgets of this process in the order in which they were opened."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, heard: Callable[[Any], object] = str
    ) -> None:
        """Let every widget from now on open its comm here."""
        super().__init__()

        def create(**given: Any) -> WidgetComm:
            self.append(WidgetComm(heard=heard, **given))
            return self[-1]

        monkeypatch.setattr(comm, "create_comm", create)

    def having(self, trait: str) -> list[WidgetComm]:
        """Return those that are open and have a trait of this name."""
        return [widget for widget in self if widget.is_open and trait in widget.state]
