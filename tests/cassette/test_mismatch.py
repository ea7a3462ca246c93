"""What differs from the nearest recorded request, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatmagic._json import turn_digest
from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.mismatch import difference, nearest
from chatmagic.models import Message
from chatmagic.protocol.wire import Request


def asked(*contents: str, typed: str | None = None, **parameters: object) -> Interaction:
    """Give the request of a talk, in which user and assistant take turns."""
    roles = ("user", "assistant")
    messages = tuple(Message(roles[n % 2], content) for n, content in enumerate(contents))
    return Interaction.asked(Request(messages, **parameters), typed=typed)  # type: ignore[arg-type]


def in_notebook(one: Interaction) -> Interaction:
    """Give what a notebook knows of a request."""
    pairs = zip(one.before[::2], one.before[1::2], strict=True)
    digests = tuple(turn_digest(a.content, b.content) for a, b in pairs)  # type: ignore[union-attr]
    prompt = one.typed or one.prompt
    return replace(one, prompt=prompt, before=digests, parameters={"stream": True})


TALK = asked("What is a mean?", "A sum by a count.", "And a median, in one sentence?")


@pytest.mark.parametrize(
    ("now", "match"),
    [
        (
            asked("What is a mean?", "A sum by a count.", "And a mode, in one sentence?"),
            "Message 3 (the prompt) differs: asked “And a mode, in one sentence?”, recorded “And a",
        ),
        (
            asked("What is a mean?", "A sum by a number.", TALK.prompt),
            "Message 2 (a reply above) differs: asked “A sum by a number.”, recorded “A sum by a c",
        ),
        (
            asked("What is a mode?", "A sum by a count.", TALK.prompt),
            "Message 1 (a prompt above) differs: asked “What is a mode?”, recorded “What is a mean",
        ),
        (
            asked(TALK.prompt),
            "The nearest recorded request carries 2 earlier messages, this one 0 earlier messages:",
        ),
        (
            asked(*"abcd", "What is a mean?", "A sum by a count.", TALK.prompt),
            "The nearest recorded request carries 2 earlier messages, this one 6",
        ),
        (
            asked("What is a mean?", "A sum by a count.", TALK.prompt, temperature=0.5),
            "The messages are the same, but temperature is 0.5, and was recorded as not set.",
        ),
        (
            asked("What is a mean?", "A sum by a count.", TALK.prompt, stream=False),
            "The messages are the same, but stream is False, and was recorded as True.",
        ),
    ],
)
def test_the_first_difference_is_named(now: Interaction, match: str) -> None:
    """By the message's number and its words, or the parameter."""
    assert difference(now, TALK).startswith(match)


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
    said = difference(replace(mine, asked_model=now), replace(other, asked_model=then))
    assert said == f"The messages are the same, but {words}."


def test_what_the_file_lacks_is_told_as_a_turn() -> None:
    """It is known by a digest alone."""
    one = Interaction(request="d", prompt="two", after="ab" * 8)
    said = difference(asked("What is a mean?", "A sum.", "two"), one)
    assert said.startswith("Messages 1 and 2 (a turn above) differ from the recorded ones")


def test_long_texts_are_shown_where_they_differ() -> None:
    """A few words before, some after, on one line, without what acts in a terminal."""
    body = "All the words before it are the same. " * 4
    mine, other = asked(f"{body}one\x1b[31m\nway {body}"), asked(f"{body}two\nways {body}")
    said = difference(mine, other)
    assert "asked “…it are the same. one�[31m way All" in said
    assert len(said) < 200
    assert "\n" not in said


def test_a_text_without_spaces_is_shown_where_it_differs() -> None:
    """A table with commas has no words to begin at, or only lines."""
    rows = [f"{number},{number * number}" for number in range(40)]
    for between in ("\n", ";"):
        mine = between.join(rows)
        said = difference(asked(mine), asked(mine.replace("33,1089", "33,1088")))
        assert "33,1089" in said
        assert "33,1088" in said
    assert "asked “echo:What is the mean" in difference(
        asked("echo:What is the mean of it?"), asked("echo:What is the mode of it?")
    )
    rest = "-" * 60
    assert f"asked “a{rest[:46]}" in difference(asked(f"a{rest}"), asked(f"b{rest}"))


