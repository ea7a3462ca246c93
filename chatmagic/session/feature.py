"""Feature of asking: one object with its settings, its lines, its checks and its link.

The list of :mod:`chatmagic.session.features` has them all. A session, the settings of a kernel,
``%chat`` and the doctor read that list, and name none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from chatmagic.advice import Note, Place
from chatmagic.client.endpoint import Endpoint, ServiceSetup
from chatmagic.conversation.question import RequestFacts
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.protocol.request import Request
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.environment import Environment, RequestSettings
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.prepare import Prepared
from chatmagic.session.source import AnswerFile

Mark = Literal["ok", "!!", "!", "?"]
"""Mark of a line: fine; a fault that prevents an answer; unwise or slow; unknown."""


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """Line of the doctor's block.

    Args:
        mark: the result.
        name: name of the check.
        seen: the state that was found, in words.
        todo: one thing to do; empty if there is nothing to do.
    """

    mark: Mark
    name: str
    seen: str
    todo: str = ""

    def __str__(self) -> str:
        """Return the finding's text, with the advice below it."""
        advice = f"\n     -> {self.todo}" if self.todo else ""
        return f"[{self.mark:>2}] {self.name}: {self.seen}{advice}"


@dataclass(frozen=True, slots=True)
class Setting:
    """Setting of a feature: a text, or ``None``. It is a trait of ``ChatMagics``.

    Args:
        name: name of the trait.
        help: its effect, in a few words.
        check: raises an :exc:`InputError` of one line for a value that cannot be used.
        is_number: whether a number is taken, too, as its text.
    """

    name: str
    help: str
    check: Callable[[str | None], object] = str
    is_number: bool = False


def one_of(words: tuple[str, ...]) -> Callable[[str | None], None]:
    """Return the check of a setting that has one of a few words, or none.

    Args:
        words: the words.
    """

    def check(value: str | None) -> None:
        # The value is not repeated: it might be a key.
        if value and value.strip() and value.strip().lower() not in words:
            raise InputError(f"it is one of {', '.join(words)}, or None.")

    return check


@dataclass(frozen=True, slots=True)
class Candidate:
    """Question that is to be sent, or shown as it would be sent.

    Args:
        prepared: the question.
        endpoint: the address that it would be sent to.
        is_sent: whether it is sent next; otherwise it is a preview.
        is_replayable: whether a recorded answer may be there, so that nothing would be sent.
    """

    prepared: Prepared
    endpoint: Endpoint
    is_sent: bool = True
    is_replayable: bool = False


class Feature:
    """Feature of asking; as a link it passes a request on. This one does nothing."""

    name: ClassVar[str] = ""
    """The name of its check in the doctor's block."""
    settings: ClassVar[tuple[Setting, ...]] = ()
    """Its settings."""
    is_standing: ClassVar[bool] = False
    """Whether its rows are among the settings of each question, which a panel shows, too."""

    def __call__(self, sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        """Answer a request, as a link of an exchange.

        Args:
            sending: the request.
            proceed: the next step.

        Raises:
            ChatError: it is refused; nothing was sent.
        """
        return proceed(sending)

    @classmethod
    def answer_file(cls, environment: Environment) -> AnswerFile | None:
        """Return the file of recorded answers that is chosen; ``None`` for none.

        Args:
            environment: the settings of the place.

        Raises:
            InputError: the settings contradict each other.
        """
        del environment
        return None

    def start_question(self, environment: Environment) -> bool:
        """Prepare itself for a question, and return whether it has answers of its own.

        Args:
            environment: the settings of the place.

        Raises:
            ChatError: a setting cannot be used; nothing was sent.
        """
        del environment
        return False

    def with_source(self, prepared: Prepared, settings: RequestSettings) -> Prepared:
        """Return a question with the source of its answer, if it is another than the service.

        Args:
            prepared: the question.
            settings: the settings of the question.

        Raises:
            ChatError: there is no answer; nothing was sent.
        """
        del settings
        return prepared

    def check(self, candidate: Candidate) -> None:
        """Raise an error if a question may not be sent; nothing is reserved.

        Args:
            candidate: the question.

        Raises:
            ChatError: it may not be sent; the error says why.
        """

    def as_sent(
        self, request: Request, question: RequestFacts, setup: ServiceSetup | None
    ) -> Request:
        """Return a request as this link sends it.

        Args:
            request: the request.
            question: its question.
            setup: the address and its settings; ``None`` if nothing is sent.
        """
        del question, setup
        return request

    def notes(
        self, request: Request, question: RequestFacts, setup: ServiceSetup | None
    ) -> list[str]:
        """Return lines on a request that :meth:`as_sent` changes.

        Args:
            request: the request.
            question: its question.
            setup: the address and its settings; ``None`` if nothing is sent.
        """
        del request, question, setup
        return []

    def take_reply(self, prepared: Prepared, reply: Reply) -> None:
        """Take note of a reply that the conversation keeps.

        Args:
            prepared: its question.
            reply: the reply, whole or in part.
        """

    def news(self) -> list[Note]:
        """Return lines to show while a reply is awaited, which no cell has shown; forget them."""
        return []

    def late_news(self, problem: BaseException | None) -> list[Note]:
        """Return lines to show under a reply, and forget them.

        Args:
            problem: the error of the ask; ``None`` for none.
        """
        del problem
        return []

    def complete(self) -> None:
        """Write what is not written yet; called between asks, and at the end of the session."""

    def status_rows(self, environment: ConfiguredEnvironment) -> list[tuple[str, str]]:
        """Return its rows of ``%chat``, each with a name and its words.

        Args:
            environment: the settings of the kernel.

        Raises:
            ChatError: a setting cannot be read; the error stands in the row.
        """
        del environment
        return []

    def examine(self, environment: ConfiguredEnvironment, place: Place) -> Iterator[DoctorLine]:
        """Yield its lines of the doctor's block.

        Args:
            environment: the settings to examine.
            place: the place that shows the lines.

        Raises:
            ChatError: a fault; the error becomes the line.
        """
        del environment, place
        return iter(())
