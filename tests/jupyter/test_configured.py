"""What is set for a place without a kernel: address, key, model, cassette and emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from shells import KEY, alone

from chatmagic.client import config
from chatmagic.errors import ConnectError
from chatmagic.jupyter.configured import ConfiguredEnvironment
from chatmagic.jupyter.file_settings import FileSettings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Place(ConfiguredEnvironment):
    """A place where nobody is."""

    def has_person(self) -> bool:
        """Return that nobody is there."""
        return False


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Place]:
    """Give a place where nothing is set."""
    with alone(monkeypatch, tmp_path):
        made = Place(FileSettings())
        yield made
        made.close()


def test_where_nothing_is_set(place: Place) -> None:
    """There is no address and no cassette, and nothing is replayed."""
    with pytest.raises(ConnectError, match="Not connected yet"):
        place.service()
    assert (place.cassette(), place.budget(), place.model()) == (None, None, None)
    assert not place.is_replaying()
    assert place.known_keys() == ()


def test_what_the_environment_sets(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "tape.jsonl")
    assert place.is_replaying()  # where no person is
    monkeypatch.setenv("CHATMAGIC_MODE", "relive")
    assert place.is_replaying()


def test_the_emulator_is_its_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts once, and ends with the place."""
    monkeypatch.setattr(config, "find_kernel", lambda: place)
    place.addresses.chosen = "emulator"
    first, second = place.service().endpoint, place.service().endpoint
    assert first.base_url == second.base_url
    assert first.is_emulator
    place.close()
    assert place.service().endpoint.base_url != first.base_url
