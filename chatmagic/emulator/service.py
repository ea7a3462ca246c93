"""The rules by which the emulator answers: the whole interface as one pure function.

:func:`answer` takes what a request said, the accounts, the settings and the time, and
gives the answer and the accounts as they are after it; :mod:`chatmagic.emulator.server` only
carries the bytes. Where the interface says *not shown*, this is what the emulator
chooses, with the :class:`Settings` field that chooses otherwise:

- The rate-limit error has status 429 (``rate_limit_status``).
- Errors carry the rate-limit headers wherever the account is known (``headers_on_errors``).
- A blank line follows each event (``blank_lines``); lines end in LF (``line_end``).
- Every chunk names the model, and the last one before ``[DONE]`` carries ``finish_reason``
  and ``usage`` (``chunk_extras``; without it a chunk is ``choices[].delta.content`` alone).
- A key given in several ways is refused with 400 (``precedence`` names the ways that win).
- Any word is a key, and each key an account of its own, unless it begins with ``invalid``:
  then the answer is 401. What is checked, in order: key 401, path 404, method 405,
  ``Content-Type: application/json`` 415, body 400, credits.
- A request costs 1 credit (``cost``) of 100 (``credits``), as soon as it is accepted and
  however it ends; a refused one costs nothing. No more than the limit is told as ``used``. Credits
  reset at each midnight UTC (``period``).
- ``messages`` is required and not empty, with any roles; ``max_tokens`` is at least 1 and
  a reply that it cuts short finishes with ``length``; ``temperature`` changes nothing;
  unknown fields are ignored. There are no upper bounds.
"""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import parse_qs

from chatmagic._json import iso
from chatmagic.emulator import replies
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.protocol import sse
from chatmagic.protocol.auth import Secret
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.wire import EMULATOR_SERVER, PATH, Chunk, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from chatmagic.protocol.auth import Auth

Fault = Literal["cut", "hold", "garbage", "error", "buffer"]

MODEL: Final = "emulator"
DAY: Final = 86_400
FAULTS: Final[tuple[Fault, ...]] = ("cut", "hold", "garbage", "error", "buffer")

FAILURE: Final = ErrorBody("internal_error", "The emulator was told to fail here.")

_LONGEST_MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Settings:
    """How the emulator behaves.

    Args:
        credits: the credit limit of each account.
        cost: credits that a request takes.
        delay: seconds between two fragments of a stream.
        now: the time at which the clock stands still, aware; ``None`` is the real clock.
        period: seconds from one reset to the next, counted from a midnight UTC.
        rate_limit_status: HTTP status of the rate-limit error.
        headers_on_errors: whether errors carry the rate-limit headers.
        blank_lines: whether a blank line follows each event.
        line_end: what ends a line of a stream: LF, CRLF or CR.
        chunk_extras: whether chunks carry the model, the finish reason and the usage.
        precedence: of several ways of the key the first of these counts; empty refuses.
        fault: what goes wrong with an accepted request; ``None`` is nothing. ``cut`` closes
            the connection, ``hold`` sends no more and keeps it open, ``garbage`` sends what
            is not JSON and goes on, ``error`` is a server failure (status 500, or an error
            object inside a stream), ``buffer`` sends everything at once at the end.
        fault_after: fragments sent before the fault; 0 is after the headers, -1 before
            them. A fragment of a JSON reply is 16 bytes.

    Raises:
        InputError: a value makes no sense.
    """

    credits: int = 100
    cost: int = 1
    delay: float = 0.0
    now: datetime | None = None
    period: int = DAY
    rate_limit_status: int = 429
    headers_on_errors: bool = True
    blank_lines: bool = True
    line_end: str = "\n"
    chunk_extras: bool = True
    precedence: tuple[Auth, ...] = ()
    fault: Fault | None = None
    fault_after: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        for good, want in (
            (self.credits >= 0, "credits is 0 or more"),
            (self.cost >= 0, "cost is 0 or more"),
            (0 <= self.delay < math.inf, "delay is a number of seconds, 0 or more"),
            (self.now is None or self.now.tzinfo is not None, "now is a time with a zone"),
            (self.period >= 1, "period is 1 second or more"),
            (400 <= self.rate_limit_status <= 599, "rate_limit_status is from 400 to 599"),  # noqa: PLR2004 - the statuses of errors
            (self.line_end in ("\n", "\r\n", "\r"), "line_end is LF, CRLF or CR"),
            (self.fault is None or self.fault in FAULTS, f"fault is one of {', '.join(FAULTS)}"),
            (self.fault_after >= -1, "fault_after is -1 or more"),
        ):
            if not good:
                raise InputError(f"The emulator's {want}.")


