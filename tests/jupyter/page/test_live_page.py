"""What a kernel has in its pages: opened with its first use, and closed with the extension."""

from __future__ import annotations

import pytest
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
