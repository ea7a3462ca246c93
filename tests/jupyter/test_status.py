"""What is in force and what is left, in words."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from loopback import DONE, Server, event, playing, stream
from shells import Shell

from chatmagic.jupyter.status import Status
from chatmagic.session.current import current_session
from chatmagic.session.session import Session


def test_a_live_gauge_counts_from_the_answers_own_date(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its ``Date`` and the time since it came, though the emulator's clock stands still."""
    shell.machine("%chat echo:a")
    state = current_session().credit_state
    assert state.received_at is not None
    received_at = state.received_at - timedelta(hours=1)
    monkeypatch.setattr(Session, "credit_state", replace(state, received_at=received_at))
    standing = Status(shell.kernel)
    counted = standing.now() - datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert timedelta(hours=1) <= counted <= datetime.now(UTC) - received_at


def test_the_settings_in_force_are_told_in_words(shell: Shell) -> None:
    """Those that are set; of fields for a server the values may be private."""
    assert "Settings: as by default." in shell.do("%chat").texts[0]
    shell.do("%config ChatMagics.temperature = 0.5")
    shell.do("%config ChatMagics.fit = True")
    shell.do("%config ChatMagics.extra_body = {'token': 'secret'}")
    shown = shell.do("%chat")
    words = "extra_body = token, fit = True, temperature = 0.5."
    assert f"Settings: {words}" in shown.texts[0]
    assert 'white-space: nowrap;">Settings</th>' in shown.html
    assert f">{words}</td>" in shown.html


def test_requests_left_are_shown_beside_the_credits_alone(
    bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ``%chat_credits`` and the panel's gauge; in no reply's output or record."""
    headers = {
        "x-ratelimit-limit-requests": "100",
        "x-ratelimit-remaining-requests": "93",
        "x-ratelimit-reset-requests": "6m0s",
    }
    with Server(playing(stream(event("hi"), DONE, headers=headers))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        monkeypatch.setenv("CHATMAGIC_AUTH", "none")
        ran = bare.machine("%chat hello")
        assert "requests" not in json.dumps([ran.html, ran.texts, ran.records])
        shown = bare.do("%chat_credits")
        for words in (shown.texts[0], shown.html):
            assert "93 of 100 requests left in this window, until " in words
        assert shown.texts[0].startswith("No answer has reported credits.\n")
