"""There is one session for all of a process that asks for none of its own."""

from __future__ import annotations

import dataclasses
import inspect
from typing import get_type_hints

import pytest
from logged import Emulator

import chatmagic
from chatmagic.session.current import current_session
from chatmagic.session.session import Session


def test_the_kernels_session(session: Session, emulator: Emulator) -> None:
    """There is one, and ``chatmagic.ask`` asks in it."""
    assert current_session() is current_session() is chatmagic.current_session()
    assert current_session() is not session
    assert chatmagic.ask("echo:short", max_tokens=3).text == "short"
    assert [turn.prompt for turn in current_session().conversation] == ["echo:short"]
    assert emulator.requests[0].body["max_tokens"] == 3


def test_asking_has_the_signature_of_a_sessions_own() -> None:
    """An editor and a notebook's tooltip show each option, and the help of it."""
    for name in ("ask", "aask", "map"):
        shown = getattr(chatmagic, name)
        _, *options = inspect.signature(getattr(chatmagic.Session, name)).parameters.values()
        assert list(inspect.signature(shown).parameters.values()) == options
        assert "temperature" in inspect.signature(shown).parameters
        assert "temperature: " in (inspect.getdoc(shown) or "")


@pytest.mark.parametrize("name", ["Credits", "Message", "Reply", "Timeout", "Usage"])
def test_the_types_of_a_values_fields_can_be_read(name: str) -> None:
    """So that one can be a field of a user's own model, or a row of a table."""
    value = getattr(chatmagic, name)
    names = [field.name for field in dataclasses.fields(value)]
    assert list(get_type_hints(value)) == names
