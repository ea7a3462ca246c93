"""Who comes from another client is answered with the word here, and nothing is sent."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from logged import Emulator

import chatmagic
from chatmagic.errors import InputError
from chatmagic.session.other_clients import METHODS
from chatmagic.session.session import Session


@pytest.mark.parametrize(
    ("option", "way"),
    [
        ("system", "instructions=…"),
        ("system_prompt", "instructions=…"),
        ("max_output_tokens", "It is max_tokens=… here."),
        ("response_model", "It is schema=… here."),
        ("top_p", "extra_body"),
        ("seed", "extra_body"),
        ("image", "Only text is sent"),
        ("attachments", "Only text is sent"),
        ("tools", "chatmagic calls no tools."),
    ],
)
def test_an_option_of_another_client_leads_to_the_word_here(
    session: Session, emulator: Emulator, option: str, way: str
) -> None:
    """Of ask, aask and map."""
    given: dict[str, Any] = {option: "x"}
    asked: Any = session
    asks: list[Callable[[], object]] = [
        lambda: asked.ask("hi", **given),
        lambda: asyncio.run(asked.aask("hi", **given)),
        lambda: asked.map("{{ it }}", ["a"], yes=True, **given),
    ]
    for ask in asks:
        with pytest.raises(InputError, match=rf"has no option {option}\. Nothing was") as raised:
            ask()
        assert way in raised.value.hint_at("python")
    assert emulator.requests == []


def test_an_unknown_option_is_pythons_error(session: Session) -> None:
    """Nothing is guessed."""
    asked: Any = session
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        asked.ask("hi", wrong=1)


@pytest.mark.parametrize("name", [*METHODS, "whatever"])
def test_a_method_of_another_client_leads_to_the_word_here(session: Session, name: str) -> None:
    """It is still an attribute that is not there."""
    assert not hasattr(session, name)
    known = METHODS.get(name)
    with pytest.raises(AttributeError) as raised:
        getattr(session, name)
    assert str(raised.value) == f"A session has no {name}" + (f": {known}." if known else ".")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("content", "A reply has no content: reply.text is the text, and str(reply) too."),
        ("choices", "A reply has no choices: reply.text is the text, and str(reply) too."),
        ("json", "A reply has no json: reply.parsed is the value of a question with a schema."),
        ("whatever", "A reply has no whatever."),
    ],
)
def test_a_reply_leads_to_the_word_here(name: str, words: str) -> None:
    """It is still an attribute that is not there, and a copy is one of the same."""
    reply = chatmagic.Reply("x")
    assert not hasattr(reply, name)
    with pytest.raises(AttributeError, match=re.escape(words)):
        getattr(reply, name)
    assert pickle.loads(pickle.dumps(copy.deepcopy(reply))) == reply  # noqa: S301 - its own


def test_a_client_leads_to_the_word_here() -> None:
    """Of OpenAI's and Anthropic's clients."""
    client: Any = chatmagic.Client("emulator")
    for name in ("chat", "completions", "messages", "responses"):
        with pytest.raises(AttributeError, match=rf"no {name}: client\.complete\(messages\) asks"):
            getattr(client, name)


@pytest.mark.parametrize("name", ["chat", "ChatOpenAI", "OpenAI"])
def test_the_package_names_the_way_to_ask(name: str) -> None:
    """For the first line of who comes from elsewhere."""
    with pytest.raises(AttributeError, match=rf"no {name}: it is chatmagic\.ask\(text\) here"):
        getattr(chatmagic, name)
    with pytest.raises(AttributeError, match="has no attribute 'whatever'"):
        chatmagic.whatever  # type: ignore[attr-defined] # noqa: B018 - it raises


def test_the_help_of_the_package_is_one_screen() -> None:
    """Its first words are what a user types; each name that it shows is there."""
    text = chatmagic.__doc__ or ""
    lines = text.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 88
    for name in re.findall(r"chatmagic\.(\w+)", text):
        assert hasattr(chatmagic, name), name
