"""Who comes from another tool is answered with the word here."""

from __future__ import annotations

import copy
import pickle
import pydoc
import re
from typing import Any

import pytest
from cases import each_case

import chatmagic
from chatmagic import other_tools
from chatmagic.session.session import Session


@pytest.mark.parametrize("name", [*other_tools.SESSION, "whatever"])
def test_a_method_of_another_client_leads_to_the_word_here(session: Session, name: str) -> None:
    """It is still an attribute that is not there."""
    assert not hasattr(session, name)
    known = other_tools.SESSION.get(name)
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


@each_case("name", other_tools.PACKAGE)
def test_the_package_names_the_word_here(name: str) -> None:
    """For the first line of who comes from elsewhere, also of an import."""
    words = re.escape(f"chatmagic has no {name}: {other_tools.PACKAGE[name]}.")
    with pytest.raises(ImportError, match=words):
        getattr(chatmagic, name)
    with pytest.raises(ImportError, match=words):
        exec(f"from chatmagic import {name}")  # noqa: S102 - as it is typed


def test_any_other_name_is_pythons_error() -> None:
    """Nothing is guessed, and no name of ours is taken for another tool's."""
    with pytest.raises(AttributeError, match="has no attribute 'whatever'"):
        chatmagic.whatever  # type: ignore[attr-defined] # noqa: B018 - it raises
    assert not hasattr(chatmagic, "whatever")
    assert set(chatmagic.__all__).isdisjoint(other_tools.PACKAGE)


@pytest.mark.parametrize(
    ("flag", "shell"),
    [
        ("-s", "The question itself can begin with instructions."),
        ("--system-prompt", "The question itself can begin with instructions."),
        ("--key", "A key goes into CHATMAGIC_API_KEY."),
        ("-c", "--continue goes on with the last conversation."),
        ("-f", "It is --format here: markdown, text, code or json."),
        ("--api-base", None),
    ],
)
def test_an_option_has_advice_for_each_place(flag: str, shell: str | None) -> None:
    """An unknown one has none."""
    told = other_tools.option_advice(flag)
    assert (told and told.at("shell")) == shell


def test_an_argument_that_has_another_word_here_is_no_option() -> None:
    """A field that a request cannot have under that name."""
    assert other_tools.argument_advice("response_format") == "It is schema=… here."
    assert other_tools.argument_advice("seed") == other_tools.option_advice("--seed")
    assert other_tools.argument_advice("whatever") is None


@pytest.mark.parametrize(
    ("word", "way"),
    [
        ("models", "%chat_connect --models"),
        ("logs", "chatmagic ask --continue"),
        ("keys", "CHATMAGIC_API_KEY"),
        ("prompt", 'chatmagic ask "QUESTION" asks'),
        ("Why is the sky blue?", 'chatmagic ask "QUESTION" asks'),
    ],
)
def test_a_first_word_in_a_shell_has_advice(word: str, way: str) -> None:
    """The commands of llm, and a question without a command."""
    assert way in other_tools.command_advice(word)


def test_the_help_of_the_package_begins_with_one_screen() -> None:
    """The description is whole on the first 40 lines of 80 columns; the names follow it."""
    first = pydoc.plain(pydoc.render_doc(chatmagic)).splitlines()[:40]
    description, contents = first.index("DESCRIPTION"), first.index("PACKAGE CONTENTS")
    assert description < contents
    assert max(map(len, first)) <= 80
    for name in re.findall(r"chatmagic\.(\w+)", chatmagic.__doc__ or ""):
        assert hasattr(chatmagic, name), name
