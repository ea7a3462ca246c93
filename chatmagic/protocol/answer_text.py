"""Text of an answer's body and its headers, and excerpts of it for messages."""

from __future__ import annotations

import codecs
import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from chatmagic.protocol import credits as crediting
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.safe_text import one_line

BODY_BYTES: Final = 65_536
"""Largest size of a body that is read for its error."""
EXCERPT_LENGTH: Final = 200
"""Largest number of characters of an excerpt."""

_CHARSET: Final = (
    r"(?i)charset=\W*(iso-?8859-\d+|latin-?1|(?:windows-|cp)125\d|koi8-[ru]|gbk|gb2312|gb18030|big5"
    r"|shift_jis|euc-(?:jp|kr))\b"
)
# The time of each search is linear in the length of a page.
_TITLE: Final = r"(?i)<title[^<>]*>([^<]*)"
_UNSEEN: Final = r"(?is)<(?:script|style)\b.*?(?:</(?:script|style)[^<>]*>?|\Z)"
_TAG: Final = r"<[^<>]*>"


def body_text(body: bytes, headers: Sequence[tuple[str, str]]) -> str:
    """Return a body that is no stream as text.

    JSON is UTF-8, even if its header claims otherwise. A body that is not UTF-8 is read as the
    header says. UTF-16 and UTF-32 are known by their first bytes.

    Args:
        body: unpacked bytes, whole or cut off.
        headers: the answer's headers.
    """
    encoding: str = json.detect_encoding(body)
    if encoding.startswith("utf-8"):
        try:
            return body.removeprefix(codecs.BOM_UTF8).decode()
        except UnicodeDecodeError:
            named = re.search(_CHARSET, header(headers, "content-type"))
            encoding = named[1] if named else "utf-8-sig"
    return body.decode(encoding, "replace")


def header(headers: Sequence[tuple[str, str]], name: str) -> str:
    """Return the value of a header, the first one if it came several times; empty without one.

    Args:
        headers: the response's headers.
        name: the header's name, in lower case.
    """
    values = crediting.values_by_name(tuple(headers)).get(name)
    return values[0] if values else ""


def safe_excerpt(text: str, keys: Iterable[Secret], limit: int = EXCERPT_LENGTH) -> str:
    """Return the beginning of untrusted text on one line, without a key.

    Args:
        text: any text.
        keys: the keys to remove from it.
        limit: largest number of characters.
    """
    return one_line(redacted(text, keys), limit)


def quoted_error(error: ErrorBody, text: str, keys: Sequence[Secret]) -> str:
    """Return the message of a response, quoted, as the middle of a sentence.

    Args:
        error: the error in its body, empty if it has no words.
        text: its body, of which the title or the beginning is shown if it holds no error.
        keys: as for :func:`safe_excerpt`.
    """
    if words := _own_words(error):
        shown = words
    elif _is_binary(text):
        return ", with bytes that are not text"
    else:
        shown = _page_words(redacted(text, keys))
    shown = safe_excerpt(shown.rstrip(". \n"), keys)
    return f': "{shown}"' if shown else ""


def _own_words(error: ErrorBody) -> str:
    """Return the message of an error, and its short name where the message lacks it."""
    if not error.message:
        return error.error or ""
    words = error.message.rstrip(". \n")
    if error.error and error.error.lower() not in error.message.lower():
        words += f" ({error.error})"
    return words


def _is_binary(text: str) -> bool:
    """Return whether a body is no text: more than a quarter of it could not be read."""
    return text.count("\N{REPLACEMENT CHARACTER}") * 4 > len(text) > 0


def _page_words(text: str) -> str:
    """Return the title of an HTML page, or the words of a body without one."""
    title = re.search(_TITLE, text)
    if title is not None and (words := title[1].strip()):
        return html.unescape(words)
    return html.unescape(re.sub(_TAG, " ", re.sub(_UNSEEN, " ", text)))
