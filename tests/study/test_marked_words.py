"""Words of two texts, each with a mark."""

from __future__ import annotations

import pytest

from chatmagic.study.marked_words import marked_words


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("", "", []),
        ("a b", "a b", [("same", "a b")]),
        ("a b c", "a x c", [("same", "a "), ("old", "b"), ("new", "x"), ("same", " c")]),
        ("a", "a b", [("same", "a"), ("new", " b")]),
        ("a b", "", [("old", "a b")]),
        ("a b a", "a b b a", [("same", "a b "), ("new", "b "), ("same", "a")]),
    ],
)
def test_words_are_marked(old: str, new: str, marked: list[tuple[str, str]]) -> None:
    """Word by word; both texts can be put together again."""
    words = marked_words(old, new)
    assert words == marked
    assert "".join(text for mark, text in words if mark != "new") == old
    assert "".join(text for mark, text in words if mark != "old") == new


def test_long_texts_are_compared_in_little_time() -> None:
    """What is alike at both ends is left out first; a very long difference is one."""
    old = "the same " * 50_000 + "x " * 5_000
    new = "the same " * 50_000 + "y " * 5_000
    words = marked_words(old, new)
    assert [mark for mark, _ in words] == ["same", "old", "new", "same"]
