"""Command of the extension: one object with its name, its help, its options and what it does."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chatmagic.conversation import options
from chatmagic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.conversation.options import Option
    from chatmagic.jupyter.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a person typed to a command.

    Args:
        line: what stands behind its name, as typed.
        words: the same without the options, and without quotes around the rest.
        options: the options as typed, with their values, empty for a switch.
        cell: the cell's body; ``None`` for a command on a line.
    """

    line: str
    words: str
    options: Mapping[str, str]
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """Magic of the extension.

    Args:
        name: the magic's name, such as ``chat_undo``.
        run: what it does; what it returns is the value of the magic. Its docstring is the help.
        options: the options on its line.
        words: what else its line takes, for Tab: words as they are, ``FILE``, ``TURN``,
            ``THREAD``; empty for a command that takes nothing else.
        hint: how its line is written, for errors; empty leads to the help.
        is_prompt: whether its line is that of ``%chat``, which it reads itself.
        has_body: whether a cell's body may stand below it, as a text.
        waits: whether it waits until no question in the background is under way.
        usage: the help, where the docstring is not.
    """

    name: str
    run: Callable[[Kernel, Arguments], object]
    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ()
    hint: str = ""
    is_prompt: bool = False
    has_body: bool = False
    waits: bool = True
    usage: str = ""

    @property
    def help(self) -> str:
        """The help that ``?`` shows."""
        text = self.usage or inspect.getdoc(self.run) or ""
        if self.is_prompt or not self.options:
            return text
        return "\n".join([text, "", *options.help_lines(self.options)])

    def parse(self, line: str, cell: str | None = None) -> Arguments:
        """Return what a person typed, read by what the command declares.

        No word of the line is repeated in an error: it might be a key.

        Args:
            line: what stands behind the magic's name.
            cell: the cell's body; ``None`` for none.

        Raises:
            InputError: the line has an option that the command does not take, or words where it
                takes none.
        """
        if self.is_prompt:
            return Arguments(line, line, {}, cell)
        declared = {flag: option for option in self.options for flag in option.flags}
        given: dict[str, str] = {}
        words = line
        while match := re.search(r"(?<!\S)(--[^\s=]*)(?:=(\S*))?", words):
            flag, value, rest = match[1], match[2], words[match.end() :]
            option = declared.get(flag)
            takes_value = option is not None and option.metavar is not None
            if option is None or (value is not None and not takes_value):
                takes = (
                    f"no other option here than {', '.join(declared)}" if declared else "no option"
                )
                raise InputError(
                    f"%{self.name} takes {takes}. Nothing was changed.", hint=self._hint
                )
            if takes_value and value is None:
                word = re.match(r"\s*(\S*)", rest)
                value, rest = (word[1], rest[word.end() :]) if word else ("", rest)
            given[flag] = value or ""
            words = words[: match.start()] + rest
        if words.strip() and not self.words:
            raise InputError(
                f"%{self.name} takes nothing{' else' if given else ''} after its name. "
                "Nothing was changed.",
                hint=self._hint,
            )
        return Arguments(line, without_quotes(words), given, cell)

    @property
    def _hint(self) -> str:
        return self.hint or f"%{self.name}? shows its help."


def without_quotes(line: str) -> str:
    """Return the words of a line without white space and one pair of quotes around them.

    Args:
        line: what stands behind a command's name.
    """
    words = line.strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "\"'":
        return words[1:-1]
    return words
