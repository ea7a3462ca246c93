r"""Allow-list of formulas: which formulas of untrusted text a page may typeset.

A page's typesetter reads a language of its own. That language makes links, styles, definitions
and files, draws one thing over another, and can keep a page busy for minutes. So a formula is
typeset only if ``formulas.toml`` lists each of its commands, if it closes each group that it opens,
and if it is not nested too deeply. Any other formula is shown as it was written. If a listed
formula has a mistake, the page shows an error in its place.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLE: Final[dict[str, Any]] = tomllib.loads(
    files("chatmagic.render").joinpath("formulas.toml").read_text("utf-8")
)
_STYLES: Final = frozenset(_TABLE["styles"].split())
_ENVIRONMENTS: Final = frozenset(_TABLE["environments"].split())
_COMMANDS: Final[dict[str, str]] = dict.fromkeys(_STYLES, "") | {
    name: kinds for kinds, names in _TABLE["commands"].items() for name in names.split()
}

_DEEPEST: Final = 30
"""The most levels of nesting; 100 nested fractions crash a browser's tab."""

_COMMAND: Final = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_TOKEN: Final = re.compile(r"\s*(\\[A-Za-z]+|\\.|[^\s\\])", re.DOTALL)
_CLOSES: Final = {"{": "}", "\\left": "\\right"}
_NAME: Final = re.compile(r"\s*\{([A-Za-z]+\*?)\}")
_REFUSED: Final = re.compile(
    r"""
      (?<!\\)(?:\\\\)*%                                                  # a comment hides a brace
    | \\(?:textcolor|colorbox|color)(?![A-Za-z])                         # not followed by a colour
      (?!\s*(?:\[HTML\]\s*\{[\dA-Fa-f]{6}\}|\{[A-Za-z\d#]+\}))
    | \\begin\s*\{(?:x*alignat|alignedat)\*?\}(?!\s*\{\d\d?\})           # a million columns
    """,
    re.VERBOSE,
)
# A length that is negative, or as large as a page.
_FAR: Final = re.compile(
    r"(?:-\s*(?:\d+(?:[.,]\d*)?|[.,]\d+)|\d{3}(?:[.,]\d*)?)\s*(?:p[tcx]|mu|[cm]m|e[mx]|in)"
)
_LENGTHS: Final = re.compile(
    r"\\(?:rule|[hm]space|m?kern|[hm]skip|genfrac)(?![A-Za-z])|\\(?:\\|cr|newline)\s*\*?\s*\["
)
_BACK: Final = frozenset(["!", "negthinspace", "negmedspace", "negthickspace"])
_AT_MOST: Final = (
    (30, _STYLES),  # each is a level that nothing closes
    (6, _BACK),  # each moves a formula about 0.2 em over the text before it
    # These draw their argument twice; 25 nested ones crash a tab.
    (4, frozenset(["centernot", "overbracket", "pmb", "underbracket"])),
    # Nested sizes multiply: twenty make a hundred empty pages.
    (3, frozenset(["large", "Large", "LARGE", "huge", "Huge"])),
    (1, frozenset(["tag"])),
)


def has_negative_space(tex: str) -> bool:
    """Return whether a formula has negative spaces, so that its width may be below 0.

    Args:
        tex: the formula without its delimiters.
    """
    return any(name in _BACK for name in _COMMAND.findall(tex))


def without_negative_space(tex: str) -> str:
    """Return a formula without its negative spaces.

    Args:
        tex: the formula without its delimiters.
    """
    return _COMMAND.sub(lambda match: "{}" if match[1] in _BACK else match[0], tex)


def is_typesettable(tex: str) -> bool:
    """Return whether a page may typeset a formula: it stays in its own place and is quick.

    Args:
        tex: the formula without its delimiters.
    """
    names: list[str] = _COMMAND.findall(tex)
    return (
        all(name in _COMMANDS or not (name.isascii() and name.isalpha()) for name in names)
        and all(sum(name in group for name in names) <= most for most, group in _AT_MOST)
        and not (_LENGTHS.search(tex) and _FAR.search(tex))
        and not _REFUSED.search(tex)
        and _is_balanced(tex)
    )


def _is_balanced(tex: str) -> bool:
    r"""Return whether a formula closes what it opens, at most :data:`_DEEPEST` levels deep.

    A level is a group, an environment, ``\left``, or the arguments that a command still expects.
    Arguments may stand without braces.
    """
    levels: list[str] = []  # the word that closes each; an "m" for each expected argument
    for step, what in _steps(tex):
        if step in {"open", "wants"}:
            levels.append(what)
        elif step == "close":
            while levels and set(levels[-1]) == {"m"}:
                levels.pop()  # an argument is missing; the page shows an error
            if not levels or levels.pop() != what:
                return False
        elif what == "]" and levels and levels[-1] == "]":
            levels.pop()
            continue
        if step in {"close", "atom"}:
            _complete(levels)
        if len(levels) > _DEEPEST and _depth(levels) > _DEEPEST:
            return False
    return not levels


def _steps(tex: str) -> Iterator[tuple[str, str]]:
    """Yield the steps of a formula: ``open``, ``close``, ``wants`` (arguments) or ``atom``.

    With ``open`` and ``close`` comes the closing word, with ``wants`` an "m" for each argument,
    with ``atom`` the word itself.
    """
    at = 0
    while match := _TOKEN.match(tex, at):
        at, word = match.end(), match[1]
        kinds = _COMMANDS.get(word[1:], "") if word[0] == "\\" else ""
        if word in {"\\begin", "\\end"}:
            named = _NAME.match(tex, at)
            at = at if named is None else named.end()
            name = "" if named is None or named[1] not in _ENVIRONMENTS else named[1]
            # An unknown environment counts as a close without an opener, which is refused.
            yield ("open" if word == "\\begin" and name else "close"), name
        elif word in _CLOSES:
            yield "open", _CLOSES[word]
        elif word in _CLOSES.values():
            yield "close", word
        elif kinds or word in {"^", "_"}:
            yield "wants", kinds.lstrip("o") or "m"
            bracket = _TOKEN.match(tex, at)
            if kinds.startswith("o") and bracket is not None and bracket[1] == "[":
                at = bracket.end()
                yield "open", "]"
        else:
            yield "atom", word


def _depth(levels: list[str]) -> int:
    """Return the number of levels; an expected argument and the group that fills it are one."""
    pairs = zip(levels, [*levels[1:], "m"], strict=True)
    return sum(not (set(outer) == {"m"} and set(inner) != {"m"}) for outer, inner in pairs)


def _complete(levels: list[str]) -> None:
    """Count an argument of the innermost command; a complete command is an argument itself."""
    while levels and set(levels[-1]) == {"m"}:
        levels[-1] = levels[-1][1:]
        if levels[-1]:
            return
        levels.pop()
