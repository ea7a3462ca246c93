"""One ask as a stream of fragments: sent once, read as it arrives, always closed.

The body of an answer becomes the fragments of a reply, or an error. An error gets advice about the
address, the key or the model.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from time import monotonic
from typing import Any, Final, Literal, Self

from chatmagic import advice
from chatmagic._json import has_many_values, json_text
from chatmagic._log import swallowed
from chatmagic.advice import sentences
from chatmagic.client import network_errors
from chatmagic.client.endpoint import MIB, Endpoint, Limits
from chatmagic.client.halt import Halt
from chatmagic.client.transport import Exchange, Transport
from chatmagic.errors import (
    COST_UNKNOWN,
    WHAT_CAME_IS_KEPT,
    AuthenticationError,
    ChatError,
    ChatInterrupted,
    CutOffError,
    InputError,
    NotUnderstoodError,
    RequestRejectedError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.models import Credits, Origin, Reply, State
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import sse
from chatmagic.protocol.api_key import Auth, refuse_keys
from chatmagic.protocol.chunk import Chunk, first_choice, plain_content, unknown_texts
from chatmagic.protocol.credits import RequestLimit
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.json_decoder import JSON_DECODER, content_begun, json_is_cut
from chatmagic.protocol.reply_builder import ReplyBuilder
from chatmagic.protocol.request import Request
from chatmagic.protocol.response_errors import (
    ABOUT_A_MODEL,
    BODY_BYTES,
    Answer,
    body_text,
    error_from_response,
    error_in_reply,
    header,
    safe_excerpt,
)
from chatmagic.safe_text import one_line

_LARGEST: Final = {
    "text": "text",
    "event": "event of a stream",
    "json": "whole answer in JSON",
    "body": "body of an answer",
}
_KEPT_HERE: Final = "The text so far is kept, marked; nothing was sent again."


@dataclass(slots=True)
class CreditTracker:
    """State of a service's credits, from the answers so far.

    Args:
        credits: the last figures that any answer gave; ``None`` before the first.
        received_at: time of arrival, by this machine's clock, of the answer with ``credits``.
        requests: number of requests left, from the latest answer with such a figure.
    """

    credits: Credits | None = None
    received_at: datetime | None = None
    requests: RequestLimit | None = None

    def note_credits(self, seen: Credits | None) -> None:
        """Note an answer's credits.

        Args:
            seen: its figures; ``None``, for an answer without figures, changes nothing.
        """
        if seen is not None:
            self.credits = seen
            self.received_at = datetime.now(UTC)

    def note_requests(self, headers: Sequence[tuple[str, str]], now: datetime) -> None:
        """Note the requests left.

        Args:
            headers: an answer's headers.
            now: time of its arrival.
        """
        self.requests = crediting.request_limit(headers, now) or self.requests


BODY_SECONDS: Final = 5.0
"""Time limit for an error's body, in seconds: the status, which counts, is known already."""

GRACE_SECONDS: Final = 2.0
"""Time limit, in seconds, for more of a stream after its finish reason."""
STEP_BYTES: Final = 65_536
"""Bytes of an unfinished event that end a silence: large events may come slowly."""
LEAST_PIECE: Final = 32
"""Bytes that a piece of a body counts as, at least: it has its work, however small it is."""


