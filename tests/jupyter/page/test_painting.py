"""Which pages paint a reply under way, and what they are told of it, without a kernel."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from chatmagic.conversation.cell_order import PageCell, PageReport
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.turn import Turn
from chatmagic.errors import ServiceError
from chatmagic.jupyter.page.drawing import DrawingLoop
from chatmagic.jupyter.page.painting import Painting
from chatmagic.jupyter.page.reply_under_way import Drawn, ReplyUnderWay
from chatmagic.models import Reply
from chatmagic.render.sanitize import FREQUENT
from chatmagic.session.events import Answer, Ask, Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.jupyter.page.messages import Paint, Settled


class Loop(DrawingLoop):
    """A drawing loop without a thread."""

    def put(self, work: Callable[[], object]) -> None:
        """Do it."""
        work()


class Page:
    """The pages of a bridge, and what they were sent."""

    def __init__(self) -> None:
        """Open none of them."""
        self.sent: list[Paint | Settled] = []
        self.loop = Loop()
        self.painting = Painting(self.loop, self.sent.append)
        self.reply = ReplyUnderWay(Ask("why?"), is_painted=True)

    def told(self, text: str, *, has_script: bool = False) -> list[Any]:
        """Return what is sent of a drawing."""
        self.sent.clear()
        self.reply.add(text)
        drawn = self.reply.draw(0.0)
        assert isinstance(drawn, Drawn)
        self.painting.tell(drawn, has_script=has_script)
        return [*self.sent]


class Clock:
    """The clock by which all of a reply is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begin somewhere."""
        self.now = 1_000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def answered(text: str) -> Answer:
    """Return a reply that has ended."""
    turn = Turn(prompt="p", reply=Reply(text))
    return Answer(turn.reply, turn.to_record("0" * 64))


def report(*, opened: bool, owner: str | None = None) -> PageReport:
    """Return the report of a page with one cell."""
    return PageReport("p", "n", {owner_of("a"): PageCell("a", owner)}, opened=opened)


@pytest.fixture
def page() -> Page:
    """The pages."""
    return Page()


def drawn_anew(page: Page, serial: int, blocks: list[str]) -> dict[str, Any]:
    """Return the message of all that is shown."""
    kind = {"kind": "paint", "live": page.reply.ask.live}
    frequent = [*FREQUENT]
    return {**kind, "serial": serial, "keep": 0, "blocks": blocks, "frequent": frequent}


def test_all_of_it_is_told_to_a_page_that_comes(page: Page) -> None:
    """And then what is new, a block that has grown by its end alone."""
    assert page.told("One.\n\n") == []
    page.painting.begin()
    assert page.sent == [drawn_anew(page, 0, ["<p>One.</p>\n"])]
    (more,) = page.told("Two **bold**")
    assert (more["keep"], len(more["blocks"])) == (1, 1)
    (more,) = page.told(" 😀.")
    same = "<p>Two <strong>bold</strong>"
    assert (more["keep"], more["same"], more["blocks"]) == (1, len(same), [" 😀.</p>\n"])
    (more,) = page.told("!")
    assert (more["same"], more["blocks"]) == (len(same) + 4, ["!</p>\n"])  # two units of UTF-16
    page.painting.greet()  # it has said so itself
    assert page.told("?")[0]["keep"] == 1


def test_a_page_may_have_the_script_and_be_unable_to_say_so(page: Page) -> None:
    """Where what it says waits behind the cell that asks."""
    assert page.told("One", has_script=True)[0]["keep"] == 0
    page.told(" two", has_script=True)
    page.painting.greet()
    (paint,) = page.told("\n\nThree", has_script=True)
    assert (paint["keep"], len(paint["blocks"])) == (0, 2)


def test_a_page_that_lacks_the_last_state_is_sent_it(page: Page) -> None:
    """Of the newest replies that have ended, by the names of their asks, and of no other."""
    lives: list[object] = []
    for number in range(18):
        turn = Turn(prompt="p", reply=Reply(f"Words {number}."))
        answer = Answer(turn.reply, turn.to_record("0" * 64))
        page.reply = ReplyUnderWay(Ask("why?"), is_painted=True)
        page.told("Words")
        page.painting.settle(page.reply.ask.live)
        page.painting.end(Ended(page.reply.ask, answer, None))
        lives.append(page.reply.ask.live)
    assert page.sent == []
    for live in [*lives[:3], "", None, {}]:
        page.painting.settle(live)
    (settled,) = page.sent
    assert settled["kind"] == "settled"
    assert settled["live"] == lives[2]
    assert settled["data"]["text/plain"] == "Words 2."
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
    assert whole["box"].endswith("\n</div></div>")
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
        page.reply = ReplyUnderWay(Ask("why?"), is_painted=True)
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
    page.painting.look(report(opened=True))
    page.painting.end(Ended(ask, answered("One"), None))
    page.painting.look(report(opened=False, owner=owner if is_seen else None))
    clock.now += seconds
    assert page.sent == []
    page.painting.look(report(opened=True))
    assert [message["live"] for message in page.sent] == [ask.live] * is_sent


def test_a_cell_that_runs_again_is_not_given_its_old_reply(page: Page) -> None:
    """Nor the replies of an execution before this one."""
    asks = [Ask("1"), Ask("2"), Ask("3")]
    for ask, replaces in zip(asks, (True, True, False), strict=True):
        page.painting.show(ask.live, "a", replaces=replaces)
        page.painting.end(Ended(ask, answered("One"), None))
    page.painting.look(report(opened=True))
    assert [message["live"] for message in page.sent] == [ask.live for ask in asks[1:]]
