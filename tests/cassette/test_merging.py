"""Which exchanges of two lists are the same."""

from __future__ import annotations

from dataclasses import replace

from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.merging import missing, numbered
from chatmagic.models import Message
from chatmagic.protocol.wire import Request


def one(prompt: str, owner: str | None = None) -> Interaction:
    """Give an exchange."""
    return Interaction.asked(Request((Message("user", prompt),)), text=f"re {prompt}", owner=owner)


A, B = map(one, "ab")


def test_equal_exchanges_have_numbers() -> None:
    """Two of them are two, whoever owns them."""
    assert [*numbered([A, A, B]).values()] == [A, A, B]
    assert missing([A, A, B], [B, A]) == (A,)
    assert missing([replace(A, owner="x", superseded=True)], [A]) == ()