FRESH: Final = Settings(now=datetime(2026, 1, 1, 12, tzinfo=UTC), delay=0.01)
"""What a kernel's own emulator starts with: its clock stands still, so outputs repeat."""


@dataclass(frozen=True, slots=True)
class Account:
    """The credits of one key.

    Args:
        used: credits taken since the last reset; the last request may go beyond the limit.
        resets_at: when they are all there again.
    """

    used: int
    resets_at: datetime


@dataclass(frozen=True, slots=True)
class Call:
    """What a request said.

    Args:
        method: the HTTP method.
        path: the path, without the query.
        query: the query, without the question mark.
        headers: the headers, their names in lower case.
        body: the body.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back.

    Args:
        status: the HTTP status.
        headers: all headers but those of the connection.
        pieces: the body, each piece to be sent by itself; a stream's can be walked once.
        pause: seconds between two pieces.
    """

    status: int
    headers: Mapping[str, str]
    pieces: Iterable[bytes]
    pause: float = 0.0


class _Refusal(Exception):  # noqa: N818 - no error of this program, but an answer
    """An answer that is an error body (fact 8)."""

    def __init__(self, status: int, body: ErrorBody, **headers: str) -> None:
        super().__init__(body.error)
        self.status = status
        self.body = body
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def answer(
    call: Call, accounts: Mapping[Secret, Account], settings: Settings, now: datetime
) -> tuple[Answer, Mapping[Secret, Account]]:
    """Answer one request.

    Args:
        call: what the request said.
        accounts: the accounts as they are before it.
        settings: how the emulator behaves.
        now: the time, aware.

    Returns:
        The answer, and the accounts as they are after it.
    """
    key = account = None
    try:
        key = _key(call, settings)
        account = _at(now, accounts.get(key), settings)
        request = _request(call)
        account = _charged(account, request, settings)
        given = _accepted(request, settings)
    except _Refusal as refusal:
        given = _json(refusal.status, refusal.body.to_json(), refusal.headers)
    headers = {**common_headers(now), **given.headers}
    if account and key and (given.status == 200 or settings.headers_on_errors):  # noqa: PLR2004 - OK
        headers |= _rate_limit_headers(account, settings)
    after = {**accounts, key: account} if account and key else accounts
    return replace(given, headers=headers), after


def common_headers(now: datetime) -> dict[str, str]:
    """Give the headers of every answer."""
    return {"Server": EMULATOR_SERVER, "Date": format_datetime(now.astimezone(UTC), usegmt=True)}


def event(value: object, settings: Settings) -> bytes:
    """Write one event of a stream as the settings want it."""
    return sse.encode(value, line_end=settings.line_end, blank_line=settings.blank_lines)


def keys_given(call: Call) -> dict[Auth, str]:
    """Give the key in each way it was given (fact 12); empty where there is none in it."""
    found: dict[Auth, str] = {}
    authorization = call.headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        found["bearer"] = token.strip() if scheme.lower() == "bearer" else ""
    header = call.headers.get("x-api-key")
    if header is not None:
        found["x-api-key"] = header
    values = parse_qs(call.query, keep_blank_values=True).get("api_key")
    if values:
        found["query"] = values[0] if len(values) == 1 else ""
    return found


