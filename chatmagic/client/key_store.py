"""Keys that are kept, in the system's keyring or in a private file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import platformdirs

from chatmagic._log import swallowed
from chatmagic.client.keyring_keys import KeyringKeys, find_keyring
from chatmagic.client.private_key_file import PrivateKeyFile
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import Secret

Storage = Literal["keyring", "private file"]
UNFINISHED: Final = "what an interrupted save left"
"""Copies of the private file; a killed process may leave one."""


@dataclass(frozen=True)
class KeyStore:
    """The keys that are kept, each for one place (:func:`chatmagic.protocol.url.key_place`).

    The private file has a line for a key in the keyring, too, without the key: a keyring cannot be
    searched. A key that was kept by origin, as by earlier versions, belongs to the place without a
    path, which is written in the same way.

    Args:
        folder: folder of the private file.
        keyring: the keyring module; ``None`` without a usable one.
    """

    folder: Path
    keyring: Any = None

    @property
    def file(self) -> PrivateKeyFile:
        """The private file."""
        return PrivateKeyFile(self.folder)

    @property
    def _in_keyring(self) -> KeyringKeys:
        return KeyringKeys(self.keyring, self.file.path)

    def load(self, place: str) -> tuple[Secret, Storage] | None:
        """Return the kept key of a place, and where it is kept; ``None`` without one.

        Args:
            place: place of the service.

        Raises:
            InputError: the private file is not private.
        """
        if (key := self._in_keyring.load(place)) is not None:
            return key, "keyring"
        key = Secret.or_none(self.file.read().get(place))
        return None if key is None else (key, "private file")

    def save(self, place: str, key: Secret, storage: Storage) -> Storage:
        """Keep a key for a place; if the keyring fails, in the private file.

        It is removed from the other storage, so that no older key comes back from there.

        Args:
            place: place that the key belongs to.
            key: the key.
            storage: where to keep it.

        Returns:
            Where it is kept.

        Raises:
            InputError: the private file is not private, or cannot be written.
        """
        if storage == "keyring" and self._in_keyring.save(place, key):
            with swallowed(InputError), self.file.changing():
                self.file.write({**self.file.read(), place: None})
            return "keyring"
        with self.file.changing():
            self.file.write({**self.file.read(), place: key.reveal()})
        self._in_keyring.forget(place)
        return "private file"

    def forget(self, place: str) -> list[str]:
        """Remove the key of a place from all storages; return these storages.

        What an interrupted save left is removed, too, whatever keys it holds.

        Args:
            place: as for :meth:`load`.

        Raises:
            InputError: as :meth:`save`.
        """
        gone = ["keyring"] if self._in_keyring.forget(place) else []
        return gone + self._forget_in_file(place)

    def _forget_in_file(self, place: str) -> list[str]:
        """Remove a place from the private file; return what held its key."""
        if not self.folder.is_dir():
            return []
        with self.file.changing() as is_cleared:
            gone = [UNFINISHED] if is_cleared else []
            kept = self.file.read()
            if place in kept:
                if kept.pop(place) is not None:
                    gone.append("private file")
                self.file.write(kept)
        return gone

    def places(self) -> tuple[str, ...]:
        """Return the places that keys are kept for; none if the private file cannot be used."""
        return tuple(self._usable_file_keys())

    def keys(self) -> tuple[Secret, ...]:
        """Return the kept keys of all places, so that none of them is sent in a request.

        A key in the keyring is read once in a process, and only if the keyring is unlocked: nobody
        is asked for its password for this.
        """
        keys = [
            self._in_keyring.load_unasked(place) if key is None else Secret.or_none(key)
            for place, key in self._usable_file_keys().items()
        ]
        # An earlier version left no line in the file for a key in the keyring.
        keys += self._in_keyring.read_here()
        return tuple(dict.fromkeys(key for key in keys if key is not None))

    @property
    def has_key_in_keyring(self) -> bool:
        """Whether the private file says that the keyring holds a key."""
        return None in self._usable_file_keys().values()

    def _usable_file_keys(self) -> dict[str, str | None]:
        """Return the keys in the private file; none if it cannot be used."""
        with swallowed(InputError):
            return self.file.read()
        return {}


def open_store() -> KeyStore:
    """Return the store of this user; its file is in the configuration folder of the system."""
    return KeyStore(_folder(), find_keyring())


def kept_keys() -> tuple[Secret, ...]:
    """Return the keys that this user keeps for any place, so that none of them is sent.

    The keyring is loaded only if it holds a key of ours.
    """
    store = KeyStore(_folder())
    return open_store().keys() if store.has_key_in_keyring else store.keys()


def _folder() -> Path:
    return platformdirs.user_config_path("chatmagic", appauthor=False, roaming=True)
