"""The emulator's replies, a pure function of the messages; their texts are in ``replies.toml``.

No model makes them. They greet, explain chatmagic, show the parts of a reply (headings, a
list, code, a table, math) and correct a ``ZeroDivisionError``. To any other question they reply
that an emulator cannot answer it. Two beginnings of a question give a reply of known text and
length, for tests and measurements:

- ``echo:TEXT`` gives exactly ``TEXT``, white space included;
- ``count to N`` gives the words from one to N, for N up to 10,000.

A question with chatmagic's words for JSON gets an example of its schema. ``continue`` gives the
rest of a reply that was cut short. A token is a word with the white space after it, or 24
characters of a longer word.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.resources import files
from operator import getitem
from typing import Any, Final

from chatmagic.models import Message, Usage
from chatmagic.safe_text import one_line, without_lone_surrogates

HIGHEST_COUNT: Final = 10_000
QUOTED: Final = 61
"""Largest number of characters of a question that a reply quotes, with the ellipsis of a cut."""

_TEXTS: Final[dict[str, Any]] = tomllib.loads(
    files("chatmagic.emulator").joinpath("replies.toml").read_text("utf-8")
)
_SIGNATURE: Final[str] = _TEXTS["signature"]

_TOKEN: Final = re.compile(r"\S{1,24}\s*|\s+")
_CONTINUE: Final = re.compile(
    r"\s*(please\s+)?(continue|go on)\b( exactly where .*)?[\s.!]*", re.IGNORECASE
)
# Text in front of a question, such as a cell, ends in an empty line.
_ECHO: Final = re.compile(r"(?:\A|\n\n)\s*echo:(.*)", re.IGNORECASE | re.DOTALL)
_COUNT: Final = re.compile(r"\s*count to (\d{1,3}(?:,\d{3}){1,2}|\d{1,9})\b", re.IGNORECASE)
_JSON: Final = re.compile(
    r"one JSON value alone\b(?:.*?JSON schema\n\n(\{\n.*?\n\}|\{\}))?", re.DOTALL
)
_EVERYTHING: Final = "markdown|formatting"
_ABOUT: Final = "chatmagic|help|get started|who are you|what are you|what can you do"
_GREETING: Final = re.compile(
    r"\W*(hello|hi|hey|good (morning|afternoon|evening|day))\b", re.IGNORECASE
)

_SMALL: Final[list[str]] = _TEXTS["small_numbers"].split()
_TENS: Final[list[str]] = _TEXTS["tens"].split()


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply as it is sent.

    Args:
        fragments: the reply's tokens, in order; joined they are its text.
        finish_reason: ``stop``, or ``length`` if ``max_tokens`` cut it short.
        usage: tokens of all messages, of the reply, and of both (fact 5).
    """

    fragments: tuple[str, ...]
    finish_reason: str
    usage: Usage

    @property
    def text(self) -> str:
        """The reply's text."""
        return "".join(self.fragments)


@dataclass(frozen=True, slots=True)
class JsonForm:
    """Form of a reply in JSON that a request's ``response_format`` asks for.

    Args:
        schema: the JSON schema; ``None`` for any JSON.
    """

    schema: Any = None


def complete(
    messages: Sequence[Message],
    max_tokens: int | None = None,
    form: JsonForm | None = None,
    text: str | None = None,
) -> Completion:
    """Return the reply to a conversation, in tokens.

    Args:
        messages: the conversation so far, oldest first.
        max_tokens: largest number of tokens of the reply; ``None`` is no limit.
        form: the form that the request asks for beside its messages; ``None`` is none.
        text: the reply; ``None`` for one of these.
    """
    whole = tokens(reply_to(messages, form) if text is None else text)
    sent = whole if max_tokens is None else whole[:max_tokens]
    asked = sum(len(tokens(message.content)) for message in messages)
    return Completion(
        fragments=tuple(sent),
        finish_reason="stop" if len(sent) == len(whole) else "length",
        usage=Usage(asked, len(sent), asked + len(sent)),
    )


def tokens(text: str) -> list[str]:
    """Return the tokens of a text; joined they are the text again.

    Args:
        text: any text.
    """
    return _TOKEN.findall(text)


def reply_to(messages: Sequence[Message], form: JsonForm | None = None) -> str:
    """Return the whole reply to a conversation.

    Args:
        messages: the conversation so far, oldest first.
        form: as for :func:`complete`.
    """
    end = len(messages)
    parts: list[str] = []
    while end and (_asks_to_continue(messages[end - 1]) or messages[end - 1].role == "assistant"):
        end -= 1
        if messages[end].role == "assistant":
            parts.append(messages[end].content)
    if end in (0, len(messages)):
        return _answer(messages, form)
    whole = _answer(messages[:end], form)
    part = "".join(reversed(parts))
    if whole.startswith(part) and whole != part:
        return whole[len(part) :]
    return f"There is nothing to continue: my last reply was complete.\n\n{_SIGNATURE}"


