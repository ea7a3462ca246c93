"""A service for the notebooks that are run as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from logged import Emulator
from shells import FIXED, KEY


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Emulator]:
    """Give a service that the environment names, in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    with Emulator(FIXED) as emulator:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield emulator
