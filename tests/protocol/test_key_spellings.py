"""A key is found however its letters are written, and nothing else is."""

from __future__ import annotations

import html
import json
from urllib.parse import quote

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.protocol.key_spellings import KeySpellings

KEY = "sk-7Hq/x+e=9<&'\"%41z"
OTHER = "sk-abcdefgh0123"


def spellings_of(letter: str) -> list[str]:
    """Return ways to write a letter."""
    code = ord(letter)
    ways = [letter, letter.swapcase(), f"\\{letter}", f"\\\\\\{letter}"]
    ways += [f"%{code:02x}", f"%{code:02X}", f"%25{code:02x}", f"%2525{code:02x}"]
    ways += [f"\\u{code:04x}", f"\\u{code:04X}", f"\\\\u{code:04x}", f"\\x{code:02x}"]
    ways += [f"&#{code};", f"&#x{code:x};", f"&#X{code:X};", f"&#{code:05}", f"&amp;#{code};"]
    return [*ways, html.escape(letter), html.escape(html.escape(letter))]


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_each_spelling_is_found(key: str) -> None:
    """The same one throughout."""
    finder = KeySpellings(key)
    for ways in zip(*map(spellings_of, key), strict=True):
        text = "".join(ways)
        assert finder.is_in(f"100%{text}s")
        assert finder.replaced(f"({text})", "gone") in {"(gone)", "(\\gone)", "(gone;)"}
    for text in (quote(key, safe=""), json.dumps(json.dumps(key)), html.escape(key), repr(key)):
        assert finder.is_in(text)


@given(st.data())
def test_spellings_may_be_mixed(data: st.DataObject) -> None:
    """Each beginning of such a text is known as one, so nothing of it is passed on."""
    key = data.draw(st.sampled_from([KEY, OTHER]))
    text = "".join(data.draw(st.sampled_from(spellings_of(letter))) for letter in key)
    finder = KeySpellings(key)
    assert finder.replaced(f"a {text}", "gone").removesuffix(";") == "a gone"
    cut = data.draw(st.integers(1, len(text) - 8))
    assert finder.tail(f"a {text[:cut]}")[0] == 2


@pytest.mark.parametrize(
    "text",
    [OTHER[:-1], OTHER[1:], " ".join(OTHER), OTHER[::-1], "%73k-abcdefgh012", "sk-%zz", "\\u0073k"],
)
def test_other_texts_are_no_key(text: str) -> None:
    """A part of it, or letters with something between them."""
    finder = KeySpellings(OTHER)
    assert not finder.is_in(f"{text} and more text than the key has")
    assert finder.replaced(text, "gone") == text


@each_case(
    ("text", "at", "count"),
    [
        ("", 0, 0),
        ("word", 4, 0),
        ("is", 1, 1),
        ("sx sk-ab", 3, 5),
        ("a %", 2, 0),
        ("a %7", 2, 0),
        ("a %73", 2, 1),
        ("a %74", 5, 0),
        ("a &am", 2, 0),
        ("a &b", 4, 0),
        ("a \\u00", 2, 0),
        ("a \\n", 4, 0),
        (OTHER, len(OTHER), 0),
    ],
)
def test_the_tail_that_may_begin_a_key(text: str, at: int, count: int) -> None:
    """From its first letter on, with the number of letters that are there."""
    assert KeySpellings(OTHER).tail(text) == (at, count)


@pytest.mark.parametrize("piece", ["\\", "%25", "&amp;", "s", "sk-abcdefgh012", "\\u0073"])
def test_a_long_text_is_searched_in_passing(piece: str) -> None:
    """A search that tried each place to the end would take hours."""
    finder = KeySpellings(OTHER)
    text = piece * 200_000
    assert not finder.is_in(text)
    finder.tail(text)
