"""The body of an answer as text, whatever it is made of."""

from __future__ import annotations

import pytest

from chatmagic.protocol.auth import Secret
from chatmagic.protocol.body_text import EXCERPT, decoded, excerpt, quoted
from chatmagic.protocol.error_body import ErrorBody

KEY = Secret("key-7d1f-throw-away")


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("é".encode(), "", "é"),
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"),
        ("é".encode("cp1252"), 'text/html; charset="windows-1252"', "é"),
        ("东京".encode("gbk"), "text/html;charset=gbk", "东京"),
        ("é".encode(), "application/json; charset=latin1", "é"),
        (b"\xe9", "text/html; charset=rot13", "\N{REPLACEMENT CHARACTER}"),
        (b"\xe9", "", "\N{REPLACEMENT CHARACTER}"),
        ('{"a": 1}'.encode("utf-16"), "", '{"a": 1}'),
        ('{"a": 1}'.encode("utf-32-be"), "", '{"a": 1}'),
        (b"\xef\xbb\xbf{}", "", "{}"),
        (b"", "text/html; charset=latin1", ""),
    ],
)
def test_a_body_is_read_in_its_own_letters(body: bytes, content_type: str, text: str) -> None:
    """UTF-8 where it is that, else as the header says, if that is a charset that counts."""
    assert decoded(body, [("Content-Type", content_type)]) == text


def test_half_a_key_at_a_cut_is_taken_out_too() -> None:
    """Where an excerpt was cut in the middle of the key, its beginning is no less the key."""
    assert excerpt(f"bad {KEY.reveal()[:-1]}", KEY) == "bad [key removed]"
    assert excerpt("bad key", KEY) == "bad key"


def test_an_excerpt_is_short_and_on_one_line() -> None:
    """Long text is cut with a mark, and white space is folded."""
    assert excerpt("a\r\n b\t c", None) == "a b c"
    assert excerpt("x" * 500, None) == "x" * (EXCERPT - 1) + "…"
    assert excerpt("x" * 500, KEY, 10) == "x" * 9 + "…"
    # A sign that turns text around is shown, one that joins letters works.
    assert excerpt("a\u202eb\u200dc", None) == "a\N{REPLACEMENT CHARACTER}b\u200dc"


@pytest.mark.parametrize("key", [KEY, None])
def test_a_page_is_quoted_by_its_title_else_by_its_words(key: Secret | None) -> None:
    """As the middle of a sentence; what is empty adds nothing to it."""
    nothing = ErrorBody()
    page = "<html><title>Bad &amp; gone </title><body>Sorry</body></html>"
    assert quoted(nothing, page, [], key) == ': "Bad & gone"'
    assert quoted(nothing, "<p>Sorry</p><script>x()</script>", [], key) == ': "Sorry"'
    assert quoted(ErrorBody(error="e", message="m."), page, [], key) == ': "e: m"'
    assert not quoted(nothing, "", [], key)
