r"""Spellings of an API key in a text: one matcher for the removal of keys and for the guard.

A key is found as it is, in any case, and with any of its letters as URLs (``%73``), JSON and Python
(``\u0073``, ``\x73``, with backslashes before any letter) or HTML (``&#115;``, ``&#x73;``,
``&lt;``) write it, also when it was written so several times over.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from chatmagic._cached import cached_property

_QUOTED: Final = r"\\{0,15}+"
"""Backslashes before a letter; the bound keeps a search linear."""
_PERCENT: Final = "%(?:25){0,4}"
_BACKSLASH: Final = rf"(?:\\|{_PERCENT}5[cC])"
_AMPERSAND: Final = "&(?:amp;){0,4}"
_ZEROS: Final = "0{0,6}"
_NAMES: Final = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_ESCAPE: Final = re.compile(r"%[2-7]|&(?:amp|#|lt|gt|quot|apos)|\\(?:u00|x)[2-7]")
"""Pattern of the beginning of a letter that is written in another way than as itself."""
_LONGEST: Final = 48
"""Number of characters that the longest spelling of a letter has at most."""


class _Letter(NamedTuple):
    """Patterns of one letter of a key.

    Args:
        whole: pattern of its spellings.
        part: pattern of the beginnings of its spellings.
    """

    whole: re.Pattern[str]
    part: re.Pattern[str]


class KeySpellings:
    """Matcher of one key in all its spellings.

    A backslash of a key counts as one of those that quoting adds.

    Args:
        key: the key, of at least two letters that are no backslash.
    """

    def __init__(self, key: str) -> None:
        """Make the patterns."""
        self.letters = key.replace("\\", "")
        """The letters that are looked for."""
        self.begins = _begin_of(self.letters[0])
        """The characters that a spelling begins with."""
        self._follows = _begin_of(self.letters[1])

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the key.

        Args:
            text: any text.
        """
        if len(text) < len(self.letters):
            return False
        # A pattern takes long to make, and is seldom needed.
        is_plain = _ESCAPE.search(text) is None
        if is_plain and self.letters.lower() not in text.replace("\\", "").lower():
            return False
        return self._pattern.search(text) is not None

    def replaced(self, text: str, word: str) -> str:
        """Return a text with a word in place of each key.

        Args:
            text: any text.
            word: the word.
        """
        return self._pattern.sub(lambda _: word, text) if self.is_in(text) else text

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("".join(_spellings(letter) for letter in self.letters))

    def tail(self, text: str) -> tuple[int, int]:
        """Return the tail of a text that may begin a key: its place, and how much of the key it is.

        Args:
            text: any text.

        Returns:
            The place of the tail, which is the text's length for none; and the number of letters
            of the key that the tail holds.
        """
        begin = max(0, len(text) - _LONGEST * len(self.letters))
        for at, character in enumerate(text[begin:], begin):
            if character not in self.begins:
                continue
            # Most texts are no key in their second letter.
            if character.isalnum() and not self._follows.issuperset(text[at + 1 : at + 2]):
                continue
            if (count := self._count_to_end(text, at)) is not None:
                return at, count
        return len(text), 0

    def _count_to_end(self, text: str, at: int) -> int | None:
        """Return the number of whole letters from a place to the end; ``None`` for other text."""
        for count, letter in enumerate(map(_letter, self.letters)):
            if at == len(text) or letter.part.fullmatch(text, at):
                return count
            if (match := letter.whole.match(text, at)) is None:
                return None
            at = match.end()
        return None


def _begin_of(letter: str) -> frozenset[str]:
    """Return the characters that the spellings of a letter begin with."""
    return frozenset({letter.lower(), letter.upper(), "\\", "%", "&"})


@lru_cache(256)
def _letter(letter: str) -> _Letter:
    return _Letter(re.compile(_spellings(letter)), re.compile(_beginnings(letter)))


@lru_cache(256)
def _spellings(letter: str) -> str:
    """Return the pattern of a letter in all its spellings."""
    code = ord(letter)
    high, low = (_any_case(digit) for digit in f"{code:02x}")
    cases = "|".join(re.escape(case) for case in sorted({letter.lower(), letter.upper()}))
    name = f"|{_NAMES[letter]};?" if letter in _NAMES else ""
    url = f"{_PERCENT}{high}{low}"
    entity = f"{_AMPERSAND}(?:#(?:{_ZEROS}{code}|[xX]{_ZEROS}{high}{low});?{name})"
    # The first character of each alternative is literal, so that a search can skip to it. The
    # longer alternatives stand first.
    quoted = rf"{_BACKSLASH}{_QUOTED}(?:u00{high}{low}|x{high}{low}|{url}|{entity}|{cases})"
    return f"(?:{url}|{entity}|{quoted}|{cases})"


@lru_cache(256)
def _beginnings(letter: str) -> str:
    """Return the pattern of what may become a spelling of a letter when more text comes."""
    code = ord(letter)
    hexadecimal = f"{_any_case(f'{code:02x}'[0])}?"
    names = [_beginning("amp;"), *([_beginning(_NAMES[letter])] if letter in _NAMES else [])]
    number = f"{_ZEROS}{_beginning(str(code))}|[xX]{_ZEROS}{hexadecimal}"
    url = f"{_PERCENT}(?:[25]|{hexadecimal})"
    entity = f"{_AMPERSAND}(?:{'|'.join(names)}|#(?:{number}))"
    escape = rf"u0?0?|u00{hexadecimal}|x{hexadecimal}|{url}|{entity}"
    return rf"{url}|{entity}|{_BACKSLASH}{_QUOTED}(?:{escape})?"


def _beginning(word: str) -> str:
    """Return the pattern of the beginnings of a word, also of an empty one."""
    pattern = ""
    for letter in reversed(word[:-1]):
        pattern = f"(?:{letter}{pattern})?"
    return pattern


def _any_case(digit: str) -> str:
    """Return the pattern of a hexadecimal digit."""
    return digit if digit.isdigit() else f"[{digit}{digit.upper()}]"
