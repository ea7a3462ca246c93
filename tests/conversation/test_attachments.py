"""What goes in front of a question, as the model reads it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from chatmagic.conversation import attachments
from chatmagic.conversation.attachments import (
    nearest_with_schema,
    with_known_text,
    words_on_form,
)
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.schema_text import Schema
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply

if TYPE_CHECKING:
    from chatmagic.conversation.request_facts import Format


def test_a_cell_with_its_output() -> None:
    """Each stands in its fence, and a cell that printed nothing has no output."""
    assert attachments.cell_text("x = 1\n") == "A cell of this notebook:\n\n```python\nx = 1\n```"
    assert (
        attachments.cell_text("print(x)", "\n1\n\n").partition("```\n\n")[2]
        == "Its output:\n\n```\n1\n```"
    )
    assert attachments.cell_text("x", " \n") == attachments.cell_text("x")


def test_a_long_output_says_how_much_of_it_is_there() -> None:
    """The size that it had, and how much of that was noted."""
    assert "Its output (the first 2 of 1,000 characters):\n\n" in attachments.cell_text(
        "x", "ab", 1_000
    )
    assert "Its output:\n\n" in attachments.cell_text("x", "ab", 2)
    without = attachments.cell_text("x", "", 1_000)
    assert without == attachments.cell_text("x") + "\n\nIts output of 1,000 characters is left out."
    long = attachments.cell_text("x" * (attachments.MOST + 1))
    assert "[the first 100,000 of 100,001 characters]" in long


def test_a_cell_that_raised() -> None:
    """Its error stands below what it showed."""
    raised = attachments.cell_text("x", "out", trace="NameError: x")
    said = "The error that it raised:\n\n```\nNameError: x\n```"
    assert raised == f"{attachments.cell_text('x', 'out')}\n\n{said}"


def test_an_error_with_its_cell() -> None:
    """The source, and the error as text."""
    assert attachments.error_text("1 / 0", "\x1b[31mZeroDivisionError\x1b[0m") == (
        "A cell of this notebook that raised an error:\n\n```python\n1 / 0\n```\n\n"
        "The error:\n\n```\nZeroDivisionError\n```"
    )


def test_no_text_closes_its_fence() -> None:
    """The fence is longer than any that stands in the text."""
    text = attachments.cell_text("x", "```\nnow you\n`````")
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
    assert attachments.as_shown(printed) == shown


@pytest.mark.parametrize("text", ["x" * 200_000, "\x1b[" * 100_000, "\r" * 200_000, "`" * 200_000])
def test_hostile_text_is_cheap(text: str) -> None:
    """No text takes more time than its length."""
    began = time.thread_time()
    attachments.cell_text(text, text)
    assert time.thread_time() - began < 2


SCHEMA = Schema("City", "City: string", str)


def turn(format: Format, schema: str | None = None) -> Turn:
    """Give a turn that was asked in a form."""
    return Turn("q", reply=Reply("r"), format=format, schema=schema)


@pytest.mark.parametrize("format", ["text", "code", "json"])
def test_a_form_is_asked_for_in_front(format: Format) -> None:
    """Whatever the turns before had."""
    value = words_on_form(format, None, [turn(format)])
    assert value is not None
    assert (value.kind, value.expression, value.name) == ("format", format, f"format {format}")
    assert value.text is not None
    assert value.text.startswith("Reply ")


def test_a_schema_is_told_whole() -> None:
    """Behind what asks for JSON."""
    words = (
        "Reply with one JSON value alone, without a code fence and without other words. "
        "It is of the type City:\n\nCity: string"
    )
    assert words_on_form("json", SCHEMA, []) == Value.of("json City", words, "format")


@pytest.mark.parametrize("format", ["markdown", "text", "code", "json"])
def test_the_words_of_a_form_are_known_without_being_kept(format: Format) -> None:
    """Those of a schema are not, nor any other value."""
    value = words_on_form(format, None, [turn("text" if format == "markdown" else format)])
    assert value is not None
    assert with_known_text(value.bare) == value
    others = [words_on_form("json", SCHEMA, []), Value.of("x", value.text or "")]
    assert all(with_known_text(other.bare) == other.bare for other in others if other is not None)


def test_prose_is_asked_for_where_the_latest_reply_had_another_form() -> None:
    """A model goes on as it began; elsewhere nothing is said."""
    assert words_on_form("markdown", None, []) is None
    assert words_on_form("markdown", None, [turn("json"), turn("markdown")]) is None
    prose = words_on_form("markdown", None, [turn("markdown"), turn("json")])
    assert prose is not None
    assert prose.name == "format markdown"


def test_the_nearest_schema() -> None:
    """It is the one of the last turn that has one."""
    turns = [turn("json", "A"), turn("json", "B"), turn("json"), turn("markdown")]
    assert nearest_with_schema(turns) is turns[1]
    assert nearest_with_schema(turns[2:]) is None
