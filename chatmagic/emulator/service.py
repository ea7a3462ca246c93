"""Rules of the emulator's responses, as pure functions.

:func:`respond` takes a request, the credits used, the settings and the time. It returns the
response and the credits used after it; :mod:`chatmagic.emulator.server` only sends the bytes. On
the points that the interface calls *not shown* the emulator chooses as follows; the field of
:class:`Settings` in parentheses changes the choice:

- The rate-limit error has status 429.
- Errors carry the rate-limit headers wherever the account is known.
- A blank line follows each event; lines end in LF.
- Every chunk names the model, and the last one before ``[DONE]`` carries ``finish_reason``
  and ``usage``.
- A key given in several ways is refused with 400.
- Any word is a key with an account of its own, except words that begin with ``invalid``, which get
  401. The checks, in order, are: key 401, path 404, method 405, ``Content-Type: application/json``
  415, body 400, credits.
- A request costs 1 credit (``cost``) of 100 (``credits``) as soon as it is accepted, however it
  ends. A refused request costs nothing. ``used`` is never above the limit. Credits reset at each
  midnight UTC.
- ``messages`` is required and not empty, with any roles; a content may be a list of parts, of which
  the texts count. ``max_tokens``, or ``max_completion_tokens``, is at least 1; a reply that it cuts
  short finishes with ``length``. ``response_format`` gets a reply in JSON, by its schema if it has
  one. ``stream_options`` with ``include_usage`` gets the usage once more, in a chunk without
  choices. ``temperature`` changes nothing. Unknown fields are ignored. There are no upper bounds.
- Answers have the further fields that common clients read: ``id``, ``object``, ``created`` and each
  choice's ``index``. Equal requests have equal ids.
- ``GET /v1/models`` lists the one model, and costs nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

from chatmagic._json import json_of_file
from chatmagic.emulator import replies
from chatmagic.protocol import sse
from chatmagic.protocol.api_key import Auth, Secret
from chatmagic.protocol.chunk import Chunk, content_text
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.request import EMULATOR_SERVER, PATH, Request

MODEL: Final = "emulator"
MODELS_PATH: Final = "/v1/models"
_LONGEST_MESSAGE: Final = 300
_ANY_KEY: Final = "Any word is a key here, unless it begins with 'invalid'."
_ERRORS: Final[Mapping[str, tuple[int, str, Mapping[str, str]]]] = {
    "several_keys": (400, "Give the key in one way, not in several.", {}),
    "invalid_api_key": (401, "", {"WWW-Authenticate": "Bearer"}),
    "not_found": (404, f"There are only {PATH} and {MODELS_PATH} here.", {}),
    "method_not_allowed": (405, "Use POST.", {"Allow": "POST"}),
    "read_only": (405, "Use GET.", {"Allow": "GET"}),
    "unsupported_media_type": (415, "Send Content-Type: application/json.", {}),
    "invalid_request": (400, "", {}),
}
"""Status, message and further headers of each error, by its name."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Behaviour of the emulator.

    Args:
        credits: the credit limit of each account.
        cost: the cost of a request in credits.
        delay: seconds between two fragments of a stream.
        now: a fixed time for the clock, aware; ``None`` is the real clock.
        answer: returns the reply to a request, a status of 400 to 599 with which it fails, or
            ``None`` for a reply of the emulator's own. Without it, each is.
    """

    credits: int = 100
    cost: int = 1
    delay: float = 0.0
    now: datetime | None = None
    answer: Callable[[Request], str | int | None] | None = None


FRESH: Final = Settings(delay=0.01)
"""Settings of a kernel's own emulator."""


