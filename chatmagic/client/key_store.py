"""Keys that are kept: in the system's keyring, in a private file, or in a file of the user's.

The private file is JSON in the user's configuration folder, one key for each origin, readable and
writable only by its owner; a file that others can read is refused. The user's own file is the one
that ``CHATMAGIC_API_KEY_FILE`` names. No message repeats its content.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

import platformdirs

from chatmagic._log import log_swallowed, swallowed
from chatmagic.client.endpoint import KEY_VARIABLES
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import Secret

Storage = Literal["keyring", "private file"]
SERVICE: Final = "chatmagic"
FILE: Final = "keys.json"
CAREFULLY: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for opening a file: no link is followed, and a pipe in its place is not waited for."""


@dataclass(frozen=True)
class KeyStore:
    """The keys that are kept, each for one origin.

    Args:
        folder: folder of the private file.
        keyring: the keyring module; ``None`` without a usable one.
    """

    folder: Path
    keyring: Any = None

    def load(self, origin: str) -> tuple[Secret, Storage] | None:
        """Return the kept key of an origin, and its place; ``None`` without one.

        Args:
            origin: scheme, host and port of the service's address.

        Raises:
            InputError: the private file is not private.
        """
        if self.keyring is not None:
            with swallowed():
                if value := self.keyring.get_password(SERVICE, origin):
                    return Secret(value), "keyring"
        key = Secret.or_none(self._read().get(origin))
        return None if key is None else (key, "private file")

    def save(self, origin: str, key: Secret, place: Storage) -> Storage:
        """Keep a key for an origin; if the keyring fails, in the private file.

        It is removed from the other place, so that no older key comes back from there.

        Args:
            origin: scheme, host and port that the key belongs to.
            key: the key.
            place: where to keep it.

        Returns:
            The place of the key.

        Raises:
            InputError: the private file is not private, or cannot be written.
        """
        if place == "keyring" and self.keyring is not None:
            with swallowed():
                self.keyring.set_password(SERVICE, origin, key.reveal())
                with swallowed(InputError):
                    self._drop(origin)
                return "keyring"
        self._write({**self._read(), origin: key.reveal()})
        self._forget_in_keyring(origin)
        return "private file"

    def forget(self, origin: str) -> list[Storage]:
        """Remove the key of an origin from all places; return these places.

        Args:
            origin: as for :meth:`load`.

        Raises:
            InputError: as :meth:`save`.
        """
        gone: dict[Storage, bool] = {
            "keyring": self._forget_in_keyring(origin),
            "private file": self._drop(origin),
        }
        return [place for place, is_gone in gone.items() if is_gone]

    def _forget_in_keyring(self, origin: str) -> bool:
        if self.keyring is not None:
            with swallowed():
                if self.keyring.get_password(SERVICE, origin):
                    self.keyring.delete_password(SERVICE, origin)
                    return True
        return False

    def _drop(self, origin: str) -> bool:
        kept = self._read()
        if kept.pop(origin, None) is None:
            return False
        self._write(kept)
        return True

    @property
    def _file(self) -> Path:
        return self.folder / FILE

    def _read(self) -> dict[str, str]:
        """Return the kept keys by origin; the open file is checked, and no link followed."""
        try:
            handle = os.open(self._file, os.O_RDONLY | CAREFULLY)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError:
            raise self._not_private() from None
        state = os.fstat(handle)
        if os.name == "posix" and (
            not stat.S_ISREG(state.st_mode)
            or state.st_uid != os.getuid()
            or state.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        ):
            os.close(handle)
            raise self._not_private()
        # json's exception quotes the text that it read, so it is not passed on.
        wrong = swallowed(ValueError, RecursionError, AttributeError)
        with os.fdopen(handle, "rb") as file, wrong:
            return {at: key for at, key in json.load(file).items() if isinstance(key, str)}
        raise InputError(
            f"{self._file} is damaged, so no key is read from it.",
            hint="Remove it; after that %chat_login asks for a key again.",
        )

    def _not_private(self) -> InputError:
        return InputError(
            f"{self._file} is not private to you, so it is not used.",
            hint="Make it private (chmod 600), or remove it, and revoke the keys in it.",
        )

    def _write(self, keys: dict[str, str]) -> None:
        """Replace the file in one step; it is private from its first byte on."""
        name = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(keys, file)
            Path(name).replace(self._file)
        except OSError as error:
            if name is not None:
                # This file holds the keys, where no user would look for them.
                Path(name).unlink(missing_ok=True)
            raise InputError(f"{self._file} cannot be written: {error.strerror}.") from None


def open_store() -> KeyStore:
    """Return the store of this user; its file is in the configuration folder of the system."""
    folder = platformdirs.user_config_path("chatmagic", appauthor=False, roaming=True)
    return KeyStore(folder, find_keyring())


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


KEY_FILE_VARIABLE: Final = KEY_VARIABLES[1]

_ASSIGNED: Final = r"(?m)^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*([^=\s].*)$"


def key_in_file(path: str) -> tuple[Secret | None, tuple[str, ...]]:
    """Return the key that a file holds, and a warning if others can read the file.

    Args:
        path: the file, as the variable names it.

    Returns:
        The key, ``None`` if the file holds none; and the warnings, a line each.

    Raises:
        InputError: it cannot be read, or holds an assignment.
    """
    text, mode = _read(path)
    is_assigned = re.search(_ASSIGNED, text) is not None
    key = Secret.or_none(text)
    del text  # a traceback with its locals shows only a Secret
    if is_assigned:
        raise InputError(
            f"The file that {KEY_FILE_VARIABLE} names holds NAME=value, not a key alone.",
            hint="Leave out the name and the =; a file of variables is for dotenv or a shell.",
        )
    if os.name != "posix" or not mode & (stat.S_IRGRP | stat.S_IROTH):
        return key, ()
    open_to = f"The file that {KEY_FILE_VARIABLE} names can be read by others on this machine"
    return key, (f"{open_to}; chmod 600 makes it private.",)


def keys_in_file(path: str) -> list[Secret]:
    """Return every key that a file may hold, assigned or not, so that none of them is sent.

    Args:
        path: the file, which need not exist.
    """
    with swallowed(InputError):
        text = _read(path)[0]
        words = [text, *(value.strip("\"'") for value in re.findall(_ASSIGNED, text))]
        return [key for word in words if (key := Secret.or_none(word.strip())) is not None]
    return []


def _read(path: str) -> tuple[str, int]:
    """Return a file's content and mode; no exception that quotes it is passed on."""
    try:
        with Path(path).expanduser().open(encoding="utf-8-sig") as file:
            return file.read().strip(), os.fstat(file.fileno()).st_mode
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (ValueError, RuntimeError):
        why = "it is not text"
    # The path is not shown: it may be a key that was put in its place.
    raise InputError(f"The file that {KEY_FILE_VARIABLE} names cannot be read: {why}.")
