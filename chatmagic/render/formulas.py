r"""Allow-list of formulas: which formulas of untrusted text a page may typeset.

A page's typesetter is a language of its own: it makes links, styles, definitions and files,
draws one thing over another, and can be kept busy for minutes. So a command is listed in
``formulas.toml``, or its formula is shown as it was written.

So is a formula of which the typesetter would show an error as a red box. An error is what
MathJax of JupyterLab 4.6 finds: an argument that is missing, a second exponent, what is opened
and not closed, an ``&`` outside of a table. What is rare and takes much to check is refused as
well.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TABLE: Final[dict[str, Any]] = tomllib.loads(
    files("chatmagic.render").joinpath("formulas.toml").read_text("utf-8")
)


def _kinds(section: Mapping[str, str]) -> dict[str, str]:
    return {name: kinds for kinds, names in section.items() for name in names.split()}


# What follows each command and each environment's name, as ``formulas.toml`` explains.
_COMMANDS: Final = _kinds(_TABLE["commands"])
_ENVIRONMENTS: Final = _kinds(_TABLE["environments"])

_DEEPEST: Final = 31
"""Levels of nesting with the formula's own; 100 fractions in one another crash a browser's tab."""

_COMMAND: Final = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_COMMENT: Final = re.compile(r"(?<!\\)(?:\\\\)*%")
# A length that is negative, or a page of nothing.
_FAR: Final = re.compile(
    r"(?:-\s*(?:\d+(?:[.,]\d*)?|[.,]\d+)|\d{3}(?:[.,]\d*)?)\s*(?:p[tcx]|mu|[cm]m|e[mx]|in)"
)
_LENGTHS: Final = re.compile(
    r"\\(?:rule|[hm]space|m?kern|[hm]skip|genfrac)(?![A-Za-z])|\\(?:\\|cr|newline)\s*\*?\s*\["
)
_BACK: Final = frozenset(["!", "negthinspace", "negmedspace", "negthickspace"])
_AT_MOST: Final = (
    (6, _BACK),  # each takes a formula about 0.2 em over what precedes it
    # These draw their argument twice; 25 in one another crash a tab.
    (4, frozenset(["centernot", "overbracket", "pmb", "underbracket"])),
    # A size inside another multiplies: twenty are a hundred pages of nothing.
    (3, frozenset(["large", "Large", "LARGE", "huge", "Huge"])),
    (1, frozenset(["tag"])),
)

_TOKEN: Final = re.compile(r"\s*(\\[A-Za-z]+|\\.|'+|[^\s\\])", re.DOTALL)
_LENGTH: Final = re.compile(
    r"\s*(\{)?\s*[-+]?\s*(?:\d+(?:[.,]\d*)?|[.,]\d+)\s*(?:p[tcx]|mu|[cm]m|e[mx]|in)\s*(?(1)\})"
)
_ROW_SKIP: Final = re.compile(rf"\s*\*?\s*(?:\[\s*{_LENGTH.pattern}\s*\]|(?!\s*\[))")
_COLOUR: Final = re.compile(r"\s*(?:\[HTML\]\s*\{[\dA-Fa-f]{6}\}|\{[A-Za-z\d#]+\})")
_NAME: Final = re.compile(r"\s*\{([A-Za-z]+\*?)\}")
_COLUMNS: Final = re.compile(r"\s*\{(?:[A-Za-z|:\s]|@\{\})*\}")
_COUNT: Final = re.compile(r"\s*\{\d\d?\}")
_CHEMISTRY: Final = re.compile(
    r"\s*\{(?:[^{}\\]|\\[^{}]|\{(?:[^{}\\]|\\[^{}]|\{(?:[^{}\\]|\\[^{}])*\})*\})*\}"
)
_DELIMITERS: Final = frozenset("()[]/|.<>") | {
    f"\\{name}" for name in ("{", "}", "|", *_TABLE["delimiters"].split())
}
_OPERATORS: Final = frozenset(_TABLE["operators"].split())
_NO_SCRIPT: Final = frozenset("pfrt|b<e>y")  # of these kinds no exponent is
_ROW_STARTS: Final = frozenset(["begin", "\\\\", "cr", "newline", "hline", "hdashline"])


def goes_back(tex: str) -> bool:
    """Return whether a formula has negative spaces, and so may be narrower than nothing."""
    return any(name in _BACK for name in _COMMAND.findall(tex))


def without_going_back(tex: str) -> str:
    """Return a formula without its negative spaces."""
    return _COMMAND.sub(lambda match: "{}" if match[1] in _BACK else match[0], tex)


def typesettable(tex: str) -> bool:
    """Return whether a page may typeset a formula.

    Such a formula keeps to its own place, takes no long time, and has no error.
    """
    names: list[str] = _COMMAND.findall(tex)
    return (
        all(name in _COMMANDS or not (name.isascii() and name.isalpha()) for name in names)
        and all(sum(name in group for name in names) <= most for most, group in _AT_MOST)
        and not (_LENGTHS.search(tex) and _FAR.search(tex))
        and not _COMMENT.search(tex)  # it would hide a brace
        and _Reader(tex).has_no_error()
    )


class _RefusedError(Exception):
    """MathJax would show an error, or the formula is nested too deeply."""


@dataclass(slots=True)
class _Level:
    r"""One level of nesting, and what its last atom has already.

    Args:
        kind: ``{``, ``[``, ``$``, ``left``, ``text``, an environment's name, or nothing for the
            formula itself.
        last: the last atom; a command without its backslash.
        scripts: of ``^``, ``_`` and ``'`` those that the last atom has.
    """

    kind: str
    last: str = ""
    scripts: set[str] = field(default_factory=set)


class _Reader:
    """Parser of a formula; it raises at the first thing that is refused.

    Args:
        tex: the formula without its delimiters, of commands that are on the list.
    """

    def __init__(self, tex: str) -> None:
        self._tex = tex
        self._at = 0
        self._levels = [_Level("")]
        self._styles = 0  # each is a level that no word closes
        self._take_kind: dict[str, Callable[[], object]] = {
            "m": self._argument,
            "o": self._optional,
            "w": self._words,
            "h": self._chemistry,
            "l": lambda: self._pattern(_LENGTH),
            "c": lambda: self._pattern(_COLOUR),
            "d": lambda: _need(self._next() in _DELIMITERS),
            "s": lambda: self._peek() == "*" and self._next(),
            "a": lambda: self._pattern(_COLUMNS),
            "n": lambda: self._pattern(_COUNT),
            "u": lambda: _need(len(self._levels) == 1),
            "1": lambda: None,
            "p": lambda: _need(self._level.last in _OPERATORS and not self._level.scripts),
            "f": lambda: _need(self._in_table() and self._level.last in _ROW_STARTS),
            "r": lambda: _need(self._in_table()),
            "t": lambda: _need("u" in _ENVIRONMENTS.get(self._level.kind or "align", "")),
            "|": lambda: _need(self._level.kind == "left"),
            "b": self._begin,
            "<": lambda: self._open("left"),
            "e": lambda: self._close(self._pattern(_NAME)[1]),
            ">": lambda: self._close("left"),
            "y": self._style,
        }

    def has_no_error(self) -> bool:
        """Return whether MathJax would typeset the formula without an error."""
        try:
            while self._peek():
                self._take(self._next())
        except _RefusedError:
            return False
        return len(self._levels) == 1 and not self._tex[self._at :].strip()

    @property
    def _level(self) -> _Level:
        return self._levels[-1]

    def _in_table(self) -> bool:
        return self._level.kind in _ENVIRONMENTS

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

    def _open(self, kind: str) -> None:
        """Begin a level; an optional argument ends at its first bracket outside of braces."""
        _need(self._level.kind != "[" or kind in {"{", "text"})
        self._levels.append(_Level(kind))

    def _style(self) -> None:
        """Begin a style for all that follows."""
        self._styles += 1

    def _close(self, kind: str) -> None:
        """End a level."""
        _need(self._levels.pop().kind == kind)

    def _group(self, kind: str, end: str) -> None:
        """Take a level up to the word that ends it."""
        self._open(kind)
        depth = len(self._levels)
        while (word := self._next()) != end or len(self._levels) > depth:
            self._take(word)
        self._levels.pop()

    def _take(self, word: str) -> None:
        """Take one word with what belongs to it."""
        _need(len(self._levels) + self._styles <= _DEEPEST)
        level, name = self._level, _name(word)
        if level.kind == "text":
            self._take_text(word, name)
        elif word[0] in "^_'":
            _need(word[0] not in level.scripts and not (word[0] == "'" and "^" in level.scripts))
            level.scripts.add(word[0])
            if word[0] != "'":
                self._argument(script=True)
        else:
            _need(word != "#")
            if word == "{":
                self._open(word)
            elif word == "}":
                self._close("{")
            elif word == "&":
                _need("1" not in _ENVIRONMENTS.get(level.kind, "1"))
            elif word == "\\\\":
                self._pattern(_ROW_SKIP)
            self._arguments(name)
            self._level.last, self._level.scripts = name or word, set()

    def _take_text(self, word: str, name: str) -> None:
        """Take one word of a text, which may have formulas in it."""
        if word in {"$", "\\("}:
            self._group("$", word.replace("(", ")"))
        elif word == "{":
            self._group("text", "}")
        elif name.startswith("text"):
            _need(_COMMANDS[name] in {"", "w"})
            self._arguments(name)
        else:
            _need(word not in set("^_&#") and name in {"", "quad", "qquad", "ldots"})

    def _arguments(self, name: str) -> None:
        """Take what follows a command."""
        for kind in _COMMANDS.get(name, ""):
            self._take_kind[kind]()

    def _argument(self, *, script: bool = False) -> None:
        """Take a group, or one atom."""
        word = self._next()
        if word == "{":
            self._group("{", "}")
            return
        name = _name(word)
        _need(word[0] not in "}^_&#'" and word != "\\\\")
        # An argument is the command alone; an exponent is what the command makes.
        _need(not _COMMANDS.get(name) or (script and not set(_COMMANDS[name]) & _NO_SCRIPT))
        self._arguments(name)

    def _optional(self) -> None:
        """Take an optional argument."""
        if self._peek() == "[":
            self._next()
            self._group("[", "]")

    def _words(self) -> None:
        """Take a group of words."""
        _need(self._next() == "{")
        self._group("text", "}")

    def _chemistry(self) -> None:
        """Take a chemical formula, which has a syntax of its own."""
        formula = self._pattern(_CHEMISTRY)[0]
        _need(all(_COMMANDS.get(name, "") in {"", "w"} for name in _COMMAND.findall(formula)))

    def _begin(self) -> None:
        """Begin an environment."""
        name = self._pattern(_NAME)[1]
        _need(name in _ENVIRONMENTS)
        for kind in _ENVIRONMENTS[name]:
            self._take_kind[kind]()
        self._open(name)


def _name(word: str) -> str:
    """Return a command's name; nothing for what is none, or is a sign."""
    return word[1:] if word[1:].isalpha() else ""


def _need(good: bool) -> None:
    if not good:
        raise _RefusedError
