"""The kernel's end of the bridge: what it makes of a page's messages, and what it sends."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import comm
import pytest
from bridged import PATIENCE, Front, prompts, stale_mark
from logged import Emulator
from shells import FIXED, asked

from chatmagic.client.halt import Halt
from chatmagic.conversation.record import owner_of
from chatmagic.errors import ServiceError
from chatmagic.jupyter.page import reply_under_way
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.reply_under_way import ReplyDrawn
from chatmagic.protocol.credits import OTHERS
from chatmagic.session.ask import Ask
from chatmagic.session.current import current_session
from chatmagic.session.events import Began, Ended, Event, Fragment
from chatmagic.session.views import View


def test_history_says_which_order_is_in_force(front: Front) -> None:
    """As run, before a page has said its cells; and the notebooks, where two have one kernel."""
    front.ask("a")
    front.ask("b")
    as_run, as_on_page = (
        "in the order in which their cells first ran",
        "in the order of the cells in the page",
    )
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


@pytest.mark.parametrize(
    ("outcome", "count", "words"),
    [
        ("started", 2, "Running 2 cells again, from top to bottom."),
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
        words = f"Running 1 cell again, from top to bottom. {where}"
        assert front.news.wait_for(lambda: words in front.said(), PATIENCE), front.said()
    front.ask("b")
    where = "2 turns are stale: ask again in the panel, Python. Nothing was sent."
    assert front.shell.page("%chat_retry --stale", "r").texts == [where]


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


def test_what_the_panel_asks_is_the_panels_to_say(front: Front) -> None:
    """The bridge says what cells ask."""
    front.ask("a")
    front.is_told("Reply started.", "Complete, 1 word.")
    session = current_session()
    ask = Ask("x", entry="panel")
    failed = ServiceError("no")
    for event in (Began(ask, (), (), Halt()), Fragment(ask, "x"), Ended(ask, None, failed)):
        session.followers.tell(event)
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


def test_a_page_is_sent_what_there_is_to_paint(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of the first reply; all of it where it opens, and few whole updates where it paints."""
    monkeypatch.setattr(reply_under_way, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(reply_under_way, "BYTES_A_SECOND", float("inf"))
    loop, drawn = front.shell.kernel.page.drawing, list[ReplyDrawn]()
    front.ask("a")
    settle(loop)
    assert [paint["last"] for paint in front.paints()[-1:]] == [True]
    loop.join(lambda event: drawn.append(event) if isinstance(event, ReplyDrawn) else None)
    session, ask = current_session(), Ask("x", entry="panel")

    def tell(*events: Event) -> list[dict[str, Any]]:
        front.sent.clear()
        for event in events:
            session.followers.tell(event)
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
    assert not len(current_session().followers)
    front.shell.do("%load_ext chatmagic")
    front.ask("b")
    assert front.bridge is not bridge


def run(front: Front, source: str, notebook: str, cell: str = "a", **named: Any) -> None:
    """Run a cell of a notebook."""
    own = {"notebook": notebook, **named}
    metadata = {"cellId": cell, "deletedCells": [], "chatmagic": own}
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
    words = stale_mark("cell [4] was run again")
    front.is_marked({"a": words}, notebook="copy")
    front.is_marked({})


def test_a_question_that_waits_is_named_until_it_is_asked_or_given_up(
    front: Front, emulator: Emulator
) -> None:
    """A page needs its name when the kernel ends; no cell of it is said to have a reply coming."""
    emulator.settings = replace(FIXED, fault="hold", fault_after=-1)
    front.ask("a", "%%chat --background\necho:one")
    front.asks("a")
    (first,) = front.state["asks"]
    front.ask("b", "%%chat --background\necho:two")
    with front.news:
        assert front.news.wait_for(lambda: len(front.state["asks"]) == 2, PATIENCE)
    (second,) = front.state["asks"].keys() - {first}
    assert front.state["asks"][second] == ""
    front.urges({"kind": "stop", "live": first})
    front.asks()
    with front.news:
        assert front.news.wait_for(lambda: front.state["asks"] == {}, PATIENCE)
    front.shell.kernel.background.wait()


def test_the_tab_that_asks_says_the_order(front: Front, emulator: Emulator) -> None:
    """Its request lists the cells above; the other tab of the notebook spoke last."""
    for name in "abc":
        front.ask(name)
    front.say("abcd", opened=True)
    front.say("dcba", page="q")
    above = [[name, None] for name in "ab"]
    run(front, "%%chat\necho:d", "n", "d", above=[*above, ["m", "# Words"], ["c", None]])
    assert asked(emulator)[-1] == ["echo:a", "a", "echo:b", "b", "echo:c", "c", "echo:d"]
    # Without the list, as of code without a magic, the page's own report says it.
    run(front, "import chatmagic\nchatmagic.ask('echo:c again')", "n", "c", page="p")
    assert asked(emulator)[-1] == ["echo:a", "a", "echo:b", "b", "echo:c again"]
    # So do the marks, from then on: by the order of the other tab three turns were stale.
    front.sent.clear()
    run(front, "%%chat\necho:d", "n", "d", page="p", above=[[name, None] for name in "abc"])
    front.is_marked({})


def test_the_tab_that_runs_a_cell_puts_the_code_below_it(front: Front) -> None:
    """Not the other one, which spoke last."""
    front.ask("a", "%%chat\necho:```python\nx = 1\n```")
    front.say("ab", opened=True)
    front.say("ab", page="q")
    run(front, "%chat_code", "n", "b", page="p")
    with front.news:
        sent = [message for message in front.sent if message["kind"] == "code"]
    assert [message["page"] for message in sent] == ["p"]
