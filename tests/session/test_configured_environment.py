"""The environment of a kernel: what its user configures, read at each use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shells import KEY, alone

from chatmagic.client import config
from chatmagic.errors import ConnectError
from chatmagic.jupyter.settings import FileSettings
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.features import sends_nothing


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ConfiguredEnvironment]:
    """Give a place where nothing is set, and nobody is."""
    with alone(monkeypatch, tmp_path):
        made = ConfiguredEnvironment(FileSettings())
        yield made
        made.close()


def test_where_nothing_is_set(place: ConfiguredEnvironment) -> None:
    """There is no address and no cassette, and nothing is replayed."""
    with pytest.raises(ConnectError, match="Not connected yet"):
        place.service()
    assert (place.setting("budget"), place.model()) == (None, None)
    assert not sends_nothing(place)
    assert place.known_keys() == ()


def test_what_the_environment_sets(
    place: ConfiguredEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is read at each use; what is unwise is told once."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://chat.example.org")
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    place.settings.model = "small"
    for _ in range(2):
        setup = place.service()
    assert setup.endpoint.key_from == "CHATMAGIC_API_KEY"
    assert setup.extra_body == {"model": "small"}
    assert capsys.readouterr().err.count("is not encrypted") == 1
    place.settings.stream_usage = True
    assert place.service().stream_usage
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "tape.jsonl")
    assert sends_nothing(place)  # where no person is
    monkeypatch.setenv("CHATMAGIC_MODE", "relive")
    assert sends_nothing(place)


def test_the_emulator_is_its_own(
    place: ConfiguredEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts once, and ends with the place."""
    monkeypatch.setattr(config, "kernel", place)
    place.chosen = "emulator"
    first, second = place.service().endpoint, place.service().endpoint
    assert first.base_url == second.base_url
    assert first.is_emulator
    place.close()
    assert place.service().endpoint.base_url != first.base_url
