"""The kernel's end of the bridge: what it makes of a page's messages, and what it sends."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import comm
import pytest
from comms import PageComm, page_comms
from logged import Emulator
from shells import FIXED, Shell, asked

from chatmagic.archive.output import AT_LIMIT
from chatmagic.client.halt import Halt
from chatmagic.conversation.cell_order import PageCell, PageReport
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.turn import Turn
from chatmagic.errors import ServiceError
from chatmagic.jupyter.page import bridge as module
from chatmagic.jupyter.page import drawing_loop
from chatmagic.jupyter.page.bridge import Bridge, Painting
from chatmagic.jupyter.page.drawing_loop import DrawingLoop, Drawn, ReplyUnderWay
from chatmagic.jupyter.page.messages import URGENT, Message
from chatmagic.models import Reply
from chatmagic.session.budget import OTHERS
from chatmagic.session.current import current_session
from chatmagic.session.events import Ask, Began, Ended, Event, Fragment, Outcome, View

PATIENCE = 60.0
BY_LATELY = f"by the cost of recent requests; {OTHERS}."
TAKEN_BACK = module.MARKS["taken back"]


def stale(cause: str) -> str:
    """Give the mark of a stale cell."""
    return f"Stale, because {cause}. Run the cell again to renew it."


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
        assert isinstance(found, module.Bridge)
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


@pytest.fixture
def front(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Front:
    """A page, before its first reply."""
    return Front(shell, monkeypatch)


def prompts() -> list[str]:
    """Give the prompts of the conversation."""
    return [turn.prompt.removeprefix("echo:") for turn in current_session().conversation]


def test_history_says_which_order_is_in_force(front: Front) -> None:
    """As run, before a page has said its cells; and the notebooks, where two have one kernel."""
    front.ask("a")
    front.ask("b")
    as_run, as_on_page = "in the order of the first run", "in the order of the cells in the page"
    assert as_run in front.shell.page("%chat_history", "h").texts[0]
    front.say("bah", opened=True, name="x.ipynb")
    shown = front.shell.page("%chat_history", "h").texts[0]
    assert as_on_page in shown
    assert shown.index("1. echo:b") < shown.index("2. echo:a")
    # A console of the same kernel is on no page.
    assert as_run in front.shell.page("%chat_history", "console").texts[0]
    assert "ipynb" not in shown
    front.ask("z")
    for code in ("%chat_history", "%chat_history all"):
        shown = front.shell.page(code, "h").texts[0]
        assert "(of x.ipynb;" in shown
        assert "(of another notebook;" in shown


def test_stale_cells_are_told_to_the_page(front: Front) -> None:
    """At every change, of the order too, by the page's own identities; once each.

    The cell that made some stale says which, and about what they take, until they are asked again.
    """
    for name in "abc":
        front.ask(name)
    front.say("abc", opened=True)
    front.is_marked({})
    front.say("acb")
    below = stale("the turn of cell [3] stands below it now")
    above = stale("its request would now carry the turn of cell [4]")
    front.is_marked({"b": above, "c": below})
    assert prompts() == ["a", "b", "c"]
    front.say("abc")
    front.ask("b")
    made = {"b": {"words": f"1 turn below is stale: about 1 credit, {BY_LATELY}", "cells": ["c"]}}
    front.is_marked({"c": stale("cell [5] was run again")}, made)
    front.sent.clear()
    front.ask("c")
    front.is_marked({}, {})
    assert len([message for message in front.sent if message["kind"] == "marks"]) == 1


@pytest.mark.parametrize(
    ("outcome", "count", "words"),
    [
        ("started", 2, "Running 2 cells again, in order."),
        ("queued", 0, "Nothing was run: other cells are running or waiting to run. Run this cell "),
        ("refused", 0, "This page cannot run cells. Run these, in this order: cell [3], cell [4]."),
    ],
)
def test_a_page_is_to_run_the_stale_cells(
    front: Front, monkeypatch: pytest.MonkeyPatch, outcome: str, count: int, words: str
) -> None:
    """After a yes to the quote; the page's answer is what the cell shows in the end."""
    quotes: list[str] = []
    answers = iter(["", "y"])

    def answer(quote: str) -> str:
        quotes.append(quote)
        return next(answers)

    monkeypatch.setattr("builtins.input", answer)
    for name in "abc":
        front.ask(name)
    front.say("abcr", opened=True)
    front.ask("a")
    front.sent.clear()
    ran = front.shell.fails("%chat_retry --stale", cell="r")
    assert str(ran.error) == "The stale cells were not run. Nothing was sent."
    quote = f"2 turns are stale: about 2 credits, by the cost of recent requests; {OTHERS}."
    assert quotes == [f"{quote}\nRun their cells again? [y/N] "]
    assert [message for message in front.sent if message["kind"] == "run"] == []
    ran = front.shell.page("%chat_retry --stale", "r")
    assert ran.texts == ["2 cells for this page to run again."]
    front.hears({"kind": "run", "page": "p", "key": 1, "cell": "r", "cells": ["b", "c"]})
    front.comm.say({"kind": "started", "key": 1, "outcome": outcome, "count": count})
    with front.news:
        assert front.news.wait_for(lambda: any(words in said for said in front.said()), PATIENCE)


