"""``chatmagic refresh``: a command that asks again, and the table of what changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from chatmagic.errors import InputError
from chatmagic.study import compare
from chatmagic.study.compare import Comparison
from chatmagic.study.sources import read_source


def refresh(path: Path, command: Sequence[str]) -> tuple[Comparison, int]:
    """Return the comparison of a cassette with itself before a command refreshed it.

    The command gets the cassette and the mode in its environment, so everything that it asks
    through chatmagic is sent again. The recorded answers stay in a copy beside the cassette. What
    the command prints goes to standard error, since the comparison is the output.

    Args:
        path: the cassette.
        command: the command and its arguments, such as ``jupyter execute paper.ipynb``.

    Returns:
        The comparison, and the command's exit status.

    Raises:
        InputError: there is no such cassette, the command cannot be started, or it asked nothing
            again that is recorded.
    """
    if not command:
        raise InputError(
            "Which command asks the questions again? Nothing was sent.",
            hint=f"chatmagic refresh {path} jupyter execute paper.ipynb",
        )
    if not path.is_file():
        raise InputError(f"There is no cassette {path} to refresh. Nothing was sent.")
    before = read_source(path, audited=False)
    # Absolute, since a kernel works in its notebook's folder.
    chosen = {"CHATMAGIC_CASSETTE": str(path.absolute()), "CHATMAGIC_MODE": "refresh"}
    try:
        done = subprocess.run(  # noqa: S603 - it is the user's own command
            command, env={**os.environ, **chosen}, stdout=sys.stderr.fileno(), check=False
        )
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(f"{command[0]} cannot be started: {why}. Nothing was sent.") from None
    after = read_source(path, audited=False)
    if after.sha256 == before.sha256:
        status = f", and ended with status {done.returncode}" if done.returncode else ""
        raise InputError(
            f"The command asked nothing that {path} records{status}.",
            hint="It is to ask through chatmagic; a cassette that it chooses itself is replaced.",
        )
    return compare.compare(before, after), done.returncode
