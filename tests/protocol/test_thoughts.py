"""Thoughts in front of a reply are the same however the text is cut."""

from __future__ import annotations

import itertools

import pytest
from cases import each_case

from chatmagic.protocol.thoughts import ThoughtSplitter, split_unopened


def split(*fragments: str) -> tuple[str, str]:
    """Return all thoughts, and all of the reply."""
    splitter = ThoughtSplitter()
    parts = [*map(splitter.feed, fragments), splitter.rest()]
    thoughts, texts = zip(*parts, strict=True)
    return "".join(thoughts), "".join(texts)


class Counted(str):
    """Text that counts how many of its characters are copied."""

    __slots__ = ()
    copied = 0

    def lstrip(self, chars: str | None = None, /) -> Counted:
        """Count, and return the rest."""
        Counted.copied += len(self)
        return Counted(super().lstrip(chars))

    def __add__(self, other: str, /) -> Counted:
        """Count, and return both together."""
        Counted.copied += len(self) + len(other)
        return Counted(str(self) + str(other))

    def __radd__(self, other: str) -> Counted:
        """Count, and return both together."""
        return Counted(other) + self


def test_each_blank_in_front_is_looked_at_once() -> None:
    """A blank an event takes the same few steps each, however many came before."""
    splitter = ThoughtSplitter()
    for _ in range(10_000):
        assert splitter.feed(Counted(" ")) == ("", "")
    assert splitter.feed("a") == ("", " " * 10_000 + "a")
    assert Counted.copied < 50_000


@each_case(
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


@pytest.mark.parametrize(
    ("text", "thoughts", "reply"),
    [
        ("I add.\n</think>\n\nIt is 4.", "I add.", "It is 4."),
        ("I add.</think>It is 4.", "I add.", "It is 4."),
        ("</think>\n4", "", "4"),
        ("Or `</think>`? No.\n</think>4", "Or `</think>`? No.", "4"),
        ("I add.</think>", "I add.", ""),
        ("4</think>2</think>1", "4", "2</think>1"),
    ],
)
def test_thoughts_may_end_without_a_beginning(text: str, thoughts: str, reply: str) -> None:
    """Where the server itself has written the beginning, into the prompt."""
    assert split_unopened(text) == (thoughts, reply)


@pytest.mark.parametrize(
    "text",
    [
        "It ends with `</think>`.",
        "```\na\n</think>\n```\nIt is code.",
        'It ends with "</think>".',
        "<think> begins it, </think> ends it.",
        "Nothing ends here.",
        "x" * 600 + "`" + "y" * 600 + "`</think>`",
    ],
)
def test_a_reply_that_speaks_of_the_mark_is_whole(text: str) -> None:
    """In code, in quotation marks, or beside its beginning."""
    assert split_unopened(text) == ("", text)
