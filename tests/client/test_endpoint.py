"""An address with its key: what is said of it, and when two are the same service."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from environments import resolved_in_client, resolved_in_kernel

from chatmagic.client.endpoint import Endpoint
from chatmagic.client.servers import Server
from chatmagic.protocol.auth import Secret

KEY = "sk-private-7d1f"
HOME, AWAY = "https://home.example", "https://away.example"
ENVIRONMENT = {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY": KEY}


def test_who_decided_it_makes_no_other_service() -> None:
    """Its address, its key and the way of it do."""
    first = Endpoint(HOME, "bearer", Secret(KEY), "argument")
    assert first.is_same_service(replace(first, url_from="%config", warnings=("careful",)))
    for other in ({"base_url": AWAY}, {"auth": "query"}, {"key": None}):
        assert not first.is_same_service(replace(first, **other))


def test_no_key_is_in_the_address_that_is_shown() -> None:
    """Also where a path holds the key of another address."""
    key, other = Secret("abc123def456"), Secret("zyx987wvu654")
    endpoint = Endpoint(
        "https://a.example/abc123def456/zyx987wvu654", "none", key, "argument", guarded=(other,)
    )
    assert endpoint.known_keys == (other, key)
    for secret in endpoint.known_keys:
        assert secret.reveal() not in endpoint.posted_to()


@pytest.mark.parametrize(
    ("environ", "given", "more"),
    [
        ({}, {"chosen": AWAY}, ""),
        ({"CHATMAGIC_BASE_URL": AWAY}, {}, ""),
        (ENVIRONMENT, {"chosen": AWAY}, f" The environment's key belongs to {HOME}:443."),
        (
            {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY_FILE": "/sk-private"},
            {"chosen": AWAY},
            f" The environment's key belongs to {HOME}:443.",
        ),
        (
            {"CHATMAGIC_API_KEY": KEY},
            {"chosen": AWAY},
            " The environment's key belongs to no address, as CHATMAGIC_BASE_URL gives none.",
        ),
    ],
)
def test_a_missing_key_says_where_there_is_one(
    environ: dict[str, str], given: dict[str, Any], more: str
) -> None:
    """The message names the origin and that of the environment's key; the hint, what to do."""
    what, hint = resolved_in_kernel(environ, **given).no_key_message()
    assert what == f"There is no API key for https://away.example:443. Nothing was sent.{more}"
    assert hint == (
        "%chat_login asks for one, Client(api_key=…) takes one; for a server without keys: "
        'CHATMAGIC_AUTH=none, Client(auth="none") or %config ChatMagics.auth = "none"'
    )
    given = {"base_url": given.get("chosen")}
    assert resolved_in_client(environ, **given).no_key_message() == (what, hint)


def test_what_a_server_by_name_calls_for() -> None:
    """An address by itself calls for nothing."""
    assert not Endpoint(HOME, "none", None, "argument").stream_usage
    for tells in (True, False):
        server = Server("lab", HOME, stream_usage=tells)
        assert Endpoint(HOME, "none", None, "argument", server=server).stream_usage is tells
