"""What is set for a place without a kernel: address, key, model, cassette and emulator.

Which address counts, and what was set for which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from logged import Emulator
from shells import FIXED, KEY, Shell, alone, models

from chatmagic.client import config
from chatmagic.errors import ConnectError
from chatmagic.jupyter.configuration import ConfiguredEnvironment
from chatmagic.jupyter.settings import FileSettings

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


def test_a_model_that_is_set_first(bare: Shell, emulator: Emulator) -> None:
    """Set before there was an address, it goes with the first one, and with no other."""
    bare.do("%config ChatMagics.model = 'small'")
    bare.do("%config ChatMagics.auth = 'none'")
    bare.do(f"%chat_connect {emulator.url}")
    bare.fails("%chat echo:a")
    with Emulator(FIXED) as other:
        bare.do(f"%chat_connect {other.url}")
        bare.fails("%chat echo:b")
        assert (models(emulator), models(other)) == (["small"], [None])


def test_settings_of_a_configuration_file_belong_to_its_address(
    bare: Shell, emulator: Emulator
) -> None:
    """Model and headers go to the file's address alone, as its key does."""
    bare.do("%unload_ext chatmagic")
    given = {"base_url": emulator.url, "auth": "none", "model": "small"}
    given["extra_headers"] = {"X-Team": "blue"}  # type: ignore[assignment]
    made = Shell(config={"ChatMagics": given})
    with Emulator(FIXED) as other:
        made.do(f"%chat_connect {other.url}")
        made.fails("%chat echo:a")
        made.do(f"%chat_connect {emulator.url}")
        made.fails("%chat echo:b")
        assert (models(emulator), models(other)) == (["small"], [None])


def test_settings_of_an_address_stay_with_it_after_a_reload(
    shell: Shell, emulator: Emulator
) -> None:
    """Loading the extension again sends no model and no header to another address."""
    shell.do("%config ChatMagics.auth = 'none'")
    with Emulator(FIXED) as other:
        shell.do(f"%chat_connect {other.url}")
        shell.do("%config ChatMagics.extra_headers = {'X-Team': 'blue'}")
        shell.do("%config ChatMagics.model = 'small'")
        shell.do("%reload_ext chatmagic")
        told = shell.do(f"%chat_connect {emulator.url}").printed
        assert "Set for another address, so not used here: model, extra_headers." in told
        shell.fails("%chat echo:a")
        shell.do(f"%chat_connect {other.url}")
        shell.fails("%chat echo:b")
        assert (models(emulator), models(other)) == ([None], ["small"])


def test_an_address_that_is_not_used_is_warned_about(shell: Shell, emulator: Emulator) -> None:
    """The environment beats %config in a cell, and %chat_connect beats both."""
    with Emulator(FIXED) as other:
        line = f"%config ChatMagics.base_url = '{other.url}'"
        ran = shell.do(line)
        assert "ChatMagics.base_url is not used: CHATMAGIC_BASE_URL names another" in ran.warned
        assert len(ran.warned.splitlines()) == 1
        assert "not used" not in shell.do(f"%config ChatMagics.base_url = '{emulator.url}'").warned
        shell.do(f"%chat_connect {emulator.url}")
        assert "not used: %chat_connect names another" in shell.do(line).warned
        shell.do(f"%chat_connect {other.url}")
        assert "not used" not in shell.do(line).warned
        assert "not used" not in shell.do("%config ChatMagics.base_url = None").warned