class Asking:
    """One request and its answer: a context manager that sends on entry and closes on exit.

    An early exit closes the connection.

    Args:
        endpoint: the endpoint, with its key, which no error shows.
        tracker: takes the credits in the answer.
        halt: stops it from another thread, and limits a read.
        send: sends the request; returns the answer, from its status and headers on.
        model: the model that the request names; ``None`` if it names none.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        tracker: CreditTracker,
        halt: Halt,
        send: Callable[[], Exchange],
        model: object,
    ) -> None:
        """Send nothing yet."""
        self._endpoint = endpoint
        self._tracker = tracker
        self._halt = halt
        self._send = send
        self._model = model
        self._sent = False
        self._exchange: Exchange | None = None
        self._ended = False
        self._began_at = 0.0
        self._over_at: float | None = None
        self.header_facts: dict[str, Any] = {}
        """The facts in the answer's headers, by the names of a reply's facts."""

    @property
    def exchange(self) -> Exchange:
        """The answer.

        Raises:
            InputError: the request was not sent yet.
        """
        if self._exchange is None:
            raise InputError("Enter the stream first: with client.stream(…) as stream: …")
        return self._exchange

    def __enter__(self) -> Self:
        """Send the request; return when the answer has begun.

        Raises:
            InputError: it was sent already, or cannot be sent as it stands.
            ChatError: as the tree in :mod:`chatmagic.errors` has it.
        """
        if self._sent:
            raise InputError("This stream was used already; client.stream(…) makes another.")
        try:
            self._endpoint.refuse_no_key()
            self._sent = True
            self._began_at = monotonic()
            exchange = self._exchange = self._send()
            self._tracker.note_requests(exchange.headers, self._came_at)
            good = HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES
            if not good or exchange.status == HTTPStatus.NO_CONTENT:
                raise self._refusal()  # noqa: TRY301 - it closes, too
            self.header_facts = crediting.reply_facts(exchange.headers, self._came_at)
            self._tracker.note_credits(self.header_facts["credits"])
            return self  # noqa: TRY300 - an interrupt here closes the connection too
        except BaseException as error:
            self.close()
            if isinstance(error, ChatError):
                raise error.alone()  # noqa: B904 - it is that very error
            raise

    def __exit__(self, *_: object) -> None:
        """Keep the connection if the answer has ended, else close it."""
        self.close()

    def close(self) -> None:
        """Keep the connection if the answer has ended, else close it; may be repeated."""
        self._over_at = self._over_at or monotonic()
        try:
            if self._exchange is not None:
                ended = self._ended
                self._ended = False
                self._exchange.close(ended=ended)
        finally:
            self._halt.cut()

    @property
    def has_removed_key(self) -> bool:
        """Whether the answer held a key, which was removed."""
        return False

    def text(self, longest: int) -> str:
        """Return the whole body as text; empty if it is too long.

        Args:
            longest: the largest number of bytes.
        """
        body = b""
        while len(body) <= longest and (piece := self.exchange.read()):
            body += piece
        self._ended = True
        return body_text(body, self.exchange.headers) if len(body) <= longest else ""

    @property
    def _came_at(self) -> datetime:
        """The time here or, for a replayed answer, its own date."""
        here = datetime.now(UTC)
        if self.exchange.origin != "replay":
            return here
        return crediting.date(self.exchange.headers) or here

    def _answer(self) -> Answer:
        exchange = self.exchange
        endpoint = self._endpoint
        return Answer(
            exchange.status,
            exchange.headers,
            self._came_at,
            endpoint.known_keys,
            endpoint.base_url,
            is_keyless=endpoint.is_keyless and exchange.origin != "replay",
        )

    def _refusal(self) -> ChatError:
        """Return the error for an answer without a reply; no frame with the body raises it."""
        body, self._ended = self._beginning()
        error = error_from_response(self._answer(), body)
        self._tracker.note_credits(error.credits)
        return self._advised(error)

    def _advised(self, error: ChatError) -> ChatError:
        """Add advice about the connection to the error of an answer."""
        endpoint = self._endpoint
        model = self._model
        # Nothing was posted if a recording answered.
        status = None if self.exchange.origin == "replay" else error.status
        is_unknown = status == HTTPStatus.NOT_FOUND and isinstance(error, NotUnderstoodError)
        # A service that fails for another reason may mention the requested model.
        refusals: set[type] = {RequestRejectedError, AuthenticationError}
        if model is None:
            refusals.add(ServiceError)
        is_refusal = type(error) in refusals and status != HTTPStatus.FORBIDDEN
        if (is_unknown or is_refusal) and re.search(ABOUT_A_MODEL, error.message):
            was = f"The model was {one_line(str(model))}"
            named = "No model was named" if model is None else was
            error.advice = sentences(advice.model_choice(named))
        elif is_unknown:
            error.advice = sentences(f"It was posted to {endpoint.posted_to()}.", error.advice)
        elif status == HTTPStatus.UNAUTHORIZED and isinstance(error, AuthenticationError):
            other: Auth = "bearer" if endpoint.auth in ("none", "x-api-key") else "x-api-key"
            way = endpoint.how_to_set_auth(other)
            if endpoint.is_keyless:
                is_set = endpoint.auth != "none"
                error.advice = sentences(advice.key_wanted(None if is_set else way))
            else:
                error.advice = sentences(error.advice, "To send the key in another way: " + way)
        return error

    def _read_until(self, until: float) -> bytes:
        """Return the next piece of the body; empty at its end, or at a time of ``monotonic``."""
        if until <= monotonic():
            return b""
        self._halt.until = until
        try:
            return self.exchange.read()
        except RequestTimeoutError as error:
            if error.which != "silence":
                raise
            return b""

    def _beginning(self, head: bytes = b"") -> tuple[bytes, bool]:
        """Return a body that begins with ``head``, up to the bounds, and whether that is all."""
        body = bytearray(head)
        until = monotonic() + BODY_SECONDS
        with swallowed(ChatError):  # the status is known, and tells more than the end of the body
            while len(body) < BODY_BYTES:
                if not (piece := self._read_until(until)):
                    return bytes(body), monotonic() < until
                body += piece
        return bytes(body[:BODY_BYTES]), False


class ReplyStream(Asking):
    """One ask: enter it to send, iterate over its fragments, then look at ``reply``.

    ``reply`` always holds the text so far.

    Args:
        request: the request to send.
        transport: the transport that sends it.
        endpoint: the endpoint, with its key.
        tracker: takes the credits in the answer.
        halt: stops it from another thread.
        limits: the largest sizes that are read; ``None`` is the default.
        silence: time limit, in seconds, between two new parts of the reply; ``None`` waits forever.
    """

    def __init__(
        self,
        request: Request,
        transport: Transport,
        endpoint: Endpoint,
        tracker: CreditTracker,
        halt: Halt | None = None,
        *,
        limits: Limits | Mapping[str, int] | None = None,
        silence: float | None = None,
    ) -> None:
        """Send nothing yet."""
        halt = halt or Halt()

        def send() -> Exchange:
            try:
                body = request.encode()
            except ValueError as error:
                raise InputError(f"{error}. Nothing was sent.") from None
            refuse_keys([body.decode()], endpoint.known_keys)
            return transport.send(body, stream=request.stream, halt=halt)

        super().__init__(endpoint, tracker, halt, send, request.extra.get("model"))
        self._limits = Limits.from_value(limits)
        self._silence = silence
        self._silent_at = math.inf
        self._size = 0
        self._builder = ReplyBuilder(endpoint.known_keys, most=self._limits.text)
        self._iterator: Iterator[str] | None = None
        self._state: State = "interrupted"
        self._foreign: object = None
        """The first event that was no chunk, since the latest text."""
        self._unknown = ""
        """The latest texts in fields that are not read."""

    @property
    def reply(self) -> Reply:
        """The reply as far as it has come; ``complete`` only after the loop.

        A key in it is replaced by ``[key removed]``.
        """
        origin: Origin = "live" if self._exchange is None else self._exchange.origin
        facts = {**self.header_facts}
        if origin == "live" and self._began_at:  # a recording has its own; an emulator's repeats
            facts["seconds"] = round((self._over_at or monotonic()) - self._began_at, 3)
        return self._builder.reply(self._state, origin, facts)

    @property
    def has_removed_key(self) -> bool:
        """Whether the reply so far held a key, which was removed."""
        return self._builder.has_removed_key

    def on_thoughts(self, call: Callable[[str], object]) -> None:
        """Pass each fragment of the reply's reasoning to a function, before the reply itself.

        Args:
            call: called with a fragment.
        """
        self._builder.on_thoughts = call

    def __iter__(self) -> Iterator[str]:
        """Return the fragments as they arrive; a second loop continues after the first one.

        Raises:
            ChatError: the reply is cut off, or is none; the partial reply is in ``reply``.
            ChatInterrupted: it was stopped from another thread.
        """
        if self._iterator is None:
            self._iterator = self._iterate(self.exchange)
        return self._iterator

    def _iterate(self, exchange: Exchange) -> Iterator[str]:
        """Return the fragments; set the state, and add the known facts to an error."""
        try:
            yield from self._fragments()
        except (ChatError, ChatInterrupted) as error:
            self._state = "interrupted" if isinstance(error, ChatInterrupted) else "cut off"
            error.reply = error.reply or (self.reply if self.reply.text else None)
            if error.advice == sentences(COST_UNKNOWN):
                nothing = sentences(COST_UNKNOWN, advice.NOTHING_CAME)
                kept = sentences(WHAT_CAME_IS_KEPT)
                error.advice = nothing if error.reply is None else kept
            self._tracker.note_credits(error.credits)
            error.credits = error.credits or self.header_facts["credits"]
            error.status = error.status or exchange.status
            if isinstance(error, ChatError) and error.reply is None:
                self._advised(error)
            if rest := self._builder.rest():
                yield rest
            raise error.alone()  # noqa: B904 - it is that very error
        self._state = "complete"
        self._over_at = monotonic()

    def _read(self, *, is_idle: bool = False) -> bytes:
        """Return the next piece of the body; empty at its end.

        Args:
            is_idle: whether the piece before brought nothing new of the reply, as a comment or
                a blank: it ends no silence.

        Raises:
            CutOffError: the body is larger than the limit.
            RequestTimeoutError: nothing new of the reply came for too long.
        """
        if self._size > self._limits.body:
            raise self._too_large("body")
        # The first byte has a time of its own.
        if self._silence is not None and self._size:
            if not is_idle or self._silent_at == math.inf:
                self._silent_at = monotonic() + self._silence
            elif monotonic() >= self._silent_at:
                raise network_errors.timed_out("silence", self._silence)
        self._halt.until = self._silent_at
        piece = self.exchange.read()
        self._size += max(len(piece), LEAST_PIECE)
        return piece

    def _too_large(self, which: Literal["text", "event", "json", "body"]) -> CutOffError:
        """Return the error for a reply that is larger than a limit."""
        size: int = getattr(self._limits, which)
        shown = f"{size / MIB:,.3g} MiB" if size >= MIB else f"{size:,} bytes"
        kept = _KEPT_HERE if self._builder.text else COST_UNKNOWN
        setting: Literal["text", "body"] = "body" if which == "body" else "text"
        larger = 2 * getattr(self._limits, setting)
        return CutOffError(
            f"The reply was cut off at {shown}, the largest {_LARGEST[which]} that is read.",
            hint=sentences(kept, advice.larger_limit(setting, larger)),
        )

    def _fragments(self) -> Iterator[str]:
        """Return the fragments of the reply as they arrive; the body's start shows its kind."""
        content_type = header(self.exchange.headers, "content-type")
        head = b""
        kind = None
        is_idle = False
        while kind is None:
            piece = self._read(is_idle=is_idle)
            head += piece
            kind = sse.body_kind(content_type, head, ended=not piece)
            # White space may keep a connection alive; there may be any amount.
            is_idle = kind is None and not head.removeprefix(codecs.BOM_UTF8).strip()
            if is_idle and len(head) > len(codecs.BOM_UTF8):
                head = b""
        if kind == "sse":
            yield from self._events(head)
        elif kind == "json":
            yield from self._document(head)
        elif kind == "empty":
            raise ServiceError(
                f"The answer is empty (HTTP {self.exchange.status}).", hint=COST_UNKNOWN
            )
        else:
            raise error_from_response(self._answer(), self._beginning(head)[0])

    def _events(self, head: bytes) -> Iterator[str]:
        """Read a stream (facts 6, 7), and the variants of other servers."""
        decoder = sse.Decoder()
        piece = head
        until = 0.0
        has_events = False
        steps = 0
        while piece:
            before = self._progress
            steps_before = steps
            for event in decoder.feed(piece):
                has_events = True
                if fragment := self._event(event):
                    yield fragment
            if decoder.done:
                break
            if decoder.waiting > self._limits.event:
                yield from self._cut(decoder.beginning(), "event")
            is_idle = self._progress == before
            if not is_idle:
                until = monotonic() + GRACE_SECONDS
            steps = 0 if decoder.is_idle else decoder.waiting // STEP_BYTES
            is_idle = is_idle and steps <= steps_before
            # After a finish reason the wait is short, and what brings nothing does not prolong it.
            ends = self._builder.finish_reason is not None
            piece = self._read_until(until) if ends else self._read(is_idle=is_idle)
        else:
            for event in decoder.end():
                if fragment := self._event(event):
                    yield fragment
        if rest := self._builder.rest():
            yield rest
        # An end mark without any event is no reply.
        self._check_end(done=decoder.done and has_events)
        self._ended = True

    def _event(self, event: sse.Event) -> str:
        """Add an event to the reply; return the fragment that it adds."""
        if self._builder.is_full:
            raise self._too_large("text")
        if isinstance(event, str):
            return self._builder.append(event)
        if isinstance(event, sse.Malformed):
            if event.event in (None, "message") or event.text.startswith(("{", "[")):
                raise self._unreadable(event.text)
            # Text under the name of another event, such as a ping.
            self._foreign = self._foreign or event.text
            return ""
        value = event.value
        if isinstance(value, dict) and (content := plain_content(value, self._builder.names)):
            self._foreign = None
            return self._builder.append(content)
        if (body := _error_in(event)) is not None:
            raise self._error_in_reply(body)
        fragment = self._builder.add(Chunk.from_json(value)) if isinstance(value, dict) else ""
        if isinstance(value, dict):
            self._unknown = unknown_texts(value) or self._unknown
        if fragment:
            self._foreign = None
        elif not isinstance(value, dict) or "choices" not in value:
            self._foreign = self._foreign or value
        return fragment

    @property
    def _progress(self) -> tuple[object, ...]:
        """Value that changes when something new of the reply comes.

        A text in a field that is not read may be a thought; repeated, it is nothing new.
        """
        return *self._builder.progress, self._unknown

    def _check_end(self, *, done: bool) -> None:
        """Raise an error if the stream did not end as a whole reply does."""
        if self._builder.is_full:
            raise self._too_large("text")
        finish_reason = self._builder.finish_reason
        # An event without choices may be an error if no text came after it.
        complaint = ErrorBody.from_json(self._foreign)
        if finish_reason == "error" or (complaint and not done and finish_reason is None):
            raise self._error_in_reply(complaint or ErrorBody())
        if self._foreign and not self._builder.begun:
            foreign = self._foreign if isinstance(self._foreign, str) else json.dumps(self._foreign)
            words = safe_excerpt(foreign[:BODY_BYTES], self._endpoint.known_keys, 80)
            raise NotUnderstoodError(
                f'The stream is not the chat service\'s; it holds "{words}".', hint=advice.ADDRESS
            )
        if done:
            return
        if not self._builder.begun:
            raise CutOffError("The stream ended before the reply began.", hint=COST_UNKNOWN)
        if finish_reason is None:
            raise CutOffError(
                "The reply was cut off: the stream ended without its end mark.", hint=COST_UNKNOWN
            )

    def _error_in_reply(self, body: ErrorBody) -> ChatError:
        """Return the error for an error object inside a stream, or instead of a reply."""
        return error_in_reply(self._answer(), body, begun=bool(self._builder.text))

    def _unreadable(self, text: str) -> ChatError:
        words = safe_excerpt(text, self._endpoint.known_keys, 80)
        if self._builder.text:
            return CutOffError(
                f'A part of the reply could not be read: "{words}".', hint=COST_UNKNOWN
            )
        return NotUnderstoodError(f'The answer could not be read: "{words}".', hint=advice.ADDRESS)

    def _cut(self, text: str, which: Literal["event", "json"]) -> Iterator[str]:
        """Return the content at the beginning of JSON that is too large; then fail."""
        yield self._builder.append(content_begun(text))
        raise self._too_large("text" if self._builder.is_full else which)

    def _whole(self, head: bytes) -> tuple[bytes, ChatError | None]:
        """Return the body that begins with ``head``, and the error that ended it early.

        A body that is too large is returned as far as it was read.
        """
        body = bytearray(head)
        broken: ChatError | None = None
        is_idle = False
        try:
            while len(body) <= self._limits.json and (piece := self._read(is_idle=is_idle)):
                is_idle = piece.isspace()
                body += piece
        except (CutOffError, RequestTimeoutError) as error:
            broken = error
        return bytes(body), broken

    def _document(self, head: bytes) -> Iterator[str]:
        """Read a reply in one piece (fact 4)."""
        body, broken = self._whole(head)
        if len(body) > self._limits.json:
            yield from self._cut(json_text(body, "utf-8", "replace"), "json")
        text = body_text(body, self.exchange.headers)
        del body
        status = self.exchange.status
        try:
            if has_many_values(text):
                raise RecursionError  # noqa: TRY301 - it is as unreadable
            value = JSON_DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            if broken is not None:
                raise broken from None
            if json_is_cut(error):
                raise CutOffError(
                    f"The answer ended in the middle of its JSON (HTTP {status}).",
                    hint=COST_UNKNOWN,
                ) from None
            raise self._unreadable(text[:BODY_BYTES]) from None
        # A whole JSON is a whole reply, even if the connection broke after it.
        self._ended = True
        if (error_body := ErrorBody.in_reply(value)) is not None:
            raise self._error_in_reply(error_body)
        if not isinstance(value, dict) or "choices" not in value:
            raise error_from_response(self._answer(), text[:BODY_BYTES].encode("utf-8", "replace"))
        if not (choice := first_choice(value["choices"])):
            raise ServiceError(
                f"The answer holds no choice, so no reply (HTTP {status}).", hint=COST_UNKNOWN
            )
        del text
        if fragment := self._builder.add(Chunk.from_json(value)) + self._builder.rest():
            yield fragment
        self._check_end(done="delta" not in choice)


def _error_in(event: sse.Payload) -> ErrorBody | None:
    value = event.value
    if event.event != "error" or (isinstance(value, dict) and "choices" in value):
        return ErrorBody.in_reply(value)
    if isinstance(value, str):
        return ErrorBody(message=value)
    return ErrorBody.from_json(value) or ErrorBody(error="error")
