"""The painting of replies: what pages are sent of one under way, and of one that has ended."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import pytest

from chatmagic.conversation.cell_order import PageCell, PageReport
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.turn import Turn
from chatmagic.errors import ServiceError
from chatmagic.jupyter.page import reply_under_way
from chatmagic.jupyter.page.messages import Message
from chatmagic.jupyter.page.painting import Painting
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn, ReplyUnderWay
from chatmagic.models import Reply
from chatmagic.session.ask import Ask, Outcome
from chatmagic.session.events import Ended


class Page:
    """The pages of a bridge, and what they were sent."""

    def __init__(self) -> None:
        """Open none of them."""
        self.sent: list[Any] = []
        self.known: list[str] = []
        self.painting = Painting(self.take)
        self.reply = ReplyUnderWay(Ask("why?"))

    def take(self, message: Message) -> None:
        """Take a message; of the outputs that are the kernel's own, the digests."""
        if message["kind"] == "known":
            self.known += message["digests"]
        else:
            self.sent.append(message)

    def told(self, text: str) -> list[Any]:
        """Return what is sent of a drawing with the cell that shows it: all of it."""
        self.sent.clear()
        self.reply.add(text)
        drawn = self.reply.draw(0.0)
        assert isinstance(drawn, ReplyDrawn)
        self.painting.paint(drawn)
        return [message for message in self.sent if message.get("cell")]


class Clock:
    """The clock by which all of a reply is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begin somewhere."""
        self.now = 1_000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def answered(text: str) -> Outcome:
    """Return a reply that has ended."""
    turn = Turn(prompt="p", reply=Reply(text))
    return Outcome(turn.reply, turn.to_record("0" * 64))


def report(*, opened: bool, owner: str | None = None) -> PageReport:
    """Return the report of a page with one cell."""
    return PageReport("p", "n", {owner_of("a"): PageCell("a", owner)}, opened=opened)


@pytest.fixture
def page() -> Page:
    """The pages."""
    return Page()


def test_a_page_that_lacks_the_last_state_is_sent_it(page: Page) -> None:
    """Of the newest replies that have ended, by the names of their asks, and of no other."""
    lives: list[object] = []
    for number in range(18):
        page.reply = ReplyUnderWay(Ask("why?"))
        page.told("Words")
        page.painting.settle(page.reply.ask.live)
        page.painting.end(Ended(page.reply.ask, answered(f"Words {number}."), None))
        lives.append(page.reply.ask.live)
    assert {message["kind"] for message in page.sent} == {"paint"}
    page.sent.clear()
    for live in [*lives[:3], "", None, {}]:
        page.painting.settle(live)
    (settled,) = page.sent
    assert settled["kind"] == "settled"
    assert settled["live"] == lives[2]
    assert settled["data"]["text/plain"] == "Words 2."
    html = settled["data"]["text/html"]
    assert page.known[2] == hashlib.sha256(html.encode()).hexdigest()  # by which pages know it
    assert settled["metadata"]["chatmagic"]["prompt"] == "p"


def test_a_page_that_waits_for_a_reply_is_sent_why_there_is_none(page: Page) -> None:
    """It was loaded again before the request failed, and would show that it waits for ever."""
    page.painting.end(Ended(page.reply.ask, None, ServiceError("No <b>. Nothing came.")))
    page.painting.settle(page.reply.ask.live)
    (settled,) = page.sent
    assert settled["kind"] == "settled"
    assert settled["data"] == {"text/html": "<p>No &lt;b&gt;. Nothing came.</p>"}


def test_every_few_seconds_all_of_it_is_told_with_its_cell(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no page has said that it is there; the longer it is, the more rarely."""
    clock = Clock(monkeypatch)
    page.painting.show(page.reply.ask.live, "cell-1", replaces=True)
    assert page.told("One.\n\n") == []
    clock.now += 2.9
    assert page.told("Two.\n\n") == []
    clock.now += 0.2
    (whole,) = page.told("word " * 40_000)
    assert (whole["keep"], len(whole["blocks"]) > 2, whole["cell"]) == (0, True, "cell-1")
    assert whole["replaces"] is True
    assert f"chatmagic-live-{whole['live']} chatmagic-at-2" in whole["box"]
    assert whole["box"].endswith(f"\n</div>{reply_under_way.PARTIAL}</div>")
    clock.now += 9.9
    assert page.told(" and") == []
    clock.now += 2.0
    assert len(page.told(" more")) == 1


def test_the_last_state_is_sent_unasked_where_a_page_may_have_been_loaded(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a reply that came for some seconds; a short one is shown by the page that asked."""
    clock = Clock(monkeypatch)
    for seconds in (1.0, 4.0):
        page.reply = ReplyUnderWay(Ask("why?"))
        page.painting.show(page.reply.ask.live, "cell-1", replaces=False)
        page.told("One")
        clock.now += seconds
        page.told(" two")
        page.sent.clear()
        page.painting.end(Ended(page.reply.ask, answered("One two"), None))
    (settled,) = page.sent
    assert settled["kind"] == "settled"
    assert (settled["live"], settled["cell"]) == (page.reply.ask.live, "cell-1")
    assert settled["replaces"] is False
    assert settled["data"]["text/plain"] == "One two"


@pytest.mark.parametrize(
    ("seconds", "is_seen", "is_sent"),
    [(1.0, False, True), (61.0, False, False), (1.0, True, False)],
)
def test_a_page_that_opens_is_sent_what_ended_meanwhile(
    page: Page, monkeypatch: pytest.MonkeyPatch, *, seconds: float, is_seen: bool, is_sent: bool
) -> None:
    """Unless it ended long ago, or a page shows it: outputs that were cleared stay so."""
    clock, owner = Clock(monkeypatch), owner_of("a")
    ask = Ask("why?", owner=owner)
    page.painting.show(ask.live, "a", replaces=True)
    page.painting.take_report(report(opened=True))
    page.painting.end(Ended(ask, answered("One"), None))
    page.painting.take_report(report(opened=False, owner=owner if is_seen else None))
    clock.now += seconds
    assert page.sent == []
    page.painting.take_report(report(opened=True))
    assert [message["live"] for message in page.sent] == [ask.live] * is_sent


def test_a_cell_that_runs_again_is_not_given_its_old_reply(page: Page) -> None:
    """Nor the replies of an execution before this one."""
    asks = [Ask("1"), Ask("2"), Ask("3")]
    for ask, replaces in zip(asks, (True, True, False), strict=True):
        page.painting.show(ask.live, "a", replaces=replaces)
        page.painting.end(Ended(ask, answered("One"), None))
    page.painting.take_report(report(opened=True))
    assert [message["live"] for message in page.sent] == [ask.live for ask in asks[1:]]
