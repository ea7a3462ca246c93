"""Command of the extension: one object with its name, help, options and function."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from numbers import Number
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Final

from chatmagic._json import whole_number
from chatmagic.conversation import likely_mistakes, magic_line, options
from chatmagic.conversation.options import Option
from chatmagic.errors import InputError
from chatmagic.jupyter.kernel import Kernel

UNCHANGED: Final = "Nothing was sent or changed."
SEARCHED: Final = "WORD"
"""Name of the words that are searched for, which may hold any characters."""
_NO_NAMES: Final[Mapping[str, Any]] = MappingProxyType({})
_WORDS: Final = "WORDS"
"""Name for the words of a line in the set of its flags."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a command, as a person typed them.

    Args:
        command: the command, which writes the refusals.
        line: the line after the command's name, as typed.
        words: the rest of the line without the options and the quotes around it; the text of a
            variable that it names.
        options: the typed options with their values, by their long names. A switch has an empty
            value, and a repeated option its last one.
        repeated: the same options, each as often as it was typed.
        cell: the cell's body; ``None`` for a command on a line.
    """

    command: Command
    line: str
    words: str
    options: Mapping[str, str]
    cell: str | None = None
    repeated: tuple[tuple[str, str], ...] = ()

    def turn_number(self, count: int, default: int = 0) -> int:
        """Return the number of the turn that the words name.

        Args:
            count: number of turns that can be named.
            default: the number if there are no words; 0 for none.

        Raises:
            InputError: there is no such turn.
        """
        typed = whole_number(self.words) or 0
        number = typed if self.words else default
        if not 1 <= number <= count:
            there = f"from 1 to {count:,}" if count else "above its cell, and there is none"
            raise self.command.refusal(f"%{self.command.name} takes a turn's number {there}.")
        return number


@dataclass(frozen=True, slots=True)
class Command:
    """Magic of the extension.

    Args:
        name: the magic's name, such as ``chat_undo``.
        run: function of the command. Its result is the magic's value; its docstring is the help.
        options: the options on its line.
        forms: the forms of its line, each a text of flags and words. Words in capitals are
            placeholders. Brackets stand around an optional part, bars between alternatives:
            ``[--record|--refresh] FILE``. The help and Tab read the forms, too.
        hint: the second line of the error for a line that has none of the forms.
        is_prompt: whether its line is that of ``%chat``, which it parses itself.
        has_body: whether it takes a cell's body.
        waits: whether it waits until no question in the background is under way.
        usage: the help, if it is not the docstring.
    """

    name: str
    run: Callable[[Kernel, Arguments], object]
    options: tuple[Option, ...] = ()
    forms: tuple[str, ...] = ("",)
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

    @property
    def words(self) -> tuple[str, ...]:
        """The words that its line accepts, for Tab: as they are typed, or in capitals."""
        parts = (part for form in self.forms for part in form.split())
        names = (name for part in parts for name in _names(part) if not name.startswith("--"))
        return tuple(dict.fromkeys(names))

    def asks_for_help(self, line: str, cell: str | None) -> bool:
        """Return whether the line only asks for the help.

        Args:
            line: the line after the magic's name.
            cell: the cell's body; ``None`` for none.
        """
        is_flag = line.casefold().split()[:1] in (["-h"], ["--help"])
        return is_flag or (self.is_prompt and likely_mistakes.is_only_help(line, cell))

    def parse(
        self, line: str, cell: str | None = None, names: Mapping[str, Any] = _NO_NAMES
    ) -> Arguments:
        """Return the arguments of a line, parsed by the options that the command declares.

        Errors repeat no word of the line: it might be a key.

        Args:
            line: the line after the magic's name.
            cell: the cell's body; ``None`` for none.
            names: the variables that a value, or the words, may name (:meth:`_text`).

        Raises:
            InputError: the line has none of the command's forms.
        """
        if self.is_prompt:
            return Arguments(self, line, line, {}, cell)
        words, typed_options = self._without_options(line)
        repeated: list[tuple[str, str]] = []
        for option, flag, value in typed_options:
            # A value of a certain kind, such as a number, names no variable.
            text = self._text(value, flag, names) if option.kind is None else value
            repeated.append((option.flags[-1], text))
        typed_words = self._text(without_quotes(words), f"%{self.name}", names)
        arguments = Arguments(self, line, typed_words, dict(repeated), cell, tuple(repeated))
        typed = arguments.options.keys() | ({_WORDS} if typed_words else set())
        if not any(_fits(form, typed) for form in self.forms):
            raise self.refusal()
        return arguments

    def _without_options(self, line: str) -> tuple[str, list[tuple[Option, str, str]]]:
        """Return the words of a line, and its options: each with its flag and value as typed.

        Args:
            line: the line after the magic's name.

        Raises:
            InputError: the command has no such option, or the option no such value.
        """
        declared = {flag: option for option in self.options for flag in option.flags}
        flags = "|".join(["--[^\\s=]*", *(flag for flag in declared if flag[1] != "-")])
        typed: list[tuple[Option, str, str]] = []
        words = line
        while match := re.search(rf"(?<!\S)({flags})(?:=(\S*))?(?!\S)", words):
            option = declared.get(match[1])
            if option is None:
                raise self.refusal()
            value, rest = _value_and_rest(option, match[2], words[match.end() :])
            if not _takes(option, value):
                raise self.refusal()
            typed.append((option, match[1], value))
            words = words[: match.start()] + rest
        return words, typed

    def _text(self, typed: str, flag: str, names: Mapping[str, Any]) -> str:
        """Return a typed text, or that of the variable that it names as ``$name`` or ``{name}``.

        Args:
            typed: the value of an option, or the words of the line.
            flag: the option, or the magic.
            names: the variables.

        Raises:
            InputError: there is no such variable, or it is within another text.
        """
        try:
            return magic_line.with_variable(typed, names, (Number, PurePath))
        except ValueError as error:
            if SEARCHED in self.words:
                return typed
            raise self.refusal(f"{flag} {error}.", magic_line.IN_A_VARIABLE) from None

    def refusal(self, why: str = "", hint: str = "") -> InputError:
        """Return the error for a line, which shows the forms of the command's line.

        Args:
            why: the mistake, in a sentence; empty for a line that has none of the forms.
            hint: the second line; if empty, the command's hint or its forms.
        """
        spelt = {option.flags[-1]: option.spelling for option in self.options}
        forms = [
            re.sub(r"--[\w-]+", lambda match: spelt[match[0]], form) for form in self.forms if form
        ]
        takes = f"%{self.name} takes {', or '.join(forms) or 'nothing'} after its name."
        hint = hint or self.hint or (takes if why else f"%{self.name}? shows its help.")
        return InputError(f"{why or takes} {UNCHANGED}", hint=hint)


def _value_and_rest(option: Option, attached: str | None, rest: str) -> tuple[str, str]:
    """Return an option's value, empty for none, and the words of the line behind it.

    Args:
        option: the option.
        attached: what stands behind its ``=``; ``None`` without one.
        rest: the line behind the option, and behind what is attached.
    """
    if option.metavar == "FILE":
        # The name of a file may have spaces.
        return without_quotes(f"{attached or ''}{rest}"), ""
    if option.metavar is None or attached is not None:
        return attached or "", rest
    value = "".join(rest.split(maxsplit=1)[:1])
    return value, rest.lstrip().removeprefix(value).lstrip()


def _takes(option: Option, value: str) -> bool:
    """Return whether an option can have a value; a placeholder in small letters is its only one."""
    if option.metavar is None:
        return not value
    return value == option.metavar if option.metavar.islower() else bool(value)


def _names(part: str) -> list[str]:
    """Return the flags or words of one part of a form, of which one is typed."""
    return part.strip("[]").split("|")


def _fits(form: str, typed: AbstractSet[str]) -> bool:
    """Return whether a line fits a form, by the set of its flags and :data:`_WORDS`."""
    known: set[str] = set()
    for part in form.split():
        names = {name if name.startswith("--") else _WORDS for name in _names(part)}
        if len(typed & names) > 1 or not (part.startswith("[") or typed & names):
            return False
        known |= names
    return typed <= known


def path_from_words(words: str) -> Path:
    """Return the path that words name; an unknown home folder ``~NAME`` stays as typed.

    Args:
        words: the file's name, as typed.
    """
    return Path(os.path.expanduser(words))  # noqa: PTH111 - pathlib's raises an error


def without_quotes(line: str) -> str:
    """Return a line without the white space and one pair of quotes around it.

    Args:
        line: the line after a command's name.
    """
    words = line.strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "\"'":
        return words[1:-1]
    return words