def number_in_words(number: int) -> str:
    """Return a whole number from 0 to 999,999 in words.

    Args:
        number: from 0 to 999,999.
    """
    if number < len(_SMALL):
        return _SMALL[number]
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            head = f"{number_in_words(number // size)} {name}"
            return f"{head} {number_in_words(number % size)}" if number % size else head
    ten, unit = divmod(number, 10)
    return f"{_TENS[ten]}-{_SMALL[unit]}" if unit else _TENS[ten]


def _asks_to_continue(message: Message) -> bool:
    return message.role == "user" and _CONTINUE.fullmatch(message.content) is not None


def _answer(messages: Sequence[Message], form: JsonForm | None) -> str:
    """Return the reply to the last message of the user."""
    asked = [without_lone_surrogates(m.content) for m in messages if m.role == "user"]
    question = asked[-1] if asked else ""
    if match := _ECHO.search(question):
        return match[1]
    if match := _COUNT.match(question):
        return _count(int(match[1].replace(",", "")))
    if match := _JSON.search(question):
        return json.dumps(_practice(question, match[1]), ensure_ascii=False)
    if form is not None:
        return json.dumps(_example(question, form.schema), ensure_ascii=False)
    return "\n\n".join([_body(question), _SIGNATURE, _carried(len(messages), asked[:-1])])


def _practice(question: str, schema: str | None) -> Any:
    """Return a JSON value for a question that asks for one, by its schema if it has one."""
    try:
        return _example(question, None if schema is None else json.loads(schema))
    except (ValueError, RecursionError):
        return {}


def _example(question: str, schema: Any) -> Any:
    """Return a JSON value by a schema; one that quotes the question if there is no schema."""
    if schema is None:
        return {"question": one_line(question.rpartition("\n\n")[2], QUOTED), "from": _SIGNATURE}
    try:
        return _instance(schema, schema)
    except (TypeError, LookupError, AttributeError, RecursionError):
        return {}


def _instance(schema: Mapping[str, Any], root: Mapping[str, Any], name: str = "text") -> Any:
    """Return a value of a JSON schema: the first of each choice, and a short one of each type."""
    if path := schema.get("$ref"):
        return _instance(reduce(getitem, path.split("/")[1:], root), root, name)
    if values := schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return values[0]
    if schemas := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return _instance(schemas[0], root, name)
    kinds = schema.get("type", "object")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        fields = schema.get("properties", {}).items()
        return {field: _instance(schema, root, field) for field, schema in fields}
    if kind == "array":
        return [_instance(schema.get("items", {}), root, name)] * schema.get("minItems", 1)
    plain = {"string": f"a {name} of the emulator", "boolean": True, "null": None}
    return plain.get(kind, schema.get("minimum", 1))


def _body(question: str) -> str:
    """Return the text on a question: about an error in it, else an example, else an explanation."""
    errors = [error["text"] for error in _TEXTS["errors"] if _holds(error["words"], question)]
    if errors:
        return "\n\n".join(errors)
    examples = [
        f"**{example['title']}**\n\n{example['text']}"
        for example in _TEXTS["examples"]
        if _holds(f"{example['words']}|{_EVERYTHING}", question)
    ]
    if examples:
        return "\n\n".join(["Here you are.", *examples])
    topics = [topic["text"] for topic in _TEXTS["topics"] if _holds(topic["words"], question)]
    if topics:
        return "\n\n".join(topics)
    if _holds(_ABOUT, question):
        return str(_TEXTS["overview"])
    if _GREETING.match(question):
        return str(_TEXTS["welcome"])
    return f"You asked: {_quoted(question)}\n\n{_TEXTS['unanswered']}"


def _holds(words: str, question: str) -> bool:
    return re.search(rf"(?<!\w)(?:{words})(?!\w)", question, re.IGNORECASE) is not None


def _carried(count: int, before: Sequence[str]) -> str:
    """Return the sentence about the messages that a request carried."""
    if not before:
        return "Your request carried this one question: our conversation starts here."
    return (
        f"Your request carried {count} messages: this is question {len(before) + 1} of our "
        f"conversation, and before it you asked {_quoted(before[-1])}."
    )


def _quoted(text: str) -> str:
    """Return the beginning of a text as code, so that nothing in it acts as Markdown."""
    line = one_line(text[: 10 * QUOTED].replace("`", "'"), QUOTED)
    return f"`{line}`" if line else "something that has no words"


def _count(last: int) -> str:
    if last > HIGHEST_COUNT:
        return f"I count to {HIGHEST_COUNT:,} at most.\n\n{_SIGNATURE}"
    return ", ".join(map(number_in_words, range(1, last + 1)))
