r"""Syntax of a formula: whether MathJax can typeset it, or would show an error as a red box.

An error is what MathJax of JupyterLab 4.6 finds: an argument that is missing, a second
exponent, what is opened and not closed, an ``&`` outside of a table. What is rare and takes
much to check is refused as well. Which commands there may be at all is said in
:mod:`chatmagic.render.formulas`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN: Final = re.compile(r"\s*(\\[A-Za-z]+|\\.|[^\s\\])", re.DOTALL)
_LETTERS: Final = re.compile(r"\\[A-Za-z]+\Z")

TABLE: Final[dict[str, Any]] = tomllib.loads(
    files("chatmagic.render").joinpath("formulas.toml").read_text("utf-8")
)
COMMANDS: Final[dict[str, str]] = {
    name: kinds for kinds, names in TABLE["commands"].items() for name in names.split()
}
"""Commands that a page may typeset, and what follows each, as ``formulas.toml`` explains."""

_LENGTH: Final = re.compile(
    r"\s*(\{)?\s*[-+]?\s*(?:\d+(?:[.,]\d*)?|[.,]\d+)\s*(?:p[tcx]|mu|[cm]m|e[mx]|in)\s*(?(1)\})"
)
_ROW_SKIP: Final = re.compile(rf"\s*\*?\s*(?:\[\s*{_LENGTH.pattern}\s*\]|(?!\s*\[))")
_BRACKETS: Final = re.compile(r"\s*\[(?:[^\[\]{}]|\{[^\[\]{}]*\})*\]")
COLOUR: Final = re.compile(
    r"\s*(?:\[RGB\]\s*\{\s*\d{1,3}(?:\s*,\s*\d{1,3}){2}\s*\}|\[HTML\]\s*\{[\dA-Fa-f]{6}\}"
    r"|\{[A-Za-z\d#]+\})"
)
_NAME: Final = re.compile(r"\s*\{([A-Za-z]+\*?)\}")
_FORMULAS_IN_TEXT: Final = re.compile(r"\$([^$]*)\$|\\\((.*?)\\\)", re.DOTALL)
_BARE: Final = re.compile(r"(?<!\\)(?:\\\\)*[_^&#$]|\\(?!text|quad|qquad|ldots|[^A-Za-z])")
_DELIMITERS: Final = frozenset("()[]/|.<>") | {
    f"\\{name}" for name in ("{", "}", "|", *TABLE["delimiters"].split())
}
_OPERATORS: Final = frozenset(TABLE["operators"].split())
_HALVES: Final = frozenset(["over", "atop", "brace", "brack", "choose"])
_NO_ARGUMENT: Final = frozenset(["}", "&", "^", "_", "#", "\\\\"]) | {
    f"\\{name}"
    for name in (
        *("left", "right", "begin", "end", "middle", "limits", "nolimits", "cr", "hline"),
        *("hdashline", "tag", *_HALVES),
    )
}
# Environments that stand by themselves, those of them without columns, and those with tags.
_WHOLE: Final = re.compile(
    r"(?:equation|eqnarray|align|flalign|gather|multline|x?x?alignat)\*?|(?:sub)?numcases"
)
_ONE_COLUMN: Final = re.compile(r"(?:equation|multline)\*?|multlined")


class _RefusedError(Exception):
    """MathJax would show an error."""


@dataclass(slots=True)
class _Level:
    r"""One level of nesting, and what its last atom has already.

    Args:
        kind: ``{``, ``left``, an environment's name, or nothing for the formula itself.
        scripts: of ``^``, ``_`` and ``'`` those that the last atom has.
        last: the last atom.
        half: whether a fraction in the manner of ``\over`` was begun.
        tagged: whether this row has a tag.
        fresh: whether the row has only begun.
    """

    kind: str = ""
    scripts: set[str] = field(default_factory=set)
    last: str = ""
    half: bool = False
    tagged: bool = False
    fresh: bool = True

    def next_atom(self, name: str = "") -> None:
        """Begin an atom."""
        self.scripts, self.last = set(), name


def has_no_error(tex: str) -> bool:
    """Return whether MathJax would typeset a formula without an error.

    Args:
        tex: the formula without its delimiters, of commands that MathJax knows.
    """
    try:
        _Reader(tex).read()
    except (_RefusedError, RecursionError):
        return False
    return True


class _Reader:
    """Parser of a formula; it raises at the first thing that MathJax would refuse."""

    def __init__(self, tex: str) -> None:
        self._tex = tex
        self._at = 0
        self._levels = [_Level()]

    def read(self) -> None:
        """Read all of it.

        Raises:
            _RefusedError: MathJax would show an error.
        """
        while self._peek():
            self._take(self._next())
        _need(len(self._levels) == 1 and not self._tex[self._at :].strip())

    def _peek(self) -> str:
        """Return the next word; empty at the end."""
        match = _TOKEN.match(self._tex, self._at)
        return "" if match is None else match[1]

    def _next(self) -> str:
        """Take the next word, which must be there."""
        return self._pattern(_TOKEN)[1]

    def _pattern(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._tex, self._at)
        if match is None:
            raise _RefusedError
        self._at = match.end()
        return match

    def _take(self, word: str) -> None:
        """Take one token of a list of atoms, with what belongs to it."""
        level = self._levels[-1]
        name = _name(word)
        if word in {"^", "_"}:
            _need(word not in level.scripts)
            level.scripts.add(word)
            self._argument(script=True)
        elif word == "'":
            _need(not level.scripts & {"^", "'"} or self._tex[self._at - 2] == "'")
            level.scripts.add("'")
        elif word in {"&", "\\\\", "\\cr", "\\newline"}:
            self._separate(word, level)
        elif name in {"limits", "nolimits"}:
            _need(level.last in _OPERATORS)
        elif name in {"hline", "hdashline"}:
            _need(level.fresh and _tabular(level.kind))
        elif name == "tag":
            _need(not level.tagged and (not level.kind or _WHOLE.fullmatch(level.kind) is not None))
            level.tagged = True
            self._arguments(name)
        elif name in _HALVES:
            _need(not level.half)
            level.half = True
            level.next_atom()
        else:
            level.fresh = False
            self._atom(word, name)

    def _separate(self, word: str, level: _Level) -> None:
        """Begin a cell or a row."""
        table = _tabular(level.kind)
        if word == "&":
            _need(table and _ONE_COLUMN.fullmatch(level.kind) is None)
            level.fresh = False
        else:
            _need(word != "\\cr" or table)
            if word == "\\\\":
                self._pattern(_ROW_SKIP)
            level.fresh, level.tagged = True, False
        level.half = False
        level.next_atom()

    def _atom(self, word: str, name: str) -> None:
        """Take an atom with its arguments."""
        _need(word != "#")
        if word == "{":
            self._levels.append(_Level("{"))
        elif word == "}":
            self._close("{")
        elif name == "left":
            self._arguments(name)
            self._levels.append(_Level("left"))
        elif name == "right":
            self._arguments(name)
            self._close("left")
        elif name == "middle":
            _need(self._levels[-1].kind == "left")
            self._arguments(name)
            self._levels[-1].next_atom()
        elif name == "begin":
            self._begin()
        elif name == "end":
            self._close(self._pattern(_NAME)[1])
        else:
            self._arguments(name)
            self._levels[-1].next_atom(name)

    def _arguments(self, name: str) -> None:
        """Take what follows a command."""
        take: dict[str, Callable[[], object]] = {
            "m": self._argument,
            "o": self._optional,
            "w": self._words,
            "r": self._raw,
            "l": lambda: self._pattern(_LENGTH),
            "c": lambda: self._pattern(COLOUR),
            "d": lambda: _need(self._next() in _DELIMITERS),
            "s": lambda: self._peek() == "*" and self._next(),
        }
        _need(not name or name in COMMANDS)
        for kind in COMMANDS.get(name, ""):
            take[kind]()

    def _optional(self) -> None:
        """Take an optional argument."""
        if self._peek() == "[":
            self._pattern(_BRACKETS)

    def _argument(self, *, script: bool = False) -> None:
        """Take a group, or one atom."""
        word = self._next()
        _need(word not in _NO_ARGUMENT and not (script and word == "'"))
        if word != "{":
            # An argument is the command alone; an exponent is what the command makes.
            _need(script or not COMMANDS.get(_name(word)))
            self._arguments(_name(word))
            return
        depth = len(self._levels)
        self._levels.append(_Level("{"))
        while len(self._levels) > depth:
            inner = self._next()
            if inner == "}" and len(self._levels) == depth + 1:
                self._levels.pop()
            else:
                self._take(inner)

    def _begin(self) -> None:
        """Begin an environment."""
        name = self._pattern(_NAME)[1]
        if _WHOLE.fullmatch(name):
            _need(len(self._levels) == 1)
        if name.rstrip("*") in {"alignat", "xalignat", "xxalignat", "alignedat"} or (
            name in {"array", "subarray", "numcases", "subnumcases"}
        ):
            self._raw()
        else:
            self._optional()
        self._levels.append(_Level(name))

    def _close(self, kind: str) -> None:
        """End a level."""
        _need(len(self._levels) > 1 and self._levels.pop().kind == kind)
        self._levels[-1].next_atom()

    def _raw(self) -> str:
        """Take a group as it is, or one word."""
        if self._peek() != "{":
            self._optional()
        word = self._next()
        _need(word != "}")
        start, depth = self._at, 1
        while word == "{" and depth:
            depth += {"{": 1, "}": -1}.get(self._next(), 0)
        return self._tex[start : self._at - 1] if word == "{" else word

    def _words(self) -> None:
        """Take a group of words, with formulas among them."""
        words = self._raw()
        for match in _FORMULAS_IN_TEXT.finditer(words):
            _need(has_no_error(match[1] or match[2] or ""))
        _need(not _BARE.search(_FORMULAS_IN_TEXT.sub("", words)))


def _tabular(kind: str) -> bool:
    return kind not in {"", "{", "left"}


def _name(word: str) -> str:
    """Return a command's name; nothing for what is none, or is a sign."""
    return word[1:] if _LETTERS.match(word) else ""


def _need(good: bool) -> None:
    if not good:
        raise _RefusedError
