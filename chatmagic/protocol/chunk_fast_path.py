"""Fast reading of the lines of a stream that differ only in the content of their chunk.

Most lines do. The text before and after the content is compared, which costs much less than
parsing. If both are equal, the JSON differs in that string alone.
"""

from __future__ import annotations

import re
from typing import Any, Final

from chatmagic.protocol.chunk import TEXTS_BESIDE, first_choice
from chatmagic.protocol.json_decoder import JSON_DECODER

_NAME: Final = '"content"'
_CONTENT: Final = re.compile(rf'{_NAME}\s*:\s*"((?:[^"\\]|\\.)*+)"')


class Alike:
    """Lines that equal one ``data`` line except for the content of its chunk.

    Args:
        before: the line up to the content, with its opening quotation mark.
        after: the line from the content's closing quotation mark on.
    """

    __slots__ = ("_after", "_before", "_end", "_start")

    def __init__(self, before: str, after: str) -> None:
        """Keep the two parts."""
        self._before = before
        self._after = after
        self._start = len(before)
        self._end = -len(after)

    def content_of(self, line: str) -> str:
        """Return the content of a line that otherwise equals this one; empty for any other line.

        Args:
            line: a ``data`` line.
        """
        if not (line.startswith(self._before) and line.endswith(self._after)):
            return ""
        content = line[self._start : self._end]
        if "\\" not in content and '"' not in content:
            return content
        try:
            string, end = JSON_DECODER.raw_decode(line, self._start - 1)
        except ValueError:
            return ""
        return string if end == len(line) + self._end + 1 else ""


def alike(line: str, value: Any) -> Alike | None:
    """Return a matcher for lines like this one; ``None`` if the place of its content is uncertain.

    Args:
        line: a ``data`` line.
        value: the JSON that it holds.
    """
    if line.count(_NAME) != 1 or not isinstance(value, dict):
        return None
    match = _CONTENT.search(line)
    delta = first_choice(value.get("choices")).get("delta")
    if match is None or not isinstance(delta, dict) or "content" not in delta:
        return None
    if any(map(delta.get, TEXTS_BESIDE)):  # their fragments count, too
        return None
    before = line[: match.start(1)]
    after = line[match.end(1) :]
    # A name that is written with escapes might mean the content, too.
    return None if "\\" in before or "\\" in after else Alike(before, after)
