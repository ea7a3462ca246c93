"""Thoughts of a model that stand in front of its reply, in the same text.

Models that think write ``<think>…</think>`` there, unless their server removes it. Where the server
has written the opening mark itself, as a part of the prompt, only the closing one is in the answer.
"""

from __future__ import annotations

import re
from typing import Final

OPEN: Final = "<think>"
CLOSE: Final = "</think>"


_LINE: Final = 500
"""Number of characters before a mark in which its line is looked for."""
_QUOTES: Final = "`\"'\N{LEFT DOUBLE QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}\xab"


def split_unopened(text: str) -> tuple[str, str]:
    """Return the thoughts that end without a beginning, and the reply after them.

    A mark in quotation marks or in code ends nothing: the reply speaks of it.

    Args:
        text: a whole text, whose thoughts with a beginning were removed.

    Returns:
        Both texts; no thoughts if there is no such end.
    """
    if CLOSE not in text:
        return "", text
    begin = 0
    fences = 0
    for mark in re.finditer(CLOSE, text):
        if OPEN in text[begin : mark.start()]:
            break
        fences += text.count("```", begin, mark.start())
        is_in_block = fences % 2 == 1
        if not is_in_block and not _is_quoted(text, mark.start()):
            return text[: mark.start()].strip(), text[mark.end() :].lstrip()
        begin = mark.end()
    return "", text


def _is_quoted(text: str, at: int) -> bool:
    """Return whether a place in a text is behind a quotation mark, or in code within its line."""
    line_before = text[max(at - _LINE, 0) : at].rpartition("\n")[2]
    return line_before.count("`") % 2 == 1 or line_before[-1:] in {*_QUOTES}


class ThoughtSplitter:
    """Splitter of a text in fragments into its thoughts, if any, and the reply after them.

    The beginning of a mark waits for the rest of it, and so does white space before the reply.
    """

    def __init__(self) -> None:
        """Start before the first fragment."""
        self.has_reply = False
        """Whether the reply has begun; all later text belongs to it."""
        self._mark = OPEN
        self._blanks: list[str] = []
        """The white space in front of everything, in pieces: any number of fragments of it may
        come, and each is looked at once."""
        self._held = ""
        """The beginning of a mark."""

    @property
    def held(self) -> tuple[str, str]:
        """The thoughts and the reply's text that wait for more text, or for the end."""
        if self._mark == CLOSE:
            return self._held, ""
        return "", "".join(self._blanks) + self._held

    def feed(self, text: str) -> tuple[str, str]:
        """Return the thoughts and the reply's text that a fragment adds.

        Args:
            text: the next fragment.
        """
        if self.has_reply:
            return "", text
        text = self._held + text
        self._held = ""
        thoughts = ""
        if self._mark == CLOSE:
            thoughts, end, text = text.partition(CLOSE)
            if not end:
                sizes = range(len(CLOSE) - 1, 0, -1)
                size = next((size for size in sizes if thoughts.endswith(CLOSE[:size])), 0)
                cut = len(thoughts) - size
                self._held = thoughts[cut:]
                return thoughts[:cut], ""
            self._mark = ""
        begin = text.lstrip()
        if self._mark:
            self._blanks.append(text[: len(text) - len(begin)])
        if self._mark and begin.startswith(OPEN):
            self._mark = CLOSE
            self._blanks.clear()
            return self.feed(begin.removeprefix(OPEN))
        if not begin or (self._mark and OPEN.startswith(begin)):
            self._held = begin
            return thoughts, ""
        reply = "".join(self._blanks) + begin
        self._blanks.clear()
        self.has_reply = True
        return thoughts, reply

    def rest(self) -> tuple[str, str]:
        """Return :attr:`held` as final, because no more text arrives."""
        held = self.held
        self._blanks.clear()
        self._held = ""
        self.has_reply = True
        return held
