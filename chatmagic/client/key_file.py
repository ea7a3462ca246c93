"""The file that CHATMAGIC_API_KEY_FILE names: its key, and what is wrong with it, unrepeated."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from chatmagic.errors import InputError
from chatmagic.protocol.auth import Secret, looks_like_a_key
from chatmagic.text import one_line

VARIABLE: Final = "CHATMAGIC_API_KEY_FILE"

_SHOWN: Final = 200
_ASSIGNED: Final = re.compile(r"^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*([^=\s].*)$", re.MULTILINE)
_SUFFIX: Final = re.compile(r"\.[a-z]{2,5}")


def key_in(path: str) -> Secret | None:
    """Return the key that a file holds; ``None`` where what it holds is none.

    Args:
        path: the file, as the variable names it.

    Raises:
        InputError: it cannot be read, or holds an assignment.
    """
    text, why = _text(path)
    if text is None:
        shown = _shown(path)
        named = f"The file that {VARIABLE} names" if shown is None else f"{VARIABLE}: {shown}"
        raise InputError(f"{named} cannot be read: {why}.")
    is_assigned, key = _ASSIGNED.search(text) is not None, Secret.of(text)
    del text  # a traceback with its locals shows only a Secret
    if is_assigned:
        raise InputError(
            f"The file that {VARIABLE} names holds NAME=value, not a key alone.",
            hint="Leave out the name and the =; a file of variables is for %dotenv or a shell.",
        )
    return key


def keys_in(path: str) -> list[Secret]:
    """Return every key that a file may hold, assigned or not, so that none of them is sent."""
    text = _text(path)[0] or ""
    words = [text, *(value.strip("\"'") for value in _ASSIGNED.findall(text))]
    return [key for word in words if (key := Secret.of(word.strip())) is not None]


def warning(path: str) -> str | None:
    """Return a line saying that others can read a key's file; ``None`` where they cannot."""
    try:
        mode = Path(path.strip()).expanduser().stat().st_mode
    except (OSError, ValueError, RuntimeError):
        return None
    if os.name != "posix" or not mode & (stat.S_IRGRP | stat.S_IROTH):
        return None
    shown = _shown(path)
    named = f"The file that {VARIABLE} names" if shown is None else f"{VARIABLE}: {shown}"
    return f"{named} can be read by others on this machine; chmod 600 makes it private."


def _text(path: str) -> tuple[str | None, str]:
    """Return what a file holds, or ``None`` and why not; no exception that quotes it gets out."""
    if not path.strip():
        return None, "no path"
    try:
        return Path(path.strip()).expanduser().read_text(encoding="utf-8-sig").strip(), ""
    except OSError as error:
        return None, error.strerror or type(error).__name__
    except (ValueError, RuntimeError):
        return None, "it is not text"


def _shown(path: str) -> str | None:
    """Return a path for a message; ``None`` where it may be a key that was put there by mistake.

    A path that is shown leads from the root or the home folder, or into a folder that there is,
    or is a name with a suffix; and nothing in it looks like a key.
    """
    word = path.strip()
    try:
        whole = Path(word).expanduser()
        is_path = whole.is_absolute() or (len(whole.parts) > 1 and whole.parent.is_dir())
    except (OSError, ValueError, RuntimeError):
        return None
    is_path = is_path or (len(whole.parts) == 1 and _SUFFIX.fullmatch(whole.suffix) is not None)
    if not is_path or any(looks_like_a_key(part) for part in whole.parts):
        return None
    return one_line(word, _SHOWN)
