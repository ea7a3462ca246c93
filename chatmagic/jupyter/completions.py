"""Tab in a cell that asks: options, values, turns, files and names, as commands declare them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
from chatmagic.conversation import options
from chatmagic.conversation.chat_cell import first_line
from chatmagic.conversation.options import Option
from chatmagic.jupyter.commands.command import Command
from chatmagic.jupyter.kernel import Kernel

_PRIORITY: Final = 1_000
_CELL: Final = r"%%(?P<magic>chat\w*)(?P<line>[ \t].*)?$"
_LINE: Final = r"\s*(?:[^\W\d]\w*[ \t]*=[ \t]*)?%(?P<magic>chat\w*)(?P<line>[ \t].*)$"


class _Silence(tuple[SimpleCompletion, ...]):
    """Completions of which there are none, though their length is not 0.

    IPython does not let a matcher without completions suppress the others, and it asks for the
    length alone (:func:`IPython.core.completer.has_any_completions`, 8.6 to 9.18).
    """

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[SimpleCompletion]:
        return iter(())


@dataclass(frozen=True, slots=True)
class _Typed:
    """Place in a cell that asks.

    Args:
        command: the command.
        line: the text after it, up to the cursor or to the line's end.
        body: the part of the cell's body before the cursor; ``None`` on the magic's line.
    """

    command: Command
    line: str
    body: str | None = None


class Completions:
    """Completions for the cells of one shell that ask, as one of IPython's matchers.

    IPython asks its matchers in the order of their priority, and the first that suppresses the
    others decides. This one decides wherever a line or a body of a command is typed, so that prose
    is not completed as code.

    Args:
        shell: the shell.
        commands: the commands.
        kernel: the kernel that they are run in.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        commands: Iterable[Command],
        kernel: Kernel,
    ) -> None:
        """Add the matcher to the shell's."""
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
        """Return the completions of a place in a cell that asks; none, elsewhere.

        Args:
            context: the cell's text and the cursor's place.
        """
        lines = context.full_text.split("\n")[: context.cursor_line + 1]
        lines[-1] = lines[-1][: context.cursor_position]
        typed = self._typed(lines)
        if typed is None:
            return {"completions": []}
        fragment, offered = self._offered(typed)
        return {
            "completions": offered or _Silence(),
            "matched_fragment": fragment if offered else "",
            "suppress": True,
            "ordered": True,
        }

    def _typed(self, lines: list[str]) -> _Typed | None:
        """Return the place at the end of these lines; ``None`` where no command is typed."""
        first = first_line(lines) or 0
        cell = re.match(_CELL, lines[first])
        command = None if cell is None else self._commands.get(cell["magic"])
        if cell is not None and command is not None and command.has_body:
            if first < len(lines) - 1:
                return _Typed(command, cell["line"] or "", "\n".join(lines[first + 1 :]))
            return None if cell["line"] is None else _Typed(command, cell["line"])
        line = re.match(_LINE, lines[-1])
        command = None if line is None else self._commands.get(line["magic"])
        return None if line is None or command is None else _Typed(command, line["line"])

    def _offered(self, typed: _Typed) -> tuple[str, list[SimpleCompletion]]:
        """Return the end of the text that completions take the place of, and the completions."""
        if not typed.command.is_prompt:
            return self._of_command(typed) if typed.body is None else ("", [])
        at_end = options.line_end(typed.line)
        if typed.body is None and not at_end.in_prompt:
            if at_end.option is not None:
                return at_end.word, self._of_option(at_end.option, at_end.word)
            return at_end.word, _kind("param", options.flags_starting(at_end.word))
        with swallowed(ValueError):
            if options.parse_line(typed.line, self._kernel.settings.trait_values(config=True)).raw:
                return "", []
        text = f"{typed.line}\n{typed.body or ''}" if typed.body is not None else typed.line
        _, opened, expression = text.rpartition("{{")
        # Braces that were opened in an earlier line are LaTeX's, or no one's.
        if not opened or "}}" in expression or "\n" in expression:
            return "", []
        return self._in_braces(expression.lstrip())

    def _of_command(self, typed: _Typed) -> tuple[str, list[SimpleCompletion]]:
        """Return the completions of the line of another command than ``%chat``."""
        flags = {flag: option for option in typed.command.options for flag in option.flags}
        *words, last = ["", *typed.line.split()]
        if typed.line[-1:].isspace():
            words, last = [*words, last], ""
        if last.startswith("-"):
            return last, _kind("param", _beginning(last, flags))
        option = flags.get(words[-1]) if words else None
        if option is not None and option.metavar is not None:
            return last, self._of_option(option, last)
        # A file's name may have spaces, in quotes or without.
        fragment = re.sub(r"^.*(?<!\S)--\S*\s", "", typed.line).lstrip().lstrip("\"'")
        return fragment, [
            *self._values(typed.command.words, fragment),
            *_kind("param", () if fragment else flags),
        ]

    def _of_option(self, option: Option, word: str) -> list[SimpleCompletion]:
        """Return the values of an option that begin with a word."""
        suggested = () if option.kind is None else option.kind.suggested
        return self._values([*suggested, option.metavar or ""], word)

    def _values(self, offered: Iterable[str], fragment: str) -> list[SimpleCompletion]:
        """Return the offered values that begin so: words as they are, or all of a kind."""
        values: list[SimpleCompletion] = []
        for word in offered:
            if word == "FILE":
                values += _files(fragment)
            elif word == "NAME":
                values += self._names(fragment)
            else:
                values += _kind("value", _beginning(fragment, self._all(word)))
        return values

    def _all(self, word: str) -> Iterable[str]:
        """Return all that a word stands for."""
        conversation = self._kernel.session.conversation
        if word == "TURN":
            return map(str, range(1, len(conversation) + 1))
        if word == "MODEL":
            return tuple(self._kernel.settings.listed_models)
        if word == "THREAD":
            return conversation.threads
        return () if word.isupper() else (word,)

    def _in_braces(self, expression: str) -> tuple[str, list[SimpleCompletion]]:
        """Return the completions of an expression, as IPython completes it in a cell of its own."""
        if not expression:
            return "", self._names("")
        with provisionalcompleter():
            completions = list(
                rectify_completions(
                    expression, self._completer.completions(expression, len(expression))
                )
            )
        begin = completions[0].start if completions else len(expression)
        return expression[begin:], [
            SimpleCompletion(each.text, type=each.type)
            for each in completions
            if "%" not in each.text
        ]

    def _names(self, beginning: str) -> list[SimpleCompletion]:
        """Return the user's names that begin so."""
        hidden = self._shell.user_ns_hidden
        names = [name for name in self._shell.user_ns if name not in hidden]
        public = sorted(name for name in _beginning(beginning, names) if name[0] != "_")
        return _kind("instance", public)


def _beginning(fragment: str, texts: Iterable[str]) -> list[str]:
    return [text for text in texts if text.startswith(fragment)]


def _kind(kind: str, texts: Iterable[str]) -> list[SimpleCompletion]:
    """Return completions of a kind, which a page shows beside them."""
    return [SimpleCompletion(text, type=kind) for text in texts]


def _files(fragment: str) -> list[SimpleCompletion]:
    """Return the paths that begin so; a folder's ends in a slash."""
    typed = os.path.expanduser(fragment)  # noqa: PTH111 - the fragment stays as it is typed
    paths = [
        f"{fragment}{path[len(typed) :]}{'/' if Path(path).is_dir() else ''}"
        for path in glob.glob(f"{glob.escape(typed)}*")  # noqa: PTH207
    ]
    return _kind("path", sorted(paths))
