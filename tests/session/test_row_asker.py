"""What a job's requests leave behind in their session: the ledger, credits and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from row_service import RowService

import chatmagic
from chatmagic.client.halt import Halt
from chatmagic.errors import ReplyFormatError, ServiceError
from chatmagic.models import Message, Reply
from chatmagic.protocol.wire import Request
from chatmagic.session.row_asker import RowAsker
from chatmagic.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED = Request((Message("user", "four"),))


def asker(service: RowService, check: Callable[[Reply], Reply] = lambda reply: reply) -> RowAsker:
    """Give what asks a service in a session of its own."""
    client = chatmagic.Client(transport=service)
    return RowAsker(Session(client), client, check)


def test_each_request_is_a_row_of_the_ledger() -> None:
    """With what it took; the session knows the credits and the tokens."""
    made = asker(RowService(credits=9))
    with made.connect() as client:
        assert [made.ask(client, ASKED, Halt()).text for _ in range(2)] == ["FOUR", "FOUR"]
    session = made.session
    assert [(row.entry, row.each, row.error) for row in session.ledger.rows] == [
        ("map", None, None),
        ("map", 1, None),
    ]
    assert made.costs() == (1, 1)
    assert made.cost() == 1
    assert made.credits is not None
    assert made.credits.remaining == 7
    assert session.token_rate is not None
    assert session.token_rate.tokens_of(8) == 4


def test_one_that_fails_is_one_too() -> None:
    """And one whose reply has another form has ended well: it was paid for."""
    failing = asker(RowService(refuses=lambda _: 500))
    with failing.connect() as client, pytest.raises(ServiceError):
        failing.ask(client, ASKED, Halt())
    assert [row.error for row in failing.session.ledger.rows] == ["ServiceError"]
    assert (failing.cost(), failing.costs()) == (1, (None, None))

    def refuse(reply: Reply) -> Reply:
        raise ReplyFormatError("No.", reply=reply)

    other = asker(RowService(), refuse)
    with other.connect() as client, pytest.raises(ReplyFormatError):
        other.ask(client, ASKED, Halt())
    assert [row.error for row in other.session.ledger.rows] == [
        "ServiceError",
        None,
    ]


def test_a_transport_of_the_users_own_is_shared() -> None:
    """It is not closed by a thread that has ended."""
    closed: list[bool] = []
    service = RowService()
    service.close = lambda: closed.append(True)  # type: ignore[method-assign]
    with asker(service).connect():
        pass
    assert closed == []
