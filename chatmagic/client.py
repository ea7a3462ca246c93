"""Request in, fragments out; and the latest credits."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn, Self

from chatmagic import address, settings, sse
from chatmagic import credits as crediting
from chatmagic.assembly import Assembly
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    ChatInterrupted,
    CutOffError,
    InputError,
    NotUnderstoodError,
    ServiceError,
)
from chatmagic.refusal import BODY_BYTES, excerpt, refusal
from chatmagic.wire import (
    Auth,
    Chunk,
    ErrorBody,
    Message,
    Reply,
    Request,
    Secret,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from chatmagic.settings import Connection
    from chatmagic.transport import Exchange, Halt, Timeout, Transport
    from chatmagic.wire import Credits, State


class Client:
    """Asks one service, with one key, over one connection that is kept between asks.

    Args:
        base_url: address of the service, with or without ``/v1``; ``None`` takes
            ``CHATMAGIC_BASE_URL``.
        api_key: the key; ``None`` takes the environment's, which goes to the
            environment's own address alone (interface §5).
        auth: ``bearer``, ``x-api-key``, ``query`` or ``none``; ``None`` takes
            ``CHATMAGIC_AUTH``, else ``bearer``.
        timeout: a :class:`chatmagic.Timeout`, or seconds for the first byte and for silence.
        extra_body: fields that a compatible server wants beside the interface's own.

    Raises:
        ConnectError: no address is known.
        InputError: the address, the key or another argument cannot be used.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        auth: Auth | None = None,
        timeout: Timeout | float | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        """Find out where to and with which key; nothing is sent."""
        key = None
        if api_key is not None:
            key = Secret.of(api_key)
            del api_key  # a traceback with its locals shows only a Secret
            if key is None:
                raise InputError(settings.NO_KEY.format("api_key"))
        connection = settings.for_client(os.environ, base_url=base_url, api_key=key, auth=auth)
        self._start(connection, timeout, extra_body)

    @classmethod
    def connected(
        cls,
        connection: Connection,
        *,
        timeout: Timeout | float | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a client for a connection that was found out elsewhere."""
        client = cls.__new__(cls)
        client._start(connection, timeout, extra_body)  # noqa: SLF001 - its own
        return client

    def _start(
        self,
        connection: Connection,
        timeout: Timeout | float | None,
        extra_body: Mapping[str, Any] | None,
    ) -> None:
        # requests comes with the first client, not with the extension.
        from chatmagic.transport import HttpTransport, Timeout  # noqa: PLC0415

        self.connection = connection
        self.timeout = Timeout.of(timeout)
        self.extra_body = _fields(extra_body)
        self._ledger = crediting.Ledger()
        self._transport: Transport = HttpTransport(
            address.endpoint(connection.base_url),
            auth=connection.auth,
            key=connection.key,
            timeout=self.timeout,
            direct=address.is_loopback(connection.base_url),
        )
        for warning in settings.news(connection.warnings):
            warnings.warn(warning, stacklevel=3)

    def retune(
        self,
        connection: Connection,
        *,
        timeout: Timeout | float | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        """Ask the same service with the same key, but otherwise in another way from now on.

        The connection that is kept stays, and what is known of the credits.
        """
        # With requests, as in Client.
        from chatmagic.transport import HttpTransport, Timeout  # noqa: PLC0415

        self.timeout, self.extra_body = Timeout.of(timeout), _fields(extra_body)
        self.connection = connection
        if isinstance(self._transport, HttpTransport):
            self._transport.timeout = self.timeout

    @property
    def credits(self) -> Credits | None:
        """The credits as the latest answer that told them has them; ``None`` is unknown."""
        return self._ledger.credits

    @property
    def took(self) -> int | None:
        """About how many credits the latest answer took; ``None`` is unknown."""
        return self._ledger.took

    def complete(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Ask for a reply in one piece (interface §2.3).

        Args:
            messages: the conversation so far, oldest first.
            max_tokens: upper limit on generated tokens.
            temperature: sampling temperature.

        Raises:
            ChatError: as the tree in :mod:`chatmagic.errors` has it.
        """
        request = self._request(messages, max_tokens, temperature, stream=False)
        with ReplyStream(self, request) as stream:
            for _ in stream:
                pass
            return stream.reply

    def stream(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> ReplyStream:
        """Ask for a reply fragment by fragment (interface §4.1).

        Args:
            messages: the conversation so far, oldest first.
            max_tokens: upper limit on generated tokens.
            temperature: sampling temperature.

        Returns:
            A context manager, which sends the request, and an iterator of fragments.

        Raises:
            InputError: the request cannot be sent as it stands.
        """
        return ReplyStream(self, self._request(messages, max_tokens, temperature, stream=True))

    def send(
        self,
        request: Request,
        halt: Halt | None = None,
        through: Callable[[Transport], Transport] | None = None,
    ) -> ReplyStream:
        """Ask with a request that was made elsewhere.

        Args:
            request: what is asked.
            halt: stops it from another thread.
            through: what stands between the client and its transport for this ask (a
                cassette, which answers itself or lets the transport answer and listens).
        """
        return ReplyStream(self, request, halt, through)

    def close(self) -> None:
        """Close the connection that is kept."""
        self._transport.close()

    def __enter__(self) -> Self:
        """Give the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Say where it asks, and nothing of the key."""
        # One whose making failed may be shown too, by whoever shows a traceback's locals.
        connection = getattr(self, "connection", None)
        return f"Client({address.origin(connection.base_url)!r})" if connection else "Client()"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied: a client has a key and an open connection.

        Raises:
            TypeError: always.
        """
        raise TypeError("a Client has a key, so it is not pickled or copied; make one there")

    def _request(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        max_tokens: int | None,
        temperature: float | None,
        *,
        stream: bool,
    ) -> Request:
        try:
            return Request(
                tuple(
                    item if isinstance(item, Message) else Message.from_json(item)
                    for item in messages
                ),
                stream=stream,
                max_tokens=max_tokens,
                temperature=temperature,
                extra=self.extra_body,
            )
        except ValueError as error:
            raise InputError(f"{error}. Nothing was sent.") from None


class ReplyStream:
    """One ask: enter it to send, iterate over its fragments, then look at ``reply``.

    Leaving it early closes the connection. Whatever happens, ``reply`` holds what came.
    """

    def __init__(
        self,
        client: Client,
        request: Request,
        halt: Halt | None = None,
        through: Callable[[Transport], Transport] | None = None,
    ) -> None:
        """Send nothing yet."""
        # With requests, as in Client.
        from chatmagic.transport import Halt  # noqa: PLC0415

        self._client = client
        transport = client._transport  # noqa: SLF001 - two halves of one thing
        self._transport = through(transport) if through is not None else transport
        self._request = request
        self._halt = halt or Halt()
        self._exchange: Exchange | None = None
        self._sent = False
        self._iterator: Iterator[str] | None = None
        self._assembly = Assembly()
        self._before: crediting.Ledger | None = None
        self._state: State = "interrupted"
        self._ended = False

    @property
    def reply(self) -> Reply:
        """The reply as far as it has come; ``complete`` only after the loop."""
        return self._assembly.reply(self._state)

    def __enter__(self) -> Self:
        """Send the request; give the stream when the answer has begun.

        Raises:
            InputError: it was sent already, or cannot be sent as it stands.
            ChatError: as the tree in :mod:`chatmagic.errors` has it.
        """
        if self._sent:
            raise InputError("This stream was sent already; ask for another one.")
        connection = self._client.connection
        if connection.key is None and connection.auth != "none":
            what, hint = settings.no_key_message(connection)
            raise AuthenticationError(what, hint=hint)
        try:
            body = self._request.encode()
        except ValueError as error:
            raise InputError(f"{error}. Nothing was sent.") from None
        # As typed and as JSON writes it, which differ where a key holds a quotation mark.
        texts = [body.decode(), *(message.content for message in self._request.messages)]
        keys = {*connection.guarded, connection.key} - {None}
        if any(key.is_in(text) for key in keys if key for text in texts):
            raise InputError(
                "The prompt, the conversation or extra_body holds your API key. Nothing was sent.",
                hint="Take it out; a key that was shown to anybody is better revoked.",
            )
        self._sent = True
        try:
            self._exchange = self._transport.send(
                body, stream=self._request.stream, halt=self._halt
            )
        except BaseException:
            # Without an answer, what the next one took cannot be told.
            self._account(None)
            raise
        try:
            self._begin(self._exchange)
        except BaseException as error:
            self._exchange.abort()
            if isinstance(error, ChatError):
                raise error.alone()  # noqa: B904 - it is that very error
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep the connection if the reply has ended, else close it."""
        if self._exchange is not None:
            if self._ended:
                self._exchange.finish()
            else:
                self._exchange.abort()

    def __iter__(self) -> Iterator[str]:
        """Give the fragments as they come; a second loop goes on where the first one stopped.

        Raises:
            ChatError: the reply is cut off, or is none; the part that came is in ``reply``.
            ChatInterrupted: it was stopped from another thread.
        """
        if self._exchange is None:
            raise InputError("Enter the stream first: with client.stream(…) as stream: …")
        if self._iterator is None:
            self._iterator = self._iterate(self._exchange)
        return self._iterator

    def _iterate(self, exchange: Exchange) -> Iterator[str]:
        """Give the fragments; tell the state, and add to an error what is known."""
        try:
            yield from self._fragments(exchange)
        except (ChatError, ChatInterrupted) as error:
            self._state = "interrupted" if isinstance(error, ChatInterrupted) else "cut off"
            error.reply = error.reply or (self.reply if self.reply.text else None)
            error.credits = error.credits or self._assembly.credits
            error.status = error.status or exchange.status
            raise error.alone()  # noqa: B904 - it is that very error
        self._state = "complete"

    def _begin(self, exchange: Exchange) -> None:
        """Take note of what the status and headers say; refuse what is no reply."""
        now = datetime.now(UTC)
        headers = exchange.headers
        assembly = self._assembly
        assembly.credits = crediting.from_headers(headers, now)
        assembly.date = crediting.date(headers)
        assembly.origin = exchange.origin
        good = HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES
        if not good or exchange.status == HTTPStatus.NO_CONTENT:
            body, whole = _beginning(exchange)
            error = refusal(
                exchange.status, headers, body, now=now, key=self._client.connection.key
            )
            self._account(error.credits)
            if whole:
                exchange.finish()
            raise error
        self._account(assembly.credits)

    def _account(self, seen: Credits | None) -> None:
        """Enter what this answer says of the credits, in place of what it said before."""
        self._before = self._before or self._client._ledger  # noqa: SLF001 - as above
        self._client._ledger = self._before.after(seen)  # noqa: SLF001 - as above

    def _fragments(self, exchange: Exchange) -> Iterator[str]:
        content_type = next(
            (value for name, value in exchange.headers if name.lower() == "content-type"), None
        )
        head = b""
        kind = None
        while kind is None:
            piece = exchange.read()
            head += piece
            kind = sse.kind(content_type, head, ended=not piece)
        if kind == "sse":
            yield from self._events(exchange, head)
        elif kind == "json":
            yield from self._document(exchange, head)
        elif kind == "empty":
            raise ServiceError(
                "The answer is empty.",
                hint="Nothing was sent again; whether it took credits is not known.",
            )
        else:
            raise self._refusal(exchange, _beginning(exchange, head)[0])

    def _events(self, exchange: Exchange, head: bytes) -> Iterator[str]:
        """Read a stream; interface §4.1, and what else servers make of it."""
        decoder = sse.Decoder()
        piece = head
        while piece:
            for event in decoder.feed(piece):
                if fragment := self._event(exchange, event):
                    yield fragment
            if decoder.done:
                break
            piece = exchange.read()
        else:
            for event in decoder.end():
                if fragment := self._event(exchange, event):
                    yield fragment
        if rest := self._assembly.rest():
            yield rest
        if not decoder.done and (decoder.cut or self._assembly.finish_reason is None):
            raise CutOffError(
                "The reply was cut off: the stream ended without its end mark.",
                hint="What came is kept, marked; nothing was sent again.",
            )
        self._ended = True

    def _event(self, exchange: Exchange, event: sse.Event) -> str:
        """Take one event in and give the fragment that it adds."""
        if isinstance(event, sse.Payload):
            value = event.value
            if (told := self._error_in(event)) is not None:
                raise self._told(exchange, told)
            if isinstance(value, dict):
                return self._assembly.add(Chunk.from_json(value))
        elif isinstance(event, sse.Malformed):
            raise self._unreadable(event.text)
        return ""

    @staticmethod
    def _error_in(event: sse.Payload) -> ErrorBody | None:
        read = ErrorBody.from_json if event.event == "error" else ErrorBody.in_reply
        return read(event.value)

    def _told(self, exchange: Exchange, told: ErrorBody) -> ChatError:
        """Give the error for an error object inside a stream, or instead of a reply."""
        key = self._client.connection.key
        if told.is_rate_limit and not self._assembly.text:
            error = self._refusal(exchange, json.dumps(told.to_json()).encode())
            self._account(error.credits)
            return error
        words = ": ".join(word for word in (told.error, told.message) if word).rstrip(".")
        words = excerpt(key.redact(words) if key else words)
        if self._assembly.text:
            return CutOffError(f'The service ended the reply with an error: "{words}".')
        return ServiceError(f'The service answered with an error: "{words}".')

    def _unreadable(self, text: str) -> ChatError:
        key = self._client.connection.key
        words = excerpt(key.redact(text) if key else text, 80)
        if self._assembly.text:
            return CutOffError(f'A part of the reply could not be read: "{words}".')
        return NotUnderstoodError(f'The answer could not be read: "{words}".')

    def _document(self, exchange: Exchange, head: bytes) -> Iterator[str]:
        """Read a reply in one piece (interface §2.3)."""
        pieces = [head]
        while piece := exchange.read():
            pieces.append(piece)
        body = b"".join(pieces)
        try:
            value = json.loads(body.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            raise self._unreadable(body[:BODY_BYTES].decode("utf-8", "replace")) from None
        if isinstance(value, list) and value:
            value = value[0]
        told = ErrorBody.in_reply(value)
        if told is not None:
            self._ended = True
            raise self._told(exchange, told)
        if not isinstance(value, dict) or "choices" not in value:
            raise self._refusal(exchange, body[:BODY_BYTES])
        fragment = self._assembly.add(Chunk.from_json(value)) + self._assembly.rest()
        self._ended = True
        if fragment:
            yield fragment

    def _refusal(self, exchange: Exchange, body: bytes) -> ChatError:
        key = self._client.connection.key
        return refusal(exchange.status, exchange.headers, body, now=datetime.now(UTC), key=key)


def _fields(extra_body: object) -> dict[str, Any]:
    if extra_body is None:
        return {}
    if not isinstance(extra_body, Mapping):
        raise InputError(
            "extra_body is a mapping of field names to values, such as {'model': 'small'}, "
            f"not {type(extra_body).__name__}."
        )
    return dict(extra_body)


def _beginning(exchange: Exchange, head: bytes = b"") -> tuple[bytes, bool]:
    """Read on to the bound from the head of a body; say whether that is all of it."""
    pieces = [head]
    size = len(head)
    while size < BODY_BYTES:
        try:
            piece = exchange.read()
        except ChatError:
            # The status is known, which is more than how its body ended.
            return b"".join(pieces), False
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)[:BODY_BYTES], False
