"""What no connection, or a broken one, is told as: what happened, and what to do about it."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import trustme
from loopback import (
    PATIENCE,
    Peer,
    Server,
    answer,
    document,
    head,
    once,
    playing,
    serving,
)

from chatmagic.client import network_errors
from chatmagic.client.client import Client
from chatmagic.client.clock import ExchangeClock
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    ChatError,
    ConnectError,
    NotUnderstoodError,
    RequestTimeoutError,
    ServiceError,
    Which,
)
from chatmagic.models import Message
from chatmagic.protocol.request import Request

KEY: Final = "key-7d1f-throw-away"
WHOLE: Final = document({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]})
NOW: Final = dt.datetime.now(dt.UTC)
DAY: Final = dt.timedelta(days=1)


REQUEST: Final = Request((Message("user", "Hello?"),))


def failing(url: str, halt: Halt | None = None) -> ChatError:
    """Ask once, and return the error; each is a clear line without two dots in a row."""
    waits = Timeout(PATIENCE, PATIENCE, PATIENCE)
    with (
        pytest.raises(ChatError) as caught,
        Client(url, KEY, timeout=waits) as client,
        client.send(REQUEST, halt),
    ):
        pass
    error = caught.value
    assert ".." not in str(error)
    assert "\n" not in str(error)
    assert KEY not in str(error)
    return error


# --- Certificates -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "days", "host", "words"),
    [
        ("other.example", (-1, 1), "127.0.0.1", r"not valid for '127\.0\.0\.1'\. Nothing.* a name"),
        ("127.0.0.2", (-1, 1), "127.0.0.1", r"not valid for '127\.0\.0\.1'\. Nothing.* a name"),
        ("other.example", (-1, 1), "localhost", r"not valid for 'localhost'\. Nothing.* a name"),
        ("127.0.0.1", (-9, -1), "127.0.0.1", r"certificate has expired\. Nothing.* to renew"),
        ("127.0.0.1", (1, 9), "127.0.0.1", r"not yet valid\. Nothing.* date of this machine"),
    ],
)
@pytest.mark.usefixtures("tls")
def test_a_certificate_that_is_none_here_needs_no_other_authority(
    authority: trustme.CA, name: str, days: tuple[int, int], host: str, words: str
) -> None:
    """Of another name, or out of its dates: another bundle would help nobody."""
    begin, end = (NOW + DAY * count for count in days)
    certificate = authority.issue_cert(name, not_before=begin, not_after=end)
    with Server(playing(WHOLE), serving(certificate), handshakes_fail=None) as server:
        error = failing(server.origin.replace("127.0.0.1", host))
        assert server.asked == []
    assert isinstance(error, ConnectError)
    assert re.search(words, str(error))
    assert "REQUESTS_CA_BUNDLE" not in str(error)


# --- http and https -----------------------------------------------------------------------


def running_out(halt: Halt) -> Callable[[Peer], None]:
    """Make the script of a server that says nothing until the connect time-out has run out."""

    def script(peer: Peer) -> None:
        assert peer.piece()
        halt.stop("connect")
        assert peer.gone()

    return script


def refusing(peer: Peer) -> None:
    """Answer TLS as a plain server does."""
    peer.piece()
    peer.send(answer(b"", "400 Bad Request"))


def leaving(peer: Peer) -> None:
    """Read, and close."""
    peer.piece()


def resetting(peer: Peer) -> None:
    """Read, and reset the connection."""
    peer.piece()
    peer.reset()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (refusing, "does not speak https: wrong version number. Nothing was sent."),
        (leaving, "closed the connection while it was being made. Nothing was sent."),
        (resetting, "closed the connection while it was being made. Nothing was sent."),
    ],
)
def test_https_on_a_plain_port_is_told(script: Callable[[Peer], None], words: str) -> None:
    """Nothing was sent, and the port may want http."""
    with Server(script) as server:
        error = failing(server.origin.replace("http:", "https:"))
        assert server.accepted == 1
    assert isinstance(error, ConnectError)
    assert words in error.message
    assert "http" in str(error.hint)
    assert "REQUESTS_CA_BUNDLE" not in str(error)


@pytest.mark.parametrize("script", [refusing, leaving, resetting])
@pytest.mark.parametrize("variable", ["https_proxy", "ALL_PROXY"])
def test_nobody_elsewhere_talks_a_user_out_of_tls(
    no_proxy: pytest.MonkeyPatch, script: Callable[[Peer], None], variable: str
) -> None:
    """What answers in clear may be another; only on this machine http is an advice."""

    def tunnel(peer: Peer) -> None:
        peer.request()
        peer.send(head("200 Connected"))
        script(peer)

    with Server(tunnel) as proxy:
        no_proxy.setenv(variable, proxy.origin.replace("//", "//ada:of-ada@"))
        error = failing("https://chat.invalid")
    assert str(error.hint) == (
        "Is the port right? Something on the way may have answered in its place. "
        "Client(base_url=…) sets the address. "
        f"The proxy on the way is {proxy.origin}, by {variable}."
    )


@pytest.mark.parametrize("script", [refusing, leaving, resetting])
def test_without_a_proxy_none_is_named(
    no_proxy: pytest.MonkeyPatch, script: Callable[[Peer], None]
) -> None:
    """The same for an address that is reached directly; on this machine http may be meant."""
    for is_here in (True, False):
        no_proxy.setattr(network_errors, "is_loopback", lambda _, here=is_here: here)
        with Server(script) as server:
            error = failing(server.origin.replace("http:", "https:"))
        assert bool(re.search(r"\bhttp\b", str(error.hint))) is is_here
        assert ("Something on the way may have answered" in str(error.hint)) is not is_here
        assert "proxy" not in str(error)


def test_a_proxy_that_speaks_no_tls_is_no_service_without_tls(no_proxy: pytest.MonkeyPatch) -> None:
    """The address of the proxy is wrong, not that of the service."""
    with Server(refusing) as proxy:
        at = proxy.origin.replace("http:", "https:")
        no_proxy.setenv("https_proxy", at)
        error = failing("https://chat.invalid")
    assert error.message.startswith("The proxy did not connect to https://chat.invalid:443: wrong")
    assert f"The proxy on the way is {at}, by https_proxy." in str(error.hint)


@pytest.mark.parametrize("which", ["connect", "first_byte"])
def test_a_connection_that_takes_too_long_names_the_proxy(
    no_proxy: pytest.MonkeyPatch, which: Which
) -> None:
    """As it may be what does not answer; after it, the service may."""
    no_proxy.setenv("https_proxy", "http://127.0.0.1:9")
    error = network_errors.timed_out(which, 1.0, "https://chat.invalid")
    assert ("The proxy on the way is http://127.0.0.1:9" in str(error.hint)) is (which == "connect")


def test_a_plain_server_that_stays_silent_is_told_from_one_that_is_not_there() -> None:
    """Connected, and then nothing: the time-out asks whether it is http."""
    halt = Halt()
    with Server(running_out(halt)) as server:
        error = failing(server.origin.replace("http:", "https:"), halt)
    assert isinstance(error, RequestTimeoutError)
    assert error.which == "connect"
    assert "is it the right address (host, port, https)? Nothing was sent." in error.message


@pytest.mark.usefixtures("tls")
def test_http_on_a_tls_port_is_told(authority: trustme.CA) -> None:
    """Whether the port complains in TLS, or closes."""
    with Server(once(b"\x15\x03\x01\x00\x02\x02\x46")) as server:
        error = failing(server.origin)
    assert isinstance(error, NotUnderstoodError)
    assert "Does that port require https?" in str(error.hint)
    with Server(
        playing(WHOLE), serving(authority.issue_cert("127.0.0.1")), handshakes_fail=None
    ) as server:
        error = failing(server.origin.replace("https:", "http:"))
    assert isinstance(error, ServiceError)
    assert "Does that port require https?" in str(error.hint)


@pytest.mark.parametrize("which", ["connect", "first_byte", "silence", "total"])
def test_each_time_out_says_how_to_change_it(which: Which) -> None:
    """In a notebook, with a longer time that would be taken."""
    clock = ExchangeClock(Timeout.from_value({which: 2.5}), Halt())
    error = network_errors.halted(clock, which, "http://here")
    assert isinstance(error, RequestTimeoutError)
    assert error.which == which
    assert "2.5 s" in error.message
    words = f'To wait longer: %config ChatMagics.timeout = {{"{which}": 5}}'
    assert error.hint_at("notebook") == words
    assert Timeout.from_value({which: 5}) == Timeout(**{which: 5.0})


def test_tls_that_ends_before_an_answer_is_a_connection_that_was_closed() -> None:
    """It is told as the same is without TLS, and not as an answer that broke off."""
    for end in (
        ConnectionResetError(),
        ssl.SSLEOFError(8, "EOF occurred in violation of protocol"),
    ):
        clock = ExchangeClock(Timeout(), Halt())
        clock.which = "first_byte"
        error = network_errors.reported(end, clock, "https://chat.invalid:443")
        assert isinstance(error, ServiceError)
        assert "without an answer" in error.message
        assert "https" not in str(error)


# --- The environment ----------------------------------------------------------------------


def test_a_proxy_that_wants_a_password_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tunnel is refused as where the request is."""
    refused = answer(b"", "407 Proxy Authentication Required")
    with Server(playing(refused)) as proxy:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.origin)
        monkeypatch.setenv("no_proxy", "")
        for scheme in ("http", "https"):
            with pytest.warns(match="encrypted") if scheme == "http" else contextlib.nullcontext():
                error = failing(f"{scheme}://chat.invalid")
            assert "requires a name and a password" in error.message
            assert "HTTP_PROXY, ALL_PROXY and NO_PROXY, such as http://NAME:" in str(error.hint)


VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


@pytest.fixture
def bundle(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the tests' own authority as a file that nothing names."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "own.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def ask(origin: str) -> str:
    """Ask once."""
    with Client(origin, "key-1") as client:
        return client.complete([{"role": "user", "content": "Hello?"}]).text


@pytest.mark.parametrize("variable", VARIABLES)
def test_each_variable_names_the_authorities(
    authority: trustme.CA, bundle: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A server of an authority of one's own is reached with any of them, and not without."""
    tls = serving(authority.issue_cert("127.0.0.1"))
    with Server(playing(WHOLE), tls, handshakes_fail=None) as server:
        with pytest.raises(ConnectError, match="set REQUESTS_CA_BUNDLE"):
            ask(server.origin)
        monkeypatch.setenv(variable, str(bundle))
        assert ask(server.origin) == "Hello"


def test_the_variables_that_requests_knows_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its order, and what is empty is not set."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "")
    assert network_errors.certificate_bundle() is None
    for name in reversed(VARIABLES):
        monkeypatch.setenv(name, f"{name}.pem")
        assert network_errors.certificate_bundle() == (name, f"{name}.pem")


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("content", [None, b"", b"no certificate\n", b"\x30\x82\x01\xff", "key"])
def test_a_bundle_that_is_none_is_named(
    authority: trustme.CA,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | str | None,
    variable: str,
) -> None:
    """Missing, empty, text, garbage or a key alone: which variable, and what it says."""
    certificate = authority.issue_cert("127.0.0.1")
    bundle.unlink()
    if content is not None:
        key = certificate.private_key_pem.bytes()
        bundle.write_bytes(content if isinstance(content, bytes) else key)
    monkeypatch.setenv(variable, str(bundle))
    with (
        Server(playing(WHOLE), serving(certificate), handshakes_fail=None) as server,
        pytest.raises(ConnectError) as caught,
    ):
        ask(server.origin)
    assert "Nothing was sent" in caught.value.message
    assert caught.value.hint == f"{variable} names {bundle}: is that a file of authorities?"
