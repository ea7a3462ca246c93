"""Errors for the exceptions of ``requests`` and ``urllib3``, by the caller's next step.

The exceptions' text holds addresses and objects. So a message repeats only the system's own words
for the reason. An invalid file of certificate authorities is reported here, too.
"""

from __future__ import annotations

import http.client
import os
import re
import ssl
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final, Literal

import requests
import urllib3

from chatmagic.advice import SETTINGS, Sentences, longer_timeout, sentences
from chatmagic.client.clock import ExchangeClock
from chatmagic.client.proxies import proxy_of
from chatmagic.errors import (
    COST_UNKNOWN,
    PROXY_NAMED,
    ChatError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    NotUnderstoodError,
    RequestTimeoutError,
    ServiceError,
    Which,
)
from chatmagic.protocol.url import is_loopback, origin
from chatmagic.safe_text import one_line

_KNOWN: Final = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)
_UNCONNECTED: Final[Sequence[tuple[tuple[type[BaseException], ...], str, Sentences]]] = (
    (
        # The address may be a proxy's, too.
        (
            requests.exceptions.InvalidURL,
            urllib3.exceptions.LocationValueError,
            urllib3.exceptions.ProxySchemeUnknown,
        ),
        "The base address, or the proxy that the environment names, cannot be used",
        sentences(PROXY_NAMED),
    ),
    (
        (requests.exceptions.InvalidSchema,),
        "The proxy speaks SOCKS, which needs PySocks, and that is not installed",
        sentences("Install it: pip install 'requests[socks]'."),
    ),
    (
        (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError),
        "The proxy did not connect to {at}{why}",
        sentences(PROXY_NAMED),
    ),
    (
        (urllib3.exceptions.NameResolutionError,),
        "The host name of {at} was not found",
        sentences("Is it spelled right, and is there a network?", SETTINGS),
    ),
    (
        (ConnectionRefusedError,),
        "No {name}server runs at {at}, which refused the connection",
        sentences("Is it started, and is the port right?", SETTINGS),
    ),
    (
        (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError),
        "{at} closed the connection while it was being made",
        (),
    ),
    (
        (ssl.SSLCertVerificationError,),
        "The certificate of {at} cannot be trusted{why}",
        sentences(SETTINGS),
    ),
    (
        (requests.exceptions.SSLError, urllib3.exceptions.SSLError, ssl.SSLError),
        "No secure connection to {at}{why}",
        sentences("Ask its operator for the TLS that it requires.", SETTINGS),
    ),
    ((BaseException,), "No connection to {at}{why}", sentences("Is there a network?", SETTINGS)),
)
"""Classes of a cause, their message, and the advice; the first match counts.

Without advice, it is about the port.
"""

_PORT_HERE: Final = sentences("Is it the right port, http or https?", SETTINGS)
_PORT_ELSEWHERE: Final = sentences(
    "Is the port right? Something on the way may have answered in its place.", SETTINGS
)
"""Advice for an address on another machine: to connect without TLS would be to give in to it."""

_CERTIFICATE_HINTS: Final[Mapping[int | None, Sentences]] = {
    9: sentences("Is the date of this machine right? The certificate is not valid yet."),
    10: sentences(
        "Is the date of this machine right? Else the service's operator has to renew it."
    ),
    **dict.fromkeys((62, 64), sentences("Connect by a name that the certificate holds.", SETTINGS)),
    **dict.fromkeys(
        (18, 19, 20, 21),
        sentences("For a certificate authority of your own, set REQUESTS_CA_BUNDLE."),
    ),
}
"""Advice by OpenSSL's code of a certificate's fault."""

_NO_TLS: Final = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}
"""OpenSSL's reasons for an answer in plain HTTP, by its version."""
_WAITED: Final[Mapping[Which, str]] = {
    "connect": "No connection to {at} within {seconds} s: is it the right address (host, port, "
    "https)? Nothing was sent.",
    "first_byte": "No answer within {seconds} s: the model may still be {cause}. Nothing was sent "
    "again.",
    "silence": "The reply stopped: nothing of it came for {seconds} s.",
    "total": "The reply took longer than the total timeout of {seconds} s.",
}


