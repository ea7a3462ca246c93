"""One ask as a stream of fragments: sent once, read as it comes, closed whatever happens."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self

from chatmagic._json import shared
from chatmagic.client import advice, config, response
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    COST_UNKNOWN,
    LESS_HINT,
    WHAT_CAME_IS_KEPT,
    AuthenticationError,
    ChatError,
    ChatInterrupted,
    InputError,
)
from chatmagic.models import BodyFacts
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import url
from chatmagic.protocol.auth import KeyCheck
from chatmagic.protocol.wire import ReplyBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatmagic.client.credit_tracker import CreditState, CreditTracker
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.client.response import ResponseReader
    from chatmagic.client.transport import Exchange, Transport
    from chatmagic.models import Credits, Reply, State
    from chatmagic.protocol.wire import Request

_NOTHING_CAME: Final = (
    f"{COST_UNKNOWN} Ask again to try once more; if the conversation is long, it may fill the "
    f"model's context: {LESS_HINT[0].lower()}{LESS_HINT[1:]}"
)


class ReplyStream:
    """One ask: enter it to send, iterate over its fragments, then look at ``reply``.

    Leaving it early closes the connection. Whatever happens, ``reply`` holds what came.

    Args:
        request: what is asked.
        transport: what sends it.
        endpoint: where it goes, and with which key.
        tracker: takes what the answer tells of the credits.
        halt: stops it from another thread.
        key_check: what refuses to send a key; ``None`` looks through all messages.
    """

    def __init__(
        self,
        request: Request,
        transport: Transport,
        endpoint: Endpoint,
        tracker: CreditTracker,
        halt: Halt | None = None,
        *,
        key_check: KeyCheck | None = None,
    ) -> None:
        """Send nothing yet."""
        self._request = request
        self._transport = transport
        self._endpoint = endpoint
        self._tracker = tracker
        self._before: CreditState | None = None
        self._halt = halt or Halt()
        self._key_check = key_check or KeyCheck()
        self._builder = ReplyBuilder()
        self._exchange: Exchange | None = None
        self._reader: ResponseReader | None = None
        self._sent = False
        self._iterator: Iterator[str] | None = None
        self._state: State = "interrupted"
        self._finished = False

    @property
    def reply(self) -> Reply:
        """The reply as far as it has come; ``complete`` only after the loop.

        Its text is as it came. What goes into records beside it never holds the key.
        """
        reply = self._builder.reply(self._state)
        key = self._endpoint.key
        if key is None:
            return reply
        facts = shared(reply, BodyFacts)
        texts = {name: fact for name, fact in facts.items() if isinstance(fact, str)}
        safe: dict[str, Any] = {name: key.redact(text) for name, text in texts.items()}
        return replace(reply, **safe)

    def __enter__(self) -> Self:
        """Send the request; return the stream when the answer has begun.

        Raises:
            InputError: it was sent already, or cannot be sent as it stands.
            ChatError: as the tree in :mod:`chatmagic.errors` has it.
        """
        if self._sent:
            raise InputError("This stream was used already; client.stream(…) makes another.")
        body = self._body()
        self._sent = True
        sent, asked = monotonic(), datetime.now(UTC)
        try:
            self._exchange = self._transport.send(
                body, stream=self._request.stream, halt=self._halt
            )
            self._reader = response.ResponseReader(
                self._exchange, self._builder, self._halt, self._endpoint, sent
            )
            self._note_headers(self._exchange, asked, response.time_of(self._exchange))
            self._refuse_error(self._exchange, self._reader)
            return self  # noqa: TRY300 - an interrupt here closes the connection too
        except BaseException as error:
            self.close()
            if self._exchange is None:
                # Without an answer, what the next one took is not known.
                self._enter_credits(None)
            if isinstance(error, ChatError):
                raise error.alone()  # noqa: B904 - it is that very error
            raise

    def _body(self) -> bytes:
        """Return the request's body, once it is known to hold no key, and to have one beside it.

        Raises:
            AuthenticationError: there is no key for the address.
            InputError: the request cannot be sent as it stands.
        """
        endpoint = self._endpoint
        if endpoint.key is None and endpoint.auth != "none":
            what, hint = endpoint.no_key_message()
            raise AuthenticationError(what, hint=hint)
        try:
            body = self._request.encode()
        except ValueError as error:
            raise InputError(f"{error}. Nothing was sent.") from None
        self._key_check.refuse(self._request, endpoint.known_keys)
        return body

    def _note_headers(self, exchange: Exchange, asked: datetime, now: datetime) -> None:
        """Note what the answer's headers say, for the reply and for what comes after it."""
        headers = exchange.headers
        self._builder.credits = crediting.from_headers(headers, now)
        self._builder.date = crediting.date(headers)
        self._builder.origin = exchange.origin
        is_live = exchange.origin == "live" and not url.is_loopback(self._endpoint.base_url)
        self._tracker.note_headers(headers, asked=asked, now=now, is_live=is_live)

    def _enter_credits(self, seen: Credits | None) -> None:
        """Enter the answer's credits; again, where its body says more than its headers."""
        self._before = self._before or self._tracker.state
        self._tracker.enter(seen, self._before)

    def _refuse_error(self, exchange: Exchange, reader: ResponseReader) -> None:
        """Enter the credits of a reply; raise the error of an answer that is none.

        Raises:
            ChatError: its status is an error's.
        """
        good = HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES
        if not good or exchange.status == HTTPStatus.NO_CONTENT:
            error = reader.error()
            self._enter_credits(error.credits)
            raise self._advised(error, exchange)
        self._enter_credits(self._builder.credits)

    def __exit__(self, *_: object) -> None:
        """Keep the connection if the reply has ended, else close it."""
        self.close()

    def close(self) -> None:
        """Keep the connection if the answer has ended, else close it; may be repeated."""
        try:
            if self._exchange is not None:
                ended = self._reader is not None and self._reader.ended and not self._finished
                self._finished = self._finished or ended
                self._exchange.close(ended=ended)
        finally:
            self._halt.cut()

    def __iter__(self) -> Iterator[str]:
        """Return the fragments as they come; a second loop goes on where the first one stopped.

        Raises:
            ChatError: the reply is cut off, or is none; the part that came is in ``reply``.
            ChatInterrupted: it was stopped from another thread.
        """
        if self._exchange is None or self._reader is None:
            raise InputError("Enter the stream first: with client.stream(…) as stream: …")
        if self._iterator is None:
            self._iterator = self._iterate(self._exchange, self._reader)
        return self._iterator

    def _iterate(self, exchange: Exchange, reader: ResponseReader) -> Iterator[str]:
        """Return the fragments; set the state, and add to an error what is known."""
        try:
            yield from reader.fragments()
        except (ChatError, ChatInterrupted) as error:
            self._state = "interrupted" if isinstance(error, ChatInterrupted) else "cut off"
            error.reply = error.reply or (self.reply if self.reply.text else None)
            if error.hint == COST_UNKNOWN:
                error.hint = _NOTHING_CAME if error.reply is None else WHAT_CAME_IS_KEPT
            if error.credits is not None:
                self._enter_credits(error.credits)
            error.credits = error.credits or self._builder.credits
            error.status = error.status or exchange.status
            if isinstance(error, ChatError) and error.reply is None:
                self._advised(error, exchange)
            raise error.alone()  # noqa: B904 - it is that very error
        self._state = "complete"
        origin = self._endpoint.origin
        if reader.came_at_once and config.new_warnings([f"{origin} holds replies back."]):
            self._builder.held_back = True
        is_live_stream = self._request.stream and exchange.origin == "live"
        self._tracker.note_usage(lacks_usage=is_live_stream and self._builder.facts.usage is None)

    def _advised(self, error: ChatError, exchange: Exchange) -> ChatError:
        """Add what can be done about the connection to the error of an answer."""
        model, replayed = self._request.extra.get("model"), exchange.origin == "replay"
        return advice.advised(error, self._endpoint, model, replayed=replayed)
