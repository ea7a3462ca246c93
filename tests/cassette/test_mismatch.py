"""What differs from the nearest recorded request, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatmagic.cassette import mismatch
from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.items import Query
from chatmagic.models import Message
from chatmagic.protocol.wire import Request


def asked(*contents: str, typed: str | None = None, **parameters: object) -> Query:
    """Give the request of a talk, in which user and assistant take turns."""
    roles = ("user", "assistant")
    messages = tuple(Message(roles[n % 2], content) for n, content in enumerate(contents))
    request = Request(messages, **parameters)  # type: ignore[arg-type]
    return Query(Interaction.asked(request, typed=typed), messages=messages)


def difference(now: Query, then: Query | Interaction, *held: Interaction) -> str:
    """Give the sentence; ``held`` is what else is recorded."""
    other = then.asked if isinstance(then, Query) else then
    return mismatch.difference(now, other, [*held, other])


def nearest(now: Query, recorded: list[Query]) -> Interaction | None:
    """Give the recorded request that is nearest."""
    return mismatch.nearest(now.asked, [other.asked for other in recorded])


def in_notebook(one: Query) -> Interaction:
    """Give what a notebook knows of a request."""
    return replace(one.asked, prompt=one.asked.as_typed, parameters={"stream": True})


FIRST = replace(asked("What is a mean?").asked, text="A sum by a count.")
MEDIAN = "And a median, in one sentence?"
TALK = asked("What is a mean?", "A sum by a count.", MEDIAN)


@pytest.mark.parametrize(
    ("now", "match"),
    [
        (
            asked("What is a mean?", "A sum by a count.", "And a mode, in one sentence?"),
            "Message 3 (the prompt) differs: asked “And a mode, in one sentence?”, recorded “And a",
        ),
        (
            asked("What is a mean?", "A sum by a number.", MEDIAN),
            "Message 2 (a reply above) differs: asked “A sum by a number.”, recorded “A sum by a c",
        ),
        (
            asked("What is a mode?", "A sum by a count.", MEDIAN),
            "Message 1 (a prompt above) differs: asked “What is a mode?”, recorded “What is a mean",
        ),
        (
            asked(MEDIAN),
            "The nearest recorded request carries 2 earlier messages, this one 0 earlier messages:",
        ),
        (
            asked(*"abcd", "What is a mean?", "A sum by a count.", MEDIAN),
            "The nearest recorded request carries 2 earlier messages, this one 6",
        ),
        (
            asked("What is a mean?", "A sum by a count.", MEDIAN, temperature=0.5),
            "The messages are the same, but temperature is 0.5, and was recorded as not set.",
        ),
        (
            asked("What is a mean?", "A sum by a count.", MEDIAN, stream=False),
            "The messages are the same, but stream is False, and was recorded as True.",
        ),
    ],
)
def test_the_first_difference_is_named(now: Query, match: str) -> None:
    """By the message's number and its words, or the parameter."""
    assert difference(now, TALK, FIRST).startswith(match)


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        ("large", "small", "model is 'large', and was recorded as 'small'"),
        ("large", None, "model is 'large', and was recorded as not set"),
        (None, "small", "temperature is 0.5, and was recorded as not set"),
    ],
)
def test_another_model_is_named(now: str | None, then: str | None, words: str) -> None:
    """Both of them; where none is set now it is not what differs."""
    other = asked("What is a mean?")
    mine = other if now else asked("What is a mean?", temperature=0.5)
    query = replace(mine, asked=replace(mine.asked, asked_model=now))
    said = difference(query, replace(other.asked, asked_model=then))
    assert said == f"The messages are the same, but {words}."


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        ("0a", "0b", "the instructions that go along are not the recorded ones"),
        ("0a", None, "this one carries instructions, and the recorded one carried none"),
        (None, "0b", "this one carries no instructions, and the recorded one carried some"),
    ],
)
def test_other_instructions_are_named(now: str | None, then: str | None, words: str) -> None:
    """They are no part of the messages that are compared."""
    other = asked("What is a mean?")
    query = replace(other, asked=replace(other.asked, instructions=now))
    said = difference(query, replace(other.asked, instructions=then))
    assert said == f"The messages are the same, but {words}."


