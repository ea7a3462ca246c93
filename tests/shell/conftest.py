"""A shell whose environment is connected to an emulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from logged import Emulator
from shell_asking import Asked, runner
from shells import KEY, alone


@pytest.fixture
def ask(
    emulator: Emulator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Iterator[Callable[..., Asked]]:
    """Give what runs ``chatmagic ask``."""
    with alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield runner(monkeypatch, capsys)
