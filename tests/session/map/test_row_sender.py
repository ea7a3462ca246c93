"""The sender of a map's rows: one request, through the links, by the session's clients."""

from __future__ import annotations

from pathlib import Path

from row_service import RowService

import chatmagic
from chatmagic.client.halt import Halt
from chatmagic.models import Message
from chatmagic.protocol.request import Request
from chatmagic.protocol.url import EMULATOR
from chatmagic.session.ask import Ask
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.environment import Environment
from chatmagic.session.ledger import Ledger
from chatmagic.session.map.row_sender import RowSender


def test_a_row_is_sent_through_the_links(tmp_path: Path) -> None:
    """It is in the ledger, which learns how many tokens a character takes."""
    del tmp_path
    service = RowService(credits=9)
    ledger = Ledger()
    with chatmagic.Client(transport=service) as client:
        sender = RowSender(Environment(), ledger, ClientPool(client), [ledger])
        request = Request((Message("user", "abcd"),))
        with sender.connect() as own:
            reply = sender.send(own, request, request.digest(), Ask("{{ it }}"), Halt())
        assert own is client  # threads share a transport of the user's own
    assert reply.text == "ABCD"
    (row,) = ledger
    assert (row.entry, row.request, row.service) == ("map", request.digest(), sender.service)
    assert ledger.token_rate == 0.5
    assert sender.credits is not None
    assert sender.credits.remaining == 8
    assert sender.meter is ledger.meter(sender.service)
    assert sender.address not in (None, EMULATOR)
    assert (sender.place, sender.replayed) == ("python", None)
