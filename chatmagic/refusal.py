"""An answer that is no reply, to the error that says what the caller can do (interface §7).

Pure: the status, the headers and the beginning of the body come in, an error goes out.
The rate-limit error is known by its body, because its status is not shown; the others by
their status. Whatever the body is, there is one clear line with a short excerpt.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from chatmagic import credits as crediting
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    NotUnderstoodError,
    RateLimitError,
    RequestRejectedError,
    ServiceError,
)
from chatmagic.wire import ErrorBody, Secret

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

BODY_BYTES: Final = 65_536
EXCERPT: Final = 200


def refusal(
    status: int,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    *,
    now: datetime,
    key: Secret | None = None,
) -> ChatError:
    """Give the error for an answer that is no reply.

    Args:
        status: the HTTP status.
        headers: the answer's headers.
        body: its body, or the beginning of it.
        now: the time here, aware, for an answer that has no ``Date``.
        key: the key that was used, to be taken out of what is shown.
    """
    told = read_error(body) or ErrorBody()
    said = _said(told, body, key)
    seen = crediting.from_error(told, headers, now)
    if told.is_rate_limit or status in {HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.TOO_MANY_REQUESTS}:
        error: ChatError = _rate_limit(status, told, said, headers, now)
    elif HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        error = _redirect(status, headers, key)
    elif status < HTTPStatus.MULTIPLE_CHOICES or status == HTTPStatus.NOT_FOUND:
        error = NotUnderstoodError(
            f"What answered is not the chat service{said} (HTTP {status}).",
            hint="Is the base address right? %chat shows it.",
        )
    else:
        error = _by_status(status, said)
    error.status = status
    error.credits = seen
    return error


def read_error(body: bytes) -> ErrorBody | None:
    """Read an error body in any of the shapes that servers give it; ``None`` is none."""
    try:
        return ErrorBody.from_json(json.loads(body.decode("utf-8-sig", "replace")))
    except (ValueError, RecursionError):
        return None


def excerpt(text: str, limit: int = EXCERPT) -> str:
    """Give the beginning of a stranger's text on one line, without control characters."""
    line = " ".join(text.split())
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _said(told: ErrorBody, body: bytes, key: Secret | None) -> str:
    """Give what the answer said, as the middle of a sentence."""
    words = [word for word in (told.error, told.message) if word]
    if not words:
        text = body.decode("utf-8", "replace")
        if key is not None:
            text = key.redact(text)
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.DOTALL | re.IGNORECASE)
        words = [title.group(1) if title else re.sub(r"<[^>]*>", " ", text)]
    text = ": ".join(dict.fromkeys(words))
    if key is not None:
        text = key.redact(text)
    text = excerpt(text)
    return f': "{text}"' if text else ""


def _rate_limit(
    status: int,
    told: ErrorBody,
    said: str,
    headers: Sequence[tuple[str, str]],
    now: datetime,
) -> RateLimitError:
    again = crediting.retry_after(headers, now)
    seen = crediting.from_error(told, headers, now)
    when = f" Ask again after {again:%Y-%m-%d %H:%M:%S} UTC." if again else ""
    if told.is_rate_limit:
        resets = seen.resets_at if seen else None
        until = f"resets {resets:%Y-%m-%d %H:%M} UTC" if resets else "reset unknown"
        what = f"No credits left: {told.used:,} of {told.limit:,} used, {until}{said}"
    elif status == HTTPStatus.PAYMENT_REQUIRED:
        what = f"The service wants more credits{said}"
    else:
        what = f"The service says that the limit is reached{said}"
    return RateLimitError(f"{what} (HTTP {status}).{when}", retry_after=again)


def _redirect(
    status: int, headers: Sequence[tuple[str, str]], key: Secret | None
) -> NotUnderstoodError:
    where = next((value for name, value in headers if name.lower() == "location"), "")
    if key is not None:
        where = key.redact(where)
    found = re.match(r"(https?:)?//(?:[^/?#\\]*@)?([^/?#\\]+)", where.strip(), re.IGNORECASE)
    target = f"{found[1] or ''}//{found[2]}" if found else ""
    target = excerpt(target)
    return NotUnderstoodError(
        f"The service points {f'to {target}' if target else 'elsewhere'} (HTTP {status}); "
        "that was not followed, so the key went nowhere else.",
        hint="If that is the service, connect to it: %chat_connect URL.",
    )


def _by_status(status: int, said: str) -> ChatError:
    at = f" (HTTP {status})."
    about_the_key = re.search(r"key|token|auth|credential", said, re.IGNORECASE)
    if status == HTTPStatus.UNAUTHORIZED or (status == HTTPStatus.FORBIDDEN and about_the_key):
        return AuthenticationError(
            f"The service did not accept the key{said}{at}",
            hint="%chat shows where the key comes from; %chat_login asks for another one.",
        )
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return ServiceError(f"The proxy wants a name and a password{said}{at}")
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return RequestRejectedError(
            f"The conversation is too long for the service{said}{at}",
            hint="Send less of it: --last N, or %chat_reset.",
        )
    if status == HTTPStatus.REQUEST_TIMEOUT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServiceError(
            f"The service failed{said}{at}", hint="Nothing was sent again; try later."
        )
    return RequestRejectedError(f"The service refused the request{said}{at}")
