"""A folder to work in, a service and a shell, and files that cannot be written."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from logged import Emulator
from shells import FIXED, KEY, Shell, alone


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Give a folder to work in, with nothing set."""
    with alone(monkeypatch, tmp_path):
        work = tmp_path / "work"
        work.mkdir()
        monkeypatch.chdir(work)
        monkeypatch.delattr(sys, "last_value", raising=False)
        yield work


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    """Give a service whose clock stands still, named by the environment."""
    with Emulator(FIXED) as running:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", running.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        yield running


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give a list of the files that cannot be written: the disk is full for them."""
    names: list[str] = []
    real = Path.replace

    def replace(new: Path, path: Path) -> Path:
        if path.name in names:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(new, path)

    monkeypatch.setattr(Path, "replace", replace)
    return names


@pytest.fixture
def shell(emulator: Emulator) -> Shell:
    """Give a shell connected to the service."""
    del emulator
    return Shell()
