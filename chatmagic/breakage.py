"""What ``requests`` and ``urllib3`` raise, to the errors that say what the caller can do.

Their text holds addresses and objects, so none of it is repeated; the system's own words
for the reason are.
"""

from __future__ import annotations

import http.client
import re
import ssl
from typing import TYPE_CHECKING, Final

import requests
import urllib3

from chatmagic.errors import (
    COST_UNKNOWN,
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
    longer = f"{2 * seconds:g}"
    return RequestTimeoutError(
        _WAITED[which].format(seconds=f"{seconds:g}", at=at),
        which=which,
        hint=f'To wait longer: %config ChatMagics.timeout = {{"{which}": {longer}}}, '
        f"or in Python chatmagic.Timeout({which}={longer}).",
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
    if _any(causes, ConnectionResetError, ConnectionAbortedError, BrokenPipeError):
        return ConnectError(
            f"{at} closed the connection before it was made. Nothing was sent.",
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
            "The environment's proxy is none that can be used. Nothing was sent.",
            hint="HTTPS_PROXY, HTTP_PROXY and ALL_PROXY are like http://proxy.example:8080.",
            fault="you",
        )
    if _any(causes, requests.exceptions.SSLError, urllib3.exceptions.SSLError, ssl.SSLError):
        return ConnectError(
            f"No safe connection to {at}{_reason(causes)}. Nothing was sent.",
            hint="Is it https? For a certificate authority of your own, set REQUESTS_CA_BUNDLE.",
        )
    if "CA certificate bundle" in str(causes[0]):
        return ConnectError(
            "The file of certificate authorities was not found. Nothing was sent.",
            hint="Correct REQUESTS_CA_BUNDLE, or CURL_CA_BUNDLE.",
            fault="you",
        )
    return None


def broken(error: BaseException, which: Which) -> ChatError:
    """Give the error for an answer that broke off, or was none.

    Args:
        error: what was raised.
        which: the time-out that was running: ``first_byte`` is before any of the answer.
    """
    causes = _causes(error)
    # Whatever else http.client says before the body is about a head that it cannot read.
    headless = which == "first_byte" and _any(causes, http.client.HTTPException)
    if headless and any(_HEADERS.search(str(cause)) for cause in causes):
        return NotUnderstoodError(
            "The answer's headers are more than can be read.", hint=COST_UNKNOWN
        )
    if headless and not _any(causes, http.client.RemoteDisconnected, http.client.IncompleteRead):
        return NotUnderstoodError(
            "The answer is not HTTP.", hint="Is the base address right: https or http, host, port?"
        )
    if which == "first_byte" and _any(causes, ConnectionError):
        return ServiceError(
            "The server closed the connection without an answer.",
            hint=COST_UNKNOWN,
        )
    if _any(causes, urllib3.exceptions.DecodeError):
        return NotUnderstoodError(
            "The answer's compression could not be undone.", hint=COST_UNKNOWN
        )
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
            return f": {cause.verify_message}"
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return f": {cause.reason.lower().replace('_', ' ')}"
        if isinstance(cause, OSError) and cause.strerror:
            return f": {cause.strerror}"
        if found := re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)):
            return f": it answered {found[1]}"
    return ""
