"""The clients of a session: each source of answers has one of its own."""

from __future__ import annotations

from chatmagic.client.endpoint import NO_SERVICE, Endpoint, ServiceSetup
from chatmagic.errors import InputError
from chatmagic.session.client_pool import ClientPool

SERVICE = ServiceSetup(Endpoint("https://a.example", "none", None, "a test"))


def test_each_source_of_answers_has_a_client_of_its_own() -> None:
    """It is kept while its account is the same; the others stay as they are."""
    pool = ClientPool()
    service = pool.client("service", lambda: SERVICE)
    recorded = pool.client("cassette", lambda: ServiceSetup(NO_SERVICE))
    assert (pool.latest, recorded.endpoint) == (recorded, NO_SERVICE)
    assert pool.client("service", lambda: SERVICE) is service
    other = ServiceSetup(Endpoint("https://b.example", "none", None, "a test"))
    assert pool.client("service", lambda: other) is not service
    assert pool.client("cassette", lambda: ServiceSetup(NO_SERVICE)) is recorded
    pool.forget()
    assert pool.latest is None


def test_a_given_client_asks_the_service_alone() -> None:
    """Its setup is its own; a recorded answer has another client."""
    given = ClientPool().client("service", lambda: SERVICE)
    pool = ClientPool(given)

    def unread() -> ServiceSetup:
        raise InputError("It was read.")

    assert pool.client("service", unread) is given
    assert pool.client("cassette", lambda: ServiceSetup(NO_SERVICE)) is not given
    pool.close()
