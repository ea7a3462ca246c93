"""The file that CHATMAGIC_API_KEY_FILE names: its key, and what is wrong with it, unrepeated."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from chatmagic._log import swallowed
from chatmagic.client.endpoint import KEY_VARIABLES
from chatmagic.errors import InputError
from chatmagic.protocol.auth import Secret, looks_like_a_key
from chatmagic.text import one_line

VARIABLE: Final = KEY_VARIABLES[1]

_SHOWN: Final = 200
_ASSIGNED: Final = r"(?m)^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*([^=\s].*)$"


def key_in(path: str) -> tuple[Secret | None, tuple[str, ...]]:
    """Return the key that a file holds, and a warning where others can read it.

    Args:
        path: the file, as the variable names it.

    Returns:
        The key, ``None`` where what the file holds is none; and the warnings, a line each.

    Raises:
        InputError: it cannot be read, or holds an assignment.
    """
    text, mode = _read(path)
    is_assigned, key = re.search(_ASSIGNED, text) is not None, Secret.of(text)
    del text  # a traceback with its locals shows only a Secret
    if is_assigned:
        raise InputError(
            f"The file that {VARIABLE} names holds NAME=value, not a key alone.",
            hint="Leave out the name and the =; a file of variables is for %dotenv or a shell.",
        )
    if os.name != "posix" or not mode & (stat.S_IRGRP | stat.S_IROTH):
        return key, ()
    open_to = f"The file that {VARIABLE} names can be read by others on this machine"
    return key, (f"{open_to}; chmod 600 makes it private.",)


def keys_in(path: str) -> list[Secret]:
    """Return every key that a file may hold, assigned or not, so that none of them is sent.

    Args:
        path: the file, which need not exist.
    """
    with swallowed(InputError):
        text = _read(path)[0]
        words = [text, *(value.strip("\"'") for value in re.findall(_ASSIGNED, text))]
        return [key for word in words if (key := Secret.of(word.strip())) is not None]
    return []


def _read(path: str) -> tuple[str, int]:
    """Return what a file holds, and its mode; no exception that quotes it gets out."""
    try:
        with Path(path).expanduser().open(encoding="utf-8-sig") as file:
            return file.read().strip(), os.fstat(file.fileno()).st_mode
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (ValueError, RuntimeError):
        why = "it is not text"
    raise InputError(f"{_named(path)} cannot be read: {why}.")


def _named(path: str) -> str:
    """Return what a message calls a file: by its path, unless that may be a key put there."""
    with swallowed(OSError, ValueError, RuntimeError):
        whole = Path(path).expanduser()
        is_path = whole.is_absolute() or (len(whole.parts) > 1 and whole.parent.is_dir())
        if is_path and not any(looks_like_a_key(part) for part in whole.parts):
            return f"{VARIABLE}: {one_line(path, _SHOWN)}"
    return f"The file that {VARIABLE} names"
