"""Cells that ask: what a source asks, and the source that asks it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation import question
from chatmagic.conversation.question import Question
from chatmagic.errors import InputError


@pytest.mark.parametrize(
    ("source", "prompt", "quiet"),
    [
        ("%%chat\nWhy?", "Why?", False),
        ("%%chat -q -t 0\nWhy?\n\nAnd how?\n", "Why?\n\nAnd how?", True),
        ("\n  \n%%chat Why?", "Why?", False),
        ("#| echo: false\n%%chat --raw\nWhy?", "#| echo: false\nWhy?", False),
        ("  %chat -q Why?\n", "Why?", True),
        ("reply = %chat Why?", "Why?", False),
    ],
)
def test_a_cell_that_asks_once(source: str, prompt: str, *, quiet: bool) -> None:
    """A cell magic, or one line of the line magic, assigned or not."""
    assert question.of(source) == Question(prompt, quiet)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "x = 1",
        "%%chat",
        "%%chat --nothing\nWhy?",
        "%chat ?",
        "%chat ??",
        "%chat Why \\",
        "%chat",
        "x = 1\n%chat Why?",
        "%%chat\r\nWhy?",
    ],
)
def test_a_cell_that_asks_otherwise(source: str) -> None:
    """Nothing is guessed where nobody can tell."""
    assert question.of(source) is None


def test_each_line_of_a_cell() -> None:
    """As in a loop; none where another line may ask, too."""
    cell = "for x in y:\n    %chat -q one\n    z = %chat two\nprint(z)"
    assert question.each(cell) == (Question("one", quiet=True), Question("two", quiet=False))
    assert question.each(f"{cell}\nchatmagic.ask('three')") == ()
    assert question.each("%chat ?") == ()


@given(st.text("ab {}#|\n %-\u2028éש?", min_size=1).filter(str.strip))
def test_the_source_for_a_prompt_asks_it(prompt: str) -> None:
    """Letter for letter, but for the line ends after it; and it is not refused."""
    source = question.source(prompt, "-t 0", "-q")
    assert question.of(source) == Question(prompt.rstrip("\n"), quiet=True)
    assert source.partition("\n")[2].removesuffix("\n") == prompt
    assert "--raw" in source.partition("\n")[0] or question.refuse_cell_comments(prompt) is None


@pytest.mark.parametrize("text", ["# NBVAL_SKIP\nx", "#| echo: false\nx", "{{ x }}"])
def test_what_a_cell_would_refuse_or_fill_in_is_raw(text: str) -> None:
    """Unless its expressions are to be evaluated again."""
    assert question.source(text) == f"%%chat --raw\n{text}"
    assert question.source(text, has_values=True) == f"%%chat\n{text}"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("# NBVAL_IGNORE_OUTPUT\nWhy?", "# NBVAL_IGNORE_OUTPUT"),
        ("#NBVAL_SKIP", "#NBVAL_SKIP"),
        ("## NBVAL_SKIP", "## NBVAL_SKIP"),
        ("\n \n  # NBVAL_RAISES_EXCEPTION\n", "# NBVAL_RAISES_EXCEPTION"),
        ("# PYTEST_VALIDATE_IGNORE_OUTPUT", "# PYTEST_VALIDATE_IGNORE_OUTPUT"),
        ("#| echo: false\nWhy?", "#| echo: false"),
    ],
)
def test_a_comment_for_a_tool_is_not_sent(body: str, shown: str) -> None:
    """The message shows the comment; the hint names the tags, and how to send it."""
    with pytest.raises(InputError) as caught:
        question.refuse_cell_comments(body)
    assert caught.value.message == f"{shown} would be sent to the model. Nothing was sent."
    assert caught.value.hint is not None
    assert "nbval-" in caught.value.hint
    assert "--raw" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n",
        "# A heading\nWhy?",
        "Why?\n# NBVAL_SKIP",
        "What does # NBVAL_SKIP do?",
        "# What is NBVAL_SKIP?",
        "#include <stdio.h>",
        "# | a table |",
    ],
)
def test_any_other_body_is_sent(body: str) -> None:
    """A heading is a heading, and a question about a comment is a question."""
    question.refuse_cell_comments(body)
