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

_WAITED: Final[dict[Which, str]] = {
    "connect": "No connection within the connect time-out of {} s. Nothing was sent.",
    "first_byte": "No answer within the first-byte time-out of {} s.",
    "silence": "The reply fell silent for longer than the silence time-out of {} s.",
    "total": "The reply took longer than the total time-out of {} s.",
}


def is_late(error: BaseException) -> bool:
    """Tell whether a time-out ran out."""
    causes = _causes(error)
    # A name or a route that does not exist is a kind of connect time-out there.
    return _any(causes, urllib3.exceptions.TimeoutError, TimeoutError) and not _any(
        causes, urllib3.exceptions.NewConnectionError
    )


def late(which: Which, seconds: float) -> RequestTimeoutError:
    """Give the error for a time-out that ran out: which, its seconds, and how to change it.

    Args:
        which: the one that ran out.
        seconds: how long that was.
    """
    longer = f"{2 * seconds:g}"
    return RequestTimeoutError(
        _WAITED[which].format(f"{seconds:g}"),
        which=which,
        hint=f'To wait longer: %config ChatMagics.timeout = {{"{which}": {longer}}}, '
        f"or in Python chatmagic.Timeout({which}={longer}).",
    )


def unconnected(error: BaseException) -> ChatError:
    """Give the error for a request of which nothing was sent."""
    causes = _causes(error)
    if _any(causes, requests.exceptions.InvalidURL, urllib3.exceptions.LocationValueError):
        return InputError("The base address is not a URL that a request can be sent to.")
    if _any(causes, requests.exceptions.ProxyError, urllib3.exceptions.ProxyError):
        return ConnectError(
            f"The proxy did not connect{_reason(causes)}. Nothing was sent.",
            hint="Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.",
        )
    if _any(causes, requests.exceptions.SSLError, urllib3.exceptions.SSLError):
        return ConnectError(
            f"No safe connection{_reason(causes)}. Nothing was sent.",
            hint="Is it https? For a certificate authority of your own, set REQUESTS_CA_BUNDLE.",
        )
    if _any(causes, urllib3.exceptions.NameResolutionError):
        return ConnectError(
            "The host name of the base address was not found. Nothing was sent.",
            hint="Check the address and the network; %chat shows what is set.",
        )
    if "CA certificate bundle" in str(causes[0]):
        return ConnectError(
            "The file of certificate authorities was not found. Nothing was sent.",
            hint="Correct REQUESTS_CA_BUNDLE, or CURL_CA_BUNDLE.",
        )
    return ConnectError(
        f"No connection{_reason(causes)}. Nothing was sent.",
        hint="Check the address and the network; %chat shows what is set.",
    )


def broken(error: BaseException, which: Which) -> ChatError:
    """Give the error for an answer that broke off, or was none.

    Args:
        error: what was raised.
        which: the time-out that was running: ``first_byte`` is before any of the answer.
    """
    causes = _causes(error)
    if _any(causes, http.client.BadStatusLine, http.client.LineTooLong) and not _any(
        causes, http.client.RemoteDisconnected
    ):
        return NotUnderstoodError(
            "The answer is not HTTP.", hint="Is the base address right: https or http, host, port?"
        )
    if which == "first_byte" and _any(causes, ConnectionError):
        return ServiceError(
            "The server closed the connection without an answer.",
            hint="Whether this took credits is not known; nothing was sent again.",
        )
    if _any(causes, urllib3.exceptions.DecodeError):
        return NotUnderstoodError("The answer's compression could not be undone.")
    return CutOffError(f"The connection broke before the end of the answer{_reason(causes)}.")


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
