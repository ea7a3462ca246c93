"""Errors, one class for each next step of the caller.

::

    Exception
    └── ChatError
        ├── InputError (a ValueError)   the input is wrong: change it; nothing was sent
        ├── BudgetError                 the request exceeds the budget that is set; nothing was sent
        ├── NotRecordedError            the replayed cassette does not hold it; nothing was sent
        ├── AuthenticationError         no key for this address, or the service refused it
        ├── RateLimitError              the credits are used up, or too many requests: wait
        ├── RequestRejectedError        the service refused the request: change it
        │   └── TooLongError            the conversation is too long: send less of it
        ├── ServiceError                the service, or a proxy before it, failed: ask again later
        ├── ConnectError                no connection, so nothing was sent: address, network, TLS
        │   └── NotConnectedError       no address is set
        ├── RequestTimeoutError         a timeout of chatmagic ran out; it names which
        ├── CutOffError                 the reply ended too early; its text so far is in ``reply``
        ├── NotUnderstoodError          the answer is not the interface's: wrong address?
        └── ReplyFormatError            the reply lacks the requested form; it is in ``reply``
    KeyboardInterrupt
    └── ChatInterrupted                 a person stopped the reply; its text so far is in ``reply``

Each error gives in one line the event and the next step. It carries ``status``, ``credits``,
``reply`` and ``retry_after`` if they are known. All errors can be pickled. They hold no exception
of ``requests`` and no frame with bytes of the wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, Literal, Self

from chatmagic.advice import Note, Place, Sentences, joined_sentences, sentences, sentences_at
from chatmagic.models import Credits, Reply
from chatmagic.safe_text import unlinked

Which = Literal["connect", "first_byte", "silence", "total"]

COST_UNKNOWN: Final = "Nothing was sent again; whether it cost credits is not known."
"""Hint for an answer that broke off before the first text of a reply."""

WHAT_CAME_IS_KEPT: Final = (
    "The text so far is kept, marked; nothing was sent again. Ask again for a complete reply."
)
SHORTER_HINT: Final = "Shorten the question, or the cells and values with it: it carries no turn."

PROXY_NAMED: Final = (
    "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, such as "
    "http://NAME:PASSWORD@proxy.example:8080."
)
"""Hint for a proxy that refused or failed."""


class _ErrorBase(BaseException):
    """Base of the errors: a line with the event, a line of advice, and the data."""

    def __init__(
        self,
        message: str,
        *,
        hint: Note | Sentences | None = None,
        status: int | None = None,
        credits: Credits | None = None,
        reply: Reply | None = None,
        retry_after: datetime | None = None,
    ) -> None:
        """Keep the event, the advice, and the data.

        Args:
            message: the event; white space is folded into one line.
            hint: the advice, as a line of its own in a notebook: a text that is the same in all
                places, or the words of each place, of :mod:`chatmagic.advice`.
            status: the HTTP status; ``None`` without a response.
            credits: the credits that the response named.
            reply: the partial reply.
            retry_after: the earliest time to ask again, aware, if the service named one.
        """
        self.message = " ".join(message.split())
        self.advice: Sentences = sentences(hint)
        """The advice, in the words of each place."""
        self.place: Place = "python"
        """The place that asked, and so shows the error."""
        self.status = status
        self.body_status: int | None = None
        """The status that the response's body names, which may be another one than its own."""
        self.holds_json = False
        """Whether the response's body was JSON, so that it may be the service's."""
        self.credits = credits
        self.reply = reply
        self.retry_after = retry_after
        self.retry_soonest: datetime | None = None
        """The time to ask again if ``retry_after`` comes from a number without a unit, which may be
        milliseconds and not seconds; ``None`` for any other."""
        super().__init__(self.message)

    def alone(self) -> Self:
        """Return the error itself without its causes and frames.

        Frames hold requests, headers and bodies, which a traceback with local variables would show.
        """
        self.__cause__ = None
        self.__context__ = None
        return self.with_traceback(None)

    @property
    def hint(self) -> str | None:
        """The advice in the words of the place that asked; ``None`` without any."""
        return self.hint_at(self.place) or None

    def hint_at(self, place: Place) -> str:
        """Return the advice as a line; empty without any.

        Args:
            place: the place that shows it.
        """
        return " ".join(sentences_at(self.advice, place).split())

    def line_at(self, place: Place) -> str:
        """Return one line: the event and the advice.

        Args:
            place: the place that shows it.
        """
        hint = self.hint_at(place)
        return joined_sentences([self.message, hint]) if hint else self.message

    def __str__(self) -> str:
        """Return one line: the event, and the advice in the words of the place that asked."""
        return self.line_at(self.place)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows instead of a traceback."""
        lines = [f"{type(self).__name__}: {self.message}", self.hint]
        return [unlinked(line) for line in lines if line is not None]


class ChatError(_ErrorBase, Exception):
    """Base class of all errors that chatmagic raises."""

    refused_fields: tuple[str, ...] = ()
    """The request's fields for which the service refused it, by name, as far as it says so."""


class InputError(ChatError, ValueError):
    """Error in the user's input or settings; nothing was sent."""


class BudgetError(ChatError):
    """Request that exceeds the budget; nothing was sent."""


class NotRecordedError(ChatError):
    """Request that the replayed cassette does not hold; nothing was sent."""


class AuthenticationError(ChatError):
    """Missing key for an address, or a key that the service did not accept (fact 12)."""


class RateLimitError(ChatError):
    """Credits that are used up, or requests in too quick succession (fact 9)."""


class RequestRejectedError(ChatError):
    """Request that the service refused; asking the same again will not help."""


class TooLongError(RequestRejectedError):
    """Conversation that is too long for the service, which refused it."""


class ServiceError(ChatError):
    """Failure of the service, or of a proxy in front of it."""


class ConnectError(ChatError):
    """Failure to connect; nothing was sent and nothing was spent."""


class NotConnectedError(ConnectError):
    """Missing address of the service."""


class RequestTimeoutError(ChatError):
    """Timeout of chatmagic that ran out.

    Args:
        message: the event.
        which: ``connect``, ``first_byte``, ``silence`` or ``total``.
        **data: as for every :class:`ChatError`.
    """

    def __init__(self, message: str, *, which: Which = "silence", **data: Any) -> None:
        """Keep the name of the timeout that ran out."""
        super().__init__(message, **data)
        self.which = which


class CutOffError(ChatError):
    """Reply that ended too early; the text so far is in ``reply``."""


class NotUnderstoodError(ChatError):
    """Answer that does not fit the interface."""


class ReplyFormatError(ChatError):
    """Reply in another format than requested; it is in ``reply``, and its turn is kept."""


class ChatInterrupted(_ErrorBase, KeyboardInterrupt):
    """Stop of a reply by a person; the text so far is in ``reply``."""

    is_shown: bool = False
    """Whether an output above the error shows the reply so far, marked as interrupted."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows; what the output above says is not said again."""
        first, *hint = super()._render_traceback_()
        kept = f"{type(self).__name__}: the text so far is kept."
        return [kept if self.is_shown else first, *hint]


@contextmanager
def shown_at(place: Place) -> Iterator[None]:
    """Return a context whose errors are for a place; it changes no word of them.

    Args:
        place: the place that asked, and so shows the errors.
    """
    try:
        yield
    except (ChatError, ChatInterrupted) as error:
        error.place = place
        raise
