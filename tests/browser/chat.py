"""The chat panel as a person meets it in a page, for the tests of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from logged import Emulator, Settings
from playwright.sync_api import Locator, Page
from rig import Book, wait

LOAD: Final = "%load_ext chatmagic"
PANEL: Final = "%chat_panel"
HELD: Final = Settings(fault="hold", fault_after=12)
"""A reply that begins and does not end by itself."""

MESSAGES: Final = """
  window.heard = [];
  panel.sessionContext.session.kernel.anyMessage.connect((_, {msg, direction}) => {
    if (msg.header.msg_type === 'comm_msg') window.heard.push([direction, msg.content.data]);
  });
"""
"""Note in the page what it and the kernel say to each other."""

OTHERS: Final = frozenset({"ping", "pong", "tell", "cells", "say", "marks"})
"""What keeps the line awake, and what the bridge says, which opens after the first reply."""


class Chat:
    """A panel in a page."""

    def __init__(self, book: Book, which: int = 0) -> None:
        """Wait until it is drawn and has been told everything."""
        self.book = book
        self.page = book.page
        self.root = book.page.locator(".chatmagic-panel").nth(which)
        self.root.locator(".cm-badge").wait_for()
        self.box = self.root.get_by_role("textbox", name="Prompt")
        self.log = self.root.get_by_role("log", name="Conversation")
        self.turns = self.root.get_by_role("article")

    @property
    def status(self) -> str:
        """What the status region says."""
        return self.root.get_by_role("status").text_content() or ""

    def until(self, words: str) -> str:
        """Wait until the status region says something that begins so."""
        wait(
            self.page,
            "([node, words]) => new RegExp('^(' + words + ')').test(node.textContent)",
            arg=[self.root.get_by_role("status").element_handle(), words],
        )
        return self.status

    def until_ready(self) -> None:
        """Wait until nothing is under way."""
        wait(
            self.page, "node => !node.classList.contains('cm-busy')", arg=self.root.element_handle()
        )

    def send(self, text: str) -> None:
        """Type and press Enter."""
        self.box.fill(text)
        self.box.press("Enter")

    def ask(self, text: str) -> str:
        """Ask, and wait for the end."""
        count = self.turns.count()
        self.send(text)
        wait(
            self.page,
            "([node, count]) => node.querySelectorAll('.cm-turn:not(.cm-live)').length > count",
            arg=[self.root.element_handle(), count],
        )
        self.until_ready()
        return self.status

    def button(self, name: str) -> Locator:
        """Find the last button of a name."""
        return self.root.get_by_role("button", name=name).last

    def focused(self) -> bool:
        """Tell whether the prompt has the focus."""
        return bool(self.box.evaluate("node => node === document.activeElement"))

    def streaming(self) -> None:
        """Wait until a reply streams."""
        self.root.locator(".cm-live .cm-reply p").first.wait_for()

    def rest(self) -> float:
        """How far the log is from its end, in pixels."""
        measured = "node => node.scrollHeight - node.scrollTop - node.clientHeight"
        return float(self.log.evaluate(measured))


def with_panel(opens: Callable[..., Book], *cells: str) -> tuple[Book, Chat]:
    """Open a notebook whose second cell has shown a panel, and more cells that have not run."""
    book = opens([LOAD, PANEL, *cells])
    book.run(0)
    book.run(1)
    return book, Chat(book)


def heard(page: Page) -> list[tuple[str, dict[str, Any]]]:
    """Give what ``MESSAGES`` has noted: who says it, and the message; not what ``OTHERS`` are."""
    return [
        (direction, data["content"])
        for direction, data in page.evaluate("window.heard")
        if data.get("method") == "custom" and data["content"]["kind"] not in OTHERS
    ]


def prompts(service: Emulator) -> list[list[str]]:
    """Give the questions that each request carried."""
    return [
        [message["content"] for message in one.body["messages"] if message["role"] == "user"]
        for one in service.requests
    ]
