"""Texts on which a careless parser takes quadratic time: CommonMark's own, and some of ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

# After `test/pathological_tests.py` of commonmark/cmark 0.31, and cmark's own lists of them.
CASES: Final[dict[str, Callable[[int], str]]] = {
    "nested strong emph": lambda size: "*a **a " * size + "b" + " a** a*" * size,
    "emph closers without openers": lambda size: "a_ " * size,
    "emph openers without closers": lambda size: "_a " * size,
    "link closers without openers": lambda size: "a]" * size,
    "link openers without closers": lambda size: "[a" * size,
    "mismatched openers and closers": lambda size: "*a_ " * size,
    "two kinds of openers": lambda size: "*a " * size + "_a*_ " * size,
    "openers and closers of multiple of 3": lambda size: "a**b" + "c* " * size,
    "link openers and emph closers": lambda size: "[ a_" * size,
    "pattern [ (](": lambda size: "[ (](" * size,
    "pattern ![[]()": lambda size: "![[]()" * size,
    "hard link and emph": lambda size: "**x [a*b**c*](d) " * size,
    "nested brackets": lambda size: "[" * size + "a" + "]" * size,
    "nested quotations": lambda size: "> " * size + "a",
    "nested lists": lambda size: "".join(f"{'  ' * deep}* a\n" for deep in range(size // 20)),
    "backticks": lambda size: "".join(f"e{'`' * run}" for run in range(size // 20)),
    "unclosed links in angles": lambda size: "[a](<b" * size,
    "unclosed links": lambda size: "[a](b" * size,
    "unclosed comments": lambda size: "</" + "<!--" * size,
    "empty lines in nested lists": lambda size: "- " * 15 + "x" + "\n" * size,
    "emph in nested quotations": lambda size: ">" * size + "a*" * size,
    "references": lambda size: "".join(f"[{name}]: u\n" for name in range(size)) + "[0] " * size,
    "one reference": lambda size: f"[a]: http://{'u' * size}\n\n" + "[a] " * size,
    "strikes": lambda size: "~~a " * size + "a~~ " * size,
    "emphasis and strikes": lambda size: "*a ~~a __a " * size + "b__ a~~ a* " * size,
    "emphasis in links": lambda size: "[*a " * size + "b*](c)" * size,
    "pictures in pictures": lambda size: "![" * size + "a" + "](b)" * size,
    "entities": lambda size: "&amp" * size,
    "addresses": lambda size: "<http:" * size,
    "footnotes": lambda size: "[^1]: x\n\n" + "[^1]" * size,
    "dollars": lambda size: "$a " * size,
    "formulas without an end": lambda size: "\\[ a\n" * size,
    "environments without an end": lambda size: "\\begin{align} a\n" * size,
    "environments in environments": lambda size: "\\begin{a}" * size + "\\end{a}" * size,
    "pairs in an environment": lambda size: "\\begin{a}" + "\\begin{b} \\end{b}" * size,
    "tables without an end": lambda size: "a\n-|\n" * size,
}
"""Texts by their names; each grows with its size."""


def calls(function: Callable[[str], Any], text: str) -> int:
    """Return the number of calls, those of built-in functions included, that a function makes.

    Args:
        function: what is called.
        text: its argument.
    """
    count = 0

    def count_call(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        function(text)
    finally:
        sys.setprofile(before)
    return count
