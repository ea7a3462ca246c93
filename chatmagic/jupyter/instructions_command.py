"""``%%chat_instructions``: standing instructions for the questions below a cell."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chatmagic.archive import files, output
from chatmagic.conversation import suggestions
from chatmagic.conversation.steering import Instructions, instructions_note
from chatmagic.errors import InputError
from chatmagic.jupyter import views
from chatmagic.jupyter.command_line import without_quotes
from chatmagic.jupyter.execution import running
from chatmagic.jupyter.status import Status
from chatmagic.protocol.known_secrets import secret_in, secret_variables
from chatmagic.text import one_line, to_terminal

if TYPE_CHECKING:
    from chatmagic.jupyter.kernel import Kernel

_HINT: Final = (
    "The instructions stand below the line, or in a file: %%chat_instructions --from FILE."
)
_UNCHANGED: Final = "Nothing was changed."
_SHOWN: Final = 200
_LARGEST: Final = 2**20
"""How many bytes a file may have."""


def instruct(kernel: Kernel, line: str, cell: str | None = None) -> None:
    """Run ``%%chat_instructions``; ``%chat_instructions`` shows those that hold.

    Args:
        kernel: the kernel.
        line: what stands after the magic's name.
        cell: the body; ``None`` for ``%chat_instructions``.

    Raises:
        InputError: the instructions cannot be read; those that hold are as they were.
    """
    if cell is None:
        if line.strip():
            raise InputError(f"Instructions have a cell of their own. {_UNCHANGED}", hint=_HINT)
        _show(kernel)
        return
    file = _file(line)
    body = cell.removesuffix("\n")
    if file and body.strip():
        raise InputError(
            f"The instructions stand in the cell and are to be read from a file. {_UNCHANGED}",
            hint="Leave the cell empty below --from FILE, or leave --from out.",
        )
    suggestions.refuse_cell_comments(body, "")
    text = _read(file) if file else body
    _refuse_secrets(kernel, text, file)
    execution = running(kernel.shell)
    given = Instructions.of(text, file, owner=execution.cell, execution=execution.id)
    kernel.session.steer(given)
    views.show(*output.of_steering(given))


def _refuse_secrets(kernel: Kernel, text: str, file: str) -> None:
    """Refuse instructions that hold the API key, or come with another secret from a file."""
    if any(key.is_in(part) for key in kernel.known_keys() for part in (text, file)):
        raise InputError(
            f"The instructions hold your API key. {_UNCHANGED}",
            hint="Remove it; a key that others may have seen should be revoked.",
        )
    # What is typed is looked at with the question; of a file the cell is the first to show it.
    secret = secret_in(text, secret_variables(os.environ)) if file else None
    if secret is not None:
        raise InputError(
            f"{one_line(file, _SHOWN)} holds {secret}. {_UNCHANGED}",
            hint="Take it out: the output of this cell would show and keep it.",
        )


def _show(kernel: Kernel) -> None:
    """Print the instructions that hold for a question of the running cell."""
    held = Status(kernel).instructions(running(kernel.shell))
    if held is None:
        print("No instructions hold here.")
        return
    print(f"Questions here are sent {instructions_note(held)}:\n\n{to_terminal(held.text or '')}")


def _file(line: str) -> str:
    """Return the name of the file that the line names; empty for an empty line."""
    match = re.fullmatch(r"(?:--from(?:\s+|=)(?P<file>\S.*))?", line.strip())
    if match is None:
        raise InputError(
            f"%%chat_instructions takes --from FILE or nothing in its line. {_UNCHANGED}",
            hint=_HINT,
        )
    return without_quotes(match["file"] or "")


def _read(file: str) -> str:
    """Return the text of a file, but for its last line end.

    Raises:
        InputError: there is none, or it is no text, or too large.
    """
    shown = one_line(file, _SHOWN)
    try:
        content = files.content_of(Path(file).expanduser())
    except (InputError, RuntimeError) as error:
        raise InputError(f"{one_line(str(error), _SHOWN)} {_UNCHANGED}", hint=_HINT) from None
    if content is None:
        raise InputError(f"{shown} is not there. {_UNCHANGED}", hint=_HINT)
    if len(content) > _LARGEST:
        # It goes along with each question, and the cell's output holds it twice.
        raise InputError(f"{shown} is larger than {_LARGEST // 2**20} MiB. {_UNCHANGED}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{shown} is not a text in UTF-8. {_UNCHANGED}", hint=_HINT) from None
    return text.removesuffix("\n").removesuffix("\r")
