"""Tab in a cell that asks: options, values, turns, files and names, as commands declare them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
    provisionalcompleter,
    rectify_completions,
)
from IPython.core.interactiveshell import InteractiveShell

from chatmagic._log import swallowed
from chatmagic.client import servers
from chatmagic.conversation import magic_line, options
from chatmagic.conversation.cell_magics import first_line
from chatmagic.conversation.options import Option
from chatmagic.errors import InputError
from chatmagic.jupyter.commands.command import Command
from chatmagic.jupyter.kernel import Kernel

_PRIORITY: Final = 1_000
_CELL: Final = r"%%(?P<magic>chat\w*)(?P<line>[ \t].*)?$"
_HAZARD: Final = r"[{}$\"'`%!?\u115f\u1160\u2800\u3164\uffa0]"
"""Character of a name that a line could take for more than a name, or that looks like a blank."""
_LINE: Final = r"\s*(?:[^\W\d]\w*[ \t]*=[ \t]*)?%(?P<magic>chat\w*)(?P<line>[ \t].*)$"


class _Silence(tuple[SimpleCompletion, ...]):
    """Empty completions whose length is not 0.

    IPython does not let a matcher without completions suppress the others, and it checks only the
    length (:func:`IPython.core.completer.has_any_completions`, 8.6 to 9.18).
    """

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[SimpleCompletion]:
        return iter(())


class Completions:
    """Completions for the cells of one shell that ask, as one of IPython's matchers.

    IPython asks its matchers in the order of their priority. The first that suppresses the others
    decides. This one decides in the line and the body of a command, so that prose is not completed
    as code.

    Args:
        shell: the shell.
        commands: the commands.
        kernel: the kernel that they are run in.
    """

    def __init__(
        self, shell: InteractiveShell, commands: Iterable[Command], kernel: Kernel
    ) -> None:
        """Add the matcher to the shell's matchers."""
        self._shell = shell
        self._commands = {command.name: command for command in commands}
        self._kernel = kernel
        self._completer: Any = shell.Completer
        self._completer.custom_matchers.append(self.match)

    def close(self) -> None:
        """Remove the matcher."""
        self._completer.custom_matchers.remove(self.match)

    @context_matcher(identifier="chatmagic", priority=_PRIORITY)  # type: ignore[untyped-decorator]
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Return the completions at the cursor in a cell that asks; none in any other cell.

        Args:
            context: the cell's text and the cursor's place.
        """
        lines = context.full_text.split("\n")[: context.cursor_line + 1]
        lines[-1] = lines[-1][: context.cursor_position]
        if (at_cursor := self._offered(lines)) is None:
            return {"completions": []}
        fragment, offered = at_cursor
        return {
            "completions": offered or _Silence(),
            "matched_fragment": fragment if offered else "",
            "suppress": True,
            "ordered": True,
        }

    def _offered(self, lines: list[str]) -> tuple[str, list[SimpleCompletion]] | None:
        """Return the fragment at the cursor, which completions replace, and the completions.

        Args:
            lines: the cell's lines, up to the cursor.

        Returns:
            Both; ``None`` if no command is typed.
        """
        first = first_line(lines) or 0
        cell_magic = re.match(_CELL, lines[first])
        body = None
        if cell_magic is None or not self._takes_body(cell_magic["magic"]):
            magic = re.match(_LINE, lines[-1])
        else:
            magic = cell_magic
            if first < len(lines) - 1:
                body = lines[-1]
        command = None if magic is None else self._commands.get(magic["magic"])
        if magic is None or command is None:
            return None
        line = magic["line"]
        if body is None and line is None:
            return None  # the cursor is in the name
        if command.is_prompt:
            return self._of_question(line or "", body)
        return self._of_command(command, line) if body is None else ("", [])

    def _takes_body(self, magic: str) -> bool:
        """Return whether a magic is one of our commands that take a cell's body."""
        command = self._commands.get(magic)
        return command is not None and command.has_body

    def _of_question(self, line: str, body: str | None) -> tuple[str, list[SimpleCompletion]]:
        """Return the completions of the line of ``%chat``, or of the last line below ``%%chat``."""
        at_end = magic_line.line_end(line)
        if body is None and at_end.option is not None:
            return at_end.word, self._of_option(at_end.option, at_end.word)
        if body is None and not at_end.in_prompt:
            return at_end.word, _starting(at_end.word, options.flags_starting(at_end.word))
        # Braces that were opened in an earlier line are LaTeX, or text.
        _, opened, expression = (line if body is None else body).rpartition("{{")
        if not opened or "}}" in expression or self._is_raw(line):
            return "", []
        return self._in_braces(expression.lstrip())

    def _is_raw(self, line: str) -> bool:
        """Return whether the line of a question has braces sent as typed."""
        with swallowed(ValueError):
            settings = self._kernel.settings.trait_values(config=True)
            return magic_line.parse_line(line, settings).raw
        return False

    def _of_command(self, command: Command, line: str) -> tuple[str, list[SimpleCompletion]]:
        """Return the completions of the line of another command than ``%chat``."""
        flags = {flag: option for option in command.options for flag in option.flags}
        *words, last = re.split(r"\s+", line)
        if last.startswith("-"):
            return last, _starting(last, flags)
        option = flags.get(words[-1])
        if option is not None and option.metavar is not None:
            return last, self._of_option(option, last)
        # A file's name may have spaces, in quotes or without.
        fragment = re.sub(r"^.*(?<!\S)--\S*\s", "", line).lstrip().lstrip("\"'")
        offered = self._values(command.words, fragment)
        return fragment, [*offered, *_starting("", () if fragment else flags)]

    def _of_option(self, option: Option, word: str) -> list[SimpleCompletion]:
        """Return the values of an option that begin with a word."""
        suggested = () if option.kind is None else option.kind.suggested
        return self._values([*suggested, option.metavar or ""], word)

    def _values(self, offered: Iterable[str], fragment: str) -> list[SimpleCompletion]:
        """Return the offered values that begin with the fragment (:meth:`_all`)."""
        texts = (text for word in offered for text in self._all(word, fragment))
        return _starting(fragment, (text for text in texts if _is_harmless(text, fragment)))

    def _all(self, word: str, fragment: str) -> Iterable[str]:
        """Return the values of a word in capitals; any other word stands for itself."""
        if word == "FILE":
            return _files(fragment)
        conversation = self._kernel.session.conversation
        names = self._shell.user_ns.keys() - self._shell.user_ns_hidden.keys()
        listed: dict[str, Iterable[str]] = {
            "NAME": sorted(name for name in names if name[0] != "_"),
            "TURN": map(str, range(1, len(conversation) + 1)),
            "MODEL": self._kernel.known_models(),
            "SERVER": _servers() if word == "SERVER" else (),
            "THREAD": conversation.threads,
            "CELL": self._kernel.background.cells,
        }
        return listed.get(word, () if word.isupper() else (word,))

    def _in_braces(self, expression: str) -> tuple[str, list[SimpleCompletion]]:
        """Return the completions of an expression, as IPython completes it in a cell of its own."""
        if not expression:
            return "", self._values(["NAME"], "")
        with provisionalcompleter():
            completions = list(
                rectify_completions(
                    expression, self._completer.completions(expression, len(expression))
                )
            )
        begin = completions[0].start if completions else len(expression)
        return expression[begin:], [
            SimpleCompletion(completion.text, type=completion.type)
            for completion in completions
            if "%" not in completion.text
        ]


