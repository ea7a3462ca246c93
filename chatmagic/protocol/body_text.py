"""Body of a response as text: decoded, and as an excerpt that can be shown.

Pure. Whatever a body is made of, it is shown on one line, safe and without the key.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Final

from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.protocol.auth import Secret
    from chatmagic.protocol.error_body import ErrorBody

EXCERPT: Final = 200
"""The most characters of an excerpt."""

_UNPACKED: Final = {"", "identity", "gzip", "x-gzip", "deflate"}
# None of these looks at a letter twice, whatever a page is made of.
_TITLE: Final = r"(?i)<title[^<>]*>([^<]*)"
_UNSEEN: Final = r"(?is)<(?:script|style)\b.*?(?:</(?:script|style)[^<>]*>?|\Z)"
_TAG: Final = r"<[^<>]*>"
# What a body may be written in beside UTF-8; Python knows more that are slow, or no text.
_CHARSET: Final = (
    r"(?i)charset=\W*(iso-?8859-\d+|latin-?1|(?:windows-|cp)125\d|koi8-[ru]|gbk|gb2312|gb18030|big5"
    r"|shift_jis|euc-(?:jp|kr))\b"
)


def decoded(body: bytes, headers: Sequence[tuple[str, str]]) -> str:
    """Return a body that is no stream as text.

    JSON is UTF-8, whatever its header claims; what is not is read as the header says, and
    UTF-16 and UTF-32 are known by how they begin.

    Args:
        body: unpacked bytes, whole or cut off.
        headers: those of the answer.
    """
    encoding: str = json.detect_encoding(body)
    if encoding.startswith("utf-8"):
        try:
            return body.decode("utf-8-sig")
        except UnicodeDecodeError:
            content_type = next((v for name, v in headers if name.lower() == "content-type"), "")
            named = re.search(_CHARSET, content_type)
            encoding = named[1] if named else "utf-8-sig"
    return body.decode(encoding, "replace")


def packing(headers: Sequence[tuple[str, str]]) -> str:
    """Return the content encoding of a body, if nothing here decodes it; else an empty text."""
    named = (value for name, value in headers if name.lower() == "content-encoding")
    return next((how for how in named if how.lower() not in _UNPACKED), "")


def excerpt(text: str, key: Secret | None, limit: int = EXCERPT) -> str:
    """Return the beginning of untrusted text on one line, without the key.

    Args:
        text: whatever was said.
        key: what to take out of it.
        limit: the most characters to give.
    """
    return one_line(text if key is None else key.redact(text), limit)


def quoted(
    error: ErrorBody, text: str, headers: Sequence[tuple[str, str]], key: Secret | None
) -> str:
    """Return what a response says, quoted, as the middle of a sentence.

    Args:
        error: the error that its body tells, if that has words.
        text: its body, of which the title or the beginning is shown where it tells no error.
        headers: the response's headers.
        key: as for :func:`excerpt`.
    """
    words = [word for word in (error.error, error.message) if word]
    if not words:
        if key is not None:
            text = key.redact(text)
        title = re.search(_TITLE, text)
        page = title[1].strip() if title else ""
        words = [html.unescape(page or re.sub(_TAG, " ", re.sub(_UNSEEN, " ", text)))]
        if text.count("\N{REPLACEMENT CHARACTER}") * 4 > len(text) > 0:
            packed = packing(headers)
            how = f", compressed as {excerpt(packed, key, 20)}" if packed else ""
            return f", with bytes that are not text{how}"
    shown = excerpt(": ".join(dict.fromkeys(words)).rstrip(". \n"), key)
    return f': "{shown}"' if shown else ""
