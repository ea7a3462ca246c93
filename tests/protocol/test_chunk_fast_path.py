"""Chunks that are alike: which lines are, and what their content is."""

from __future__ import annotations

import json

import pytest
from cases import each_case

from chatmagic.protocol.chunk_fast_path import alike

LINE = 'data: {"model":"m","choices":[{"delta":{"content":"a"},"index":0}]}'


@each_case(
    ("content", "read"),
    [
        (" word", " word"),
        ("é", "é"),
        (r"\"quoted\" \\ \u00e9", '"quoted" \\ é'),
        (r"half of a pair: \ud83d", "half of a pair: \ud83d"),
        ("", ""),
        ('b","x":"c', ""),
        (r"\x", ""),
        ("\\", ""),
    ],
)
def test_the_content_of_a_line_that_is_alike(content: str, read: str) -> None:
    """It is the string in that place; where it is none, or empty, the line is parsed."""
    like = alike(LINE, json.loads(LINE[6:]))
    assert like is not None
    assert like.content_of(LINE.replace('"a"', f'"{content}"')) == read


@pytest.mark.parametrize("line", ["", LINE[:-1], LINE + " ", LINE.replace("m", "n"), LINE[8:]])
def test_a_line_that_is_not_alike(line: str) -> None:
    """It differs in something else."""
    like = alike(LINE, json.loads(LINE[6:]))
    assert like is not None
    assert like.content_of(line) == ""


@each_case(
    "text",
    [
        '"content"',
        "{}",
        '{"choices":[{"delta":{}}],"content":"a"}',
        '{"choices":[{"delta":"content"}]}',
        '{"choices":[{"delta":{"content":null}}]}',
        '{"choices":[{"delta":{"content":"a","content":"b"}}]}',
        r'{"choices":[{"delta":{"content":"a","cont\u0065nt":"b"}}]}',
        r'{"\"":0,"choices":[{"delta":{"content":"a"}}]}',
        '[{"choices":[{"delta":{"content":"a"}}]}]',
        '{"choices":[{"message":{"content":"a"}}]}',
        '{"choices":[{"delta":{"content":"a","refusal":"no"}}]}',
        '{"choices":[{"index":1,"delta":{"content":"a"}}]}',
    ],
)
def test_where_the_place_of_the_content_is_not_sure(text: str) -> None:
    """Each line is parsed by itself; so is one that tells a fragment of a refusal, too."""
    assert alike(f"data: {text}", json.loads(text)) is None
