"""Text in pieces, written at a pace."""

from __future__ import annotations

import contextvars
import queue
from contextlib import suppress
from typing import TYPE_CHECKING

from chatmagic.session import paced
from chatmagic.session.paced import Paced

if TYPE_CHECKING:
    import pytest

PATIENCE = 60.0


def test_the_first_piece_is_written_at_once_and_others_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two thousand pieces are three writes, and nothing is lost."""
    monkeypatch.setattr(paced, "SECONDS_BETWEEN", 3600.0)
    written: list[str] = []
    writer = Paced(written.append)
    writer.put("first ")
    assert written == ["first "]
    for number in range(2_000):
        writer.put(f"{number} ")
    assert written == ["first "]
    writer.flush()
    writer.flush()
    assert written == ["first ", "".join(f"{number} " for number in range(2_000))]


def test_a_piece_is_written_without_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment later, in the context of who put it; what fails does not end the next one."""
    monkeypatch.setattr(paced, "SECONDS_BETWEEN", 0.01)
    name = contextvars.ContextVar("name", default="")
    written: queue.Queue[tuple[str, str]] = queue.Queue()

    def write(text: str) -> None:
        written.put((text, name.get()))
        if text == "fails":
            raise OSError

    name.set("mine")
    writer = Paced(write)
    for text in ("\n", "one", "fails", "two"):
        with suppress(OSError):  # on a slow machine it fails at once
            writer.put(text)
        assert written.get(timeout=PATIENCE) == (text, "mine")
