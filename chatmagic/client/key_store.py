"""Keys that are kept: in the system's keyring, in a private file, or in a file of the user's.

The private file is JSON in the user's configuration folder, one key for each place, readable and
writable only by its owner; a file that others can read is refused. The user's own file is the one
that ``CHATMAGIC_API_KEY_FILE`` names. No message repeats its content.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

import platformdirs

from chatmagic import advice
from chatmagic._files import (
    LARGEST,
    PRIVATE,
    clear_unfinished,
    folder_lock,
    open_file,
    replace_content,
)
from chatmagic._json import NOT_UTF_8, json_of_file
from chatmagic._log import log_swallowed, swallowed
from chatmagic.client.endpoint import KEY_VARIABLES
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import Secret

Storage = Literal["keyring", "private file"]
SERVICE: Final = "chatmagic"
FILE: Final = "keys.json"
UNFINISHED: Final = "what an interrupted save left"
"""Copies of the private file; a killed process may leave one."""
_EARLIER: Final = "tmp????????"
"""Pattern of their names in earlier releases."""


_in_keyring: Final[dict[tuple[Path, str], Secret | None]] = {}
"""Keys that were read from the keyring in this process, by the private file and the place."""


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

    def load(self, place: str) -> tuple[Secret, Storage] | None:
        """Return the kept key of a place, and where it is kept; ``None`` without one.

        Args:
            place: place of the service.

        Raises:
            InputError: the private file is not private.
        """
        if self.keyring is not None and (key := self._from_keyring(place)) is not None:
            return key, "keyring"
        key = Secret.or_none(self._read().get(place))
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
        if storage == "keyring" and self.keyring is not None:
            with swallowed():
                self.keyring.set_password(SERVICE, place, key.reveal())
                _in_keyring[self._file, place] = key
                with swallowed(InputError), self._changing():
                    self._write({**self._read(), place: None})
                return "keyring"
        with self._changing():
            self._write({**self._read(), place: key.reveal()})
        self._forget_in_keyring(place)
        return "private file"

    def forget(self, place: str) -> list[str]:
        """Remove the key of a place from all storages; return these storages.

        What an interrupted save left is removed, too, whatever keys it holds.

        Args:
            place: as for :meth:`load`.

        Raises:
            InputError: as :meth:`save`.
        """
        gone = ["keyring"] if self._forget_in_keyring(place) else []
        return gone + self._forget_in_file(place)

    def places(self) -> tuple[str, ...]:
        """Return the places that keys are kept for; none if the private file cannot be used."""
        with swallowed(InputError):
            return tuple(self._read())
        return ()

    def keys(self) -> tuple[Secret, ...]:
        """Return the kept keys of all places, so that none of them is sent in a request.

        A key in the keyring is read once in a process, and only if the keyring is unlocked: nobody
        is asked for its password for this.
        """
        kept = dict[str, str | None]()
        with swallowed(InputError):
            kept = self._read()
        keys = [
            self._known_in_keyring(place) if key is None else Secret.or_none(key)
            for place, key in kept.items()
        ]
        # An earlier version left no line in the file for a key in the keyring.
        keys += [key for (file, _), key in _in_keyring.items() if file == self._file]
        return tuple(dict.fromkeys(key for key in keys if key is not None))

    @property
    def has_key_in_keyring(self) -> bool:
        """Whether the private file says that the keyring holds a key."""
        with swallowed(InputError):
            return None in self._read().values()
        return False

    def _from_keyring(self, place: str) -> Secret | None:
        with swallowed():
            if value := self.keyring.get_password(SERVICE, place):
                key = Secret(value)
                _in_keyring[self._file, place] = key
                return key
        return None

    def _known_in_keyring(self, place: str) -> Secret | None:
        """Return a key that was read before, or can be read without a question to the user."""
        if (known := (self._file, place)) not in _in_keyring:
            if self.keyring is None or is_locked(self.keyring):
                return None
            _in_keyring[known] = self._from_keyring(place)
        return _in_keyring[known]

    def _forget_in_keyring(self, place: str) -> bool:
        _in_keyring.pop((self._file, place), None)
        if self.keyring is not None:
            with swallowed():
                if self.keyring.get_password(SERVICE, place):
                    self.keyring.delete_password(SERVICE, place)
                    return True
        return False

    def _forget_in_file(self, place: str) -> list[str]:
        """Remove a place from the private file; return what held its key."""
        if not self.folder.is_dir():
            return []
        with self._changing() as is_cleared:
            gone = [UNFINISHED] if is_cleared else []
            kept = self._read()
            if place in kept:
                if kept.pop(place) is not None:
                    gone.append("private file")
                self._write(kept)
        return gone

    @contextlib.contextmanager
    def _changing(self) -> Iterator[bool]:
        """Return a context in which this process alone changes the file.

        Its value is whether it has removed what an interrupted save left.

        Raises:
            InputError: the file cannot be changed.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with folder_lock(self.folder):
                yield clear_unfinished(self.folder, _EARLIER) > 0
        except OSError as error:
            raise InputError(f"{self._file} cannot be written: {error.strerror}.") from None

    @property
    def _file(self) -> Path:
        return self.folder / FILE

    def _read(self) -> dict[str, str | None]:
        """Return the kept keys by place, ``None`` for a key in the keyring.

        The open file is checked, and no link followed.
        """
        try:
            file = open_file(self._file, follows=False)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError:
            raise self._not_private() from None
        state = os.fstat(file.fileno())
        if os.name == "posix" and (
            state.st_uid != os.getuid() or state.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        ):
            file.close()
            raise self._not_private()
        with file:
            content = file.read(LARGEST)
        try:
            keys = json_of_file(content)
            why = "it holds no list of keys"
        except ValueError as error:
            keys = None
            why = str(error)
        if isinstance(keys, dict):
            return {
                place: key for place, key in keys.items() if key is None or isinstance(key, str)
            }
        raise InputError(
            f"{self._file} is damaged, so no key is read from it: {why}.",
            hint=advice.KEY_FILE_DAMAGED,
        )

    def _not_private(self) -> InputError:
        return InputError(
            f"{self._file} is not private to you, so it is not used.",
            hint="Make it private (chmod 600), or remove it, and revoke the keys in it.",
        )

    def _write(self, keys: Mapping[str, str | None]) -> None:
        """Replace the file in one step; it is private from its first byte on."""
        replace_content(self._file, json.dumps(keys).encode(), PRIVATE)


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


