r"""Allow-list of formulas: which formulas of untrusted text a page may typeset.

A page's typesetter is a language of its own: it makes links, styles, definitions and files,
draws one thing over another, and can be kept busy for minutes. So a command is listed in
``formulas.toml``, or its formula is shown as it was written.
"""

from __future__ import annotations

import re
from typing import Final

from chatmagic.render.tex import COLOUR, COMMANDS, TABLE, has_no_error

_DEEPEST: Final = 30
"""Levels of nesting; 100 fractions in one another crash a browser's tab."""

_COMMAND: Final = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
# What opens and closes a level; an optional argument and a style for all that follows
# only open one: what closes them is no word of their own.
_LEVEL: Final = re.compile(
    r"(?P<open>\{|\\(?:left|begin)(?![A-Za-z]))|(?P<close>\}|\\(?:right|end)(?![A-Za-z]))"
    r"|(?P<only>\\(?:color|(?:display|text|script|scriptscript)style|[tT]iny|scriptsize|small"
    r"|normalsize|large|Large|LARGE|huge|Huge)(?![A-Za-z])"
    r"|\\(?!left|right|[bB]ig)[A-Za-z]+\s*\[)|\\[A-Za-z]+|\\.",
    re.DOTALL,
)
# Arguments that are more than formulas: names of environments, how many columns, and colours.
_ARGUMENT: Final = {
    "begin": re.compile(
        r"\s*\{(?:(?:x?x?alignat\*?|alignedat)\}\s*\{\d\d?|(?P<plain>[A-Za-z]+\*?))\}"
    ),
    "end": re.compile(r"\s*\{[A-Za-z]+\*?\}"),
    **dict.fromkeys(("color", "textcolor", "colorbox"), COLOUR),
}
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
)
_ENVIRONMENTS: Final = frozenset(TABLE["environments"].split())


def goes_back(tex: str) -> bool:
    """Return whether a formula has negative spaces, and so may be narrower than nothing."""
    return any(name in _BACK for name in _COMMAND.findall(tex))


def typesettable(tex: str) -> bool:
    """Return whether a page may typeset a formula.

    Such a formula keeps to its own place, takes no long time, and has no error.

    Args:
        tex: the formula without its delimiters.
    """
    names: list[str] = _COMMAND.findall(tex)
    return (
        all(name in COMMANDS or not (name.isascii() and name.isalpha()) for name in names)
        and all(sum(name in group for name in names) <= most for most, group in _AT_MOST)
        and not (_LENGTHS.search(tex) and _FAR.search(tex))
        and all(_is_argued(tex, match) for match in _COMMAND.finditer(tex) if match[1] in _ARGUMENT)
        and _is_plainly_nested(tex)
        and has_no_error(tex)
    )


def _is_argued(tex: str, match: re.Match[str]) -> bool:
    """Return whether a command has an argument of the kind that it takes."""
    argument = _ARGUMENT[match[1]].match(tex, match.end())
    if argument is None:
        return False
    plain = argument["plain"] if match[1] == "begin" else None
    return plain is None or plain in _ENVIRONMENTS


def _is_plainly_nested(tex: str) -> bool:
    """Return whether the levels of a formula are few, and are what they seem.

    A comment would hide a brace from this count, and a brace without its other half would let
    a page join the formula with the next one.
    """
    level = braces = 0
    for match in _LEVEL.finditer(tex):
        level = max(level + {"open": 1, "only": 1, "close": -1}.get(match.lastgroup or "", 0), 0)
        braces += {"{": 1, "}": -1}.get(match[0], 0)
        if level > _DEEPEST or braces < 0:
            return False
    return braces == 0 and not re.search(r"(?<!\\)(?:\\\\)*%", tex)
