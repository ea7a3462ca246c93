"""The panel without a browser: what views are sent, what they ask for, and its magic."""

from __future__ import annotations

import json
import threading

import pytest
from comms import Widgets
from loopback import DONE, stream
from panel_views import (
    HOSTILE,
    PATIENCE,
    Service,
    View,
    Wire,
)
from shells import KEY, Page, Shell

from chatmagic.jupyter.page.messages import PROTOCOL
from chatmagic.jupyter.page.panel_content import LogEntries
from chatmagic.jupyter.page.panel_saved import NEEDS_A_PAGE
from chatmagic.session.ask import Ask
from chatmagic.session.session import Session
from chatmagic.session.views import Listener


def test_the_next_cell_carries_the_panels_turn_and_says_so(
    session: Session, page: View, service: Service
) -> None:
    """The panel's own next question carries it, too, and needs no words about it."""
    page.asked("first")
    page.asked("second")
    session.run(Ask("third", owner="c" * 16, asker="cell [3]"), Listener(None))
    assert page.until("pending", by="cell [3]")["mine"] is False
    (new,) = page.until("snapshot", count=3)["new"]
    assert (new["by"], new["mine"]) == ("cell [3]", False)
    assert service.bodies[-1] == ["first", "fine", "second", "fine", "third"]
    notes = [
        (message["by"], message["note"])
        for message in page.messages
        if message["kind"] == "pending" and message["stage"] == "began" and not message["html"]
    ]
    assert notes == [
        ("the panel", ""),
        ("the panel", ""),
        ("cell [3]", "with 2 turns from the panel"),
    ]


def test_an_end_that_cannot_be_drawn_is_no_wait_without_end(
    page: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view hears that it is over, and asks for what it lacks; what came is not lost."""
    with monkeypatch.context() as patch:
        patch.setattr(LogEntries, "draw", lambda *_: 1 / 0)
        over = page.asked("one")
    assert over["new"] == []
    assert len(over["entries"]) == 1
    assert [entry["prompt"] for entry in page.log()] == ["one"]
    assert page.asked("two")["ended"]["fine"]


def test_what_is_hostile_is_shown_and_acts_nowhere(page: View, service: Service) -> None:
    """Prompt, reply and model: as safe HTML, or as text without characters that act."""
    hostile = f'{{"model": {json.dumps(HOSTILE)}, "choices": [{{"delta": {{"content": '
    hostile += f"{json.dumps(HOSTILE)}}}}}]}}"
    service.reply = lambda peer: peer.send(stream(f"data: {hostile}\n\n".encode(), DONE))
    (new,) = page.asked(HOSTILE)["new"]
    texts = [one["html"] for one in page.messages if one.get("html")]
    texts += ["".join(one["blocks"]) for one in page.messages if one.get("blocks")]
    assert texts
    for html in (new["reply"]["html"], *texts):
        assert "<script" not in html
        assert "<img" not in html
        assert "href" not in html
        assert "&lt;script&gt;" in html
    everything = json.dumps(page.messages, ensure_ascii=False)
    assert "\u202e" not in everything
    assert "\\u001b" not in everything
    assert new["prompt"].startswith("<script>")  # as text
    page.asked(None, replaces=1)
    assert service.bodies == [[HOSTILE], [HOSTILE]]  # letter for letter


def test_the_magic_shows_a_widget_and_an_output_that_is_saved(shell: Shell) -> None:
    """Two outputs: without a kernel the second one is there to read."""
    widget, saved = shell.page("%chat_panel", "P").messages
    assert "application/vnd.jupyter.widget-view+json" in widget["data"]
    assert widget["data"]["text/plain"] == NEEDS_A_PAGE
    # Not trusted, the page shows the HTML of the widget's own output; an export shows nothing.
    assert "run this cell again, or trust the notebook" in widget["data"]["text/html"]
    assert "chatmagic-saved" not in widget["data"]["text/html"]
    assert widget["data"]["text/markdown"] == ""
    assert "chatmagic-saved" in saved["data"]["text/html"]
    # The line that says what is missing stands in the one, and not in both.
    assert NEEDS_A_PAGE not in str(saved["data"])
    assert saved["id"]
    shell.page("%%chat\necho:hello", "A")
    page = shell.shell.display_pub
    assert isinstance(page, Page)
    texts: list[str] = []
    while not texts or "echo:hello" not in texts[-1]:
        # It is told after the cell, maybe.
        assert page.news.wait(PATIENCE), texts
        page.news.clear()
        texts = [one["data"]["text/plain"] for one in page.messages if one["id"] == saved["id"]]
    assert texts[-1].count("echo:hello") == 1


def test_the_state_follows_the_cells(shell: Shell, widgets: Widgets) -> None:
    """Another service, another setting: a panel says what is in force, before the next question.

    What the widget shares with the page holds neither conversation nor key, and names its modules
    so that no registry has code for them.
    """
    shell.page("%chat_panel", "P")
    (widget,) = widgets.having("draft")
    assert (widget.state["protocol"], widget.state["_view_module"][0]) == (PROTOCOL, "_")
    view = View(Wire(widget))
    assert view.sync()["standing"]["state"] == "live"
    shell.do("%chat_connect emulator")
    assert view.until("snapshot")["standing"]["state"] == "emulator"
    shell.do("%config ChatMagics.temperature = 0.5")
    assert ["Settings", "temperature = 0.5."] in view.until("snapshot")["standing"]["rows"]
    before = len(repr(widget.state))
    shell.page("%%chat\necho:" + "word " * 100, "A")
    assert len(repr(widget.state)) == before
    assert KEY not in repr(widget.state)


def test_a_panel_shown_again_keeps_its_draft_and_ends_the_old_one(
    shell: Shell, widgets: Widgets
) -> None:
    """The same cell, run again, has one widget."""
    shell.page("%chat_panel", "P")
    (old,) = widgets.having("draft")
    old.update(draft="half a question")
    shell.page("%chat_panel", "P")
    (new,) = widgets.having("draft")
    assert new is not old
    assert new.state["draft"] == "half a question"
    assert not old.is_open
    shell.page("%chat_panel", "Q")
    assert len(widgets.having("draft")) == 2
    view = View(Wire(old))
    shell.page("%%chat\necho:hello", "A")
    View(Wire(new)).sync()
    assert view.messages == []


def test_unloading_takes_the_panels_away(shell: Shell, widgets: Widgets) -> None:
    """No thread and no widget stays."""
    others = set(threading.enumerate())
    shell.page("%chat_panel", "P")
    assert widgets.having("draft")
    shell.do("%unload_ext chatmagic")
    assert not widgets.having("draft")
    for thread in set(threading.enumerate()) - others:
        if thread.name in {"chatmagic-draw", "chatmagic-ask"}:
            thread.join(PATIENCE)
            assert not thread.is_alive()
