"""Request in, fragments out; and the latest credits."""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from chatmagic import address, settings, sse
from chatmagic import credits as crediting
from chatmagic.assembly import Assembly
from chatmagic.cassette import is_replay
from chatmagic.errorbody import ErrorBody
from chatmagic.errors import (
    COST_UNKNOWN,
    AuthenticationError,
    ChatError,
    ChatInterrupted,
    CutOffError,
    InputError,
    NotRecordedError,
    NotUnderstoodError,
    ServiceError,
)
from chatmagic.patience import Timeout
from chatmagic.refusal import ADDRESS_HINT, BODY_BYTES, decoded, excerpt, in_reply, packing, refusal
from chatmagic.secret import Auth, Secret
from chatmagic.wire import Chunk, Message, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import timedelta
    from types import TracebackType

    from chatmagic.accounting import Credits
    from chatmagic.connection import Halt
    from chatmagic.settings import Connection
    from chatmagic.transport import Exchange, Transport
    from chatmagic.wire import State

BODY_SECONDS: Final = 5.0
"""How long an error's body may take: the status is known, and is what counts."""


class Client:
    """Asks one service, with one key, over one connection that is kept between asks.

    Args:
        base_url: address of the service, with or without ``/v1``; ``None`` takes
            ``CHATMAGIC_BASE_URL``.
        api_key: the key; ``None`` takes the environment's, which goes to the
            environment's own address alone (interface §5).
        auth: ``bearer``, ``x-api-key``, ``query`` or ``none``; ``None`` takes
            ``CHATMAGIC_AUTH``, else ``bearer``.
        timeout: a :class:`chatmagic.Timeout`, seconds for the first byte and for silence,
            or seconds by name.
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
        timeout: Timeout | Mapping[str, float | None] | float | None = None,
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
        timeout: Timeout | Mapping[str, float | None] | float | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a client for a connection that was found out elsewhere."""
        client = cls.__new__(cls)
        client._start(connection, timeout, extra_body)  # noqa: SLF001 - its own
        return client

    def _start(
        self,
        connection: Connection,
        timeout: Timeout | Mapping[str, float | None] | float | None,
        extra_body: Mapping[str, Any] | None,
    ) -> None:
        # requests comes with the first client, not with the extension.
        from chatmagic.transport import HttpTransport  # noqa: PLC0415

        self.connection = connection
        self.timeout = Timeout.of(timeout)
        self.extra_body = _fields(extra_body)
        self._ledger = crediting.Ledger()
        self._clock_off: timedelta | None = None
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
        timeout: Timeout | Mapping[str, float | None] | float | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        """Ask the same service with the same key, but otherwise in another way from now on.

        The connection that is kept stays, and what is known of the credits.
        """
        # With requests, as in Client.
        from chatmagic.transport import HttpTransport  # noqa: PLC0415

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

    @property
    def clock_off(self) -> timedelta | None:
        """How far the clock here is ahead of the service's (below 0: behind), at least.

        Told by the ``Date`` of the latest live answer from another machine; ``None`` where
        there is none, and while the clock may be right.
        """
        return self._clock_off

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
        from chatmagic.connection import Halt  # noqa: PLC0415

        self._client = client
        transport = client._transport  # noqa: SLF001 - two halves of one thing
        self._is_bare = through is None
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
        self._finished = False
        self._foreign = ""
        self._complaint: ErrorBody | None = None

    @property
    def reply(self) -> Reply:
        """The reply as far as it has come; ``complete`` only after the loop."""
        return self._assembly.reply(self._state)

    def __enter__(self) -> Self:
        """Send the request; give the stream when the answer has begun.

        Raises:
            InputError: it was sent already, or cannot be sent as it stands.
            NotRecordedError: the environment says that nothing is to be sent.
            ChatError: as the tree in :mod:`chatmagic.errors` has it.
        """
        if self._sent:
            raise InputError("This stream was sent already; ask for another one.")
        if self._is_bare and is_replay(os.environ):
            raise NotRecordedError(
                "CHATMAGIC_MODE says replay, and a client by itself is not recorded. "
                "Nothing was sent.",
                hint="A session's questions are: chatmagic.ask(…), or Session(client).ask(…).",
            )
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
        asked = datetime.now(UTC)
        try:
            self._exchange = self._transport.send(
                body, stream=self._request.stream, halt=self._halt
            )
            self._begin(self._exchange, asked)
            return self  # noqa: TRY300 - an interrupt here closes the connection too
        except BaseException as error:
            self.close()
            if self._exchange is None:
                # Without an answer, what the next one took cannot be told.
                self._account(None)
            if isinstance(error, ChatError):
                raise error.alone()  # noqa: B904 - it is that very error
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep the connection if the reply has ended, else close it."""
        self.close()

    def close(self) -> None:
        """Keep the connection if the answer has ended, else close it; may be repeated."""
        try:
            if self._exchange is not None and self._ended and not self._finished:
                self._finished = True
                self._exchange.finish()
        finally:
            try:
                if self._exchange is not None:
                    self._exchange.abort()
            finally:
                self._halt.cut()

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
            if error.reply is not None and error.hint == COST_UNKNOWN:
                error.hint = "What came is kept, marked; nothing was sent again."
            error.credits = error.credits or self._assembly.credits
            error.status = error.status or exchange.status
            raise error.alone()  # noqa: B904 - it is that very error
        self._state = "complete"

    def _begin(self, exchange: Exchange, asked: datetime) -> None:
        """Take note of what the status and headers say; refuse what is no reply."""
        now = _now(exchange)
        headers = exchange.headers
        assembly = self._assembly
        assembly.credits = crediting.from_headers(headers, now)
        assembly.date = crediting.date(headers)
        assembly.origin = exchange.origin
        here = address.is_loopback(self._client.connection.base_url)
        if assembly.origin == "live" and not here and assembly.date is not None:
            self._client._clock_off = crediting.clock_off(  # noqa: SLF001 - as above
                assembly.date, asked, now
            )
        good = HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES
        if not good or exchange.status == HTTPStatus.NO_CONTENT:
            body, self._ended = self._beginning(exchange)
            error = self._refusal(exchange, body)
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
            if kind is None and head.isspace():
                head = b""  # signs of life, of which there may be any number
        if kind == "sse":
            yield from self._events(exchange, head)
        elif kind == "json":
            yield from self._document(exchange, head)
        elif kind == "empty":
            raise ServiceError(
                f"The answer is empty (HTTP {exchange.status}).",
                hint=COST_UNKNOWN,
            )
        else:
            raise self._refusal(exchange, self._beginning(exchange, head)[0])

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
        self._check_end(exchange, done=decoder.done, cut=decoder.cut)
        self._ended = True

    def _check_end(self, exchange: Exchange, *, done: bool, cut: bool) -> None:
        """Tell the end of a reply from that of something else, and from a cut."""
        key, finish_reason = self._client.connection.key, self._assembly.finish_reason
        if self._complaint and not done and finish_reason is None:
            raise self._told(exchange, self._complaint)
        if self._foreign and not self._assembly.begun:
            words = excerpt(self._foreign, key, 80)
            raise NotUnderstoodError(
                f'The stream is not the chat service\'s; it holds "{words}".', hint=ADDRESS_HINT
            )
        if done:
            return
        packed = packing(exchange.headers)
        if packed and not self._assembly.begun:
            what = f"The answer is packed as {excerpt(packed, key, 20)}, which was not asked for."
            raise NotUnderstoodError(what, hint=COST_UNKNOWN)
        if not self._assembly.begun:
            raise CutOffError("The stream ended before the reply began.", hint=COST_UNKNOWN)
        if cut or finish_reason is None:
            raise CutOffError(
                "The reply was cut off: the stream ended without its end mark.", hint=COST_UNKNOWN
            )

    def _event(self, exchange: Exchange, event: sse.Event) -> str:
        """Take one event in and give the fragment that it adds."""
        if isinstance(event, sse.Payload):
            value = event.value
            if (told := self._error_in(event)) is not None:
                raise self._told(exchange, told)
            if isinstance(value, dict):
                self._complaint = None
                if "choices" not in value:
                    self._foreign = self._foreign or json.dumps(value)[:BODY_BYTES]
                    # In no shape of an error by itself; but it may be the last that came.
                    self._complaint = ErrorBody.from_json(value)
                return self._assembly.add(Chunk.from_json(value))
        elif isinstance(event, sse.Malformed):
            raise self._unreadable(event.text)
        return ""

    @staticmethod
    def _error_in(event: sse.Payload) -> ErrorBody | None:
        value = event.value
        if event.event != "error" or (isinstance(value, dict) and "choices" in value):
            return ErrorBody.in_reply(value)
        if isinstance(value, str):
            return ErrorBody(message=value)
        return ErrorBody.from_json(value) or ErrorBody(error="error")

    def _told(self, exchange: Exchange, told: ErrorBody) -> ChatError:
        """Give the error for an error object inside a stream, or instead of a reply."""
        return self._counted(
            in_reply(
                exchange.status,
                exchange.headers,
                told,
                now=_now(exchange),
                key=self._client.connection.key,
                begun=bool(self._assembly.text),
            )
        )

    def _unreadable(self, text: str) -> ChatError:
        words = excerpt(text, self._client.connection.key, 80)
        if self._assembly.text:
            return CutOffError(
                f'A part of the reply could not be read: "{words}".', hint=COST_UNKNOWN
            )
        return NotUnderstoodError(f'The answer could not be read: "{words}".', hint=ADDRESS_HINT)

    def _document(self, exchange: Exchange, head: bytes) -> Iterator[str]:
        """Read a reply in one piece (interface §2.3), or chunks that are no events."""
        pieces = [head]
        while piece := exchange.read():
            pieces.append(piece)
        text = decoded(b"".join(pieces), exchange.headers)
        try:
            values = sse.documents(text)
        except ValueError as error:
            if sse.is_cut(error):
                raise CutOffError(
                    f"The answer ended in the middle of its JSON (HTTP {exchange.status}).",
                    hint=COST_UNKNOWN,
                ) from None
            raise self._unreadable(text[:BODY_BYTES]) from None
        streamed = len(values) > 1
        for value in values:
            if (told := ErrorBody.in_reply(value)) is not None:
                self._ended = True
                raise self._told(exchange, told)
            if not isinstance(value, dict) or "choices" not in value:
                raise self._refusal(exchange, text[:BODY_BYTES].encode("utf-8", "replace"))
            if fragment := self._assembly.add(Chunk.from_json(value)):
                yield fragment
        if rest := self._assembly.rest():
            yield rest
        if streamed:
            self._check_end(exchange, done=False, cut=False)
        self._ended = True

    def _refusal(self, exchange: Exchange, body: bytes) -> ChatError:
        key = self._client.connection.key
        now = _now(exchange)
        return self._counted(refusal(exchange.status, exchange.headers, body, now=now, key=key))

    def _counted(self, error: ChatError) -> ChatError:
        """Enter what an error says of the credits, in place of its headers alone."""
        self._account(error.credits)
        return error

    def _beginning(self, exchange: Exchange, head: bytes = b"") -> tuple[bytes, bool]:
        """Read on to the bounds from the head of a body; say whether that is all of it.

        A body that drips is cut: by then the connection is good for nothing else.
        """
        late = threading.Event()

        def cut() -> None:
            late.set()
            self._halt.cut()

        timer = threading.Timer(BODY_SECONDS, cut)
        timer.daemon = True
        timer.start()
        pieces = [head]
        size = len(head)
        try:
            while size < BODY_BYTES and not late.is_set():
                piece = exchange.read()
                if not piece:
                    return b"".join(pieces), not late.is_set()
                pieces.append(piece)
                size += len(piece)
        except ChatError:
            pass  # The status is known, which is more than how its body ended.
        finally:
            timer.cancel()
        return b"".join(pieces)[:BODY_BYTES], False


def _fields(extra_body: object) -> dict[str, Any]:
    if extra_body is None:
        return {}
    if not isinstance(extra_body, Mapping):
        raise InputError(
            "extra_body is a mapping of field names to values, such as {'model': 'small'}, "
            f"not {type(extra_body).__name__}."
        )
    return dict(extra_body)


def _now(exchange: Exchange) -> datetime:
    """Give the time here or, for a replayed answer, the time that it tells itself."""
    here = datetime.now(UTC)
    return (crediting.date(exchange.headers) or here) if exchange.origin == "replay" else here
