"""What panels show of their kernel: its state, its settings and the models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from logged import Emulator
from shells import Shell

from chatmagic.jupyter.page.panel_status import MOST_MODELS, PanelStatus
from chatmagic.session.current import current_session


def test_the_settings_in_force_are_told_in_words(
    shell: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    """Those that are set; of fields for a server the values may be private."""
    kernel = PanelStatus(shell.kernel)
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
    assert kernel.defaults().temperature == 0.5
    assert kernel.defaults().history is False
    assert kernel.defaults().fit is False
    shell.do("%config ChatMagics.fit = True")
    assert kernel.defaults().fit is True
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
    assert PanelStatus(shell.kernel).standing()["models"] == ["small", "large", "other"]
    forged = replace(current_session().conversation.turns[0], asked_model="m" * 301)
    current_session().changes.make(lambda conversation: conversation.add(forged))
    assert shell.kernel.known_models() == ["small", "large", "other"]
    shell.kernel.settings.listed_models = tuple(map(str, range(MOST_MODELS + 1)))
    assert len(PanelStatus(shell.kernel).standing()["models"]) == MOST_MODELS