def reported(
    error: BaseException, clock: ExchangeClock, url: str = "", name: str = ""
) -> BaseException:
    """Return chatmagic's error for an exception of these libraries; any other as it is.

    The caller raises it outside of any handler. So it has no frames of ``http.client``, whose
    variables hold the request's bytes.

    Args:
        error: the raised exception.
        clock: the exchange's clock.
        url: the address of the request, if no part of an answer has arrived.
        name: the server's name; empty if it has none.
    """
    if isinstance(error, ChatError) or not isinstance(error, _KNOWN):
        error.__cause__ = None
        error.__context__ = None
        return error.with_traceback(None)
    causes = _causes(error)
    # In urllib3, an unknown name or route is a kind of connect timeout.
    is_late = _any(causes, urllib3.exceptions.TimeoutError, TimeoutError) and not _any(
        causes, urllib3.exceptions.NewConnectionError
    )
    if clock.halt.reason is not None or is_late:
        return halted(clock, clock.halt.reason or clock.which, url)
    if clock.which == "connect":
        return _connect_error(causes, origin(url), f"{one_line(name)} " if name else "")
    return _answer_error(causes, clock.which, url)


def halted(clock: ExchangeClock, reason: Literal["stop"] | Which, url: str = "") -> BaseException:
    """Return the error for an exchange that was stopped, or whose timeout ran out.

    Args:
        clock: the exchange's clock.
        reason: ``stop`` for a person, or the timeout.
        url: as for :func:`reported`.
    """
    if reason == "stop":
        return ChatInterrupted("Interrupted.")
    # None if the reader set its own timeout, whose error it does not pass on.
    return timed_out(reason, getattr(clock.timeout, reason) or 0.0, url)


def timed_out(reason: Which, seconds: float, url: str = "") -> RequestTimeoutError:
    """Return the error for a timeout that ran out.

    Args:
        reason: the timeout.
        seconds: its time.
        url: as for :func:`reported`.
    """
    at = origin(url) if url else ""
    if url and is_loopback(url):
        cause = "loaded"
    else:
        cause = "thinking, or a proxy may hold the answer back"
    proxy_hint = _on_the_way(url) if url and reason == "connect" else ""
    return RequestTimeoutError(
        _WAITED[reason].format(seconds=f"{seconds:g}", at=at, cause=cause),
        which=reason,
        hint=sentences(longer_timeout(reason, f"{2 * seconds:g}"), proxy_hint),
    )


def _connect_error(causes: Sequence[BaseException], at: str, name: str) -> ConnectError:
    """Return the error for a request of which nothing was sent.

    Args:
        causes: the raised exceptions.
        at: the origin that was not reached.
        name: the server's name and a space; empty if it has none.
    """
    event, hint = next((event, hint) for kinds, event, hint in _UNCONNECTED if _any(causes, *kinds))
    is_here = is_loopback(at)
    if _speaks_no_tls(causes):
        event = "{at} does not speak https{why}"
        hint = sentences("Connect to it with http.", SETTINGS) if is_here else ()
    port_hint = _PORT_HERE if is_here else _PORT_ELSEWHERE
    hint = _bundle_hint(causes) or _certificate_hint(causes) or hint or port_hint
    message = f"{event.format(at=at, why=_reason(causes), name=name)}. Nothing was sent."
    return ConnectError(message, hint=sentences(hint, _on_the_way(at)))


def _speaks_no_tls(causes: Sequence[BaseException]) -> bool:
    """Return whether a server answered without TLS, where TLS was asked for."""
    # urllib3 has a ProxyError for TLS with the proxy itself, and none for TLS through it.
    is_plain = any(getattr(cause, "reason", None) in _NO_TLS for cause in causes)
    return is_plain and not _any(causes, urllib3.exceptions.ProxyError)


