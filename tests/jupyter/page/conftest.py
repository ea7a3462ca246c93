"""Panels with one view, and a service to ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bridged import Front
from comms import Widgets
from panel_views import Kernel, Service, View
from shells import Shell, alone

from chatmagic.jupyter.page import reply_under_way
from chatmagic.jupyter.page.drawing_loop import DrawingLoop
from chatmagic.jupyter.page.panel import Panels
from chatmagic.session.session import Session


@pytest.fixture
def service() -> Iterator[Service]:
    """Give a server."""
    made = Service()
    with made.server:
        yield made


@pytest.fixture
def session(service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Session]:
    """Give a session that the environment connects to the server."""
    with alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_BASE_URL", service.server.origin)
        monkeypatch.setenv("CHATMAGIC_AUTH", "none")
        made = Session()
        yield made
        made.close()


@pytest.fixture
def kernel() -> Kernel:
    """Give what panels read of their kernel."""
    return Kernel()


@pytest.fixture
def loop(session: Session) -> Iterator[DrawingLoop]:
    """Give the kernel's drawing loop."""
    made = DrawingLoop()
    leave = session.followers.add(made.hear)
    yield made
    leave()
    made.close()


@pytest.fixture
def pages(
    session: Session, kernel: Kernel, loop: DrawingLoop, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Panels]:
    """Give panels that show every fragment, with what their pages ask for."""
    monkeypatch.setattr(reply_under_way, "SECONDS_BETWEEN", 0.0)
    made = Panels(session, kernel, loop)
    yield made
    made.close()


@pytest.fixture
def page(pages: Panels) -> View:
    """Give a panel's view."""
    return View(pages)


@pytest.fixture
def widgets(monkeypatch: pytest.MonkeyPatch) -> Widgets:
    """Give the widgets as the page has them."""
    return Widgets(monkeypatch)


@pytest.fixture
def front(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Front:
    """A page, before its first reply."""
    return Front(shell, monkeypatch)
