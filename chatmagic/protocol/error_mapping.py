"""An answer that is no reply, to the error that says what the caller can do (facts 8, 9).

Pure: the status, the headers and the beginning of the body come in, an error goes out.
The rate-limit error is known by its body, because its status is not shown; the others by
their status. Whatever the body is, there is one clear line with a short excerpt.
"""

from __future__ import annotations

import json
import operator
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from chatmagic.errors import (
    HTTPS_WANTED,
    PROXY_NAMED,
    AuthenticationError,
    ChatError,
    CutOffError,
    NotUnderstoodError,
    RateLimitError,
    RequestRejectedError,
    ServiceError,
)
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.body_text import decoded, excerpt, quoted
from chatmagic.protocol.error_body import ErrorBody

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from chatmagic.models import Credits
    from chatmagic.protocol.auth import Secret

BODY_BYTES: Final = 65_536
KEY_REFUSED: Final = "The service did not accept the key"
NO_KEY_SENT: Final = "The service wants a key, and none was sent"
ANOTHER_KEY: Final = "%chat shows where the key comes from; %chat_login asks for another one"
ADDRESS_HINT: Final = "Is the base address right? %chat shows it."
WHAT_CAME_IS_KEPT: Final = (
    "What came is kept, marked; nothing was sent again. Ask again for a whole reply."
)
LESS_HINT: Final = "Send less of it: --last N, or %chat_reset."

_PATH: Final = 60
_LONG_WAIT: Final = 2 * 86_400
_AFTER: Final = "Ask again after the reset."
_WAIT: Final = "Wait before you ask again, or look at the account's limits."
_UNSENT: Final = "Nothing was sent again."
_CHANGE: Final = (
    "Unchanged it would be refused again: change the prompt, or what goes along with it "
    "(--temperature, --max-tokens, ChatMagics.extra_body); %chat shows that."
)
_FIREWALL: Final = (
    "It may be a firewall or a proxy before the service that refused: ask who runs it, or try "
    "from another network."
)
_NEXT: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "Change the prompt, or look in the account at what this key may do; "
    "%chat_login asks for another one.",
    HTTPStatus.METHOD_NOT_ALLOWED: ADDRESS_HINT,
    HTTPStatus.NOT_ACCEPTABLE: ADDRESS_HINT,
    HTTPStatus.CONFLICT: "Try again in a while.",
    HTTPStatus.GONE: f"{ADDRESS_HINT} The service, or a model that you set, may be gone.",
    HTTPStatus.REQUEST_URI_TOO_LONG: ADDRESS_HINT,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ADDRESS_HINT,
    HTTPStatus.MISDIRECTED_REQUEST: ADDRESS_HINT,
    HTTPStatus.LOCKED: "Try again in a while.",
    HTTPStatus.UPGRADE_REQUIRED: f"Is it http where https is wanted? {ADDRESS_HINT}",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "Set fewer or shorter ones: "
    "%config ChatMagics.extra_headers.",
    HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS: "The service may not answer from where you are; "
    "its provider knows more.",
    HTTPStatus.NOT_IMPLEMENTED: ADDRESS_HINT,
    HTTPStatus.HTTP_VERSION_NOT_SUPPORTED: ADDRESS_HINT,
}
"""The next step for a status; for any other that refuses, to change what is asked."""
_LOCATION: Final = re.compile(
    r"(?:(?P<scheme>https?:)?//(?:[^/?#\\]*@)?(?P<host>[^/?#\\]+)|(?=/(?![/\\])))(?P<path>/[^?#\\]*)?",
    re.IGNORECASE,
)
# How servers answer plain words on a port of TLS.
_HTTPS: Final = re.compile(
    r"\bplain HTTP\b|HTTP request to an HTTPS server|host and port requires TLS", re.IGNORECASE
)
_REDIRECTS: Final = {301, 302, 303, 307, 308}
_LIMITED: Final = {HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.TOO_MANY_REQUESTS}
_UNACCEPTED: Final = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
# How servers say that a conversation is longer than what the model reads at once.
_TOO_LONG: Final = re.compile(
    r"context[ _-]?(?:length|window|size|limit|overflow)"
    r"|(?:maximum|max) (?:model|prompt|input|sequence) length"
    r"|(?:prompt|input|request|conversation|messages?) (?:is|are|was) too (?:long|large)"
    r"|too many (?:[a-z]+ )?tokens"
    r"|token count\b.{0,40}\bexceeds"
    r"|\btokens`? \+ `?max_new_tokens"
    r"|reduce the length of",
    re.IGNORECASE,
)
_FAILED: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.FAILED_DEPENDENCY, HTTPStatus.TOO_EARLY}