def _servers() -> list[str]:
    """Return the names of the known servers; none if the user's file of them cannot be read."""
    with swallowed(InputError):
        return list(servers.known_servers())
    return []


def _is_harmless(name: str, fragment: str) -> bool:
    """Return whether a name is nothing but a name when it stands in a line.

    A server lists its models, and anybody may have named a file.

    Args:
        name: the name.
        fragment: its beginning, as typed; only there it may hold blanks.
    """
    # No backslash ends the line, except where it divides the folders of a path.
    hazards = name.replace(os.sep, "/").count("\\") or re.search(_HAZARD, name)
    has_blank = " " in name.removeprefix(fragment)
    return name.isprintable() and not (hazards or has_blank or name.startswith("-"))


def _starting(fragment: str, texts: Iterable[str]) -> list[SimpleCompletion]:
    """Return the texts that start with the fragment, as completions."""
    return [SimpleCompletion(text) for text in texts if text.startswith(fragment)]


def _files(fragment: str) -> list[str]:
    """Return the paths that begin with the fragment; the path of a folder ends in a slash."""
    typed = os.path.expanduser(fragment)  # noqa: PTH111 - the fragment stays as it is typed
    return sorted(
        f"{fragment}{path[len(typed) :]}{'/' if Path(path).is_dir() else ''}"
        for path in glob.glob(f"{glob.escape(typed)}*")  # noqa: PTH207
    )
