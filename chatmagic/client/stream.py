"""One ask as a stream of fragments: sent once, read as it arrives, always closed."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import Final, Literal

from chatmagic import advice
from chatmagic._json import has_many_values, json_text, known_items
from chatmagic.advice import sentences
from chatmagic.client.body import ReplyBody, beginning
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.client.endpoint import Endpoint, Limits
from chatmagic.client.halt import Halt
from chatmagic.client.reply_errors import ReplyErrors
from chatmagic.client.service_call import ServiceCall
from chatmagic.client.streamed_events import StreamedEvents
from chatmagic.client.transport import Exchange, Transport
from chatmagic.errors import (
    COST_UNKNOWN,
    WHAT_CAME_IS_KEPT,
    ChatError,
    ChatInterrupted,
    CutOffError,
    InputError,
    ServiceError,
)
from chatmagic.models import Origin, Reply, State
from chatmagic.protocol import sse
from chatmagic.protocol.api_key import refuse_keys
from chatmagic.protocol.chunk import Chunk, first_choice
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.json_decoder import JSON_DECODER, content_begun, json_is_cut
from chatmagic.protocol.reply_builder import ReplyBuilder
from chatmagic.protocol.request import Request
from chatmagic.protocol.response_errors import BODY_BYTES, body_text, error_from_response, header

GRACE_SECONDS: Final = 2.0
"""Time limit, in seconds, for more of a stream after its finish reason."""
STEP_BYTES: Final = 65_536
"""Bytes of an unfinished event that end a silence: large events may come slowly."""


class ReplyStream(ServiceCall):
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
        self._builder = ReplyBuilder(endpoint.known_keys, most=self._limits.text)
        self._errors = ReplyErrors(self._answer, self._builder, self._limits)
        self._events = StreamedEvents(self._builder, self._errors)
        self._iterator: Iterator[str] | None = None
        self._state: State = "interrupted"

    @property
    def reply(self) -> Reply:
        """The reply as far as it has come; ``complete`` only after the loop.

        A key in it is replaced by ``[key removed]``.
        """
        origin: Origin = "live" if self._exchange is None else self._exchange.origin
        facts = {**self.header_facts, **known_items(seconds=self._seconds)}
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
            yield from self._fragments(exchange)
        except (ChatError, ChatInterrupted) as error:
            self._state = "interrupted" if isinstance(error, ChatInterrupted) else "cut off"
            # Half of a surrogate pair that waited is a part of the reply that the error keeps.
            rest = self._builder.rest()
            self._complete(error, exchange.status)
            if rest:
                yield rest
            raise error.alone()  # noqa: B904 - it is that very error
        self._state = "complete"
        self._note_end()

    def _complete(self, error: ChatError | ChatInterrupted, status: int) -> None:
        """Add the reply so far, the credits, the status and the advice to an error."""
        error.reply = error.reply or (self.reply if self.reply.text else None)
        if error.advice == sentences(COST_UNKNOWN):
            nothing = sentences(COST_UNKNOWN, advice.NOTHING_CAME)
            kept = sentences(WHAT_CAME_IS_KEPT)
            error.advice = nothing if error.reply is None else kept
        self._tracker.note_credits(error.credits)
        error.credits = error.credits or self.header_facts["credits"]
        error.status = error.status or status
        if isinstance(error, ChatError) and error.reply is None:
            self._add_advice(error)

    def _fragments(self, exchange: Exchange) -> Iterator[str]:
        """Return the fragments of the reply as they arrive; the body's start shows its kind."""
        body = ReplyBody(exchange, self._halt, self._errors, self._limits.body, self._silence)
        head, kind = self._head(body)
        if kind == "sse":
            yield from self._streamed(body, head)
        elif kind == "json":
            yield from self._document(body, head)
        elif kind == "empty":
            raise ServiceError(f"The answer is empty (HTTP {exchange.status}).", hint=COST_UNKNOWN)
        else:
            excerpt, _ = beginning(exchange, self._halt, head)
            raise error_from_response(self._answer(), excerpt)

    def _head(self, body: ReplyBody) -> tuple[bytes, sse.Kind]:
        """Return the beginning of the body, as far as its kind needs it, and the kind."""
        content_type = header(self.exchange.headers, "content-type")
        head = b""
        is_idle = False
        while True:
            piece = body.read(is_idle=is_idle)
            head += piece
            kind = sse.body_kind(content_type, head, ended=not piece)
            if kind is not None:
                return head, kind
            # White space may keep a connection alive; there may be any amount.
            is_idle = not head.removeprefix(codecs.BOM_UTF8).strip()
            if is_idle and len(head) > len(codecs.BOM_UTF8):
                head = b""

    def _streamed(self, body: ReplyBody, head: bytes) -> Iterator[str]:
        """Read a stream (facts 6, 7)."""
        decoder = sse.Decoder()
        has_events = False
        for piece in self._pieces(body, head, decoder):
            for event in decoder.feed(piece):
                has_events = True
                if fragment := self._events.add(event):
                    yield fragment
            if decoder.done:
                break
            if decoder.waiting > self._limits.event:
                yield from self._cut(decoder.beginning(), "event")
        else:
            for event in decoder.end():
                if fragment := self._events.add(event):
                    yield fragment
        if rest := self._builder.rest():
            yield rest
        # An end mark without any event is no reply.
        self._events.check_end(done=decoder.done and has_events)
        self._ended = True

    def _pieces(self, body: ReplyBody, head: bytes, decoder: sse.Decoder) -> Iterator[bytes]:
        """Return the pieces of a stream, each after the one before it was decoded and added.

        A piece that brings nothing new of the reply, nor much of a large event, ends no silence.
        After a finish reason the wait is short, and only what brings something new prolongs it.
        """
        piece = head
        until = 0.0
        steps = 0
        while piece:
            progress_before = self._events.progress
            steps_before = steps
            yield piece
            steps = 0 if decoder.is_idle else decoder.waiting // STEP_BYTES
            is_new = self._events.progress != progress_before
            if is_new:
                until = monotonic() + GRACE_SECONDS
            if self._builder.finish_reason is not None:
                piece = body.read_until(until)
            else:
                piece = body.read(is_idle=not is_new and steps <= steps_before)

    def _cut(self, text: str, which: Literal["event", "json"]) -> Iterator[str]:
        """Return the content at the beginning of JSON that is too large; then fail."""
        yield self._builder.append(content_begun(text))
        raise self._errors.too_large("text" if self._builder.is_full else which)

    def _document(self, body: ReplyBody, head: bytes) -> Iterator[str]:
        """Read a reply in one piece (fact 4)."""
        content, broken = body.whole(head, self._limits.json)
        if len(content) > self._limits.json:
            yield from self._cut(json_text(content, "utf-8", "replace"), "json")
        text = body_text(content, self.exchange.headers)
        del content
        value = self._parsed(text, broken)
        # A whole JSON is a whole reply, even if the connection broke after it.
        self._ended = True
        if (error_body := ErrorBody.in_reply(value)) is not None:
            raise self._errors.stated(error_body)
        if not isinstance(value, dict) or "choices" not in value:
            raise error_from_response(self._answer(), text[:BODY_BYTES].encode("utf-8", "replace"))
        if not (choice := first_choice(value["choices"])):
            raise ServiceError(
                f"The answer holds no choice, so no reply (HTTP {self.exchange.status}).",
                hint=COST_UNKNOWN,
            )
        del text
        if fragment := self._builder.add(Chunk.from_json(value)) + self._builder.rest():
            yield fragment
        self._events.check_end(done="delta" not in choice)

    def _parsed(self, text: str, broken: ChatError | None) -> object:
        """Return the JSON of a whole answer.

        Args:
            text: the answer's text.
            broken: the error that ended it early; ``None`` if it came to its end.

        Raises:
            ChatError: it is no JSON.
        """
        try:
            if has_many_values(text):
                raise RecursionError  # noqa: TRY301 - it is as unreadable
            return JSON_DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            if broken is not None:
                raise broken from None
            if json_is_cut(error):
                raise CutOffError(
                    f"The answer ended in the middle of its JSON (HTTP {self.exchange.status}).",
                    hint=COST_UNKNOWN,
                ) from None
            raise self._errors.unreadable(text[:BODY_BYTES]) from None
