"""What a kernel has in its pages: opened with its first use, and closed with the extension."""

from __future__ import annotations

import threading

import pytest
from bridged import PATIENCE
from comms import Widgets
from shells import Shell


@pytest.mark.usefixtures("widgets")
def test_machines_and_terminals_get_no_bridge(shell: Shell) -> None:
    """Only a person's page that tells its cells can have one; loading builds none."""
    page = shell.kernel.page
    shell.machine("%%chat\necho:a")
    shell.do("%%chat\necho:a")
    assert page.bridge is None
    shell.page("%%chat\necho:a", "a")
    assert page.bridge is not None


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
