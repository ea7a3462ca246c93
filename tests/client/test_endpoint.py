"""An address with its key: what is said of it, and when two are the same service."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import each_case
from environments import resolved_in_client, resolved_in_kernel

from chatmagic.client.client import Client
from chatmagic.client.endpoint import (
    Endpoint,
    Limits,
    Server,
    Timeout,
    request_fields,
    request_headers,
)
from chatmagic.errors import AuthenticationError, InputError
from chatmagic.protocol.api_key import Secret

KEY = "sk-private-7d1f"
HOME, AWAY = "https://home.example", "https://away.example"
ENVIRONMENT = {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY": KEY}


def test_who_decided_it_makes_no_other_service() -> None:
    """Its address, its key and the way of it do; an address by itself calls for nothing."""
    first = Endpoint(HOME, "bearer", Secret(KEY), "argument")
    assert first.account == replace(first, url_from="%config", warnings=("careful",)).account
    for other in ({"base_url": AWAY}, {"auth": "query"}, {"key": None}):
        assert first.account != replace(first, **other).account
    assert not first.is_emulator


def test_a_service_by_name_says_how_its_key_is_given() -> None:
    """By the variable of its own tools, in the words of each place; others in the general way."""
    lab = Server("lab", HOME, "bearer", key_variable="LAB_KEY")
    way = Endpoint(HOME, "bearer", None, "argument", server=lab).how_to_give_a_key()
    assert way.notebook == "%chat_connect lab asks for one, and offers that in LAB_KEY"
    assert way.shell == 'CHATMAGIC_BASE_URL=lab CHATMAGIC_API_KEY="$LAB_KEY" gives it'
    plain = Endpoint(HOME, "bearer", None, "argument", server=Server("lab", HOME, "bearer"))
    assert plain.how_to_give_a_key() == Endpoint(HOME, "bearer", None, "x").how_to_give_a_key()


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
    ("environ", "more"),
    [
        ({}, ""),
        (ENVIRONMENT, f": the environment's belongs to {HOME}:443"),
        (
            {"CHATMAGIC_BASE_URL": HOME, "CHATMAGIC_API_KEY_FILE": "/sk-private"},
            f": the environment's belongs to {HOME}:443",
        ),
        (
            {"CHATMAGIC_API_KEY": KEY},
            ": the environment's belongs to no address, as CHATMAGIC_BASE_URL gives none",
        ),
    ],
)
def test_a_missing_key_says_where_there_is_one(environ: dict[str, str], more: str) -> None:
    """The message names the origin and that of the environment's key; the hint, what to do."""
    with pytest.raises(AuthenticationError) as raised:
        resolved_in_kernel(environ, chosen=AWAY).require_key()
    what, hint = raised.value.message, raised.value.hint_at("notebook")
    assert what == f"There is no API key for https://away.example:443{more}. Nothing was sent."
    beside = f"CHATMAGIC_BASE_URL={AWAY}/v1/chat/completions beside the key sends it there, or "
    beside = beside if "no address" in more else ""
    assert hint == (
        f"{beside}%chat_login asks for one; for a server without keys: "
        '%config ChatMagics.auth = "none"'
    )


def test_a_key_that_is_there_or_not_needed_is_not_refused() -> None:
    """By its address, or where none is sent."""
    resolved_in_client(ENVIRONMENT).require_key()
    resolved_in_client({}, base_url=AWAY, auth="none").require_key()


@pytest.mark.parametrize("seconds", [0, -1, True, "5", float("nan"), float("inf"), 1e30])
def test_a_time_out_is_a_number_above_0(seconds: float) -> None:
    """Anything else is refused in one line."""
    with pytest.raises(InputError, match="timeout silence"):
        Timeout(silence=seconds)
    with pytest.raises(InputError, match="timeout"):
        Timeout.from_value(seconds)


def test_a_plain_number_is_the_wait_for_bytes() -> None:
    """A number stands for the first byte and for silence."""
    assert Timeout.from_value(3) == Timeout(first_byte=3, silence=3)
    assert Timeout.from_value(None) == Timeout(connect=10, first_byte=60, silence=60, total=None)
    assert Timeout.from_value(Timeout(total=1)) == Timeout(total=1)
    assert Timeout.from_value({"total": 1, "silence": None}) == Timeout(silence=None, total=1)
    with pytest.raises(InputError, match="no timeout 'reading'; there are connect, first_byte"):
        Timeout.from_value({"reading": 1})


NO_HEADER = "a name or a value that no header can have"


