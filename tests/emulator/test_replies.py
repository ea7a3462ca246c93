"""The emulator's replies: a pure function of the messages."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.conversation.question import Schema
from chatmagic.conversation.template import words_on_form
from chatmagic.emulator.replies import complete, number_in_words, reply_to, tokens
from chatmagic.models import Message, Usage

TEXTS = st.text(st.characters(codec=None), max_size=80)


def user(text: str) -> Message:
    """Give a message of the user."""
    return Message("user", text)


def assistant(text: str) -> Message:
    """Give a message of the assistant."""
    return Message("assistant", text)


@given(TEXTS)
def test_tokens_join_to_the_text(text: str) -> None:
    """Nothing is lost or added where a text is cut into tokens."""
    assert "".join(tokens(text)) == text


@given(st.lists(st.builds(Message, st.sampled_from(["user", "assistant", "system"]), TEXTS)))
def test_any_conversation_gets_the_same_reply_twice(messages: list[Message]) -> None:
    """Whatever the messages are, there is a reply that can be sent, and always the same."""
    first = complete(messages)
    assert first == complete(messages)
    if not any(re.match(r"\s*echo:", m.content, re.IGNORECASE) for m in messages):
        assert first.text
    first.text.encode()


@pytest.mark.parametrize(
    "question",
    ["hello", "What is a p-value?", "explain chatmagic", "show a table", "my key?", "", "continue"],
)
def test_replies_say_where_they_come_from(question: str) -> None:
    """A reply to a person names the emulator."""
    assert "chatmagic emulator, not a language model" in reply_to([user(question)])


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("a heading please", ["\n## A smaller one"]),
        ("show me code", ["```python\n"]),
        ("a table, please", ["|:---", "| `%%chat` |"]),
        ("some math", ["$n$", "\n$$"]),
        ("a formula and a list", ["$$", "\n- a point", "\n1. first"]),
        ("all the markdown", ["\n# A heading", "```python", "|:---", "$$", "\n- a point"]),
    ],
)
def test_shows_what_is_asked_for(question: str, shown: list[str]) -> None:
    """Headings, lists, code, tables and math come when asked for."""
    text = reply_to([user(question)])
    assert all(part in text for part in shown)


@each_case(
    ("question", "told"),
    [
        ("explain chatmagic", "The notebook is the conversation"),
        ("what is a cell?", "`%chat_history`"),
        ("what if I run it again?", "replaced in place"),
        ("how do I undo?", "`%chat_undo`"),
        ("can I stop you?", "Stop button"),
        ("what are credits?", "play money"),
        ("what is an API key?", "`CHATMAGIC_API_KEY`"),
        ("how do I connect to a real service?", "`CHATMAGIC_BASE_URL`"),
        ("Hello there", "Hello!"),
    ],
)
def test_explains_chatmagic(question: str, told: str) -> None:
    """A beginner's questions have an answer of their own."""
    text = reply_to([user(question)])
    assert told in text
    assert "You asked" not in text


def test_an_error_goes_before_examples() -> None:
    """A question about a division by zero gets a mean without one, though it asks for code."""
    text = reply_to([user("ZeroDivisionError: division by zero\n\nGive the corrected code.")])
    assert "if values else None\n```" in text
    assert text.count("def mean") == 1


def test_quotes_a_question_as_inert_text() -> None:
    """What is quoted back is one line of code: no Markdown, HTML, math or bidi marks act."""
    text = reply_to([user("Why`<img src=x>` $x$\n\n# no\u202e **b** \ud800 " + "very " * 30)])
    quote = text.splitlines()[0]
    assert re.fullmatch(r"You asked: `[^`]{1,61}…`", quote)
    assert quote.startswith("You asked: `Why'<img src=x>' $x$ # no\ufffd **b**")


