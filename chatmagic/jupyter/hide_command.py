"""``%chat_hide``: leave a turn out of the requests below a cell, or carry it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.archive import output
from chatmagic.conversation.steering import Hiding
from chatmagic.errors import InputError
from chatmagic.jupyter import views
from chatmagic.jupyter.command_line import read
from chatmagic.jupyter.thread_command import place
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.jupyter.kernel import Kernel

_HINT: Final = "%chat_hide 2; %chat_hide --show 2; %chat_history numbers the turns."


def hide(kernel: Kernel, line: str) -> None:
    """Run ``%chat_hide``.

    Raises:
        InputError: it names no turn above; the conversation is as it was.
    """
    words, options = read("chat_hide", line, "--show", hint=_HINT)
    here, (owner, execution) = place(kernel, owns=True), kernel.cell()
    number = int(words) if words.isdecimal() else 0
    if not 1 <= number <= len(here.line):
        raise InputError(
            "%chat_hide takes the number of a turn above this cell. The thread "
            f"{here.thread} has {counted(len(here.line), 'turn')} there. Nothing was changed.",
            hint=_HINT,
        )
    turn = here.line[number - 1]
    hiding = Hiding(
        number,
        turn.recorded_digest,
        show="--show" in options,
        turn=turn.number,
        owner=owner,
        execution=execution,
    )
    kernel.session.steer(hiding)
    views.show(*output.of_steering(hiding))
