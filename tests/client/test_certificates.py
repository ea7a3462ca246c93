"""Which certificate authorities count, and what is said of a bundle that holds none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from loopback import Server, document, playing, serving

from chatmagic.client import certificates
from chatmagic.client.client import Client
from chatmagic.errors import ConnectError

if TYPE_CHECKING:
    from pathlib import Path

    import trustme

WHOLE: Final = document({"choices": [{"message": {"role": "assistant", "content": "Hello"}}]})
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


def test_the_variables_that_requests_knows_come_first() -> None:
    """In its order, and what is empty is not set."""
    environment = dict.fromkeys(VARIABLES, "")
    assert certificates.bundle(environment) is None
    assert certificates.bundle({}) is None
    assert certificates.problem({}) is None
    for name in reversed(VARIABLES):
        environment[name] = f"{name}.pem"
        assert certificates.bundle(environment) == (name, f"{name}.pem")


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
    error = caught.value
    words = "names no file of certificate authorities that can be read. Nothing was sent."
    assert error.message == f"{variable} {words}"
    assert f"Correct {variable}, which is " in str(error.hint)
    assert "own.pem" in str(error.hint)
    assert error.fault == "you"


def test_a_folder_of_authorities_is_no_mistake(bundle: Path) -> None:
    """It is looked into when a certificate is verified."""
    assert certificates.problem({"SSL_CERT_FILE": str(bundle.parent)}) is None
    assert certificates.problem({"SSL_CERT_FILE": str(bundle)}) is None


def test_plain_http_needs_no_authorities(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle that is none stops nobody who does not use it."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle.parent / "none.pem"))
    with Server(playing(WHOLE)) as server:
        assert ask(server.origin) == "Hello"
