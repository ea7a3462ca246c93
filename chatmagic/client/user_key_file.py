"""The user's own file with a key, which ``CHATMAGIC_API_KEY_FILE`` names.

No message repeats its content, or its path, which may be a key that was put in its place.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from chatmagic._files import open_file
from chatmagic._json import NOT_UTF_8
from chatmagic._log import swallowed
from chatmagic.client.endpoint import KEY_VARIABLES
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import Secret

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
    text, state = _content_and_state(path)
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
        text = _content_and_state(path)[0]
        words = [text, *(value.strip("\"'") for value in re.findall(_ASSIGNED, text))]
        return [key for word in words if (key := Secret.or_none(word.strip())) is not None]
    return []


def _content_and_state(path: str) -> tuple[str, os.stat_result]:
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