def _certificate_hint(causes: Sequence[BaseException]) -> Sentences:
    """Return the advice for a certificate that was refused; none for any other error."""
    codes = (getattr(cause, "verify_code", None) for cause in causes)
    known = (_CERTIFICATE_HINTS[code] for code in codes if code in _CERTIFICATE_HINTS)
    return sentences(next(known, None))


def _bundle_hint(causes: Sequence[BaseException]) -> Sentences:
    """Return the advice for a file of authorities that cannot be used; none for any other error."""
    bundle = certificate_bundle()
    # For a file that is no bundle, requests raises an OSError, and OpenSSL the others.
    is_of_openssl = getattr(causes[-1], "library", None) in ("X509", "PEM", "ASN1")
    if bundle is None or not (is_of_openssl or type(causes[0]) is OSError):
        return ()
    variable, path = bundle
    file = one_line(path, _SHOWN)
    return sentences(f"{variable} names {file}: is that a file of authorities?")


def _on_the_way(url: str) -> str:
    """Return the sentence on the proxy of an address; empty without a proxy."""
    proxy = proxy_of(url)
    return "" if proxy is None else f"The proxy on the way is {proxy}."


def _answer_error(causes: Sequence[BaseException], which: Which, url: str) -> ChatError:
    """Return the error for an answer that broke off, or that was no HTTP.

    Args:
        causes: the raised exceptions.
        which: the timeout that was running: ``first_byte`` until a part of the answer arrives.
        url: the address of the request, if no part of an answer has arrived.
    """
    https = "Does that port require https?" if url.startswith("http:") else ""
    if which == "first_byte" and _any(causes, ConnectionError, ssl.SSLEOFError):
        return ServiceError(
            "The server closed the connection without an answer.",
            hint=sentences(COST_UNKNOWN, https, "Ask again to try once more."),
        )
    # Any other error of http.client before the body means that it cannot read the head.
    is_head = which == "first_byte" and not _any(causes, http.client.IncompleteRead)
    if is_head and _any(causes, http.client.HTTPException):
        return NotUnderstoodError(
            "The answer is not HTTP, or cannot be read as such.", hint=sentences(https, SETTINGS)
        )
    if _any(causes, urllib3.exceptions.DecodeError):
        return NotUnderstoodError("The answer could not be decompressed.", hint=COST_UNKNOWN)
    return CutOffError(
        f"The connection broke before the end of the answer{_reason(causes)}.", hint=COST_UNKNOWN
    )


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and everything it was made from, outermost first."""
    causes: list[BaseException] = []
    queue: list[object] = [error]
    while queue:
        item = queue.pop(0)
        if isinstance(item, BaseException) and item not in causes:
            causes.append(item)
            queue += [getattr(item, "reason", None), item.__cause__, item.__context__, *item.args]
    return causes


def _any(causes: Sequence[BaseException], *kinds: type[BaseException]) -> bool:
    return any(isinstance(cause, kinds) for cause in causes)


def _reason(causes: Sequence[BaseException]) -> str:
    """Return the innermost reason, in the system's own words, as the end of a sentence."""
    for cause in reversed(causes):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f": {cause.verify_message.rstrip(' .')}"
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return f": {cause.reason.lower().replace('_', ' ')}"
        if isinstance(cause, OSError) and cause.strerror:
            return f": {cause.strerror.rstrip(' .')}"
    # http.client's words for a proxy that opens no tunnel.
    matches = (re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)) for cause in causes)
    status = next((int(match[1]) for match in matches if match), None)
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return ": it requires a name and a password (HTTP 407)"
    return "" if status is None else f": it answered {status}"


_SHOWN: Final = 120


def certificate_bundle() -> tuple[str, str] | None:
    """Return the variable that names a CA bundle, and its path; ``None`` if there is none.

    The first two are those of requests, in its order; OpenSSL and Python know the third.
    """
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        if path := os.environ.get(name):
            return name, path
    return None