Used: TypeAlias = Mapping[tuple[Secret, date], int]
"""Credits used, by key and day (UTC); the last request of a day may exceed the limit."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it arrived.

    Args:
        method: the HTTP method.
        path: the path, without the query.
        query: the query, without the question mark.
        headers: the headers, their names in lower case.
        body: the body.
        port: the client's port, by which tests distinguish connections.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    port: int = 0


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """Response to a request.

    Args:
        status: the HTTP status.
        headers: all headers but those of the connection.
        pieces: the body in pieces that are sent one by one; a stream's can be iterated once. The
            headers go with the first piece, which may be empty. ``None`` among them keeps the
            connection and sends no more; a :exc:`ConnectionAbortedError` closes it.
        pause: seconds between two pieces.
    """

    status: int
    headers: Mapping[str, str]
    pieces: Iterable[bytes | None]
    pause: float = 0.0


class _ErrorResponse(Exception):  # noqa: N818 - a response, not an error of this program
    """A response whose body is an error (fact 8).

    Args:
        name: the error's name in :data:`_ERRORS`.
        message: its explanation; the table's if empty.
    """

    def __init__(self, name: str, message: str = "") -> None:
        self.status, explanation, self.headers = _ERRORS[name]
        self.body = ErrorBody(name, message or explanation)


def respond(
    request: HttpRequest, used: Used, settings: Settings, now: datetime
) -> tuple[HttpResponse, Used]:
    """Return the response to one request.

    Args:
        request: the request as it arrived.
        used: the credits used before the request.
        settings: the emulator's behaviour.
        now: the time, aware.

    Returns:
        The response, and the credits used after it.
    """
    account = None
    try:
        account = _key(request), now.astimezone(UTC).date()
        if request.path == MODELS_PATH:
            response = _models(request, now)
        else:
            response, used = _completion(request, account, used, settings, now)
    except _ErrorResponse as error:
        response = _json(error.status, error.body.to_json(), error.headers)
    headers = {**common_headers(now), **response.headers}
    if account is not None:
        headers |= {
            "X-RateLimit-Limit": str(settings.credits),
            "X-RateLimit-Remaining": str(max(0, settings.credits - used.get(account, 0))),
            "X-RateLimit-Reset": _reset_after(account[1]),
        }
    return replace(response, headers=headers), used


def _models(request: HttpRequest, now: datetime) -> HttpResponse:
    """Return the list of models."""
    if request.method not in ("GET", "HEAD"):
        raise _ErrorResponse("read_only")
    model = {
        "id": MODEL,
        "object": "model",
        "created": int(now.timestamp()),
        "owned_by": "chatmagic",
    }
    return _json(HTTPStatus.OK, {"object": "list", "data": [model]})


def _completion(
    request: HttpRequest,
    account: tuple[Secret, date],
    used: Used,
    settings: Settings,
    now: datetime,
) -> tuple[HttpResponse, Used]:
    """Return the response to a question, and the credits used after it."""
    asked = _parsed(request)
    if used.get(account, 0) >= settings.credits:
        body = _used_up(account[1], used[account], settings)
        return _json(HTTPStatus.TOO_MANY_REQUESTS, body.to_json()), used
    text = None if settings.answer is None else settings.answer(asked)
    if isinstance(text, int):
        body = ErrorBody("failed", "This request fails, as the emulator is set to.")
        return _json(text, body.to_json()), used
    answer = _Answer(
        replies.complete(asked.messages, asked.max_tokens, _schema(asked), text),
        name=f"chatcmpl-{hashlib.sha256(request.body).hexdigest()[:24]}",
        created=int(now.timestamp()),
    )
    used = {**used, account: used.get(account, 0) + settings.cost}
    if not asked.stream:
        return _json(HTTPStatus.OK, answer.whole()), used
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    events = answer.events(usage_alone=_wants_usage(asked))
    return HttpResponse(HTTPStatus.OK, headers, events, settings.delay), used


def common_headers(now: datetime) -> dict[str, str]:
    """Return the headers of every response.

    Args:
        now: the time, aware.
    """
    return {"Server": EMULATOR_SERVER, "Date": format_datetime(now.astimezone(UTC), usegmt=True)}


def keys_given(request: HttpRequest) -> dict[Auth, str]:
    """Return the keys of a request, by the way in which each was given (fact 12).

    The text is empty for a way that was used without a key.

    Args:
        request: the request as it arrived.
    """
    keys: dict[Auth, str] = {}
    if (authorization := request.headers.get("authorization")) is not None:
        scheme, _, token = authorization.partition(" ")
        keys["bearer"] = token.strip() if scheme.lower() == "bearer" else ""
    if (header := request.headers.get("x-api-key")) is not None:
        keys["x-api-key"] = header
    if values := parse_qs(request.query, keep_blank_values=True).get("api_key"):
        keys["query"] = values[0] if len(values) == 1 else ""
    return keys


def _key(request: HttpRequest) -> Secret:
    """Return the only key of a request, if it is a valid one."""
    keys = keys_given(request)
    if len(keys) > 1:
        raise _ErrorResponse("several_keys")
    text = next(iter(keys.values()), "")
    key = None if text.startswith("invalid") else Secret.or_none(text)
    if key is None:
        fault = "This key is not valid." if text else "This request carries no API key."
        raise _ErrorResponse("invalid_api_key", f"{fault} {_ANY_KEY}")
    return key


def _parsed(request: HttpRequest) -> Request:
    """Return the request for a completion that an HTTP request holds."""
    if request.path != PATH:
        raise _ErrorResponse("not_found")
    if request.method != "POST":
        raise _ErrorResponse("method_not_allowed")
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise _ErrorResponse("unsupported_media_type")
    try:
        asked = Request.from_json(_as_texts(json_of_file(request.body)))
    except ValueError as error:
        message = f"The body is not understood: {error}"
    else:
        if asked.max_tokens is None or asked.max_tokens >= 1:
            return asked
        message = "max_tokens is at least 1"
    raise _ErrorResponse("invalid_request", message[:_LONGEST_MESSAGE])


def _as_texts(body: Any) -> Any:
    """Return a body with texts as its contents, and with the interface's name of the limit."""
    if not isinstance(body, dict):
        return body
    limit = body.pop("max_completion_tokens", None)
    if body.get("max_tokens") is None:
        body["max_tokens"] = limit
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            message["content"] = content_text(message["content"])
    return body


