"""Thoughts in front of a reply are the same however the text is cut."""

from __future__ import annotations

import itertools

import pytest

from chatmagic.protocol.thoughts import ThoughtSplitter


def split(*fragments: str) -> tuple[str, str]:
    """Return all thoughts, and all of the reply."""
    splitter = ThoughtSplitter()
    parts = [*map(splitter.feed, fragments), splitter.rest()]
    thoughts, texts = zip(*parts, strict=True)
    return "".join(thoughts), "".join(texts)


@pytest.mark.parametrize(
    ("text", "thoughts", "reply"),
    [
        ("<think>a < b</thin></think>\n\nYes <think>", "a < b</thin>", "Yes <think>"),
        ("\n<think></think>Yes", "", "Yes"),
        ("<think>never ended </thi", "never ended </thi", ""),
        ("<think>a</think>\n", "a", ""),
        (" <thin king>", "", " <thin king>"),
        ("<thi", "", "<thi"),
        (" \n", "", " \n"),
        ("Use <think>", "", "Use <think>"),
        ("", "", ""),
    ],
)
def test_thoughts_stand_apart(text: str, thoughts: str, reply: str) -> None:
    """Only those in front of the reply, cut into three at any two places, or letter by letter."""
    for one, two in itertools.combinations_with_replacement(range(len(text) + 1), 2):
        assert split(text[:one], text[one:two], text[two:]) == (thoughts, reply)
    assert split(*text) == (thoughts, reply)
