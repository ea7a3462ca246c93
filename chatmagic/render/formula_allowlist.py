r"""Allow-list of formulas: which formulas of untrusted text a page may typeset.

A page's typesetter reads a language of its own. That language makes links, styles, definitions
and files, draws one thing over another, and can keep a page busy for minutes. So a formula is
typeset only if ``formula_allowlist.toml`` lists all its commands, all its groups are closed, and
its nesting is not too deep. Any other formula is shown as it was written. If a listed formula has a
mistake, the page shows an error in its place.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Final

_TABLE: Final[dict[str, str]] = tomllib.loads(
    files("chatmagic.render").joinpath("formula_allowlist.toml").read_text("utf-8")
)
_STYLES: Final = frozenset(_TABLE["styles"].split())
_ENVIRONMENTS: Final = frozenset(_TABLE["environments"].split())
_COMMANDS: Final = _STYLES.union(_TABLE["commands"].split())

_DEEPEST: Final = 30
"""Largest number of nested levels; 100 nested fractions crash a browser's tab."""

_COMMAND: Final = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_GROUP: Final = re.compile(
    r"(\\(?:begin|end))\s*\{([A-Za-z]+\*?)\}|\\(?:begin|end|left|right)(?![A-Za-z])|\\.|[{}]",
    re.DOTALL,
)
_CLOSES: Final = {"{": "}", "\\left": "\\right", "\\begin": "\\end"}
# Each of these moves a formula over the text before it.
_NEGATIVE_SPACE: Final = re.compile(r"(\\\\)|\\(?:!|neg(?:thin|med|thick)space(?![A-Za-z]))")
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
_AT_MOST: Final = (
    (30, _STYLES),  # each is a level that nothing closes
    # These draw their argument twice; 25 nested ones crash a tab.
    (4, frozenset(["centernot", "overbracket", "pmb", "underbracket"])),
    # Nested sizes multiply: twenty make a hundred empty pages.
    (3, frozenset(["large", "Large", "LARGE", "huge", "Huge"])),
)
# The name of a formula, to which another refers: it shows nothing.
_LABEL: Final = re.compile(r"\\label\s*\{[^{}\\$]*\}")
_TAG: Final = re.compile(r"\\tag(?![A-Za-z])")
_PLAIN_TAG: Final = re.compile(r"\\tag\s*\*?\s*\{([^{}\\$]*)\}")
# Environments whose rows have a number each.
_NUMBERED: Final = re.compile(r"\\begin\s*\{(?:x{0,2}alignat|(?:fl)?align|gather|eqnarray)\*?\}")


def typeset_form(tex: str) -> str:
    r"""Return a formula that a page may typeset; empty for any other.

    It has no negative spaces, and no ``\label``, which would name it in the whole page.

    The result covers no other text, and is quick to typeset.

    Args:
        tex: the formula without its delimiters.
    """
    tex = _LABEL.sub("", tex)
    names: list[str] = _COMMAND.findall(tex)
    is_safe = (
        all(name in _COMMANDS or not (name.isascii() and name.isalpha()) for name in names)
        and all(sum(name in group for name in names) <= most for most, group in _AT_MOST)
        and not (_LENGTHS.search(tex) and _FAR.search(tex))
        and not _REFUSED.search(tex)
        and _has_own_tags(tex)
        and _is_balanced(tex)
    )
    return _NEGATIVE_SPACE.sub(lambda match: match[1] or "{}", tex) if is_safe else ""


def _has_own_tags(tex: str) -> bool:
    r"""Return whether a formula has at most one ``\tag``, or one for each row, all different."""
    count = len(_TAG.findall(tex))
    if count < 2:  # noqa: PLR2004 - one tag needs no comparison
        return True
    rows = re.split(r"\\\\", tex)
    tags = [tag for row in rows for tag in _PLAIN_TAG.findall(row)[:1]]
    return count == len(set(tags)) and _NUMBERED.search(tex) is not None


def _is_balanced(tex: str) -> bool:
    """Return whether a formula closes the groups and environments that it opens, in order."""
    closers: list[str] = []
    for group in _GROUP.finditer(tex):
        word = group[1] or group[0]
        if word in {"\\begin", "\\end"} and group[2] not in _ENVIRONMENTS:
            return False
        if word in _CLOSES:
            closers.append(_CLOSES[word])
        elif word in _CLOSES.values() and (not closers or closers.pop() != word):
            return False
        if len(closers) > _DEEPEST:
            return False
    return not closers
