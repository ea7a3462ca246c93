"""A request with its answer as a value: what is known of it, and what its headers say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chatmagic.archive.interaction import Interaction, headers_for
from chatmagic.models import Credits, Message
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.request import Request

TALK = (Message("user", "one"), Message("assistant", "1"), Message("user", "two"))


def test_what_is_known_of_a_request() -> None:
    """Parameters and fields of extra_body, but for whose model answers; and what it carries."""
    extra = {"seed": 1, "model": "small", "stream_options": {"include_usage": True}}
    request = Request(TALK, stream=False, max_tokens=5, temperature=0.0, extra=extra)
    one = Interaction.asked(request, owner="cell")
    assert (one.prompt, one.owner, one.asked_model) == ("two", "cell", "small")
    assert one.before == (Interaction(request="d", parameters={}, prompt="one", text="1").turn,)
    sent = {"stream": False, "max_tokens": 5, "temperature": 0.0, "seed": 1}
    assert one.parameters == sent
    assert one.request == request.digest() == replace(request, extra={"seed": 1}).digest()
    assert Interaction.asked(replace(request, extra={"model": 3})).asked_model is None


CAME = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "told",
    [
        Credits(100, 97, 3, datetime(2026, 1, 2, tzinfo=UTC), CAME),
        Credits(100, None, None, None, CAME),
        Credits(None, 5, None, None, CAME),
        None,
    ],
)
def test_headers_say_again_what_a_record_knows(told: Credits | None) -> None:
    """Credits written as headers are read as the same credits; without any, the date is there."""
    assert crediting.from_headers(headers_for(told, CAME), CAME) == told
    assert crediting.from_headers(headers_for(told, None), datetime.now(UTC)) == told
    assert dict(headers_for(told, CAME))["Date"] == "Thu, 01 Jan 2026 12:00:00 GMT"
