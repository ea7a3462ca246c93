"""Keys in the system's keyring."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from chatmagic.client.keyring_keys import (
    KEYRING_SERVICE,
    KeyringKeys,
    find_keyring,
    is_locked,
)
from chatmagic.protocol.api_key import Secret

PLACE = "https://here.example:443"
KEY = Secret("sk-private-7d1f")


def test_a_key_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    """Under the name of this package, by its place; it is known in this process at once."""
    held: dict[tuple[str, str], str] = {}
    module = SimpleNamespace(
        get_password=lambda service, place: held.get((service, place)),
        set_password=lambda service, place, key: held.update({(service, place): key}),
        delete_password=lambda service, place: held.pop((service, place)),
    )
    keys = KeyringKeys(module, tmp_path / "keys.json")
    assert keys.load(PLACE) is None
    assert keys.save(PLACE, KEY)
    assert held == {(KEYRING_SERVICE, PLACE): KEY.reveal()}
    assert keys.load(PLACE) == keys.load_unasked(PLACE) == KEY
    assert keys.read_here() == [KEY]
    assert keys.forget(PLACE)
    assert not keys.forget(PLACE)
    assert (keys.read_here(), held) == ([], {})


def test_without_a_usable_keyring_nothing_is_kept(tmp_path: Path) -> None:
    """Neither where there is none, nor where it fails."""
    broken = Mock(side_effect=RuntimeError)
    failing = SimpleNamespace(get_password=broken, set_password=broken, get_keyring=broken)
    for module in (None, failing):
        keys = KeyringKeys(module, tmp_path / "keys.json")
        assert not keys.save(PLACE, KEY)
        assert not keys.forget(PLACE)
        assert keys.load(PLACE) is None
        assert keys.load_unasked(PLACE) is None
        assert keys.read_here() == []


def test_only_the_secret_service_says_that_it_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, or as one of several keyrings; if it cannot be asked, it is taken for locked."""
    backend = type("Keyring", (), {"__module__": "keyring.backends.SecretService"})()
    for used in (backend, SimpleNamespace(backends=[SimpleNamespace(), backend])):
        module = SimpleNamespace(get_keyring=lambda used=used: used)
        for state in (True, False):
            collection = Mock(is_locked=Mock(return_value=state))
            storage = Mock(get_any_collection=Mock(return_value=collection))
            monkeypatch.setitem(sys.modules, "secretstorage", storage)
            assert is_locked(module) is state
            storage.dbus_init.return_value.close.assert_called_once_with()
        monkeypatch.setitem(sys.modules, "secretstorage", None)
        assert is_locked(module)
    assert not is_locked(SimpleNamespace(get_keyring=SimpleNamespace))


@pytest.mark.parametrize("priority", [5, 1, 0, -1, None])
def test_a_keyring_is_used_if_it_has_somewhere_to_keep_a_key(
    monkeypatch: pytest.MonkeyPatch, priority: int | None
) -> None:
    """The keyrings that fail or forget have a priority of 0 or less; the package is optional."""
    module = SimpleNamespace(get_keyring=lambda: SimpleNamespace(priority=priority))
    monkeypatch.setitem(sys.modules, "keyring", None if priority is None else module)
    find_keyring.cache_clear()
    assert find_keyring() is (module if priority and priority > 0 else None)
    find_keyring.cache_clear()
