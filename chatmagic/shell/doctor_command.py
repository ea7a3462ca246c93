"""``chatmagic doctor``: what is seen of this machine and its service, as lines to paste."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from chatmagic.doctor import doctor
from chatmagic.doctor.doctor import Line
from chatmagic.shell.command import session_in_shell
from chatmagic.shell.shell_words import in_shell
from chatmagic.text import to_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping


def run(arguments: Mapping[str, Any]) -> int:
    """Print the block, each line as soon as it is known.

    Returns:
        The exit code: 1 where something is wrong.
    """
    shows = f"a shell: a reply goes to standard output, in {sys.stdout.encoding}"
    with session_in_shell(arguments) as (session, environment):
        front_end = Line("ok", "front end", shows)
        is_well = doctor.examine(environment, session, front_end, _print, ask=arguments["ask"])
    return 0 if is_well else 1


def _print(line: str) -> None:
    # An error's hint names this very command.
    words = in_shell(line).replace("chatmagic doctor shows", "this block shows")
    print(to_terminal(words), flush=True)