@pytest.mark.parametrize(
    ("now", "then", "shown"),
    [
        ("a  b\n1  2", "a b\n1 2", "asked “a␣␣b\\n1␣␣2”, recorded “a␣b\\n1␣2” (␣ is a space)"),
        ("Why? ", "Why?", "asked “Why?␣”, recorded “Why?” (␣ is a space)"),
        ("1\u00a0kg", "1 kg", "asked “1\\xa0kg”, recorded “1␣kg” (␣ is a space)"),
        ("cafe\u0301", "caf\u00e9", "asked “cafe\\u0301”, recorded “café”"),
        ("a\x07b", "a\x08b", "asked “a\\x07b”, recorded “a\\x08b”"),
        ("0\u202e1", "0\u202d1", "asked “0\\u202e1”, recorded “0\\u202d1”"),
    ],
)
def test_texts_that_look_alike_are_told_apart(now: str, then: str, shown: str) -> None:
    """Another version of a library puts other spaces into a table, and little else."""
    said = difference(asked(now), asked(then))
    assert said == f"Message 1 (the prompt) differs: {shown}."


def test_white_space_is_told_in_a_long_table_too() -> None:
    """More spaces move the end of what is shown, and a text that ends has other words."""
    row = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n" * 3
    said = difference(asked(row), asked(row.replace(" ", "  ")))
    assert "asked “1␣2␣3␣4" in said
    assert "recorded “1␣␣2␣␣3␣␣4" in said
    assert "␣" not in difference(asked(row), asked(row[:5]))
    assert "␣" not in difference(asked(row[:5]), asked(row))


def test_a_single_message_of_another_role_is_named_too() -> None:
    """Not every request is made of turns."""
    be = [
        Request((Message("system", f"Be {how}."), Message("user", "hi")))
        for how in ("kind", "rude")
    ]
    said = difference(Interaction.asked(be[0]), Interaction.asked(be[1]))
    assert said == "Message 1 (system) differs: asked “Be kind.”, recorded “Be rude.”."


def test_of_a_notebook_the_digests_are_compared() -> None:
    """It has no texts of earlier turns to show, and its prompt as typed."""
    held = in_notebook(TALK)
    other = asked("What is a mode?", "A sum by a count.", TALK.prompt)
    assert difference(other, held).startswith("Messages 1 and 2 (a turn above) differ")
    assert difference(TALK, held).startswith("The prompt as typed is the same, but a value")
    valued = asked("v = 1", typed="v = {{ v }}")
    said = difference(asked("v = 2", typed="v = {{ v }}"), in_notebook(valued))
    assert said.startswith("The prompt as typed is the same, but a value that it puts in")
    assert "v = 2" in difference(asked("v = 2", typed="v = {{ v }}"), valued)


def test_a_talk_that_went_on_otherwise() -> None:
    """The message that stood in the prompt's place is shown, or that its reply is missing."""
    changed = asked("What is a mode?")
    assert difference(changed, TALK) == (
        "Message 1 (the prompt) differs: asked “What is a mode?”, recorded “What is a mean?”."
    )
    cut_off = asked("What is a mean?")
    assert difference(cut_off, TALK).startswith("Later recorded requests carry this prompt, but")
    assert "no reply to this prompt" in difference(cut_off, in_notebook(TALK))


def test_the_nearest_is_the_one_with_the_same_prompt() -> None:
    """Then the one that carries most of the same, then the one that begins alike."""
    other = asked("Why?")
    longer = asked("What is a mean?", "A sum by a count.", "Why not?")
    assert nearest(asked("x", "y", TALK.prompt), [other, longer, TALK]) == TALK
    assert nearest(asked("What is a mean?", "A sum by a count.", "Who?"), [other, TALK]) == TALK
    assert nearest(asked("Why so?"), [asked("Who?"), other]) == other
    assert nearest(other, []) is None
