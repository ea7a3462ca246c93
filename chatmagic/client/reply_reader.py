"""Reading of a reply from the body of an answer: a stream of events, or one JSON document."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final, Literal

from chatmagic._json import has_many_values, json_text
from chatmagic.client.body import ReplyBody
from chatmagic.client.endpoint import Limits
from chatmagic.client.reply_errors import ReplyErrors
from chatmagic.client.streamed_events import StreamedEvents
from chatmagic.errors import COST_UNKNOWN, ChatError, CutOffError, ServiceError
from chatmagic.protocol import sse
from chatmagic.protocol.answer_text import BODY_BYTES, body_text, header
from chatmagic.protocol.chunk import Chunk, first_choice
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.json_decoder import JSON_DECODER, content_begun, json_is_cut
from chatmagic.protocol.reply_builder import ReplyBuilder

GRACE_SECONDS: Final = 2.0
"""Time limit, in seconds, for more of a stream after its finish reason."""
STEP_BYTES: Final = 65_536
"""Bytes of an unfinished event that end a silence: large events may come slowly."""


class ReplyReader:
    """Reader of one reply.

    Args:
        body: the body of the answer.
        builder: the reply, to which what is read is added.
        errors: make the errors of the reply.
        limits: the largest sizes that are read.
        note_whole: called when the body was read to its end, so that the connection can be kept.
    """

    def __init__(
        self,
        body: ReplyBody,
        builder: ReplyBuilder,
        errors: ReplyErrors,
        limits: Limits,
        *,
        note_whole: Callable[[], object],
    ) -> None:
        """Read nothing yet."""
        self._exchange = body.exchange
        self._body = body
        self._builder = builder
        self._errors = errors
        self._limits = limits
        self._note_whole = note_whole
        self._events = StreamedEvents(builder, errors)

    def fragments(self) -> Iterator[str]:
        """Return the fragments of the reply as they arrive; the body's start shows its kind.

        Raises:
            ChatError: the reply is cut off, or is none.
            ChatInterrupted: it was stopped from another thread.
        """
        head, kind = self._head()
        if kind == "sse":
            yield from self._streamed(head)
        elif kind == "json":
            yield from self._document(head)
        elif kind == "empty":
            status = self._exchange.status
            raise ServiceError(f"The answer is empty (HTTP {status}).", hint=COST_UNKNOWN)
        else:
            raise self._errors.no_reply(self._body.beginning(head))

    def _head(self) -> tuple[bytes, sse.BodyKind]:
        """Return the beginning of the body, as far as its kind needs it, and the kind."""
        content_type = header(self._exchange.headers, "content-type")
        head = b""
        is_idle = False
        while True:
            piece = self._body.read(is_idle=is_idle)
            head += piece
            kind = sse.body_kind(content_type, head, ended=not piece)
            if kind is not None:
                return head, kind
            # White space may keep a connection alive; there may be any amount.
            is_idle = not head.removeprefix(codecs.BOM_UTF8).strip()
            if is_idle and len(head) > len(codecs.BOM_UTF8):
                head = b""

    def _streamed(self, head: bytes) -> Iterator[str]:
        """Read a stream (facts 6, 7)."""
        decoder = sse.Decoder()
        has_events = False
        for piece in self._pieces(head, decoder):
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
        self._note_whole()

    def _pieces(self, head: bytes, decoder: sse.Decoder) -> Iterator[bytes]:
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
                piece = self._body.read_until(until)
            else:
                piece = self._body.read(is_idle=not is_new and steps <= steps_before)

    def _cut(self, text: str, which: Literal["event", "json"]) -> Iterator[str]:
        """Return the content at the beginning of JSON that is too large; then fail."""
        yield self._builder.append(content_begun(text))
        raise self._errors.too_large("text" if self._builder.is_full else which)

    def _document(self, head: bytes) -> Iterator[str]:
        """Read a reply in one piece (fact 4)."""
        content, broken = self._body.whole(head, self._limits.json)
        if len(content) > self._limits.json:
            yield from self._cut(json_text(content, "utf-8", "replace"), "json")
        text = body_text(content, self._exchange.headers)
        del content
        value = self._parsed(text, broken)
        # A whole JSON is a whole reply, even if the connection broke after it.
        self._note_whole()
        if (error_body := ErrorBody.in_reply(value)) is not None:
            raise self._errors.stated(error_body)
        if not isinstance(value, dict) or not (choice := first_choice(value.get("choices"))):
            raise self._errors.no_reply(text[:BODY_BYTES].encode("utf-8", "replace"))
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
                    f"The answer ended in the middle of its JSON (HTTP {self._exchange.status}).",
                    hint=COST_UNKNOWN,
                ) from None
            raise self._errors.unreadable(text[:BODY_BYTES]) from None
