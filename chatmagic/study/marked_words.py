"""Words of two texts, each with a mark: of both, of the old or of the new one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from chatmagic.safe_text import one_line

Mark = Literal["same", "old", "new"]

MOST_WORDS: Final = 3_000
"""Largest number of words of a difference within which words are compared one by one."""
EXCERPT: Final = 48
"""Length of what is shown of a text."""
_LONGEST: Final = 200
_BEFORE: Final = 12
_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")


def marked_words(old: str, new: str) -> list[tuple[Mark, str]]:
    """Return the words of two texts, each with a mark: of both, of the old or of the new one.

    Within very long differences words are not compared one by one.

    Args:
        old: the earlier text.
        new: the later text.
    """
    if old == new:
        return [("same", old)] if old else []
    old_words: list[str] = _WORD.findall(old)
    new_words: list[str] = _WORD.findall(new)
    begin = _shared(old_words, new_words)
    end = _shared(old_words[begin:][::-1], new_words[begin:][::-1])
    parts: list[tuple[Mark, str]] = [
        ("same", "".join(old_words[:begin])),
        *_differences(
            old_words[begin : len(old_words) - end], new_words[begin : len(new_words) - end]
        ),
        ("same", "".join(old_words[len(old_words) - end :])),
    ]
    return [(mark, text) for mark, text in parts if text]


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Mark, str]]:
    """Yield the texts of two lists of words, each with its mark; some may be empty."""
    if max(len(old), len(new)) > MOST_WORDS:
        yield "old", "".join(old)
        yield "new", "".join(new)
        return
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_begin, old_end, new_begin, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield "same", "".join(old[old_begin:old_end])
        else:
            yield "old", "".join(old[old_begin:old_end])
            yield "new", "".join(new[new_begin:new_end])


_SIGNS: Final = {"old": ("[-", "-]"), "new": ("{+", "+}")}


def marked_excerpt(words: Sequence[tuple[Mark, str]], mark: Mark) -> str:
    """Return one of the texts around its first difference, with its own words marked.

    Args:
        words: the words of both texts.
        mark: the text's mark.
    """
    parts = [part for part in words if part[0] in {"same", mark}]
    at = next((place for place, part in enumerate(parts) if part[0] == mark), 0)
    before = "".join(text for _, text in parts[:at])
    head = _with_blanks(before[-_LONGEST:], _LONGEST)
    shown = ("…" + head[-_BEFORE:]) if len(head) > _BEFORE else head
    for kind, text in parts[at:]:
        left = EXCERPT - len(shown)
        if left <= 0:
            return shown + "…"
        begin, end = _SIGNS.get(kind, ("", ""))
        shown += f"{begin}{_with_blanks(text, max(left, 8))}{end}" if text.strip() else " "
    return shown


def _with_blanks(text: str, limit: int) -> str:
    """Return a text in one line, with a blank at an end where it has some."""
    begin = " " if text[:1].isspace() else ""
    return f"{begin}{one_line(text, limit)}{' ' if text[-1:].isspace() else ''}"


def first_difference(old: str, new: str) -> str:
    """Return the first difference of two texts in one line.

    Args:
        old: the earlier text.
        new: the later text.
    """
    begin = max(0, _shared(old, new) - _BEFORE)
    before, after = (one_line(text[begin:], EXCERPT) for text in (old, new))
    return f"{before!r} -> {after!r}"


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the common beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))
