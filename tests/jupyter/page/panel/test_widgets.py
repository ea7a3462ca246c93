"""The panel as its magic shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from comms import Widgets, Wire
from logged import Emulator
from panel_views import NOON, PATIENCE, View
from shells import Page, Shell, alone

from chatmagic.emulator.server import Settings
from chatmagic.jupyter.page.messages import PROTOCOL
from chatmagic.jupyter.transcript import NEEDS_A_PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    """Give a shell connected to an emulator."""
    with alone(monkeypatch, tmp_path), Emulator(Settings(now=NOON)) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", "sk-panel-0d1c")
        yield Shell()


@pytest.fixture
def widgets(monkeypatch: pytest.MonkeyPatch) -> Widgets:
    """Give the widgets as the page has them."""
    return Widgets(monkeypatch)


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
    """Another service, another setting: a panel says what is in force, before the next question."""
    shell.page("%chat_panel", "P")
    (widget,) = widgets.having("draft")
    view = View(Wire(widget))
    assert view.sync()["standing"]["state"] == "live"
    shell.do("%chat_connect emulator")
    assert view.until("snapshot")["standing"]["state"] == "emulator"
    shell.do("%config ChatMagics.temperature = 0.5")
    assert ["Temperature", "0.5"] in view.until("snapshot")["standing"]["rows"]


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


def test_the_history_is_no_trait(shell: Shell, widgets: Widgets) -> None:
    """What is synchronised with the page does not grow with the conversation."""
    shell.page("%chat_panel", "P")
    (widget,) = widgets.having("draft")
    before = len(repr(widget.state))
    shell.page("%%chat\necho:" + "word " * 100, "A")
    assert len(repr(widget.state)) == before
    assert "sk-panel-0d1c" not in repr(widget.state)


def test_no_registry_has_code_for_the_widget(shell: Shell, widgets: Widgets) -> None:
    """A page without the labextension may look there for its module; this name nobody can take."""
    shell.page("%chat_panel", "P")
    (widget,) = widgets.having("draft")
    for part in ("model", "view"):
        assert widget.state[f"_{part}_module"].startswith("_")
    assert widget.state["protocol"] == PROTOCOL