def _schema(asked: Request) -> replies.JsonForm | None:
    """Return the form that a request's ``response_format`` asks for; ``None`` for text."""
    value = asked.extra.get("response_format")
    if not isinstance(value, dict) or value.get("type") not in ("json_object", "json_schema"):
        return None
    described = value.get("json_schema")
    return replies.JsonForm(described.get("schema") if isinstance(described, dict) else None)


def _wants_usage(asked: Request) -> bool:
    """Return whether a request asks for the usage in a chunk of its own."""
    options = asked.extra.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _reset_after(day: date) -> str:
    """Return the time at which the credits of a day reset."""
    return f"{day + timedelta(days=1)}T00:00:00Z"


def _used_up(day: date, used: int, settings: Settings) -> ErrorBody:
    """Return the rate-limit error (fact 9)."""
    when = _reset_after(day)
    return ErrorBody(
        error="rate_limit_exceeded",
        message=f"The daily credit limit of {settings.credits} is reached; it resets at {when}.",
        limit=settings.credits,
        used=min(used, settings.credits),
        reset_at=when,
    )


def _json(status: int, value: object, headers: Mapping[str, str] | None = None) -> HttpResponse:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    own = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return HttpResponse(status, {**own, **(headers or {})}, (body,))


@dataclass(frozen=True, slots=True)
class _Answer:
    """Answer to a question, in either form.

    Args:
        completion: the reply.
        name: its ``id``.
        created: its time, in seconds since 1970.
    """

    completion: replies.Completion
    name: str
    created: int

    def whole(self) -> dict[str, Any]:
        """Return the answer as one JSON value."""
        return self._object("chat.completion", self._end(self.completion.text, whole=True))

    def events(self, *, usage_alone: bool) -> Iterator[bytes]:
        """Yield the events of a stream: one for each fragment, and the end.

        Args:
            usage_alone: whether the usage comes once more, in a chunk without choices.
        """
        *earlier, last = self.completion.fragments or ("",)
        for fragment in earlier:
            yield self._event(Chunk(fragment, model=MODEL))
        yield self._event(self._end(last, whole=False))
        if usage_alone:
            usage = Chunk(model=MODEL, usage=self.completion.usage)
            value = {**self._object("chat.completion.chunk", usage), "choices": []}
            yield sse.encode_event(value)
        yield sse.encode_done()

    def _end(self, text: str, *, whole: bool) -> Chunk:
        """Return the end of an answer, or a whole one, with the facts besides the text."""
        return Chunk(
            text,
            whole=whole,
            model=MODEL,
            finish_reason=self.completion.finish_reason,
            usage=self.completion.usage,
        )

    def _event(self, chunk: Chunk) -> bytes:
        return sse.encode_event(self._object("chat.completion.chunk", chunk))

    def _object(self, kind: str, chunk: Chunk) -> dict[str, Any]:
        """Return a chunk or a reply with the further fields that common clients read."""
        value = chunk.to_json()
        choices = [{"index": 0, **choice} for choice in value["choices"]]
        about = {"id": self.name, "object": kind, "created": self.created}
        return {**about, **value, "choices": choices}