KEY_FILE_VARIABLE: Final = KEY_VARIABLES[1]

_A_KEY_ALONE: Final = f"{KEY_FILE_VARIABLE} is the path of a text file with the key alone."

_ASSIGNED: Final = r"(?m)^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*([^=\s].*)$"


def key_in_file(path: str) -> tuple[Secret | None, tuple[str, ...]]:
    """Return the key that a file holds, and warnings if others can read or change the file.

    Args:
        path: the file, as the variable names it.

    Returns:
        The key, ``None`` if the file holds none; and the warnings, a line each.

    Raises:
        InputError: it cannot be read, or holds an assignment.
    """
    text, state = _read(path)
    if not text:
        raise InputError(f"The file that {KEY_FILE_VARIABLE} names is empty.", hint=_A_KEY_ALONE)
    is_assigned = re.search(_ASSIGNED, text) is not None
    key = Secret.or_none(text)
    del text  # a traceback with its locals shows only a Secret
    if is_assigned:
        raise InputError(
            f"The file that {KEY_FILE_VARIABLE} names holds NAME=value, not a key alone.",
            hint="Leave out the name and the =; a file of variables is for dotenv or a shell.",
        )
    return key, tuple(_open_to_others(state))


def _open_to_others(state: os.stat_result) -> Iterator[str]:
    """Yield a warning if others can read a file, or put another key into it."""
    if sys.platform == "win32":
        return
    file = f"The file that {KEY_FILE_VARIABLE} names"
    is_read = state.st_mode & (stat.S_IRGRP | stat.S_IROTH)
    is_written = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if is_read or is_written:
        acts = {"read": is_read, "changed": is_written}
        done = " and ".join(act for act, is_allowed in acts.items() if is_allowed)
        yield f"{file} can be {done} by others on this machine; chmod 600 makes it private."
    if state.st_uid not in {0, os.getuid()}:
        yield f"{file} belongs to another user, who can change it; copy it to a file of yours."


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


def _read(path: str) -> tuple[str, os.stat_result]:
    """Return a file's content and state; no exception that quotes it is passed on."""
    try:
        with open_file(Path(path).expanduser()) as file:
            text = file.read().decode("utf-8-sig").replace("\r\n", "\n")
            return text.strip(), os.fstat(file.fileno())
    except OSError as error:
        why = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        why = NOT_UTF_8
    except (ValueError, RuntimeError):
        why = "this is not the name of a file"
    # The path is not shown: it may be a key that was put in its place.
    raise InputError(
        f"The file that {KEY_FILE_VARIABLE} names cannot be read: {why}.", hint=_A_KEY_ALONE
    )