def _key(call: Call, settings: Settings) -> Secret:
    given = keys_given(call)
    ways = [way for way in settings.precedence if way in given] or list(given)
    if len(ways) > 1 and ways[0] not in settings.precedence:
        raise _Refusal(
            400, ErrorBody("several_keys", f"Give the key in one way, not in {len(ways)}.")
        )
    key = given[ways[0]] if ways else ""
    if not key.startswith("invalid"):
        with contextlib.suppress(ValueError):
            return Secret(key)
    fault = "This key is not valid." if key else "This request carries no API key."
    message = f"{fault} Any word is a key here, unless it begins with 'invalid'."
    raise _Refusal(401, ErrorBody("invalid_api_key", message), WWW_Authenticate="Bearer")


def _request(call: Call) -> Request:
    if call.path != PATH:
        raise _Refusal(404, ErrorBody("not_found", f"There is only {PATH} here."))
    if call.method != "POST":
        raise _Refusal(405, ErrorBody("method_not_allowed", "Use POST."), Allow="POST")
    media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise _Refusal(
            415, ErrorBody("unsupported_media_type", "Send Content-Type: application/json.")
        )
    try:
        request = Request.from_json(json.loads(call.body))
    except json.JSONDecodeError as error:
        message = f"The body is not JSON: {error}"
    except (ValueError, RecursionError) as error:
        message = f"The body is not understood: {error}"
    else:
        if request.max_tokens is None or request.max_tokens >= 1:
            return request
        message = "max_tokens is at least 1"
    raise _Refusal(400, ErrorBody("invalid_request", message[:_LONGEST_MESSAGE]))


def _at(now: datetime, account: Account | None, settings: Settings) -> Account:
    """Give an account as it is at a time: a new one, or a full one again after its reset."""
    if account is not None and now < account.resets_at:
        return account
    resets = (math.floor(now.timestamp()) // settings.period + 1) * settings.period
    return Account(used=0, resets_at=datetime.fromtimestamp(resets, UTC))


def _rate_limit_headers(account: Account, settings: Settings) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(settings.credits),
        "X-RateLimit-Remaining": str(max(0, settings.credits - account.used)),
        "X-RateLimit-Reset": iso(account.resets_at) or "",
    }


def _used_up(account: Account, settings: Settings) -> ErrorBody:
    when = iso(account.resets_at)
    return ErrorBody(
        error="rate_limit_exceeded",
        message=f"The daily credit limit of {settings.credits} is reached; it resets at {when}.",
        limit=settings.credits,
        used=min(account.used, settings.credits),
        reset_at=when,
    )


def _charged(account: Account, request: Request, settings: Settings) -> Account:
    if settings.fault == "error" and (settings.fault_after < 0 or not request.stream):
        raise _Refusal(500, FAILURE)
    if account.used >= settings.credits:
        raise _Refusal(settings.rate_limit_status, _used_up(account, settings))
    return replace(account, used=account.used + settings.cost)


def _json(status: int, value: object, headers: Mapping[str, str]) -> Answer:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    own = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return Answer(status, {**own, **headers}, (body,))


def _accepted(request: Request, settings: Settings) -> Answer:
    completion = replies.complete(request.messages, request.max_tokens)
    if request.stream:
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        return Answer(200, headers, _events(completion, settings), settings.delay)
    reply = Reply(completion.text, MODEL, completion.finish_reason, completion.usage)
    return _json(200, reply.to_json(), {})


def _events(completion: replies.Completion, settings: Settings) -> Iterator[bytes]:
    """Give the stream's events: one for each fragment, and the end."""
    *earlier, last = completion.fragments or ("",)
    model = MODEL if settings.chunk_extras else None
    for fragment in earlier:
        yield event(Chunk(fragment, model=model).to_json(), settings)
    chunk = Chunk(last)
    if settings.chunk_extras:
        chunk = Chunk(last, completion.finish_reason, MODEL, completion.usage)
    yield event(chunk.to_json(), settings)
    yield sse.encode_done(line_end=settings.line_end, blank_line=settings.blank_lines)
