"""Text of an answer, and excerpts of it."""

from __future__ import annotations

import pytest
from cases import each_case

from chatmagic.protocol.answer_text import body_text, header, quoted_error, safe_excerpt
from chatmagic.protocol.api_key import REMOVED, Secret
from chatmagic.protocol.error_body import ErrorBody

KEY = Secret("key-7d1f-throw-away")


@each_case(
    ("body", "content_type", "text"),
    [
        ("é".encode(), "", "é"),
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "é"),
        ("东京".encode("gbk"), "text/html;charset=gbk", "东京"),
        ("é".encode(), "application/json; charset=latin1", "é"),
        (b"\xe9", "text/html; charset=rot13", "\N{REPLACEMENT CHARACTER}"),
        (b"\xe9", "", "\N{REPLACEMENT CHARACTER}"),
        ('{"a": 1}'.encode("utf-16"), "", '{"a": 1}'),
        ('{"a": 1}'.encode("utf-32-be"), "", '{"a": 1}'),
        (b"\xef\xbb\xbf{}", "", "{}"),
    ],
)
def test_a_body_is_read_in_its_own_letters(body: bytes, content_type: str, text: str) -> None:
    """UTF-8 where it is that, else as the header says, if that is a charset that counts."""
    assert body_text(body, [("Content-Type", content_type)]) == text


@pytest.mark.parametrize("keys", [(KEY,), ()])
def test_a_page_is_quoted_by_its_title_else_by_its_words(keys: tuple[Secret, ...]) -> None:
    """As the middle of a sentence; what is empty adds nothing to it."""
    nothing = ErrorBody()
    page = "<html><title>Bad &amp; gone </title><body>Sorry</body></html>"
    assert quoted_error(nothing, page, keys) == ': "Bad & gone"'
    assert quoted_error(nothing, "<p>Sorry</p><script>x()</script>", keys) == ': "Sorry"'
    assert quoted_error(ErrorBody(error="e", message="m."), page, keys) == ': "m (e)"'
    assert not quoted_error(nothing, "", keys)
    assert quoted_error(ErrorBody(error="e"), page, keys) == ': "e"'
    assert quoted_error(ErrorBody(error="m", message="m"), page, keys) == ': "m"'
    assert quoted_error(nothing, "\ufffd\ufffda", keys) == ", with bytes that are not text"


def test_the_first_of_two_headers_counts() -> None:
    """By its name in any case; what is absent is empty."""
    headers = (("Location", "a"), ("LOCATION", "b"))
    assert [header(headers, "location"), header(headers, "server")] == ["a", ""]


def test_an_excerpt_is_one_line_without_a_key() -> None:
    """Cut where it is long."""
    assert safe_excerpt(f"a\n{KEY.reveal()}", [KEY]) == f"a {REMOVED}"
    assert safe_excerpt("abcdef", [], 4) == "abc…"
