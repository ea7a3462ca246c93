"""Exceptions of ``requests`` and ``urllib3``, as the errors that say what the caller can do.

Their text holds addresses and objects, so none of it is repeated; the system's own words
for the reason are.
"""

from __future__ import annotations

import http.client
import os
import re
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import requests
import urllib3

from chatmagic.client import certificates
from chatmagic.errors import (
    COST_UNKNOWN,
    HTTPS_WANTED,
    PROXY_NAMED,
    ChatError,
    ConnectError,
    CutOffError,
    InputError,
    NotUnderstoodError,
    RequestTimeoutError,
    ServiceError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.errors import Which

_SETTINGS: Final = "%chat shows what is set."
# How http.client says that there are too many of them, or that one is too long.
_HEADERS: Final = re.compile(r"^got more than \d+ (?:headers|bytes when reading header line)")
# OpenSSL's reasons where TLS was spoken to something that does not speak it.
_NO_TLS: Final = {
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "WRONG_VERSION_NUMBER",
}
# How a TLS server complains of plain words: an alert record.
_ALERT: Final = "\x15\x03"
_PROXY: Final = (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError)
_TLS: Final = (requests.exceptions.SSLError, urllib3.exceptions.SSLError, ssl.SSLError)
_BAD_PROXY: Final = (
    requests.exceptions.InvalidProxyURL,
    requests.exceptions.InvalidSchema,
    urllib3.exceptions.ProxySchemeUnknown,
)
_BAD_URL: Final = (requests.exceptions.InvalidURL, urllib3.exceptions.LocationValueError)
_CLOSED: Final = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError)
_UNCONNECTED: Final[Sequence[tuple[tuple[type[BaseException], ...], str, str]]] = (
    (
        _PROXY,
        "The proxy did not connect to {at}{why}",
        "Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.",
    ),
    (
        (urllib3.exceptions.NameResolutionError,),
        "The host name of {at} was not found",
        f"Is it spelled right, and is there a network? {_SETTINGS}",
    ),
    (
        (ConnectionRefusedError,),
        "{at} refused the connection",
        f"Does the service run there? {_SETTINGS}",
    ),
    (
        _CLOSED,
        "{at} closed the connection while it was being made",
        f"Is it the right port, http or https? {_SETTINGS}",
    ),
    ((BaseException,), "No connection to {at}{why}", f"Is there a network? {_SETTINGS}"),
)
"""Classes of a cause, what is said of it, and what to do; the first one that is there counts."""

_CERTIFICATES: Final[Sequence[tuple[frozenset[int], str]]] = (
    (
        frozenset({62, 63, 64}),
        f"Connect to it by a name that its certificate holds. {_SETTINGS}",
    ),
    (
        frozenset({9, 10}),
        "The service's operator has to renew it, if the date of this machine is right.",
    ),
)
"""OpenSSL's codes of what is wrong with a certificate, where no other authority helps."""

_WAITED: Final[dict[Which, str]] = {
    "connect": "No connection to {at} within the connect time-out of {seconds} s. "
    "Nothing was sent.",
    "first_byte": "No answer within the first-byte time-out of {seconds} s; "
    "a proxy on the way may hold it back.",
    "silence": "The reply fell silent for longer than the silence time-out of {seconds} s.",
    "total": "The reply took longer than the total time-out of {seconds} s.",
}


def is_late(error: BaseException) -> bool:
    """Return whether a time-out ran out."""
    causes = _causes(error)
    # A name or a route that does not exist is a kind of connect time-out there.
    return _any(causes, urllib3.exceptions.TimeoutError, TimeoutError) and not _any(
        causes, urllib3.exceptions.NewConnectionError
    )


def late(which: Which, seconds: float, at: str) -> RequestTimeoutError:
    """Return the error for a time-out that ran out: which, its seconds, and how to change it.

    Args:
        which: the one that ran out.
        seconds: how long that was.
        at: the origin that was asked.
    """
    return RequestTimeoutError(
        _WAITED[which].format(seconds=f"{seconds:g}", at=at),
        which=which,
        hint=f"To wait longer: {_longer(which, seconds)}",
    )


def no_handshake(seconds: float, at: str) -> RequestTimeoutError:
    """Return the error for a connect time-out that ran out after TCP had connected.

    Args:
        seconds: how long that was.
        at: the origin that was asked.
    """
    return RequestTimeoutError(
        f"{at}: connected, but TLS got no answer: is it http? The connect time-out of "
        f"{seconds:g} s ran out. Nothing was sent.",
        which="connect",
        hint=f"If it is https, to wait longer: {_longer('connect', seconds)}",
    )


def _longer(which: Which, seconds: float) -> str:
    longer = f"{2 * seconds:g}"
    return (
        f'%config ChatMagics.timeout = {{"{which}": {longer}}}, '
        f"or in Python chatmagic.Timeout({which}={longer})."
    )


