"""A reply that held a key is told about once, and nothing of the key."""

from __future__ import annotations

import pytest

from chatmagic.advice import Advice
from chatmagic.client import config
from chatmagic.client.client import Client
from chatmagic.models import Message, Reply
from chatmagic.protocol.request import Request
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.key_note import KeyNote

KEY = "sk-private-0123"


def test_it_is_said_once_for_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the place of the service; an answer without a key passes in silence."""
    monkeypatch.setattr(config, "warned", set())
    lines: list[str | Advice] = []
    request = Request((Message("user", "hello"),))
    answer = Answer(Reply("a"))
    with_key = Answer(Reply("[key removed]"), has_removed_key=True)
    with Client("https://chat.example/v1", KEY) as client:
        sending = Sending(client, request, "", "cell", None)
        note = KeyNote(lines.append)
        assert note(sending, lambda _: answer) is answer
        assert lines == []
        for _ in range(2):
            assert note(sending, lambda _: with_key) is with_key
    (line,) = lines
    assert str(line).startswith("A reply from https://chat.example:443 held an API key of yours; ")
    assert KEY not in str(line)


def test_a_warning_that_is_an_error_loses_no_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reply is paid, whatever becomes of its note."""
    monkeypatch.setattr(config, "warned", set())

    def refuse(line: object) -> None:
        raise UserWarning(line)

    answer = Answer(Reply("[key removed]"), has_removed_key=True)
    with Client("https://chat.example/v1", KEY) as client:
        sending = Sending(client, Request((Message("user", "hello"),)), "", "cell", None)
        assert KeyNote(refuse)(sending, lambda _: answer) is answer