def test_stale_turns_that_no_cell_of_the_page_asked_are_named(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the panel and of Python; the page runs the others."""
    monkeypatch.setattr("builtins.input", lambda _: "y")
    for name in "ab":
        front.ask(name)
    front.say("abr", opened=True)
    session = current_session()
    view = View()
    session.run(Ask("echo:1", owner="0f", execution="e", entry="panel", asker="the panel"), view)
    session.run(Ask("echo:2"), view)
    front.ask("a")
    front.sent.clear()
    ran = front.shell.page("%chat_retry --stale", "r")
    assert ran.texts == ["1 cell for this page to run again."]
    front.hears({"kind": "run", "page": "p", "key": 1, "cell": "r", "cells": ["b"]})
    front.comm.say({"kind": "started", "key": 1, "outcome": "started", "count": 1})
    where = "2 turns asked elsewhere are stale, too: ask again in the panel, Python."
    with front.news:
        words = f"Running 1 cell again, in order. {where}"
        assert front.news.wait_for(lambda: words in front.said(), PATIENCE), front.said()
    front.ask("b")
    where = "2 turns are stale: ask again in the panel, Python. Nothing was sent."
    assert front.shell.page("%chat_retry --stale", "r").texts == [where]


def test_marks_notes_and_commands_tell_one_story(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a hidden turn and an upper one that ran again: the same turns, causes and counts."""

    def history(cell: str) -> list[str]:
        return front.shell.page("%chat_history", cell).texts[0].splitlines()

    front.ask("a", "%chat -n 1 count to 9")
    front.ask("b")
    front.ask("c", "%chat -n 1 count to 9")
    front.say("abcuxvder", opened=True)
    assert front.shell.page("%chat_hide 2", "x").texts[0].startswith("Turn 2 is hidden")
    front.ask("d", "%chat --last 1 echo:d")
    front.ask("e", "%chat --last 1 echo:e")
    front.ask("a")
    cause = "because cell [8] was run again"
    costs = f"2 turns{{}} are stale, and 4 are asked again: about 4 credits, {BY_LATELY}"
    below = {"a": {"words": costs.format(" below"), "cells": ["b", "c", "d", "e"]}}
    front.is_marked(dict.fromkeys("bc", stale(cause[8:])), below)
    above, under = history("u"), history("v")
    assert above[5] == f"   (stale, {cause}; emulator; took about 1)"
    assert under[5] == f"   (hidden: it does not go along; stale, {cause}; emulator; took about 1)"
    assert above[8] == under[8] == f"   (stale, {cause}; max 1; emulator; took about 1)"
    assert "5 turns, 2 stale (run their cells again), " in above[-1]
    assert "would carry 3 of them." in above[-1]
    assert "would carry 2 of them." in under[-1]
    answers = Mock(return_value="n")
    monkeypatch.setattr("builtins.input", answers)
    front.shell.run("%chat_retry --stale", cell="r")
    answers.assert_called_once_with(f"{costs.format('')}\nRun their cells again? [y/N] ")
    # That a limit of tokens ended a reply stands in its output, whatever its cell is marked with.
    assert AT_LIMIT in front.shell.page("%chat_history 3", "v").texts[0]


def test_which_reply_is_in_force_is_told_to_the_page(front: Front) -> None:
    """In the cell whose reply gave way to that of another one, until the question is another."""
    front.ask("a", "%chat -n 1 count to 9")
    front.say("arp", opened=True)
    front.shell.page("%chat_continue", "r")
    words = module.MARKS["replaced"].format("Reply 2 of 2", "cell [3]")
    front.is_marked({"a": words})
    front.ask("a", "%chat -n 1 count to 9")
    front.is_marked({"r": TAKEN_BACK})


def test_the_status_region_hears_of_starts_and_ends_only(front: Front, emulator: Emulator) -> None:
    """Each once, not per fragment; of the first reply, too."""
    front.ask("a", "%%chat\necho:one two three")
    front.is_told("Reply started.", "Complete, 3 words.")
    front.ask("a", "%%chat\necho:" + "word " * 212)
    front.is_told("Reply started.", "Complete, 212 words.")
    emulator.settings = replace(FIXED, fault="error", fault_after=-1)
    ran = front.shell.fails("%%chat\necho:no", cell="b")
    front.is_told(str(ran.error))
    emulator.settings = replace(FIXED, fault="cut", fault_after=2)
    ran = front.shell.fails("%%chat\necho:one two three four", cell="b")
    front.is_told("Reply started.", str(ran.error))


def test_outputs_that_are_older_than_the_kernel_are_marked(front: Front) -> None:
    """After a restart; not those below the last turn, nor one asked without the history."""
    front.ask("c")
    front.say(
        "abcd",
        opened=True,
        a=owner_of("a"),
        b=owner_of("b"),
        c=owner_of("c"),
        d=owner_of("d"),
    )
    front.is_marked(dict.fromkeys("ab", module.OLDER))
    ask = Ask("x", owner=owner_of("a"))
    current_session().tell(Began(ask, (), (), Halt()))
    front.is_marked({"b": module.OLDER})
    current_session().tell(Ended(ask, None, ServiceError("Not complete.")))
    front.ask("a", "%chat --no-history echo:a")
    front.say("abcd", a=owner_of("a"), b=owner_of("b"), c=owner_of("c"), d=owner_of("d"))
    front.is_marked({"b": module.OLDER})


def test_what_the_panel_asks_is_the_panels_to_say(front: Front) -> None:
    """The bridge says what cells ask."""
    front.ask("a")
    front.is_told("Reply started.", "Complete, 1 word.")
    session = current_session()
    ask = Ask("x", entry="panel")
    failed = ServiceError("no")
    for event in (Began(ask, (), (), Halt()), Fragment(ask, "x"), Ended(ask, None, failed)):
        session.tell(event)
    front.ask("b", "%%chat\necho:one two")
    front.is_told("Reply started.", "Complete, 2 words.")


def test_a_reply_in_the_background_is_stopped_from_its_page(
    front: Front, emulator: Emulator
) -> None:
    """The page is told which cell it is, before a reply begins, and when there is none left."""
    emulator.settings = replace(FIXED, fault="hold", fault_after=-1)
    for count in (1, 2):
        front.ask("a", "%%chat --background\necho:one two")
        front.asks("a")
        (live,) = front.state["asks"]
        # The cell ends when its request is about to go; stopped before it has come, none comes.
        looks = (threading.Event().wait(0.01) for _ in range(6_000))
        assert any(len(emulator.requests) == count for _ in looks)
        front.urges({"kind": "stop", "live": "of another"})
        front.urges({"kind": "stop", "live": live})
        front.asks()
    front.shell.kernel.background.wait()
    assert len(emulator.requests) == 2
    assert list(current_session().conversation) == []
    emulator.settings = FIXED
    front.ask("b")
    front.urges({"kind": "stop", "live": None})


def test_a_bridge_that_cannot_open_keeps_no_reply(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question is asked, and the reply is shown."""
    monkeypatch.setattr(comm, "create_comm", Mock(side_effect=OSError("no comm")))
    assert front.shell.page("%%chat\necho:a", "a").texts == ["a"]
    assert front.shell.kernel.page.bridge is None


def test_a_front_end_that_closes_the_comm_closes_it_for_itself(front: Front) -> None:
    """One without our script does so; the kernel goes on listening to the others.

    What it cannot read it leaves out.
    """
    front.ask("a")
    front.comm.say({"kind": "cells"})
    front.comm.say(None)
    assert front.bridge.pages.reports == ()
    manager = comm.get_comm_manager()
    manager.comm_close(None, "", {"content": {"comm_id": front.comm.comm_id, "data": {}}})
    assert manager.get_comm(front.comm.comm_id) is front.comm
    front.say("a", opened=True)
    front.is_marked({})


def test_a_page_is_sent_what_there_is_to_paint(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of the first reply; all of it where it opens, and few whole updates where it paints."""
    monkeypatch.setattr(drawing_loop, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(drawing_loop, "BYTES_A_SECOND", float("inf"))
    loop, drawn = front.shell.kernel.page.drawing, list[Drawn]()
    front.ask("a")
    settle(loop)
    assert [paint["last"] for paint in front.paints()[-1:]] == [True]
    loop.join(lambda event: drawn.append(event) if isinstance(event, Drawn) else None)
    session, ask = current_session(), Ask("x", entry="panel")

    def tell(*events: Event) -> list[dict[str, Any]]:
        front.sent.clear()
        for event in events:
            session.tell(event)
        settle(loop)
        return front.paints()

    assert len(tell(Began(ask, (), (), Halt()), Fragment(ask, "one\n\n"))) == 1
    # A report waits behind the cells that are to run; that the page paints is heard at once.
    # The second page is the first, loaded again.
    for before, part in enumerate(("two", "three"), 1):
        front.urges({"kind": "paints"})
        settle(loop)
        assert front.paints()[-1]["keep"] == 0
        (paint,) = tell(Fragment(ask, f"{part}\n\n"))
        assert (paint["keep"], paint["blocks"]) == (before, [f"<p>{part}</p>\n"])
    front.say("a", opened=True)  # it has said more already
    assert tell(Fragment(ask, "four")) == [drawn[-1].message]
    assert (drawn[-1].keep, drawn[-1].whole) == (3, False)
    (paint,) = tell(Ended(ask, None, ServiceError("no")))
    assert (paint["keep"], paint["blocks"], paint["last"]) == (4, [], True)


def settle(drawing: DrawingLoop) -> None:
    """Wait until all is done that was put into the drawing loop."""
    done = threading.Event()
    drawing.put(done.set)
    assert done.wait(PATIENCE)


def test_a_page_that_cannot_be_reached_ends_nothing(front: Front) -> None:
    """The bridge goes on, and says the next thing to the pages that are there then."""
    front.ask("a")
    front.comm.lost = True
    front.say("a", opened=True)
    assert front.comm.failed.wait(PATIENCE)
    front.comm.lost = False
    front.say("a", page="q", opened=True)
    front.is_marked({})


def test_unloading_closes_the_bridge(front: Front) -> None:
    """The kernel's worker ends, the comm is closed, and the session follows no page any more."""
    before = set(threading.enumerate())
    front.ask("a")
    front.say("a", opened=True)
    front.hears({"kind": "tell"})
    bridge, before_comm = front.bridge, front.comm
    started = set(threading.enumerate()) - before
    (worker,) = (thread for thread in started if thread.name == "chatmagic-draw")
    front.shell.do("%unload_ext chatmagic")
    worker.join(PATIENCE)
    assert not worker.is_alive()
    assert not before_comm.is_open
    assert current_session().environment.layout("a") is None
    assert current_session().followers == ()
    front.shell.do("%load_ext chatmagic")
    front.ask("b")
    assert front.bridge is not bridge


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
        assert isinstance(drawn, Drawn)
        self.painting.tell(drawn)
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
    assert whole["box"].endswith(f"\n</div>{drawing_loop.PARTIAL}</div>")
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


def run(front: Front, source: str, notebook: str) -> None:
    """Run the cell ``a`` of a notebook."""
    metadata = {"cellId": "a", "deletedCells": [], "chatmagic": {"notebook": notebook}}
    front.shell.do(source, request={"metadata": metadata, "content": {"allow_stdin": True}})


def test_a_refresh_in_a_copy_replaces_nothing_of_the_first_notebook(
    front: Front, emulator: Emulator, tmp_path: Path
) -> None:
    """Its cell with the same identity and prompt is another place."""
    path = tmp_path / "cassette.jsonl"
    for mode, notebook in (("record", "n"), ("refresh", "copy"), ("refresh", "copy")):
        front.shell.do(f"%chat_cassette {path} --{mode}")
        run(front, "%%chat\necho:one", notebook)
    front.shell.do("%chat_cassette --off")
    assert len(emulator.requests) == 3
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    owners = [line["owner"] for line in lines if "owner" in line]
    assert owners == [owner_of("a"), owner_of("a", "copy")]


def test_a_copy_of_a_notebook_has_cells_of_its_own(front: Front, emulator: Emulator) -> None:
    """Its cells have the same identities; by the notebook that its requests name they differ."""
    run(front, "%%chat\necho:one", "n")
    front.say("a", opened=True)
    run(front, "%%chat\necho:two", "copy")
    content = {"page": "q", "notebook": "copy", "name": "", "opened": True}
    front.comm.say({"kind": "cells", **content, "cells": [["a", True, None]]})
    assert prompts() == ["one", "two"]
    run(front, "%%chat\necho:three", "n")
    assert prompts() == ["three", "two"]
    assert asked(emulator)[-1] == ["echo:three"]
    words = stale("cell [4] was run again")
    front.is_marked({"a": words}, notebook="copy")
    front.is_marked({})