def test_says_what_the_request_carried() -> None:
    """A user can see that the conversation goes on."""
    assert "starts here" in reply_to([user("one?")])
    text = reply_to([user("one?"), assistant("a"), user("two?")])
    assert "carried 3 messages" in text
    assert "question 2 of our conversation" in text
    assert "you asked `one?`" in text


def test_echo_is_verbatim() -> None:
    """After `echo:` the text comes back as it stands."""
    assert reply_to([user("echo: a\n\n  `b` \u2028🙂 ")]) == " a\n\n  `b` \u2028🙂 "
    assert reply_to([user("echo:\ud83d\ude42 \udc00")]) == "🙂 \ufffd"


def test_counts() -> None:
    """`count to N` gives the words, up to its limit and no further."""
    assert reply_to([user("count to 3")]) == "one, two, three"
    assert reply_to([user("Count to 1,000")]).endswith("ninety-nine, one thousand")
    assert reply_to([user("count to 10000")]).endswith(", ten thousand")
    assert "at most" in reply_to([user("count to 10001")])


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (20, "twenty"),
        (45, "forty-five"),
        (305, "three hundred five"),
        (9999, "nine thousand nine hundred ninety-nine"),
        (10_000, "ten thousand"),
    ],
)
def test_numbers_in_words(number: int, words: str) -> None:
    """Numbers are written as English does."""
    assert number_in_words(number) == words


def test_max_tokens_and_usage() -> None:
    """A reply that is cut short says so, and the counts are those of what was sent."""
    messages = [user("first question"), assistant("one"), user("echo:a b c d")]
    whole = complete(messages, 4)
    assert (whole.fragments, whole.finish_reason) == (("a ", "b ", "c ", "d"), "stop")
    assert whole.usage == Usage(7, 4, 11)
    short = complete(messages, 3)
    assert (short.text, short.finish_reason) == ("a b c ", "length")
    assert short.usage == Usage(7, 3, 10)


def test_continue_gives_the_rest() -> None:
    """A reply that was cut short can be continued, in several steps, up to its end."""
    messages = [user("What is a p-value?")]
    whole = reply_to(messages)
    said = ""
    for _ in range(3):
        part = complete(messages, 5).text
        said += part
        messages += [assistant(part), user("Please continue.")]
    rest = reply_to(messages)
    assert said + rest == whole
    assert "nothing to continue" in reply_to([*messages, assistant(rest), user("go on")])
    assert reply_to([user("echo:a b"), assistant("a ")]) == "b"
    assert reply_to([user("continue")]).startswith("You asked: `continue`")


SCHEMA = {
    "$defs": {"Mood": {"enum": ["good", "bad"]}},
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": ["integer", "null"], "minimum": 18},
        "mood": {"$ref": "#/$defs/Mood"},
        "tags": {"type": "array", "minItems": 2, "items": {"anyOf": [{"type": "number"}]}},
        "kind": {"const": "x"},
        "old": {"type": "boolean"},
        "none": {"type": "null"},
    },
}


def form(schema: Any = None) -> str:
    """Return a question as it asks for JSON."""
    schema = None if schema is None else Schema("Person", schema, str)
    value = words_on_form("json", schema, ())
    assert value is not None
    return f"{value.text}\n\nWho was it?"


def test_a_question_for_json_gets_an_example_of_its_schema() -> None:
    """Any JSON otherwise; what is no schema gives an empty object."""
    value = json.loads(reply_to([user(form(SCHEMA))]))
    jsonschema.validate(value, {**SCHEMA, "required": [*SCHEMA["properties"]]})
    assert value["name"] == "a name of the emulator"
    assert json.loads(reply_to([user(form())]))["question"] == "Who was it?"
    assert json.loads(reply_to([user(form({"$ref": "#/nowhere"}))])) == {}
    assert json.loads(reply_to([user(form({"$ref": "#"}))])) == {}
    damaged = form(SCHEMA).replace('"object"', "object", 1)
    assert json.loads(reply_to([user(damaged)])) == {}
