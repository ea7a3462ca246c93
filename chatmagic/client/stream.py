"""One ask as a stream of fragments: sent once, read as it arrives, always closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from chatmagic import advice
from chatmagic._json import known_items
from chatmagic.advice import sentences
from chatmagic.client.body import ReplyBody
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.client.endpoint import Endpoint, Limits
from chatmagic.client.halt import Halt
from chatmagic.client.reply_errors import ReplyErrors
from chatmagic.client.reply_reader import ReplyReader
from chatmagic.client.service_call import ServiceCall
from chatmagic.client.transport import Exchange, Transport
from chatmagic.errors import (
    COST_UNKNOWN,
    WHAT_CAME_IS_KEPT,
    ChatError,
    ChatInterrupted,
    InputError,
)
from chatmagic.models import Origin, Reply, State
from chatmagic.protocol.api_key import refuse_keys
from chatmagic.protocol.reply_builder import ReplyBuilder
from chatmagic.protocol.request import Request


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
        # No attribute: it refers to this stream, so only the garbage collector would free the two,
        # which costs CPU in a map.
        errors = ReplyErrors(self._answer, self._builder, self._limits)
        body = ReplyBody(exchange, self._halt, errors, self._limits.body, self._silence)
        reader = ReplyReader(body, self._builder, errors, self._limits, note_whole=self._note_whole)
        try:
            yield from reader.fragments()
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

    def _note_whole(self) -> None:
        """Note that the body was read to its end, so that the connection can be kept."""
        self._ended = True

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
