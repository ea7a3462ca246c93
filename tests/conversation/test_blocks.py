"""What goes in front of a question, as the model reads it."""

from __future__ import annotations

import time

import pytest

from chatmagic.conversation import blocks


def test_a_cell_with_its_output() -> None:
    """Each stands in its fence, and a cell that printed nothing has no output."""
    assert blocks.cell("x = 1\n") == "A cell of this notebook:\n\n```python\nx = 1\n```"
    assert (
        blocks.cell("print(x)", "\n1\n\n").partition("```\n\n")[2] == "Its output:\n\n```\n1\n```"
    )
    assert blocks.cell("x", " \n") == blocks.cell("x")


def test_a_long_output_says_how_much_of_it_is_there() -> None:
    """The size that it had, and how much of that was noted."""
    assert "Its output (the first 2 of 1,000 characters):\n\n" in blocks.cell("x", "ab", 1_000)
    assert "Its output:\n\n" in blocks.cell("x", "ab", 2)
    long = blocks.cell("x" * (blocks.MOST + 1))
    assert "[the first 100,000 of 100,001 characters]" in long


def test_a_cell_that_raised() -> None:
    """Its error stands below what it showed."""
    raised = blocks.cell("x", "out", trace="NameError: x")
    assert (
        raised
        == f"{blocks.cell('x', 'out')}\n\nThe error that it raised:\n\n```\nNameError: x\n```"
    )


def test_an_error_with_its_cell() -> None:
    """The source, and the error as text."""
    assert blocks.error("1 / 0", "\x1b[31mZeroDivisionError\x1b[0m") == (
        "A cell of this notebook that raised an error:\n\n```python\n1 / 0\n```\n\n"
        "The error:\n\n```\nZeroDivisionError\n```"
    )


def test_no_text_closes_its_fence() -> None:
    """The fence is longer than any that stands in the text."""
    text = blocks.cell("x", "```\nnow you\n`````")
    assert text.endswith("``````\n```\nnow you\n`````\n``````")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("10%\r50%\r100%\n", "100%\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\r", "a"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;y\x1b\\z\x1bM", "red xz"),
        ("plain {{ x }}", "plain {{ x }}"),
        ("[<Line2D at 0x7f5ec3b670>] look at 0x1F", "[<Line2D at 0x…>] look at 0x1F"),
    ],
)
def test_printed_text_is_what_is_left_to_see(printed: str, shown: str) -> None:
    """Colours go, and what a progress bar wrote over."""
    assert blocks.as_shown(printed) == shown


@pytest.mark.parametrize("text", ["x" * 200_000, "\x1b[" * 100_000, "\r" * 200_000, "`" * 200_000])
def test_hostile_text_is_cheap(text: str) -> None:
    """No text takes more time than its length."""
    began = time.thread_time()
    blocks.cell(text, text)
    assert time.thread_time() - began < 2
