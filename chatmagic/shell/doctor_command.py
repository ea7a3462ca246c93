"""``chatmagic doctor``: what is seen of this machine and its service, as lines to paste."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from chatmagic.doctor import doctor
from chatmagic.doctor.observations import FrontEnd
from chatmagic.shell.command import session_in_shell
from chatmagic.shell.shell_words import in_shell
from chatmagic.text import to_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWS: Final = "a reply goes to standard output, in {}"


def run(arguments: Mapping[str, Any]) -> int:
    """Print the block.

    Returns:
        The exit code: 1 where something is wrong.
    """
    front_end = FrontEnd("a shell", _SHOWS.format(sys.stdout.encoding))
    with session_in_shell(arguments) as (session, environment):
        text, is_well = doctor.examine(environment, session, front_end, ask=arguments["ask"])
    # An error's hint names this very command.
    print(to_terminal(in_shell(text).replace("chatmagic doctor shows", "this block shows")))
    return 0 if is_well else 1
