"""Which pages paint a reply under way, and what they are told of it, without a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chatmagic.conversation.turn import Turn
from chatmagic.errors import ServiceError
from chatmagic.jupyter.drawing import DrawingLoop
from chatmagic.jupyter.painting import Painting
from chatmagic.jupyter.reply_under_way import Drawn, ReplyUnderWay
from chatmagic.models import Reply
from chatmagic.render.sanitize import FREQUENT
from chatmagic.session.events import Answer, Ask, Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.jupyter.bridge_messages import Paint, Settled


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
