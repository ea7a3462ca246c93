"""The lines of the commands: words, and options before, between or behind them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chatmagic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection


def read(
    magic: str, line: str, *flags: str, valued: Collection[str] = (), hint: str | None = None
) -> tuple[str, dict[str, str]]:
    """Return the words of a line, without quotes around them, and its options.

    No word of the line is repeated in an error: it might be a key.

    Args:
        magic: the magic's name.
        line: what stands after it.
        flags: the options that take no value.
        valued: the options that take a word, behind ``=`` or white space.
        hint: how the line is written; by default, where to find that.

    Returns:
        The words; and the options as typed, with their values, empty for none.

    Raises:
        InputError: it has another option.
    """
    options: dict[str, str] = {}
    while match := re.search(r"(?<!\S)(--[^\s=]*)(?:=(\S*))?", line):
        name, value, rest = match[1], match[2], line[match.end() :]
        if name in valued and value is None:
            word = re.match(r"\s*(\S*)", rest)
            value, rest = (word[1], rest[word.end() :]) if word else ("", rest)
        elif name not in valued and (name not in flags or value is not None):
            raise InputError(
                f"%{magic} takes no other option here than {', '.join((*flags, *valued))}. "
                "Nothing was changed.",
                hint=hint or f"%{magic}? shows its help.",
            )
        options[name] = value or ""
        line = line[: match.start()] + rest
    return without_quotes(line), options


def without_quotes(line: str) -> str:
    """Return the words of a line without white space and one pair of quotes around them."""
    words = line.strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "\"'":
        return words[1:-1]
    return words


def refuse_words(magic: str, words: str) -> None:
    """Raise an error for words of a magic that takes none."""
    if words.strip():
        raise InputError(
            f"%{magic} takes nothing after its name.", hint=f"%{magic}? shows its help."
        )