def error_from_response(
    status: int,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    *,
    now: datetime,
    key: Secret | None = None,
    base_url: str = "",
    same_origin: Callable[[str, str], bool] = operator.eq,
) -> ChatError:
    """Give the error for an answer that is no reply.

    Args:
        status: the HTTP status.
        headers: the answer's headers.
        body: its body, or the beginning of it.
        now: the time here, aware, for an answer that has no ``Date``.
        key: the key that was used, to be taken out of what is shown.
        base_url: the address that was asked, to tell a redirect of its own from another's.
        same_origin: tells whether two addresses are on one server.
    """
    text = decoded(body, headers)
    told = read_error(text) or ErrorBody()
    said = quoted(told, text, headers, key)
    seen = crediting.from_error(told, headers, now)
    is_plain = base_url[:5].lower() == "http:"
    if status == HTTPStatus.BAD_REQUEST and is_plain and _HTTPS.search(text):
        error: ChatError = NotUnderstoodError(
            f"That port wants https{said} (HTTP {status}).", hint=HTTPS_WANTED
        )
    elif told.is_rate_limit or (
        status >= HTTPStatus.BAD_REQUEST and status != HTTPStatus.NOT_FOUND
    ):
        error = _by_status(status, told, said, f" (HTTP {status}).", seen)
    elif status in _REDIRECTS:
        error = _redirect(status, headers, key, base_url, same_origin)
    else:
        error = _no_service(status, told, said)
    return _with(error, status, headers, seen, now)


def error_in_reply(
    status: int,
    headers: Sequence[tuple[str, str]],
    told: ErrorBody,
    *,
    now: datetime,
    key: Secret | None = None,
    begun: bool,
) -> ChatError:
    """Give the error for one that stands where a reply was promised.

    Args:
        status: the HTTP status, which promised a reply.
        headers: the answer's headers.
        told: the error.
        now: as for :func:`error_from_response`.
        key: as for :func:`error_from_response`.
        begun: whether a part of the reply had come before it.
    """
    said = quoted(told, "", headers, key)
    seen = crediting.from_error(told, headers, now)
    if begun:
        error: ChatError = CutOffError(
            f"The service ended the reply with an error{said}.",
            hint=WHAT_CAME_IS_KEPT,
        )
    elif told.is_rate_limit:
        error = _by_status(status, told, said, f" (HTTP {status}).", seen)
    elif told.status is not None:
        at = f" (error {told.status}, HTTP {status})."
        error = _by_status(told.status, told, said, at, seen)
    elif _is_too_long(told, said):
        error = _too_long(f"{said} (HTTP {status}).")
    else:
        error = ServiceError(
            f"The service answered with an error{said} (HTTP {status}).", hint=_UNSENT
        )
    return _with(error, status, headers, seen, now)


