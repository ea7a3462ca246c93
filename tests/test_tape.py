"""One recorded exchange: what it knows of its request, and of the credits of its answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chatmagic import credits as crediting
from chatmagic.accounting import Credits
from chatmagic.digests import turn_digest
from chatmagic.tape import Recorded, headers_for
from chatmagic.wire import Message, Request

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TALK = (Message("user", "one"), Message("assistant", "1"), Message("user", "two"))


def test_a_request_comes_back_as_it_was_sent() -> None:
    """Parameters and fields of extra_body are in the body again, and so is the digest."""
    request = Request(TALK, stream=False, max_tokens=5, temperature=0.0, extra={"model": "small"})
    one = Recorded.asked(request, owner="cell")
    assert (one.prompt, one.before, one.owner) == ("two", TALK[:2], "cell")
    assert one.body == request
    assert one.request == request.digest()


@pytest.mark.parametrize(
    "known", [{"before": ("a" * 64,)}, {"parameters": {}}], ids=["a turn's digest", "no stream"]
)
def test_a_request_that_is_not_wholly_known_has_no_body(known: dict[str, object]) -> None:
    """A notebook keeps the digests of earlier turns alone."""
    given: dict[str, object] = {"parameters": {"stream": True}, **known}
    assert Recorded(request="d", prompt="two", **given).body is None  # type: ignore[arg-type]


def test_a_reply_makes_a_turn_and_an_error_none() -> None:
    """A turn is named by the digest of its prompt and its reply."""
    reply = Recorded(request="d", prompt="two", text="2")
    assert (reply.is_reply, reply.turn) == (True, turn_digest("two", "2"))
    failed = Recorded(request="d", prompt="two", error={"error": "no"})
    assert (failed.is_reply, failed.turn) == (False, None)


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
