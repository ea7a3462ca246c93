"""Untrusted text: no character of it acts, and no address in it but the web's is a link."""

from __future__ import annotations

import re
import time

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.safe_text import (
    JOINER,
    columns,
    counted,
    fenced,
    numbered,
    one_line,
    to_terminal,
    unlinked,
    visible,
)

# Written out here, so that a slip in the module's own list is seen.
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def test_visible_shows_what_would_act() -> None:
    """Each kind of character has its own sign; ordinary text is as it was."""
    assert visible("\x00\x07\x1b\x0b\x0c\x7f") == "\u2400\u2407\u241b\u240b\u240c\u2421"
    assert visible("\x80\x9b\u202e\u2066\u2069\U000e0041\ud800") == "\ufffd" * 7
    assert visible("\ud83d\ude00") == "\U0001f600"
    plain = "a\tb\r\nc é 你好 \u200d\u200f שלום \U0001f469\u200d\U0001f4bb"
    assert visible(plain) == plain


def test_a_terminal_is_told_nothing_but_text() -> None:
    """No escape and no carriage return gets through; CRLF is a line end."""
    assert to_terminal("a\r\nb\rc\x1b[2J\x08\x9b\t") == "a\nbc\u241b[2J\u2408\ufffd\t"


@given(st.lists(st.text(st.characters(exclude_categories=()))))
def test_a_terminal_may_be_given_fragments(parts: list[str]) -> None:
    """Fragment by fragment is the same as all at once, and prints in UTF-8."""
    whole = to_terminal("".join(parts))
    assert "".join(map(to_terminal, parts)) == whole
    assert not UNSEEN.search(whole)
    assert "\r" not in whole
    whole.encode()


@pytest.mark.parametrize(
    ("limit", "line"),
    [(99, "a b \u241b c"), (7, "a b \u241b c"), (6, "a b \u241b…"), (5, "a b…"), (1, "…"), (0, "")],
)
def test_one_line_folds_and_cuts(limit: int, line: str) -> None:
    """An excerpt is one line of at most so many characters."""
    assert one_line(" a\n\n b\t\x1b\u2028c\n", limit) == line


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


@each_case(
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


@pytest.mark.unmeasured
@pytest.mark.parametrize("part", ["a", ":/", "://", "data:", "data"])
def test_a_long_text_takes_no_more_than_a_moment(part: str) -> None:
    """No text takes quadratic time (this machine may be busy)."""
    started = time.thread_time()
    unlinked(part * 100_000)
    assert time.thread_time() - started < 10


def test_a_number_with_its_noun() -> None:
    """The plural has an s; thousands have a comma."""
    assert [counted(count, "turn") for count in (0, 1, 2_000)] == [
        "0 turns",
        "1 turn",
        "2,000 turns",
    ]


def test_columns_begin_at_one_place() -> None:
    """As wide as their widest cell, without white space at the end; none without rows."""
    assert columns([("a", "bb", "c"), ("aaa", "", "")]) == ["a    bb  c", "aaa"]
    assert columns([]) == []


def test_the_places_of_a_noun() -> None:
    """One or several in their order, each once."""
    assert numbered([3], "cell") == "cell 3"
    assert numbered([3, 3, 5], "cell") == "cells 3 and 5"
    assert numbered([1, 2, 1_000], "turn") == "turns 1, 2 and 1,000"


@pytest.mark.parametrize(
    ("text", "marks"), [("", 3), ("a `b` c", 3), ("``", 3), ("```\nx\n```", 4), ("a ````` b", 6)]
)
def test_no_text_closes_its_fence(text: str, marks: int) -> None:
    """It is as long as a fence is, and longer than any backquotes in it."""
    fence = "`" * marks
    assert fenced(text, "sql") == f"{fence}sql\n{text}\n{fence}"
    assert fenced(f"{text}\n") == f"{fence}\n{text}\n{fence}"
