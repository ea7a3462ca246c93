"""Reading an answer: its body to the fragments of a reply, or to an error."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Final

from chatmagic._log import log_swallowed
from chatmagic.errors import (
    COST_UNKNOWN,
    ChatError,
    CutOffError,
    NotUnderstoodError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import sse
from chatmagic.protocol.response_errors import (
    ADDRESS_HINT,
    BODY_BYTES,
    Answer,
    decoded,
    error_from_response,
    error_in_reply,
    excerpt,
    packing,
)
from chatmagic.protocol.wire import (
    Chunk,
    ErrorBody,
    first_choice,
    is_cut_json,
    json_documents,
    plain_content,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmagic.client.endpoint import Endpoint
    from chatmagic.client.halt import Halt
    from chatmagic.client.transport import Exchange
    from chatmagic.protocol.wire import ReplyBuilder

BODY_SECONDS: Final = 5.0
"""How long an error's body may take: the status is known, and is what counts."""

GRACE_SECONDS: Final = 2.0
"""How long a stream may be held open after its finish reason and the latest event."""

MOST_EVENTS: Final = 20
"""Most events that may come at once from a service that streams."""

SHORT_WAIT: Final = 2.0
"""Longest wait for a first event, in seconds, after which none was held back."""

SHARE: Final = 0.01
"""Part of the wait for the first event within which the others were there before."""


