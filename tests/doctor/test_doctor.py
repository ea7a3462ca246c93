"""The doctor's block as a whole: what cannot be asked is one of its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shells import KEY, alone

from chatmagic.doctor.doctor import examine
from chatmagic.doctor.observations import FrontEnd
from chatmagic.protocol.auth import Secret
from chatmagic.session.session import Session
from chatmagic.shell.shell_environment import ShellEnvironment

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_key_that_is_known_is_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor where the place is set so wrongly that there is no address to ask."""
    with alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        monkeypatch.setenv("CHATMAGIC_CASSETTE", f"{KEY}.jsonl")
        monkeypatch.setenv("CHATMAGIC_MODE", "record")
        place = ShellEnvironment()
        place.typed["https://chat.example.org"] = Secret("typed-here")
        session = Session(environment=place)
        front_end = FrontEnd(f"a page of {KEY}", "shows typed-here")
        text, is_well = examine(place, session, front_end, ask=True)
    assert not is_well
    assert KEY not in text
    assert "typed-here" not in text
    assert "[ ?] answer: not asked: what is wrong above comes first" in text
    assert "[ok] cassette: [key removed]" in text
