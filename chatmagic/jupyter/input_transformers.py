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
import tokenize
from tokenize import TokenInfo
from typing import Final, Self, cast

from IPython.core.inputtransformer2 import (
    TokenTransformBase,
    assemble_continued_line,
    find_end_of_continued_line,
)
from IPython.core.interactiveshell import InteractiveShell

from chatmagic.conversation import chat_cell
from chatmagic.jupyter.commands import COMMANDS

_WITH_BODY: Final = "|".join(command.name for command in COMMANDS if command.has_body)
_CELL: Final = rf"%%(?P<name>{_WITH_BODY})(?:[ \t]+(?P<line>.*))?[ \t]*$"
_PROMPTS: Final = tuple(command.name for command in COMMANDS if command.is_prompt)
_ASKS: Final = rf"%({'|'.join(_PROMPTS)})\s+\S"


def whole_cell(lines: list[str]) -> list[str]:
    """Turn a cell whose body is a text into its call, before anything else is done to that.

    Args:
        lines: the cell's, with their line ends.
    """
    first = chat_cell.first_line(lines)
    magic = None if first is None else re.match(_CELL, lines[first].rstrip("\r\n"))
    if first is None or magic is None:
        return lines
    # IPython refuses an empty body before a magic sees it; a line end is none.
    comments = [line for line in lines[:first] if line.strip()]
    body = "".join([*comments, *lines[first + 1 :]]) or "\n"
    name, line = magic["name"], magic["line"] or ""
    return [f"get_ipython().run_cell_magic({name!r}, {line!r}, {body!r})\n"]


class AskingLine(TokenTransformBase):
    """``%chat …`` and ``name = %chat …``, with or without a question mark at the end.

    So is ``%chat_fix …``, with which a cell may ask, too.
    """

    # Before IPython's own, which take a line that ends in a question mark for help (5).
    priority = 4

    def __init__(self, start: tuple[int, int], percent: tuple[int, int]) -> None:
        """Note where the line begins and where its ``%`` stands."""
        super().__init__(start)  # type: ignore[no-untyped-call]
        self._column = percent[1]
        self._assigns = start != percent

    @classmethod
    def find(cls, tokens_by_line: list[list[TokenInfo]]) -> Self | None:
        """Find the first such line that has a prompt.

        Args:
            tokens_by_line: the cell's tokens, a list for each line.
        """
        for line in tokens_by_line:
            tokens = [token for token in line if token.type not in _LAYOUT]
            percent = _percent(tokens)
            if percent is None:
                continue
            text = percent.line[percent.start[1] :]
            if re.match(_ASKS, text):
                return cls(tokens[0].start, percent.start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """Turn it into a call: of the line magic if it assigns, else of one without a value.

        Args:
            lines: the cell's, with their line ends.
        """
        end = find_end_of_continued_line(lines, self.start_line)
        text = assemble_continued_line(lines, (self.start_line, self._column), end)
        name = cast("re.Match[str]", re.match(_ASKS, text))[1]
        prompt = text.removeprefix(f"%{name}")[1:]
        if prompt.strip() in {"?", "??"}:
            call = f"get_ipython().run_line_magic('pinfo', '%{name}')"
        elif self._assigns:
            call = f"get_ipython().run_line_magic({name!r}, {prompt!r})"
        else:
            call = f"get_ipython().run_cell_magic({name!r}, {prompt!r}, '\\n')"
        before = lines[self.start_line][: self._column]
        return [*lines[: self.start_line], before + call + "\n", *lines[end + 1 :]]


# While a cell is typed in a terminal, IPython itself decides when its body has ended.
whole_cell.has_side_effects = True  # type: ignore[attr-defined]


def install(shell: InteractiveShell) -> None:
    """Add the transformers to a shell, each once.

    Args:
        shell: the shell.
    """
    manager = shell.input_transformer_manager
    if whole_cell not in manager.cleanup_transforms:
        manager.cleanup_transforms.insert(0, whole_cell)
    if AskingLine not in manager.token_transformers:
        manager.token_transformers.append(AskingLine)


def remove(shell: InteractiveShell) -> None:
    """Remove the transformers from a shell.

    Args:
        shell: the shell.
    """
    manager = shell.input_transformer_manager
    for transforms, ours in (
        (manager.cleanup_transforms, whole_cell),
        (manager.token_transformers, AskingLine),
    ):
        if ours in transforms:
            transforms.remove(ours)


_LAYOUT: Final = (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.COMMENT)


def _percent(tokens: list[TokenInfo]) -> TokenInfo | None:
    """Return the ``%`` of a line that begins with one of the magics or assigns it."""
    depth = 0
    for place, token in enumerate(tokens[:-1]):
        begins = place == 0 or (tokens[place - 1].string == "=" and depth == 0)
        if begins and token.string == "%" and tokens[place + 1].string in _PROMPTS:
            return token
        depth += token.string in {"(", "[", "{"}
        depth -= token.string in {")", "]", "}"}
    return None