class ResponseReader:
    """Reader of one answer, from its status and headers on.

    Args:
        exchange: the answer.
        builder: the reply in the making, to which each chunk is added.
        halt: the exchange's, which limits a read where a body does not come to its end.
        endpoint: where the request went, and with which key, which no error shows.
        sent: when the request was sent, by ``monotonic``.
    """

    def __init__(
        self,
        exchange: Exchange,
        builder: ReplyBuilder,
        halt: Halt,
        endpoint: Endpoint,
        sent: float,
    ) -> None:
        """Read nothing yet."""
        self.ended = False
        """Whether the answer has been read to its end."""
        self.came_at_once = False
        """Whether a stream came all at once after a wait, as from a proxy that holds it back."""
        self._exchange = exchange
        self._builder = builder
        self._halt = halt
        self._key = endpoint.key
        self._base_url = endpoint.base_url
        self._sent = sent
        self._foreign = ""
        self._complaint: ErrorBody | None = None

    def fragments(self) -> Iterator[str]:
        """Return the fragments of the reply as they come.

        Raises:
            ChatError: the reply is cut off, or is none.
        """
        content_type = next(
            (value for name, value in self._exchange.headers if name.lower() == "content-type"),
            None,
        )
        head = b""
        kind = None
        while kind is None:
            piece = self._exchange.read()
            head += piece
            kind = sse.kind(content_type, head, ended=not piece)
            if kind is None and head.isspace():
                head = b""  # signs of life, of which there may be any number
        if kind == "sse":
            yield from self._events(head)
        elif kind == "json":
            yield from self._document(head)
        elif kind == "empty":
            raise ServiceError(
                f"The answer is empty (HTTP {self._exchange.status}).",
                hint=COST_UNKNOWN,
            )
        else:
            raise self._error_of(self._beginning(head)[0])

    def _events(self, head: bytes) -> Iterator[str]:
        """Read a stream (facts 6, 7), and what else servers make of it."""
        decoder = sse.Decoder()
        piece = head
        count, until = 0, 0.0
        # What is waited for the service, and not what the caller does between two pieces.
        first_wait, later_waits = monotonic() - self._sent, 0.0
        while piece:
            events = decoder.feed(piece)
            count += len(events) - decoder.done
            for event in events:
                if fragment := self._event(event):
                    yield fragment
            if decoder.done:
                break
            waiting_since = monotonic()
            if events:
                until = waiting_since + GRACE_SECONDS
            # After a finish reason only for a while: comments do not count.
            has_finished = self._builder.finish_reason is not None
            piece = self._read_until(until) if has_finished else self._exchange.read()
            if count:
                later_waits += monotonic() - waiting_since
            else:
                first_wait += monotonic() - waiting_since
        else:
            for event in decoder.end():
                if fragment := self._event(event):
                    yield fragment
        if rest := self._builder.rest():
            yield rest
        is_held = first_wait > SHORT_WAIT and later_waits <= SHARE * first_wait
        self.came_at_once = is_held and count > MOST_EVENTS
        # An end mark alone ends no reply.
        self._check_end(done=decoder.done and count > 0, cut=decoder.cut)
        self.ended = True

    def _read_until(self, until: float) -> bytes:
        """Return the next piece of the body; empty at its end, or at a time of ``monotonic``."""
        left = until - monotonic()
        if left <= 0:
            return b""
        # Before each read: a socket's own time-out begins anew with each byte.
        self._halt.settimeout(left)
        try:
            return self._exchange.read()
        except RequestTimeoutError as error:
            if error.which != "silence":
                raise
            return b""

    def _check_end(self, *, done: bool, cut: bool) -> None:
        """Raise an error where the stream did not end as a whole reply does."""
        key, finish_reason = self._key, self._builder.finish_reason
        if finish_reason == "error":
            raise self._error_in_reply(self._complaint or ErrorBody())
        if self._complaint and not done and finish_reason is None:
            raise self._error_in_reply(self._complaint)
        if self._foreign and not self._builder.begun:
            words = excerpt(self._foreign, key, 80)
            raise NotUnderstoodError(
                f'The stream is not the chat service\'s; it holds "{words}".', hint=ADDRESS_HINT
            )
        if done:
            return
        self._check_packing()
        if not self._builder.begun:
            raise CutOffError("The stream ended before the reply began.", hint=COST_UNKNOWN)
        if cut or finish_reason is None:
            raise CutOffError(
                "The reply was cut off: the stream ended without its end mark.", hint=COST_UNKNOWN
            )

    def _event(self, event: sse.Event) -> str:
        """Add an event to the reply; return the fragment that it adds."""
        if isinstance(event, str):
            return self._builder.append(event)
        if isinstance(event, sse.Payload):
            value = event.value
            if isinstance(value, dict) and "choices" in value:
                self._complaint = None
                if content := plain_content(value, self._builder.model):
                    return self._builder.append(content, value.get("usage"))
            if (body := _error_in(event)) is not None:
                raise self._error_in_reply(body)
            if isinstance(value, list):
                return "".join(map(self._item, value))
            return self._item(value)
        if isinstance(event, sse.Malformed):
            if event.event in (None, "message") or event.text.startswith(("{", "[")):
                raise self._unreadable(event.text)
            # Words under the name of another event: a ping, the time, a farewell.
            self._foreign = self._foreign or event.text
        return ""

    def _item(self, value: object) -> str:
        """Add a chunk, or what stands where one should; return the fragment that it adds."""
        if isinstance(value, dict):
            self._complaint = None
            if "choices" not in value:
                self._foreign = self._foreign or json.dumps(value)[:BODY_BYTES]
                # In no shape of an error by itself; but it may be the last that came.
                self._complaint = ErrorBody.from_json(value)
            return self._builder.add(Chunk.from_json(value))
        if isinstance(value, str):
            self._foreign = self._foreign or value[:BODY_BYTES]
        return ""

    def _error_in_reply(self, body: ErrorBody) -> ChatError:
        """Return the error for an error object inside a stream, or instead of a reply."""
        return error_in_reply(self._answer(), body, begun=bool(self._builder.text))

    def _check_packing(self) -> None:
        """Raise the error of a reply that cannot be read because of how it is packed."""
        if not self._builder.begun and (packed := packing(self._exchange.headers)):
            words = excerpt(packed, self._key, 20)
            what = f"The answer is compressed as {words}, which was not requested."
            raise NotUnderstoodError(what, hint=COST_UNKNOWN)

    def _unreadable(self, text: str) -> ChatError:
        words = excerpt(text, self._key, 80)
        if self._builder.text:
            return CutOffError(
                f'A part of the reply could not be read: "{words}".', hint=COST_UNKNOWN
            )
        return NotUnderstoodError(f'The answer could not be read: "{words}".', hint=ADDRESS_HINT)

    def _document(self, head: bytes) -> Iterator[str]:
        """Read a reply in one piece (fact 4), or chunks that are no events."""
        body, broken = self._to_the_end(head)
        text = decoded(body, self._exchange.headers)
        documents = json_documents(text, sse.END_MARKS)
        streamed = len(documents.values) > 1
        for value in documents.values:
            if (error_body := ErrorBody.in_reply(value)) is not None:
                self.ended = True
                raise self._error_in_reply(error_body)
            if not isinstance(value, dict) or "choices" not in value:
                raise self._error_of(text[:BODY_BYTES].encode("utf-8", "replace"))
            choice = first_choice(value["choices"])
            streamed = streamed or "delta" in choice
            if not streamed and not choice:
                self.ended = True
                raise ServiceError(
                    f"The answer holds no choice, so no reply (HTTP {self._exchange.status}).",
                    hint=COST_UNKNOWN,
                )
            if fragment := self._builder.add(Chunk.from_json(value)):
                yield fragment
        if rest := self._builder.rest():
            yield rest
        if broken is not None and (documents.problem or (streamed and not documents.done)):
            raise broken
        if documents.problem is not None:
            raise self._unread(documents.problem, text)
        self._check_end(done=documents.done or not streamed, cut=False)
        # What is whole is whole, however its connection ended.
        self.ended = True

    def _to_the_end(self, head: bytes) -> tuple[bytes, ChatError | None]:
        """Read a body to its end; give what came, and why no more did if it broke off."""
        pieces = [head]
        try:
            while piece := self._exchange.read():
                pieces.append(piece)
        except (CutOffError, RequestTimeoutError) as broken:
            return b"".join(pieces), broken
        return b"".join(pieces), None

    def _unread(self, problem: ValueError, text: str) -> ChatError:
        """Return the error for JSON that ends too early, or that is none."""
        self._check_packing()
        if is_cut_json(problem):
            return CutOffError(
                f"The answer ended in the middle of its JSON (HTTP {self._exchange.status}).",
                hint=COST_UNKNOWN,
            )
        return self._unreadable(text[:BODY_BYTES])

    def error(self) -> ChatError:
        """Return the error in the body of an answer that is no reply."""
        body, self.ended = self._beginning()
        return self._error_of(body)

    def _error_of(self, body: bytes) -> ChatError:
        return error_from_response(self._answer(), body)

    def _answer(self) -> Answer:
        exchange = self._exchange
        return Answer(
            exchange.status, exchange.headers, time_of(exchange), self._key, self._base_url
        )

    def _beginning(self, head: bytes = b"") -> tuple[bytes, bool]:
        """Read on to the bounds from the head of a body; say whether that is all of it."""
        until = monotonic() + BODY_SECONDS
        pieces = [head]
        size = len(head)
        try:
            while size < BODY_BYTES:
                piece = self._read_until(until)
                if not piece:
                    return b"".join(pieces), monotonic() < until
                pieces.append(piece)
                size += len(piece)
        except ChatError as error:
            # The status is known, which is more than how its body ended.
            log_swallowed(error)
        return b"".join(pieces)[:BODY_BYTES], False


def time_of(exchange: Exchange) -> datetime:
    """Return the time here or, for a replayed answer, its own date."""
    here = datetime.now(UTC)
    return (crediting.date(exchange.headers) or here) if exchange.origin == "replay" else here


def _error_in(event: sse.Payload) -> ErrorBody | None:
    value = event.value
    if event.event != "error" or (isinstance(value, dict) and "choices" in value):
        return ErrorBody.in_reply(value)
    if isinstance(value, str):
        return ErrorBody(message=value)
    return ErrorBody.from_json(value) or ErrorBody(error="error")
