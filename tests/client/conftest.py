"""Transports that are closed after the test, and an address that does not answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from exchanges import KEY
from loopback import PATIENCE, Server, unanswering

from chatmagic.client.endpoint import Endpoint, ServiceSetup, Timeout
from chatmagic.client.transport import HttpTransport
from chatmagic.protocol.api_key import Auth, Secret


@pytest.fixture
def connect() -> Iterator[Callable[..., HttpTransport]]:
    """Give a maker of transports, which are closed after the test."""
    made: list[HttpTransport] = []

    def make(server: Server | str, auth: Auth = "bearer", **times: float | None) -> HttpTransport:
        waits = {"connect": PATIENCE, "first_byte": PATIENCE, "silence": PATIENCE, **times}
        base_url = server if isinstance(server, str) else server.url
        key = None if auth == "none" else Secret(KEY)
        endpoint = Endpoint(base_url, auth, key, "test")
        transport = HttpTransport(ServiceSetup(endpoint, Timeout(**waits)))
        made.append(transport)
        return transport

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def silent() -> Iterator[str]:
    """Give an address that neither takes a connection nor refuses it."""
    with unanswering() as origin:
        yield f"{origin}/v1"


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Leave no proxy in the environment."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    return monkeypatch
