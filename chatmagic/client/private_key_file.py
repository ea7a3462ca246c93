"""The private file of keys: JSON in the user's configuration folder, one key for each place.

It is readable and writable only by its owner. A file that others can read is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from chatmagic import advice
from chatmagic._files import (
    LARGEST,
    PRIVATE,
    clear_unfinished,
    folder_lock,
    open_file,
    replace_content,
)
from chatmagic._json import json_of_file
from chatmagic.errors import InputError

KEY_FILE_NAME: Final = "keys.json"
_EARLIER: Final = "tmp????????"
"""Pattern of the names of unfinished copies in earlier releases."""


@dataclass(frozen=True, slots=True)
class PrivateKeyFile:
    """The private file of keys.

    Args:
        folder: its folder.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / KEY_FILE_NAME

    def read(self) -> dict[str, str | None]:
        """Return the kept keys by place, ``None`` for a key in the keyring.

        The open file is checked, and no link followed.

        Raises:
            InputError: it is not private, or it holds something else.
        """
        try:
            file = open_file(self.path, follows=False)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError:
            raise self._not_private() from None
        with file:
            if _is_open_to_others(file):
                raise self._not_private()
            content = file.read(LARGEST)
        why = "it holds no list of keys"
        try:
            keys = json_of_file(content)
        except ValueError as error:
            keys = None
            why = str(error)
        if not isinstance(keys, dict):
            # Not raised in the handler: the error's context would quote the content.
            raise InputError(
                f"{self.path} is damaged, so no key is read from it: {why}.",
                hint=advice.KEY_FILE_DAMAGED,
            )
        return {place: key for place, key in keys.items() if key is None or isinstance(key, str)}

    def _not_private(self) -> InputError:
        return InputError(
            f"{self.path} is not private to you, so it is not used.",
            hint="Make it private (chmod 600), or remove it, and revoke the keys in it.",
        )

    def write(self, keys: Mapping[str, str | None]) -> None:
        """Replace the file in one step; it is private from its first byte on.

        Args:
            keys: the keys by place, ``None`` for a key in the keyring.
        """
        replace_content(self.path, json.dumps(keys).encode(), PRIVATE)

    @contextlib.contextmanager
    def changing(self) -> Iterator[bool]:
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
            raise InputError(f"{self.path} cannot be written: {error.strerror}.") from None


def _is_open_to_others(file: BinaryIO) -> bool:
    """Return whether a file belongs to another user, or others can use it; unknown on Windows."""
    if os.name != "posix":
        return False
    state = os.fstat(file.fileno())
    return state.st_uid != os.getuid() or bool(state.st_mode & (stat.S_IRWXG | stat.S_IRWXO))
