"""Keys in the system's keyring."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from chatmagic._log import log_swallowed, swallowed
from chatmagic.protocol.api_key import Secret

KEYRING_SERVICE: Final = "chatmagic"

_read_here: Final[dict[tuple[Path, str], Secret | None]] = {}
"""Keys that were read from the keyring in this process, by the private file and the place."""


@dataclass(frozen=True, slots=True)
class KeyringKeys:
    """Keys in the system's keyring, each for one place. A keyring that fails holds none.

    Args:
        keyring: the keyring module; ``None`` without a usable one.
        file: the private file, which tells the places; a keyring cannot be searched.
    """

    keyring: Any
    file: Path

    def load(self, place: str) -> Secret | None:
        """Return the key of a place; ``None`` without one.

        Args:
            place: the place.
        """
        if self.keyring is None:
            return None
        with swallowed():
            if value := self.keyring.get_password(KEYRING_SERVICE, place):
                key = Secret(value)
                _read_here[self.file, place] = key
                return key
        return None

    def save(self, place: str, key: Secret) -> bool:
        """Keep a key for a place; return whether it is kept.

        Args:
            place: the place.
            key: the key.
        """
        if self.keyring is None:
            return False
        with swallowed():
            self.keyring.set_password(KEYRING_SERVICE, place, key.reveal())
            _read_here[self.file, place] = key
            return True
        return False

    def forget(self, place: str) -> bool:
        """Remove the key of a place; return whether there was one.

        Args:
            place: the place.
        """
        _read_here.pop((self.file, place), None)
        if self.keyring is None:
            return False
        with swallowed():
            if self.keyring.get_password(KEYRING_SERVICE, place):
                self.keyring.delete_password(KEYRING_SERVICE, place)
                return True
        return False

    def load_unasked(self, place: str) -> Secret | None:
        """Return a key that was read before, or can be read without a question to the user.

        Args:
            place: the place.
        """
        entry = (self.file, place)
        if entry not in _read_here:
            if self.keyring is None or is_locked(self.keyring):
                return None
            _read_here[entry] = self.load(place)
        return _read_here[entry]

    def read_here(self) -> list[Secret]:
        """Return the keys that were read, or kept, in this process."""
        return [key for (file, _), key in _read_here.items() if file == self.file and key]


@cache
def find_keyring() -> Any:
    """Return the keyring module if it is installed and has somewhere to keep a key."""
    try:
        keyring = import_module("keyring")
        usable = keyring.get_keyring().priority >= 1
    except Exception as error:  # noqa: BLE001 - a broken keyring counts as none
        log_swallowed(error)
        return None
    return keyring if usable else None


def is_locked(keyring: Any) -> bool:
    """Return whether a keyring asks for its password before it can be read, as far as is known.

    Only the Secret Service of Linux desktops says so without a question.

    Args:
        keyring: the keyring module.
    """
    with swallowed():
        backend = keyring.get_keyring()
        for part in getattr(backend, "backends", [backend]):
            if type(part).__module__ == "keyring.backends.SecretService":
                storage = import_module("secretstorage")
                with closing(storage.dbus_init()) as bus:
                    return bool(storage.get_any_collection(bus).is_locked())
        return False
    return True
