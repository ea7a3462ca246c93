"""Servers that run on this machine, found by a request for their models at their usual ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from chatmagic._json import digest
from chatmagic._log import log_swallowed
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Endpoint, Server, ServiceSetup, Timeout
from chatmagic.client.servers import known_servers
from chatmagic.errors import BudgetError, ChatError
from chatmagic.protocol.url import is_loopback
from chatmagic.session.exchange import Sending, exchange
from chatmagic.session.session import Session

_QUICKLY: Final = Timeout(connect=1.0, first_byte=3.0, silence=3.0, total=5.0)


def known() -> list[Server]:
    """Return the servers on this machine that are known by name, one for each address.

    Raises:
        InputError: the user's file of servers cannot be read.
    """
    by_address: dict[str, Server] = {}
    for server in known_servers().values():
        if is_loopback(server.base_url):
            by_address.setdefault(server.base_url, server)
    return [*by_address.values()]


def running_servers(
    servers: Sequence[Server], session: Session, cell: str | None
) -> Iterator[tuple[Server, tuple[str, ...]]]:
    """Yield the servers that answer, each with the names of its models.

    Each gets one request, a GET without a key, which the ledger counts.

    Args:
        servers: the servers, on this machine.
        session: the session whose features the requests go through.
        cell: the hash of the cell; ``None`` without one.

    Raises:
        BudgetError: a budget is used up.
        ChatInterrupted: a person stopped it.
    """
    for server in servers:
        endpoint = Endpoint(server.base_url, "none", None, "a server by name", server=server)
        with Client.connected(ServiceSetup(endpoint, timeout=_QUICKLY)) as client:
            sending = Sending(client, None, digest("models"), "models", cell)
            try:
                listed = exchange(sending, session.features).whole().parsed
            except BudgetError:
                raise
            except ChatError as error:
                log_swallowed(error)  # nothing listens there, or something else
            else:
                yield server, listed.names