def unconnected(error: BaseException, at: str) -> ChatError:
    """Return the error for a request of which nothing was sent.

    Args:
        error: what was raised.
        at: the origin that was not reached.
    """
    causes = _causes(error)
    if _tunnel_status(causes) == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return ConnectError(
            f"The proxy requires a name and a password to connect to {at} (HTTP 407). "
            "Nothing was sent.",
            hint=PROXY_NAMED,
            fault="you",
        )
    if _any(causes, *_BAD_PROXY):
        return ConnectError(
            "The proxy that the environment names cannot be used. Nothing was sent.",
            hint="HTTPS_PROXY, HTTP_PROXY and ALL_PROXY are like http://proxy.example:8080.",
            fault="you",
        )
    is_tls = "CA certificate bundle" in str(error) or _any(causes, *_TLS)
    if is_tls and not _any(causes, *_PROXY):
        problem = certificates.problem(os.environ)
        if problem is not None or not _any(causes, ssl.SSLEOFError):
            return problem or _unsafe(causes, at)
    if _any(causes, *_BAD_URL):
        return InputError("The base address is not a URL that a request can be sent to.")
    what, hint = next(row[1:] for row in _UNCONNECTED if _any(causes, *row[0]))
    return ConnectError(f"{what.format(at=at, why=_reason(causes))}. Nothing was sent.", hint=hint)


def _unsafe(causes: list[BaseException], at: str) -> ConnectError:
    """Return the error for a TLS connection that was not made."""
    failure = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if getattr(failure, "reason", None) in _NO_TLS:
        return ConnectError(
            f"{at} does not speak TLS. Nothing was sent.", hint=f"Is it http? {_SETTINGS}"
        )
    code = getattr(failure, "verify_code", None)
    other = "For a certificate authority of your own, set REQUESTS_CA_BUNDLE."
    hint = next((hint for codes, hint in _CERTIFICATES if code in codes), other)
    return ConnectError(
        f"No secure connection to {at}{_reason(causes)}. Nothing was sent.",
        hint=f"Is it https? {_SETTINGS}" if code is None else hint,
    )


def broken(error: BaseException, which: Which, doubted: str = "") -> ChatError:
    """Return the error for an answer that broke off, or was none.

    Args:
        error: what was raised.
        which: the time-out that was running: ``first_byte`` is before any of the answer.
        doubted: the origin that was asked, if it has never answered before.
    """
    causes = _causes(error)
    # Whatever else http.client says before the body is about a head that it cannot read.
    headless = which == "first_byte" and _any(causes, http.client.HTTPException)
    if headless and any(_HEADERS.search(str(cause)) for cause in causes):
        return NotUnderstoodError(
            "The answer has more headers than can be read.",
            hint=f"{COST_UNKNOWN} Is it the service that answers there? {_SETTINGS}",
        )
    if headless and any(getattr(cause, "line", "").startswith(_ALERT) for cause in causes):
        return NotUnderstoodError(
            "The answer is TLS, not HTTP: that port requires https.",
            hint=HTTPS_WANTED,
        )
    if headless and not _any(causes, http.client.RemoteDisconnected, http.client.IncompleteRead):
        return NotUnderstoodError(
            "The answer is not HTTP.", hint="Is the base address right: https or http, host, port?"
        )
    if which == "first_byte" and _any(causes, ConnectionError, ssl.SSLEOFError):
        https = doubted.startswith("http:")
        step = "Does that port require https?" if https else "Ask again to try once more."
        return ServiceError(
            "The server closed the connection without an answer.",
            hint=f"{COST_UNKNOWN} {step}",
        )
    if _any(causes, urllib3.exceptions.DecodeError):
        return NotUnderstoodError("The answer could not be decompressed.", hint=COST_UNKNOWN)
    return CutOffError(
        f"The connection broke before the end of the answer{_reason(causes)}.",
        hint=COST_UNKNOWN,
        fault="network",
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


def _any(causes: list[BaseException], *kinds: type[BaseException]) -> bool:
    return any(isinstance(cause, kinds) for cause in causes)


def _reason(causes: list[BaseException]) -> str:
    """Return the innermost reason, in the system's own words, as the end of a sentence."""
    for cause in reversed(causes):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f": {cause.verify_message.rstrip(' .')}"
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return f": {cause.reason.lower().replace('_', ' ')}"
        if isinstance(cause, OSError) and cause.strerror:
            return f": {cause.strerror.rstrip(' .')}"
    status = _tunnel_status(causes)
    return "" if status is None else f": it answered {status}"


def _tunnel_status(causes: list[BaseException]) -> int | None:
    """Return the HTTP status of a proxy that opens no tunnel, from http.client's message."""
    matches = (re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)) for cause in causes)
    return next((int(match[1]) for match in matches if match), None)
