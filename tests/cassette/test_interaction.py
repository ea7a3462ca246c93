"""One recorded exchange: what it knows of its request, and of the credits of its answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chatmagic._json import turn_digest
from chatmagic.cassette.interaction import Interaction, headers_for, missing, numbered
from chatmagic.models import Credits, Message
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.wire import Request

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
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


def test_a_reply_makes_a_turn_and_an_error_none() -> None:
    """A turn is named by the digest of its prompt and its reply."""
    reply = Interaction(request="d", parameters={}, prompt="two", text="2")
    assert (reply.is_reply, reply.turn) == (True, turn_digest("two", "2")[:16])
    failed = Interaction(request="d", parameters={}, prompt="two", error={"error": "no"})
    assert (failed.is_reply, failed.turn) == (False, None)


@pytest.mark.parametrize(
    ("request_", "now", "then", "answers"),
    [("d", None, "m", True), ("d", "m", "m", True), ("d", "n", "m", False), ("e", "m", "m", False)],
)
def test_a_request_is_known_by_its_digest_and_the_model_set_now(
    request_: str, now: str | None, then: str | None, answers: bool
) -> None:
    """Where no model is set now, any that was recorded will do."""
    held = Interaction(request="d", parameters={}, prompt="two", asked_model=then)
    assert (
        held.answers(Interaction(request=request_, parameters={}, prompt="two", asked_model=now))
        is answers
    )


@pytest.mark.parametrize(
    "told",
    [
        Credits(100, 97, 3, datetime(2026, 1, 2, tzinfo=UTC), NOON),
        Credits(100, None, None, None, NOON),
        Credits(None, 5, None, None, NOON),
    ],
)
def test_headers_say_again_what_a_record_knows(told: Credits) -> None:
    """Credits written as headers are read as the same credits."""
    assert crediting.from_headers(headers_for(told, NOON), NOON) == told
    assert crediting.from_headers(headers_for(told, None), datetime.now(UTC)) == told


def test_headers_of_nothing_known_are_none() -> None:
    """Without credits there is the date at most."""
    assert headers_for(None, None) == ()
    assert headers_for(None, NOON) == (("Date", "Thu, 01 Jan 2026 12:00:00 GMT"),)


def test_equal_interactions_have_numbers() -> None:
    """Two of them are two, whatever cell owns them."""
    a, b = (
        Interaction.asked(Request((Message("user", prompt),)), text=f"re {prompt}")
        for prompt in "ab"
    )
    assert [*numbered([a, a, b]).values()] == [a, a, b]
    assert missing([a, a, b], [b, a]) == (a,)
    assert missing([replace(a, owner="x", superseded=True)], [a]) == ()
