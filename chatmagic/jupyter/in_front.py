"""What goes in front of a question by the options of its cell: the last error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatmagic.conversation import blocks
from chatmagic.conversation.request_facts import Value
from chatmagic.errors import InputError

if TYPE_CHECKING:
    from chatmagic.conversation.options import ParsedLine
    from chatmagic.jupyter.kernel import Kernel

NO_ERROR: Final = "No cell has raised an error since chatmagic was loaded. Nothing was sent."


def of(kernel: Kernel, parsed: ParsedLine) -> tuple[Value, ...]:
    """Return what goes in front of a question, in order.

    Args:
        kernel: the kernel.
        parsed: the options of its cell.

    Raises:
        InputError: there is no such thing; nothing is sent.
    """
    return (_error(kernel),) if parsed.with_error else ()


def _error(kernel: Kernel) -> Value:
    notes = kernel.settings.notes
    error = None if notes is None else notes.error
    if error is None:
        raise InputError(NO_ERROR)
    return Value.of(error.kind, blocks.error(error.source, error.trace), "error")
