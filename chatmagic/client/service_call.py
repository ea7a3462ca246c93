"""One request to the service and its answer: sent once, always closed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from time import monotonic
from typing import Any, Self

from chatmagic.client.body import beginning
from chatmagic.client.connection_advice import add_connection_advice
from chatmagic.client.credit_tracker import CreditTracker
from chatmagic.client.endpoint import Endpoint
from chatmagic.client.halt import Halt
from chatmagic.client.transport import Exchange
from chatmagic.errors import ChatError, InputError
from chatmagic.protocol import credits as crediting
from chatmagic.protocol.answer_text import body_text
from chatmagic.protocol.response_errors import AnswerFacts, error_from_response


class ServiceCall:
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
            self._endpoint.require_key()
            self._sent = True
            self._began_at = monotonic()
            exchange = self._exchange = self._send()
            came_at = self._came_at
            self._tracker.note_requests(exchange.headers, came_at)
            good = HTTPStatus.OK <= exchange.status < HTTPStatus.MULTIPLE_CHOICES
            if not good or exchange.status == HTTPStatus.NO_CONTENT:
                raise self._refusal()  # noqa: TRY301 - it closes, too
            self.header_facts = crediting.reply_facts(exchange.headers, came_at)
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
        self._note_end()
        try:
            if self._exchange is not None:
                ended = self._ended
                self._ended = False
                self._exchange.close(ended=ended)
        finally:
            self._halt.cut()

    def _note_end(self) -> None:
        """Note the time at which the answer ended, if it is not known yet."""
        self._over_at = self._over_at or monotonic()

    @property
    def _seconds(self) -> float | None:
        """Seconds from the request to the end of the answer, or to now; ``None`` if unknown."""
        # A recording has its own; an emulator's repeats.
        if not self._began_at or (self._exchange is not None and self._exchange.origin != "live"):
            return None
        return round((self._over_at or monotonic()) - self._began_at, 3)

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

    def _answer(self) -> AnswerFacts:
        """Return what an error is made of, beside the body."""
        exchange = self.exchange
        endpoint = self._endpoint
        return AnswerFacts(
            exchange.status,
            exchange.headers,
            self._came_at,
            endpoint.known_keys,
            endpoint.base_url,
            is_keyless=endpoint.is_keyless and exchange.origin != "replay",
        )

    def _refusal(self) -> ChatError:
        """Return the error for an answer without a reply; no frame with the body raises it."""
        body, self._ended = beginning(self.exchange, self._halt)
        error = error_from_response(self._answer(), body)
        self._tracker.note_credits(error.credits)
        self._add_advice(error)
        return error

    def _add_advice(self, error: ChatError) -> None:
        """Add advice about the connection to the error of an answer."""
        is_replay = self.exchange.origin == "replay"
        add_connection_advice(error, self._endpoint, self._model, is_replay=is_replay)
