"""An argument of another tool is answered with the word here, and nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from logged import Emulator

import chatmagic
from chatmagic.errors import InputError
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
        ("messages", "complete(messages) sends a list of your own."),
        ("prompt", "It is the first argument here"),
        ("on_token", "It is on_fragment=… here."),
        ("base_url", "Session(Client(base_url=…"),
    ],
)
def test_an_argument_of_another_tool_leads_to_the_word_here(
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


def test_a_list_of_messages_leads_to_the_client(session: Session, emulator: Emulator) -> None:
    """As other clients take it in place of a text."""
    asked: Any = session
    with pytest.raises(InputError, match="The prompt is text, not list") as raised:
        asked.ask([{"role": "user", "content": "hi"}])
    assert "Client().complete(messages)" in raised.value.hint_at("python")
    assert emulator.requests == []


def test_a_key_is_not_in_the_frames_of_the_error(session: Session) -> None:
    """A traceback that shows local variables shows none of chatmagic's with it."""
    asked: Any = session
    with pytest.raises(InputError, match="has no option api_key") as raised:
        asked.ask("hi", api_key="sk-elsewhere-91")
    ours = str(Path(chatmagic.__file__).parent)
    own = [frame for frame in raised.traceback if str(frame.path).startswith(ours)]
    assert own
    assert [frame for frame in own if "sk-elsewhere-91" in repr(frame.locals)] == []