@pytest.mark.parametrize(
    ("extra_body", "model", "sent"),
    [
        (None, None, {}),
        ({"seed": 1}, None, {"seed": 1}),
        ({"seed": 1}, "small", {"seed": 1, "model": "small"}),
        ({"model": "small"}, "small", {"model": "small"}),
        ({"model": "small"}, None, {"model": "small"}),
    ],
)
def test_a_model_is_a_field(extra_body: object, model: object, sent: dict[str, Any]) -> None:
    """Named in either of two places, or in both alike."""
    assert request_fields(extra_body, model) == sent


@pytest.mark.parametrize(
    ("extra_body", "model", "words"),
    [
        ({"model": "a"}, "b", "^extra_body names another model than the setting"),
        ([], None, "^extra_body is a mapping .* not list"),
        ({}, "", "^The name of a model is a text"),
        ({}, 5, "^The name of a model is a text"),
    ],
)
def test_what_is_no_field(extra_body: object, model: object, words: str) -> None:
    """Two models are refused, as nobody could tell which was meant."""
    with pytest.raises(InputError, match=words):
        request_fields(extra_body, model)


def test_headers_that_gateways_want() -> None:
    """They are given as they are; nothing is none."""
    given = {"X-Team": "a b", "HTTP-Referer": "https://a.example", "User-Agent": "x"}
    assert request_headers(given) == given
    assert request_headers(None) == request_headers({}) == {}


@each_case(
    ("given", "words"),
    [
        ("X-Team: sk-private", "is a mapping of names to texts"),
        ({"": "a"}, NO_HEADER),
        ({5: "a"}, NO_HEADER),
        ({"X-Team\r\nHost": "a"}, NO_HEADER),
        ({"X Team": "a"}, NO_HEADER),
        ({"Authorization": "sk-private"}, "cannot set Authorization, which the connection sets"),
        ({"Cookie": "sk-private"}, "cannot set Cookie, which the connection sets"),
        ({"Content-Type": "text/plain"}, "cannot set Content-Type, which the connection sets"),
        ({"Transfer-Encoding": "chunked"}, r"which the connection sets\.$"),
        ({"X-Team": "sk-private\r\nCookie: a"}, NO_HEADER),
        ({"X-Team": "\u00e9"}, NO_HEADER),
        ({"X-Team": " a"}, NO_HEADER),
        ({"X-Team": 5}, NO_HEADER),
        ({"X-Team": "a", "x-team": "b"}, NO_HEADER),
    ],
)
def test_headers_that_are_refused(given: object, words: str) -> None:
    """A secret's, the connection's own, and what no header can carry; no value is repeated."""
    with pytest.raises(InputError, match=words) as caught:
        request_headers(given)
    assert "private" not in f"{caught.value!r}{caught.value}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": ""}, "The name of a model is"),
        ({"extra_headers": {"X-Team": f"x-{KEY}"}}, "holds your API key"),
        ({"base_url": f"https://chat.invalid/{KEY}/v1"}, "the address holds your API key"),
    ],
)
def test_a_client_refuses_what_cannot_be_sent(given: dict[str, Any], words: str) -> None:
    """As it is made, before there is anything to send; the error does not repeat it."""
    with pytest.raises(InputError, match=words) as caught:
        Client(**{"base_url": "https://chat.invalid", "api_key": KEY, **given})
    assert KEY not in f"{caught.value!r}{caught.value}"


@pytest.mark.parametrize(
    ("is_set", "words"),
    [(True, "%env CHATMAGIC_AUTH=x-api-key"), (False, '%config ChatMagics.auth = "x-api-key"')],
)
def test_how_a_key_goes_in_another_way(words: str, *, is_set: bool) -> None:
    """By what counts where it is read: the environment counts before the setting."""
    service = replace(resolved_in_client(ENVIRONMENT), has_auth_variable=is_set)
    way = service.how_to_set_auth("x-api-key")
    assert (way.notebook, way.python) == (words, 'Client(auth="x-api-key")')


def test_each_form_of_an_answer_has_a_limit_by_its_text() -> None:
    """A whole answer in JSON may be half as large again as its text, an event three quarters."""
    limits = Limits(text=1_000_000)
    assert (limits.json, limits.event) == (1_565_536, 815_536)


def test_limits_are_sizes_by_name() -> None:
    """Some of them, or all; and nothing else."""
    assert Limits.from_value({"text": 5}) == Limits(text=5)
    assert Limits.from_value(Limits(body=7)) == Limits(body=7)
    for value, message in (
        ({"txt": 5}, "There is no limit 'txt'; there are text, body."),
        ({"text": 0}, "The limit text is a whole number of bytes above 0."),
        ({"body": True}, "The limit body is a whole number of bytes above 0."),
        (5, "The limits are sizes by name, of text, body."),
    ):
        with pytest.raises(InputError, match=f"^{message}"):
            Limits.from_value(value)  # type: ignore[arg-type] # some are wrong
