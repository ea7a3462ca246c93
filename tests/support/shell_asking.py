"""The command ``chatmagic ask`` run in this process, and what it wrote."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from chatmagic import cli


@dataclass(frozen=True)
class Asked:
    """What a command gave."""

    code: int
    out: str
    err: str


def runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Asked]:
    """Return a function that runs ``chatmagic ask`` with words, and bytes on standard input."""

    def run(*words: str, given: bytes = b"") -> Asked:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = cli.main(["ask", *words])
        wrote = capsys.readouterr()
        return Asked(code, wrote.out, wrote.err)

    return run
