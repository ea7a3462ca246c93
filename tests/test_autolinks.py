"""Printed text of strangers makes links of the web alone."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.text import JOINER, unlinked

# What JupyterLab 4.6 and Notebook 7.6 take for an address in printed text.
FOUND = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]{2,40}://|data:|www\.)[^\s]{2,}")
SIGNS = st.lists(
    st.sampled_from(
        ["data", "javascript", "http", "https", "ftp", ":", "/", "//", "x", " ", "1", "+", "www."]
    )
).map("".join)


def schemes(text: str) -> set[str]:
    """Give how each link that a front end finds begins."""
    return {re.split("[:.]", found)[0] for found in FOUND.findall(text)}


@pytest.mark.parametrize(
    "text",
    [
        "javascript://x%0aalert(1)",
        "1javascript://xy",
        "data:text/html,<script>",
        "metadata:text/html,x",
        "file:///etc/passwd",
        "xhttps://x.y/z",
        "h.https://x.y/z",
        f"{'a' * 60}://xy",
    ],
)
def test_other_addresses_make_no_link(text: str) -> None:
    """They read as they were, with a joiner inside."""
    assert FOUND.search(text)
    assert not FOUND.search(unlinked(text))
    assert unlinked(text).replace(JOINER, "") == text


@pytest.mark.parametrize(
    "text", ["https://a.b/c", "(http://a.b/c)", "HTTPS://a.b", "the data: 1", "a://", "Note: x"]
)
def test_the_web_and_prose_stay(text: str) -> None:
    """Nothing is put into what is no such address."""
    assert unlinked(text).replace("a:/\u2060/", "a://") == text


@given(st.lists(SIGNS))
def test_pieces_make_no_more_links_than_the_whole(pieces: list[str]) -> None:
    """However a text is cut, what is shown of it makes links of the web alone."""
    shown, before = "", ""
    for piece in pieces:
        shown += unlinked(piece, before)
        before += piece
    assert shown.replace(JOINER, "") == "".join(pieces)
    assert schemes(shown) <= {"http", "https", "www"}


@pytest.mark.parametrize("part", ["a", ":/", "://", "data:", "data"])
def test_a_long_text_takes_no_more_than_a_moment(part: str) -> None:
    """No text takes quadratic time (this machine may be busy)."""
    started = time.process_time()
    unlinked(part * 100_000)
    assert time.process_time() - started < 10
