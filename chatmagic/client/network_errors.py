"""What ``requests`` and ``urllib3`` raise, to the errors that say what the caller can do.

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
    from chatmagic.errors import Which

_SHOWN: Final = "%chat shows what is set."
# How http.client says that there are too many of them, or that one is too long.
_HEADERS: Final = re.compile(r"^got more than \d+ (?:headers|bytes when reading header line)")
# What comes back where TLS was spoken to something that does not speak it.
_NO_TLS: Final = {
    "HTTP_REQUEST",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "WRONG_VERSION_NUMBER",
}
# How a TLS server complains of plain words: an alert record.
_ALERT: Final = "\x15\x03"
# OpenSSL's codes of what is wrong with a certificate, where no other authority helps.
_OUT_OF_DATE: Final = {9, 10}
_OTHER_NAME: Final = {62, 63, 64}
_WAITED: Final[dict[Which, str]] = {
    "connect": "No connection to {at} within the connect time-out of {seconds} s. "
    "Nothing was sent.",
    "first_byte": "No answer within the first-byte time-out of {seconds} s; "
    "a proxy on the way may hold it back.",
    "silence": "The reply fell silent for longer than the silence time-out of {seconds} s.",
    "total": "The reply took longer than the total time-out of {seconds} s.",
}


def is_late(error: BaseException) -> bool:
    """Tell whether a time-out ran out."""
    causes = _causes(error)
    # A name or a route that does not exist is a kind of connect time-out there.
    return _any(causes, urllib3.exceptions.TimeoutError, TimeoutError) and not _any(
        causes, urllib3.exceptions.NewConnectionError
    )


def late(which: Which, seconds: float, at: str) -> RequestTimeoutError:
    """Give the error for a time-out that ran out: which, its seconds, and how to change it.

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
    """Give the error for a request of which nothing was sent.

    Args:
        error: what was raised.
        at: the origin that was not reached.
    """
    causes = _causes(error)
    if problem := _on_the_way(causes, at):
        return problem
    if _any(causes, requests.exceptions.InvalidURL, urllib3.exceptions.LocationValueError):
        return InputError("The base address is not a URL that a request can be sent to.")
    if _any(causes, urllib3.exceptions.NameResolutionError):
        what, hint = f"The host name of {at} was not found", "Is it spelled right, and is there"
        return ConnectError(f"{what}. Nothing was sent.", hint=f"{hint} a network? {_SHOWN}")
    if _any(causes, ConnectionRefusedError):
        return ConnectError(
            f"{at} refused the connection. Nothing was sent.",
            hint=f"Does the service run there? {_SHOWN}",
        )
    if _any(causes, ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError):
        return ConnectError(
            f"{at} closed the connection while it was being made. Nothing was sent.",
            hint=f"Is it the right port, http or https? {_SHOWN}",
        )
    return ConnectError(
        f"No connection to {at}{_reason(causes)}. Nothing was sent.",
        hint=f"Is there a network? {_SHOWN}",
    )


def _on_the_way(causes: list[BaseException], at: str) -> ChatError | None:
    """Give the error where the proxy or TLS is the reason."""
    proxies = (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError)
    if _any(causes, *proxies):
        if _tunnel_status(causes) == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return ConnectError(
                f"The proxy requires a name and a password to connect to {at} (HTTP 407). "
                "Nothing was sent.",
                hint=PROXY_NAMED,
                fault="you",
            )
        return ConnectError(
            f"The proxy did not connect to {at}{_reason(causes)}. Nothing was sent.",
            hint="Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.",
        )
    if _any(
        causes,
        requests.exceptions.InvalidProxyURL,
        requests.exceptions.InvalidSchema,
        urllib3.exceptions.ProxySchemeUnknown,
    ):
        return ConnectError(
            "The proxy that the environment names cannot be used. Nothing was sent.",
            hint="HTTPS_PROXY, HTTP_PROXY and ALL_PROXY are like http://proxy.example:8080.",
            fault="you",
        )
    is_no_bundle = "CA certificate bundle" in str(causes[0])
    safety = (requests.exceptions.SSLError, urllib3.exceptions.SSLError, ssl.SSLError)
    if is_no_bundle or _any(causes, *safety):
        return certificates.problem(os.environ) or _unsafe(causes, at)
    return None


def _unsafe(causes: list[BaseException], at: str) -> ChatError | None:
    """Return the error for a TLS connection that was not made, if it is not merely closed."""
    if _any(causes, ssl.SSLEOFError):
        return None
    failure = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if getattr(failure, "reason", None) in _NO_TLS:
        return ConnectError(
            f"{at} does not speak TLS. Nothing was sent.",
            hint=f"Is it http? {_SHOWN}",
        )
    code = getattr(failure, "verify_code", None)
    if code in _OTHER_NAME:
        hint = f"Connect to it by a name that its certificate holds. {_SHOWN}"
    elif code in _OUT_OF_DATE:
        hint = "The service's operator has to renew it, if the date of this machine is right."
    elif code is not None:
        hint = "For a certificate authority of your own, set REQUESTS_CA_BUNDLE."
    else:
        hint = f"Is it https? {_SHOWN}"
    return ConnectError(
        f"No secure connection to {at}{_reason(causes)}. Nothing was sent.", hint=hint
    )


def broken(error: BaseException, which: Which, doubted: str = "") -> ChatError:
    """Give the error for an answer that broke off, or was none.

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
            hint=f"{COST_UNKNOWN} Is it the service that answers there? {_SHOWN}",
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
    """Give an error and everything it was made from, outermost first."""
    found: list[BaseException] = []
    queue: list[object] = [error]
    while queue:
        item = queue.pop(0)
        if isinstance(item, BaseException) and item not in found:
            found.append(item)
            queue += [getattr(item, "reason", None), item.__cause__, item.__context__, *item.args]
    return found


def _any(causes: list[BaseException], *kinds: type[BaseException]) -> bool:
    return any(isinstance(cause, kinds) for cause in causes)


def _reason(causes: list[BaseException]) -> str:
    """Give the innermost reason, in the system's own words, as the end of a sentence."""
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
    """Return the HTTP status of a proxy that makes no tunnel, as http.client tells it."""
    found = (re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)) for cause in causes)
    return next((int(match[1]) for match in found if match), None)
