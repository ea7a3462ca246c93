"""Completions in a cell that asks: options, values, turns, files and names.

The options are those of :mod:`chatmagic.conversation.options`
and, for the other commands, of the help of their magics.
"""

from __future__ import annotations

import inspect
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from IPython.core.completer import (
    SimpleCompletion,
    provisionalcompleter,
    rectify_completions,
)

from chatmagic._log import swallowed
from chatmagic.conversation import chat_line, options
from chatmagic.conversation.question import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.conversation.conversation import Conversation
    from chatmagic.conversation.options import Option
    from chatmagic.jupyter.settings import KernelSettings

_ASKING: Final = frozenset({"chat", "chat_fix"})
"""The magics whose line has the options of ``%chat`` and a prompt."""
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
        magic: the magic's name.
        line: what stands after it, up to the cursor or to the line's end.
        body: what of the cell's body stands before the cursor; ``None`` on the magic's line.
    """

    magic: str
    line: str
    body: str | None = None


@dataclass(slots=True)
class _Usage:
    """Arguments that a command takes, as the help of its magic shows them."""

    words: list[str] = field(default_factory=list)
    flags: dict[str, list[str]] = field(default_factory=dict)


class Completions:
    """Completions for the magics of one shell.

    Args:
        shell: the shell.
        magics: the functions of its magics, by kind (``line``, ``cell``) and name.
        settings: their settings.
        conversation: returns the conversation; ``None`` where nothing was used yet.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        magics: Mapping[str, Mapping[str, Any]],
        settings: KernelSettings,
        conversation: Callable[[], Conversation | None],
    ) -> None:
        """Look up nothing yet."""
        self._shell = shell
        self._magics = magics
        self._settings = settings
        self._conversation = conversation
        self._completer: Any = shell.Completer

    def of(self, context: CompletionContext) -> SimpleMatcherResult:
        """Return the completions of a place in a cell that asks; none, elsewhere."""
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
        """Return the place at the end of these lines; ``None`` where no magic of ours is typed."""
        first = first_line(lines) or 0
        is_last = first == len(lines) - 1
        cell = re.match(_CELL, lines[first])
        if cell is not None and cell["magic"] in self._magics["cell"]:
            if is_last:
                return None if cell["line"] is None else _Typed(cell["magic"], cell["line"])
            return _Typed(cell["magic"], cell["line"] or "", "\n".join(lines[first + 1 :]))
        line = re.match(_LINE, lines[-1])
        if line is not None and line["magic"] in self._magics["line"]:
            return _Typed(line["magic"], line["line"])
        return None

    def _offered(self, typed: _Typed) -> tuple[str, list[SimpleCompletion]]:
        """Return the end of the text that completions take the place of, and the completions."""
        if typed.magic not in _ASKING:
            return self._of_command(typed) if typed.body is None else ("", [])
        at_end = chat_line.end(typed.line)
        if typed.body is None and not at_end.in_prompt:
            if at_end.option is not None:
                return at_end.word, self._values(at_end.option, at_end.word)
            return at_end.word, _kind("param", options.flags(at_end.word))
        with swallowed(ValueError):
            if chat_line.parse(typed.line, self._settings.trait_values(config=True)).raw:
                return "", []
        text = f"{typed.line}\n{typed.body or ''}" if typed.body is not None else typed.line
        _, opened, expression = text.rpartition("{{")
        # Braces that were opened in an earlier line are LaTeX's, or no one's.
        if not opened or "}}" in expression or "\n" in expression:
            return "", []
        return self._in_braces(expression.lstrip())

    def _of_command(self, typed: _Typed) -> tuple[str, list[SimpleCompletion]]:
        """Return the completions of a command's line."""
        usage = self._usage(typed.magic)
        *words, last = ["", *re.findall(r"\S+", typed.line)]
        if typed.line[-1:].isspace():
            words, last = [*words, last], ""
        if last.startswith("-"):
            return last, _kind("param", _beginning(last, usage.flags))
        if values := usage.flags.get(words[-1] if words else ""):
            return last, _named(last, values)
        # A file's name may have spaces, in quotes or without.
        fragment = re.sub(r"^.*(?<!\S)--\S*\s", "", typed.line).lstrip().lstrip("\"'")
        takes_turn = any(word.isdecimal() for word in usage.words)
        count = len(self._conversation() or ()) if takes_turn else 0
        turns = map(str, range(1, count + 1))
        return fragment, [
            *_named(fragment, usage.words),
            *_kind("turn", _beginning(fragment, turns)),
            *_kind("param", () if fragment else usage.flags),
        ]

    def _usage(self, magic: str) -> _Usage:
        """Return what the help of a command shows between double backquotes."""
        usage = _Usage()
        command = self._magics["line"].get(magic) or self._magics["cell"][magic]
        for shown in re.findall(r"``(.*?)``", inspect.getdoc(command) or "", re.DOTALL):
            is_command, flag = re.match(rf"%%?{magic}(?!\w)", shown), None
            if not is_command and shown.startswith("%"):
                continue
            for word in shown.split()[1 if is_command else 0 :]:
                if word.startswith("--"):
                    flag = usage.flags.setdefault(word, [])
                elif flag is not None:
                    flag.append(word)
                elif is_command:
                    usage.words.append(word)
        return usage

    def _values(self, option: Option, word: str) -> list[SimpleCompletion]:
        """Return the values of an option that begin with a word."""
        if option.metavar == "FILE":
            return _files(word)
        if option.metavar == "NAME":
            return self._names(word)
        names: Iterable[str] = ()
        if option.metavar == "THREAD" and (conversation := self._conversation()) is not None:
            names = conversation.threads
        elif option.metavar == "LABEL" and (notes := self._settings.notes) is not None:
            names = dict.fromkeys(name for run in notes.runs.values() for name in run.names)
        return _kind("value", _beginning(word, [*option.suggested, *names]))

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


def _named(fragment: str, words: Iterable[str]) -> list[SimpleCompletion]:
    """Return what begins so of the words that a help shows, and of the files, for a ``FILE``."""
    literals = [word for word in words if word.isalpha() and word.islower()]
    takes_file = any(word.startswith("FILE") for word in words)
    literals = _beginning(fragment, literals)
    return [*_kind("value", literals), *(_files(fragment) if takes_file else ())]


def _files(fragment: str) -> list[SimpleCompletion]:
    """Return the paths that begin so; a folder's ends in a slash."""
    name = os.path.basename(fragment)  # noqa: PTH119 - the fragment stays as it is typed
    folder = fragment[: len(fragment) - len(name)]
    paths = []
    with swallowed(OSError), os.scandir(os.path.expanduser(folder) or ".") as entries:  # noqa: PTH111
        for entry in entries:
            is_hidden = entry.name.startswith(".") and not name
            if entry.name.startswith(name) and not is_hidden:
                paths.append(f"{folder}{entry.name}{'/' if entry.is_dir() else ''}")
    return _kind("path", sorted(paths))
