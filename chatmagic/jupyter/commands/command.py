"""Command of the extension: one object with its name, help, options and function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chatmagic.conversation import options
from chatmagic.conversation.options import Option
from chatmagic.errors import InputError
from chatmagic.jupyter.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a command, as a person typed them.

    Args:
        line: the line after the command's name, as typed.
        words: the line without the options, and without quotes around the rest.
        options: the typed options with their values; the value of a switch is empty.
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
        run: function of the command. Its result is the magic's value; its docstring is the help.
        options: the options on its line.
        words: the other words that its line accepts, for Tab: literal words, ``FILE``, ``TURN``,
            ``CELL`` or ``THREAD``; empty if it accepts only options.
        hint: examples of its line, for errors; if empty, errors point to the help.
        is_prompt: whether its line is that of ``%chat``, which it parses itself.
        has_body: whether it takes a cell's body.
        waits: whether it waits until no question in the background is under way.
        usage: the help, if it is not the docstring.
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

    def asks_for_help(self, line: str, cell: str | None) -> bool:
        """Return whether only the help is wanted, for which nothing is done.

        Args:
            line: the line after the magic's name.
            cell: the cell's body; ``None`` for none.
        """
        if self.is_prompt and options.is_only_help(line, cell):
            return True
        return line.casefold().split()[:1] in (["-h"], ["--help"])

    def parse(self, line: str, cell: str | None = None) -> Arguments:
        """Return the arguments of a line, parsed by the options that the command declares.

        Errors repeat no word of the line: it might be a key.

        Args:
            line: the line after the magic's name.
            cell: the cell's body; ``None`` for none.

        Raises:
            InputError: the line has an option or words that the command does not take.
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
    """Return a line without the white space and one pair of quotes around it.

    Args:
        line: the line after a command's name.
    """
    words = line.strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "\"'":
        return words[1:-1]
    return words
