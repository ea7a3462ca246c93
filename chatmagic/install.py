"""``chatmagic install``: each kernel of an environment loads the extension at its start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from chatmagic._files import content_of, replace_content
from chatmagic.errors import ChatError, InputError

LINES: Final = """\
# Added by "chatmagic install"; "chatmagic install --uninstall" removes these three lines.
if __import__("importlib.util").util.find_spec("chatmagic"):
    c.InteractiveShellApp.extensions.append("chatmagic")
"""
"""The added lines, which cause no error in an environment without chatmagic."""

NAME: Final = "ipython_config.py"
SYSTEM: Final = Path("/etc/ipython")

_UNCHANGED: Final = "Nothing was changed."


def run_install(*, system: bool, uninstall: bool) -> int:
    """Run ``chatmagic install``.

    Args:
        system: whether to change all environments of this machine, not this one alone.
        uninstall: whether to remove the lines instead.

    Returns:
        The exit code, 0.

    Raises:
        ChatError: the file cannot be read or written, and is as it was.
    """
    path = config_file(system=system)
    old = content_of(path) or b""
    new = _changed(old, path, uninstall=uninstall)
    if new == old:
        state = "does not have the lines of chatmagic install" if uninstall else "has its lines"
        print(f"{path} {state}{'' if uninstall else ' already'}. {_UNCHANGED}")
        return 0
    print(path)
    for line in LINES.splitlines():
        print("-" if uninstall else "+", line)
    sys.stdout.flush()
    _write(path, new)
    print(
        "Removed. From the next kernel on, %load_ext chatmagic loads it."
        if uninstall
        else "Added. From the next kernel on, %%chat works without %load_ext."
    )
    return 0


def config_file(*, system: bool) -> Path:
    """Return the configuration file that IPython reads in this environment, or on this machine.

    Args:
        system: whether the file is for the whole machine.

    Raises:
        InputError: IPython reads no file for the whole machine here.
    """
    if system and os.name == "nt":
        raise InputError(
            f"IPython has no folder for the whole machine on Windows. {_UNCHANGED}",
            hint="Leave out --system: the lines go into this environment.",
        )
    folder = SYSTEM if system else Path(sys.prefix, "etc", "ipython")
    return folder / NAME


def _changed(old: bytes, path: Path, *, uninstall: bool) -> bytes:
    """Return a file's content with the added lines once at its end, or without them.

    Raises:
        InputError: the lines were changed.
    """
    lines = LINES.encode()
    left = old.replace(lines, b"")
    first = lines.splitlines()[0]
    if first in left:
        number = left[: left.index(first)].count(b"\n") + 1
        raise InputError(
            f"The lines of chatmagic install in {path} were changed (from line {number} on). "
            f"{_UNCHANGED}",
            hint="Remove them there, then run this again.",
        )
    if uninstall or lines in old:
        return left if uninstall else old
    line_end = b"\n" if old and not old.endswith(b"\n") else b""
    return old + line_end + lines


def _write(path: Path, content: bytes) -> None:
    """Write the file in one step; remove it if nothing is left in it.

    Raises:
        ChatError: it cannot be written, and is as it was.
    """
    try:
        if content:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_content(path, content)
        else:
            path.unlink()
    except OSError as error:
        raise ChatError(
            f"{path} cannot be written: {error.strerror or type(error).__name__}. {_UNCHANGED}",
            hint="Run it as a user who may write there, or load it by %load_ext chatmagic.",
        ) from None
