"""Input transformers, by which a prompt reaches its magic as it was typed.

- ``%chat What is a p-value?`` would be a request for help; it is a question.
- ``%chat …`` leaves no empty ``Out[n]:`` behind; ``reply = %chat …`` gives the reply.
- The body of a ``%%chat``, ``%%chat_fix`` or ``%%chat_instructions`` cell arrives as typed:
  prompts such as ``>>>`` at its beginning are not stripped, and ``%%chat question`` with an
  empty body asks the question.

``%chat?``, ``%chat ?`` and ``%%chat?`` still ask for help.
"""

from __future__ import annotations

import re
from itertools import product
from tokenize import TokenInfo
from typing import Final, Self

from IPython.core.inputtransformer2 import (
    EscapedCommand,
    MagicAssign,
    TokenTransformBase,
    assemble_continued_line,
    find_end_of_continued_line,
)
from IPython.core.interactiveshell import InteractiveShell

from chatmagic.conversation import cell_magics
from chatmagic.jupyter.commands import COMMANDS

_PROMPTS: Final = "|".join(command.name for command in COMMANDS if command.is_prompt)
_ASKS: Final = rf"%(?:{_PROMPTS})\s+\S"


def whole_cell(lines: list[str]) -> list[str]:
    """Turn a cell whose body is a text into a call, before any other transformation of the text.

    Args:
        lines: the cell's lines, with their line ends.
    """
    call = cell_magics.cell_magic(lines)
    if call is None:
        return lines
    # IPython refuses an empty body before the magic runs, but accepts a line end.
    body = call.body or "\n"
    return [f"get_ipython().run_cell_magic({call.name!r}, {call.line!r}, {body!r})\n"]


class AskingLine(TokenTransformBase):
    """Line ``%chat …`` or ``name = %chat …``, with or without a question mark at the end.

    The line ``%chat_fix …`` is one, too.
    """

    # Before IPython's own transformers (5), which take a question mark for help.
    priority = 4

    def __init__(self, row: int, column: int, *, assigns: bool) -> None:
        """Note the position of its ``%``."""
        super().__init__((row + 1, 0))  # type: ignore[no-untyped-call]
        self._start = row, column
        self._assigns = assigns

    @classmethod
    def find(cls, tokens_by_line: list[list[TokenInfo]]) -> Self | None:
        """Find the first such line that has a prompt.

        Args:
            tokens_by_line: the cell's tokens, a list for each line.
        """
        for line, kind in product(tokens_by_line, (EscapedCommand, MagicAssign)):
            if (match := kind.find([line])) is not None:
                row = match.start_line
                column = match.start_col
                text = next(token.line for token in line if token.start == (row + 1, column))
                if re.match(_ASKS, text[column:]):
                    return cls(row, column, assigns=kind is MagicAssign)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """Turn it into a call: of the line magic if it assigns, else of a magic without a value.

        Args:
            lines: the cell's lines, with their line ends.
        """
        row, column = self._start
        end = find_end_of_continued_line(lines, row)
        text = assemble_continued_line(lines, self._start, end)
        name, prompt = re.split(r"(?<=\w)\s", text[1:], maxsplit=1)
        if prompt.strip() in {"?", "??"}:
            call = f"get_ipython().run_line_magic('pinfo', '%{name}')"
        elif self._assigns:
            call = f"get_ipython().run_line_magic({name!r}, {prompt!r})"
        else:
            call = f"get_ipython().run_cell_magic({name!r}, {prompt!r}, '\\n')"
        return [*lines[:row], f"{lines[row][:column]}{call}\n", *lines[end + 1 :]]


# While a cell is typed in a terminal, IPython itself decides when its body has ended.
whole_cell.has_side_effects = True  # type: ignore[attr-defined]


def install(shell: InteractiveShell) -> None:
    """Add the transformers to a shell.

    Args:
        shell: the shell, which has none of them.
    """
    manager = shell.input_transformer_manager
    manager.cleanup_transforms.insert(0, whole_cell)
    manager.token_transformers.append(AskingLine)


def remove(shell: InteractiveShell) -> None:
    """Remove the transformers from a shell.

    Args:
        shell: the shell.
    """
    manager = shell.input_transformer_manager
    manager.cleanup_transforms.remove(whole_cell)
    manager.token_transformers.remove(AskingLine)
