"""What is in force and what is left, in words."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from logged import Emulator
from loopback import DONE, Server, event, playing, stream
from shells import Shell

from chatmagic.jupyter.status import MOST_MODELS, Status
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


def test_the_settings_in_force_are_told_in_words(
    shell: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    """Those that are set; of fields for a server the values may be private."""
    kernel = Status(shell.kernel)
    rows = dict(kernel.standing()["rows"])
    connected = f"Connected to {emulator.url} (CHATMAGIC_BASE_URL); "
    assert rows["Service"] == f"{connected}key from CHATMAGIC_API_KEY, sent as bearer."
    assert rows["Settings"] == "as by default."
    assert kernel.standing()["state"] == "live"
    assert {"Model", "Instructions", "Cassette"}.isdisjoint(rows)
    assert (kernel.standing()["model"], kernel.standing()["models"]) == ("", [])
    shell.do("%%chat_instructions\nBe terse.")
    shell.do("%config ChatMagics.temperature = 0.5")
    shell.do("%config ChatMagics.no_history = True")
    shell.do("%config ChatMagics.last = 0")
    shell.do("%config ChatMagics.model = 'small'")
    shell.do("%config ChatMagics.extra_body = {'token': 'secret'}")
    shell.do("%config ChatMagics.stream = 'off'")
    told = kernel.standing()
    rows = dict(told["rows"])
    assert (told["model"], rows["Instructions"]) == ("small", "9 characters: “Be terse.”")
    assert "Model" not in rows
    words = "extra_body = token, last = 0, no_history = True, stream = off, temperature = 0.5."
    assert rows["Settings"] == words
    shown = shell.do("%chat")
    assert f"Settings: {words}" in shown.texts[0]
    assert 'white-space: nowrap;">Settings</th>' in shown.html
    assert f">{words}</td>" in shown.html
    assert kernel.defaults().temperature == 0.5
    assert kernel.defaults().history is False
    assert kernel.defaults().fit is False
    shell.do("%config ChatMagics.fit = True")
    assert kernel.defaults().fit is True
    assert "fit = True" in shell.do("%chat").texts[0]
    assert kernel.streams() is False
    shell.do("%chat_connect emulator")
    assert kernel.standing()["state"] == "emulator"
    tape = tmp_path / "tape.json"
    shell.do(f"%chat_cassette {tape} --record")
    assert kernel.standing()["state"] == "emulator, record"
    shell.page("%%chat\necho:hello", "A")
    shell.do(f"%chat_cassette {tape} --replay")
    told = kernel.standing()
    assert told["state"] == "replay"
    assert told["rows"][0][0] == "Cassette"


def test_a_panel_offers_the_models_that_tab_offers(shell: Shell) -> None:
    """Those that were listed, then those that were asked, once each, and not without end."""
    shell.kernel.settings.listed_models = ("small", "large")
    for name in ("other", "small"):
        shell.page(f"%chat -m {name} echo:a", name)
    assert Status(shell.kernel).standing()["models"] == ["small", "large", "other"]
    forged = replace(current_session().conversation.turns[0], asked_model="m" * 301)
    current_session().changes.make(lambda conversation: conversation.add(forged))
    assert shell.kernel.known_models() == ["small", "large", "other"]
    shell.kernel.settings.listed_models = tuple(map(str, range(MOST_MODELS + 1)))
    assert len(Status(shell.kernel).standing()["models"]) == MOST_MODELS


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