def read_error(text: str) -> ErrorBody | None:
    """Read an error body in any of the shapes that servers give it; ``None`` is none."""
    try:
        return ErrorBody.from_json(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return None


def _with(
    error: ChatError,
    status: int,
    headers: Sequence[tuple[str, str]],
    seen: Credits | None,
    now: datetime,
) -> ChatError:
    """Add to an error what the answer says beside its words."""
    error.status, error.credits = status, seen
    wait = crediting.retry_after(headers, now)
    if wait is not None:
        error.retry_after = wait.until
        words = [error.hint, f"Try again {_wait_words(wait)}."]
        error.hint = " ".join(word for word in words if word)
    elif isinstance(error, RateLimitError):
        error.hint = _AFTER if seen is not None and seen.resets_at is not None else _WAIT
    elif error.hint == _UNSENT:
        error.hint = f"{_UNSENT} Try again in a while."
    return error


def _wait_words(wait: crediting.Wait) -> str:
    """Say how long to wait, rounded up; a long wait as a time."""
    seconds = wait.seconds
    if seconds is None or seconds > _LONG_WAIT:
        return f"after {wait.until:%Y-%m-%d %H:%M:%S} UTC"
    if seconds <= 2 * 60:
        return f"in {seconds} s" if seconds else "at once"
    unit, name = (60, "min") if seconds <= 2 * 3600 else (3600, "h")
    return f"in {-(-seconds // unit)} {name}"


def _redirect(
    status: int,
    headers: Sequence[tuple[str, str]],
    key: Secret | None,
    base_url: str,
    same_origin: Callable[[str, str], bool],
) -> NotUnderstoodError:
    where = next((value for name, value in headers if name.lower() == "location"), "").strip()
    if key is not None:
        where = key.redact(where)
    at, followed = f"(HTTP {status})", "was not followed, so the key went nowhere else."
    match = _LOCATION.match(where)
    scheme = (match and match["scheme"]) or base_url.partition("//")[0]
    if match is None or (match["host"] and not same_origin(f"{scheme}//{match['host']}", base_url)):
        origin = match and excerpt(f"{match['scheme'] or ''}//{match['host']}", key)
        target = f"to {origin}" if origin else "elsewhere"
        return NotUnderstoodError(
            f"The service points {target} {at}; that {followed}",
            hint="If that is the service, connect to it: %chat_connect URL.",
        )
    path = excerpt(match["path"] or "/", key, _PATH)
    return NotUnderstoodError(
        f"The service points to its own path {path} {at}: a login page? That {followed}",
        hint=f"Something before the service may want you to sign in. {ADDRESS_HINT}",
    )


def _no_service(status: int, told: ErrorBody, said: str) -> NotUnderstoodError:
    at = f"(HTTP {status})"
    if status == HTTPStatus.NOT_FOUND:
        hint = (
            "Is the base address right (%chat shows it; another path is given whole, ending in "
            "/chat/completions), and the model, if you set one?"
        )
        return NotUnderstoodError(f"What was asked for was not found{said} {at}.", hint=hint)
    if not said:
        what = f"The answer has no content {at}."
        return NotUnderstoodError(what, hint=f"Nothing was sent again. {ADDRESS_HINT}")
    if told != ErrorBody():
        return NotUnderstoodError(f"The answer holds no reply{said} {at}.", hint=ADDRESS_HINT)
    return NotUnderstoodError(
        f"What answered is not the chat service{said} {at}.", hint=ADDRESS_HINT
    )


def _by_status(status: int, told: ErrorBody, said: str, at: str, seen: Credits | None) -> ChatError:
    """Give the error for a status that refuses, or for the documented rate limit."""
    about_the_key = re.search(r"key|token|auth|credential", said, re.IGNORECASE)
    if told.is_rate_limit or status in _LIMITED:
        return _rate_limit(status, told, said + at, seen)
    if status == HTTPStatus.UNAUTHORIZED or (status == HTTPStatus.FORBIDDEN and about_the_key):
        return AuthenticationError(
            f"{KEY_REFUSED}{said}{at}",
            hint=f"{ANOTHER_KEY}.",
        )
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return ServiceError(
            f"The proxy wants a name and a password{said}{at}",
            hint=PROXY_NAMED,
        )
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or (
        status in _UNACCEPTED and _is_too_long(told, said)
    ):
        return _too_long(said + at)
    if status in _FAILED or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        who = "The service" if told != ErrorBody() else "The service, or a proxy before it,"
        return ServiceError(f"{who} failed{said}{at}", hint=_NEXT.get(status, _UNSENT))
    by_a_firewall = status == HTTPStatus.FORBIDDEN and told == ErrorBody()
    hint = _FIREWALL if by_a_firewall else _NEXT.get(status, _CHANGE)
    return RequestRejectedError(f"The service refused the request{said}{at}", hint=hint)


def _is_too_long(told: ErrorBody, said: str) -> bool:
    """Tell whether an error is about a conversation that the model cannot read at once."""
    words = " ".join(word for word in (told.code, told.error, told.message) if word)
    return _TOO_LONG.search(words or said) is not None


def _too_long(said: str) -> RequestRejectedError:
    return RequestRejectedError(
        f"The conversation is too long for the service{said}", hint=LESS_HINT
    )


def _rate_limit(status: int, told: ErrorBody, said: str, seen: Credits | None) -> RateLimitError:
    if told.is_rate_limit:
        figures = f"{told.used:,} of {told.limit:,} used"
        return RateLimitError(f"No credits left: {figures}, {crediting.reset_words(seen)}{said}")
    if status == HTTPStatus.PAYMENT_REQUIRED:
        return RateLimitError(f"The service wants more credits{said}")
    return RateLimitError(f"The service says that the limit is reached{said}")
