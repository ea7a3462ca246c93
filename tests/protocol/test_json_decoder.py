"""JSON that is cut, and figures of any length."""

from __future__ import annotations

import pytest

from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.json_decoder import JSON_DECODER, content_begun, json_is_cut


def cut(text: str) -> bool:
    """Return whether a text that is no JSON is known as one that was cut."""
    with pytest.raises((ValueError, RecursionError)) as caught:
        JSON_DECODER.decode(text)
    return json_is_cut(caught.value)


def test_json_that_ends_anywhere_is_known_to_be_cut() -> None:
    """In the middle of an escape, a word and a number too; unlike what never was JSON."""
    whole = (
        r'{"a": "x\u00fc\n\ud83d\ude00 y", "b": [true, false, null, -1.5e+3, 0, NaN, -Infinity,'
        r' {"c": {}}], "d": "\\"}'
    )
    assert all(cut(whole[:end]) for end in range(1, len(whole)))
    for text in ('{a: oops, "b": 1}', f"{whole} and much behind", "[" * 100_000):
        assert not cut(text), text


@pytest.mark.parametrize("digits", ["9" * 4_301, "-" + "9" * 5_000])
def test_a_number_of_any_length_is_read(digits: str) -> None:
    """Python reads no more than 4,300 digits; a longer figure is unknown, and the text is kept."""
    body = (
        f'{{"choices": [{{"delta": {{"content": "x"}}}}], "usage": {{"prompt_tokens": {digits}}}}}'
    )
    chunk = Chunk.from_json(JSON_DECODER.decode(body))
    assert chunk.content == "x"
    assert chunk.usage is None or chunk.usage.prompt_tokens is None


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"choices": [{"message": {"content": "one tw', "one tw"),
        ('{"content" : "one\\', "one"),
        ('{"content": "one\\u00', "one"),
        ('{"content": "one", "more": "', "one"),
        ('{"content": "a\\q bcdefghijk', ""),
        ('{"content', ""),
    ],
)
def test_the_beginning_of_a_content_that_is_cut(text: str, content: str) -> None:
    """Exactly, also where the cut is within an escape."""
    assert content_begun(text) == content
