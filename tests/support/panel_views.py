"""A panel's view without a browser, and a service whose replies a test sends piece by piece."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from comms import WidgetComm
from loopback import CHUNKS_END, DONE, EVENTS, Peer, Server, chunked, event, head, stream, wait_for
from message_types import conforms, types

from chatmagic.conversation.turn import Turn
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.panel_feed import Shown
from chatmagic.models import Reply
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session

PATIENCE = 60.0
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOSTILE = "<script>x</script>\u202e\x1b[2J<img src=x onerror=y> [a](javascript:b)"
LIMITS = {
    "X-RateLimit-Limit": "10",
    "X-RateLimit-Remaining": "9",
    "X-RateLimit-Reset": "2026-01-02T00:00:00Z",
    "Date": "Thu, 01 Jan 2026 12:00:00 GMT",
}


class Kernel:
    """What panels read of their kernel."""

    def __init__(self) -> None:
        """Say little."""
        self.given: dict[str, Any] = {}
        self.shows = True

    def now(self) -> datetime:
        """Stand still."""
        return NOON

    def standing(self) -> Message:
        """Say where."""
        return {"state": "live", "rows": [["Service", "here"]], "model": "", "models": []}

    def defaults(self) -> Ask:
        """Return a question with the parameters."""
        return Ask("", **self.given)

    def streams(self) -> bool:
        """Return whether replies are shown while they come."""
        return self.shows


class Joined(Protocol):
    """What a view joins: the pages of a kernel, or a widget's comm before them."""

    def join(self, shown: Shown) -> None:
        """Send it what every view is sent."""

    def receive(self, shown: Shown, message: Any) -> None:
        """Take what it says."""


class View:
    """A view that keeps the messages that it gets, each of a listed type, and says others."""

    def __init__(self, joined: Joined, name: str = "v") -> None:
        """Join."""
        self.messages: list[dict[str, Any]] = []
        self.name = name
        self.went = False
        self._new = threading.Condition()
        self._seen: set[int] = set()
        self.saves = 0
        self._joined = joined
        self.shown = Shown(self.take, self.save)
        joined.join(self.shown)

    def take(self, message: dict[str, Any]) -> None:
        """Keep a message, as it crosses the wire."""
        if self.went:
            raise RuntimeError("the page went away")
        with self._new:
            self.messages.append(json.loads(json.dumps(message)))
            self._new.notify_all()
        assert conforms(self.messages[-1], types()["FromKernel"]), message

    def save(self) -> None:
        """Count how often its output is brought up to date."""
        self.saves += 1

    def say(self, kind: str, **more: Any) -> None:
        """Say something, from whatever thread."""
        self._joined.receive(self.shown, {"kind": kind, "view": self.name, **more})

    def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Wait for a message of a kind and return it; none is returned twice.

        Args:
            kind: its kind.
            fields: what it holds; of a snapshot, also what it says of the ask that ended.
        """

        def place() -> int | None:
            wanted = {"kind": kind, **fields}
            for index, message in enumerate(self.messages):
                held = {**message, **(message.get("ended") or {})}
                if index not in self._seen and all(
                    held.get(name) == value for name, value in wanted.items()
                ):
                    return index
            return None

        with self._new:
            assert self._new.wait_for(lambda: place() is not None, PATIENCE), self.kinds
            index = place()
        assert index is not None
        self._seen.add(index)
        return self.messages[index]

    def sync(self, **more: Any) -> dict[str, Any]:
        """Ask for a snapshot of its own."""
        self.say("sync", **more)
        return self.until("snapshot", view=self.name)

    def log(self, **more: Any) -> list[dict[str, Any]]:
        """Return the entries that a view shows which opens now."""
        ids = [id for id, _ in self.sync(**more)["entries"]]
        entries: dict[int, dict[str, Any]] = {}
        while lacking := [id for id in ids if id not in entries]:
            self.say("want", ids=lacking)
            entries |= {entry["id"]: entry for entry in self.until("entries")["entries"]}
        return [entries[id] for id in ids]

    def ask(self, text: str | None, replaces: int | None = None) -> str:
        """Ask as a reader does, and return the name of the ask."""
        nonce = f"nonce {len(self.messages)}"
        self.say("ask", text=text, nonce=nonce, replaces=replaces)
        live = self.until("offer", nonce=nonce)["live"]
        self.say("go", live=live)
        return str(live)

    def streaming(self) -> dict[str, Any]:
        """Wait for the first words of a reply."""
        while not (pending := self.until("pending"))["html"]:
            pass
        return pending

    def asked(self, text: str | None, replaces: int | None = None) -> dict[str, Any]:
        """Ask, and return the snapshot that says how that ended."""
        return self.until("snapshot", live=self.ask(text, replaces))

    @property
    def kinds(self) -> list[str]:
        """The kinds of the messages in order, without repetitions."""
        kinds = [str(message["kind"]) for message in self.messages]
        return [kind for place, kind in enumerate(kinds) if kinds[place - 1 : place] != [kind]]


class Service:
    """A server whose replies the test sends piece by piece."""

    def __init__(self) -> None:
        """Reply with one word until told otherwise."""
        self.reply: Callable[[Peer], object] = lambda peer: peer.send(words("fine"))
        self.server = Server(self._play)

    def _play(self, peer: Peer) -> None:
        while peer.request():
            self.reply(peer)

    @property
    def bodies(self) -> list[list[str]]:
        """The contents of the messages of each request."""
        return [
            [message["content"] for message in asked.body["messages"]]
            for asked in self.server.asked
        ]


def words(*fragments: str) -> bytes:
    """Return a whole reply."""
    return stream(*map(event, fragments), DONE, headers=LIMITS)


def words_cut(*fragments: str) -> bytes:
    """Return a reply that ends before its end."""
    return stream(*map(event, fragments), headers=LIMITS)


def holding(*fragments: str) -> tuple[Callable[[Peer], None], threading.Event]:
    """Return a reply that begins, and goes on when the event is set."""
    go_on = threading.Event()

    def play(peer: Peer) -> None:
        peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}))
        peer.send(*(chunked(event(fragment)) for fragment in fragments))
        wait_for(go_on)
        peer.send(chunked(DONE) + CHUNKS_END)

    return play, go_on


def turn(which: int, **more: Any) -> Turn:
    """Return a turn."""
    return Turn(prompt=f"question {which}", reply=Reply(f"answer *{which}*"), **more)


def fill(session: Session, count: int) -> None:
    """Put turns into a conversation."""
    for number in range(count):
        carried = session.conversation.window().carried
        session.conversation.add(turn(number, carried=carried, entry="python", asker="Python"))


class Wire:
    """What a view says and is sent, over a widget's comm."""

    def __init__(self, widget: WidgetComm) -> None:
        """Take the widget."""
        self._widget = widget

    def join(self, shown: Shown) -> None:
        """Send it what the widget sends."""
        self._widget.heard = shown.send

    def receive(self, shown: Shown, message: dict[str, Any]) -> None:
        """Say it to the widget."""
        del shown
        self._widget.say(message)
