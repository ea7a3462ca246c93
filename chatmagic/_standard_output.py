"""Standard output in an encoding that lacks characters of a reply."""

from __future__ import annotations

import codecs
import io
import sys


class UnwritableReplaced:
    """Change of standard output: a character that its encoding lacks is written as ``?``.

    Otherwise a reply that is printed into a terminal in Latin-1 would fail at its first dash. UTF-8
    lacks no character, so it stays as it is, as does a stream of a kernel.
    """

    def __init__(self) -> None:
        """Change the standard output of this moment."""
        stream = sys.stdout
        is_strict = isinstance(stream, io.TextIOWrapper) and stream.errors == "strict"
        is_unicode = is_strict and codecs.lookup(stream.encoding).name.startswith("utf")
        self._changed = None if not is_strict or is_unicode else stream
        self._set("replace")

    def close(self) -> None:
        """Take the change back."""
        self._set("strict")
        self._changed = None

    def _set(self, errors: str) -> None:
        if isinstance(self._changed, io.TextIOWrapper) and not self._changed.closed:
            self._changed.reconfigure(errors=errors)