def test_what_the_file_lacks_is_told_as_a_turn() -> None:
    """It is known by a digest alone."""
    one = Interaction(request="d", parameters={}, prompt="two", before=("ab" * 8,))
    said = difference(asked("What is a mean?", "A sum.", "two"), one)
    assert said.startswith("Messages 1 and 2 (a turn above) differ from the recorded ones")


def test_long_texts_are_shown_where_they_differ() -> None:
    """A few words before, some after, on one line, without what acts in a terminal."""
    body = "All the words before it are the same. " * 4
    mine, other = asked(f"{body}one\x1b[31m\nway {body}"), asked(f"{body}two\nways {body}")
    said = difference(mine, other)
    assert "asked “…re it are the same. one\\x1b[31m\\nway All" in said
    assert len(said) < 200
    assert "\n" not in said


def test_a_difference_is_shown_in_a_table() -> None:
    """Rows without spaces, and a text that goes on."""
    rows = "\n".join(f"{number},{number * number}" for number in range(40))
    said = difference(asked(rows), asked(rows.replace("33,1089", "33,1088")))
    assert "33,1089" in said
    assert "33,1088" in said
    rest = "-" * 60
    assert f"asked “a{rest[:47]}…”" in difference(asked(f"a{rest}"), asked(f"b{rest}"))


@pytest.mark.parametrize(
    ("now", "then", "shown"),
    [
        ("a  b\n1  2", "a b\n1 2", "asked “a  b\\n1  2”, recorded “a b\\n1 2”"),
        ("Why? ", "Why?", "asked “Why? ”, recorded “Why?”"),
        ("1\u00a0kg", "1 kg", "asked “1\\xa0kg”, recorded “1 kg”"),
        ("a\x07b", "a\x08b", "asked “a\\x07b”, recorded “a\\x08b”"),
        ("0\u202e1", "0\u202d1", "asked “0\\u202e1”, recorded “0\\u202d1”"),
    ],
)
def test_white_space_is_shown_as_it_is(now: str, then: str, shown: str) -> None:
    """Another version of a library puts other spaces into a table, and little else."""
    said = difference(asked(now), asked(then))
    assert said == f"Message 1 (the prompt) differs: {shown}."


def test_of_a_notebook_the_prompts_as_typed_are_compared() -> None:
    """It has no texts of earlier turns that are not shown, and no others of its prompts."""
    held = in_notebook(TALK)
    other = asked("What is a mode?", "A sum by a count.", MEDIAN)
    assert difference(other, held).startswith("Messages 1 and 2 (a turn above) differ")
    assert difference(TALK, held).startswith("The prompt as typed is the same, but a value")
    valued = asked("v = 1", typed="v = {{ v }}")
    said = difference(asked("v = 2", typed="v = {{ v }}"), in_notebook(valued))
    assert said.startswith("The prompt as typed is the same, but a value that it puts in")
    assert "v = 2" in difference(asked("v = 2", typed="v = {{ v }}"), valued)


def test_a_talk_that_went_on_otherwise() -> None:
    """The message that stood in the prompt's place is shown, or that its reply is missing."""
    changed = asked("What is a mode?")
    assert difference(changed, TALK, FIRST) == (
        "Message 1 (the prompt) differs: asked “What is a mode?”, recorded “What is a mean?”."
    )
    cut_off = asked("What is a mean?")
    assert "no reply to this prompt" in difference(cut_off, TALK)
    assert "no reply to this prompt" in difference(cut_off, TALK, FIRST)


def test_the_nearest_is_the_one_with_the_same_prompt() -> None:
    """Then the one that carries most of the same, then the one that begins alike."""
    other = asked("Why?")
    longer = asked("What is a mean?", "A sum by a count.", "Why not?")
    assert nearest(asked("x", "y", MEDIAN), [other, longer, TALK]) == TALK.asked
    assert (
        nearest(asked("What is a mean?", "A sum by a count.", "Who?"), [other, TALK]) == TALK.asked
    )
    assert nearest(asked("Why so?"), [asked("Who?"), other]) == other.asked
    assert nearest(other, []) is None
    told = replace(other, asked=replace(other.asked, instructions="0a"))
    assert nearest(told, [other, told]) == told.asked
