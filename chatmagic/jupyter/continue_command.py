"""``%chat_continue``: have a reply continued that was interrupted, or that its limit ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.conversation import continuation
from chatmagic.conversation.suggestions import refuse_dividing
from chatmagic.errors import InputError
from chatmagic.jupyter.ask_command import interruptible, send, settle
from chatmagic.jupyter.command_line import without_quotes
from chatmagic.jupyter.execution import cell_source, running
from chatmagic.jupyter.retry_command import asked_of, turn_above

if TYPE_CHECKING:
    from chatmagic.conversation.turn import Turn
    from chatmagic.jupyter.kernel import Kernel
    from chatmagic.models import Reply

_HINT: Final = (
    "%chat_continue goes on with the last reply above the cell; %chat_continue 2 with turn 2's."
)


def go_on(kernel: Kernel, line: str) -> Reply | None:
    """Run ``%chat_continue``.

    Returns:
        The reply with all its parts.

    Raises:
        ChatError: there is no such turn, its reply is complete, or as
            :func:`chatmagic.jupyter.ask_command.ask`.
        ChatInterrupted: an interrupt, wherever it came.
    """
    return interruptible(kernel, lambda: _run(kernel, line))


def _run(kernel: Kernel, line: str) -> Reply | None:
    settle(kernel, running(kernel.shell))
    number, turn = turn_above(kernel, without_quotes(line), "chat_continue", _HINT)
    refuse_dividing(cell_source(kernel.shell))
    part = _part(kernel, turn)
    if not continuation.is_incomplete(part.reply):
        raise InputError(
            f"The reply of turn {number:,} is complete: there is nothing to continue. Nothing was "
            "sent.",
            hint="Ask a new question; or %chat_retry asks this one again.",
        )
    ask, execution = asked_of(kernel, turn, part=part)
    return send(kernel, ask, execution)


def _part(kernel: Kernel, turn: Turn) -> Turn:
    """Return the turn whose reply is continued: a cell run again goes on from where it did."""
    execution = running(kernel.shell)
    # In a loop, each goes on from the one before.
    if execution.cell is None or kernel.shown == (execution.id, turn.reply):
        return turn
    replies = kernel.session.conversation.replies(turn.number)
    known = {each.recorded_digest: each for each in replies}
    part: Turn | None = turn
    for _ in replies:
        if part is None or part.record is None or part.record.continues is None:
            break
        owner, part = part.owner, known.get(part.record.continues)
        if owner == execution.cell and part is not None:
            return part
    return turn
