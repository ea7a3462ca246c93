"""Exchange of a request for its answer, through links: the only place from which one is sent.

A link takes a request on its way, and the next link. It may change the request, answer it itself,
refuse it, and look at the answer. The last step sends. The answer holds what came, and the error
that ended it early; an error that a link raises means that nothing was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal

from chatmagic.client.client import Client
from chatmagic.client.halt import Halt
from chatmagic.client.transport import Transport
from chatmagic.conversation.question import Entry as AskEntry
from chatmagic.conversation.question import RequestFacts
from chatmagic.errors import ChatInterrupted
from chatmagic.models import Reply
from chatmagic.protocol.request import Request
from chatmagic.session.source import SERVICE, AnswerSource

Entry = Literal[AskEntry, "map", "models", "doctor"]
"""Place of a request."""


class Receiver:
    """Receiver of an answer while it arrives; this one does nothing."""

    def sent(self) -> None:
        """Take note that the request goes to the network now."""

    def begun(self) -> None:
        """Take note that the headers of the answer have arrived."""

    def thought(self, text: str) -> None:
        """Take a fragment of the reasoning.

        Args:
            text: the fragment.
        """

    def fragment(self, text: str) -> None:
        """Take a fragment of the reply.

        Args:
            text: the fragment.
        """


@dataclass(frozen=True, slots=True)
class Sending:
    """Request on its way to the service.

    Args:
        client: the client that sends it.
        request: the request; ``None`` asks for the server's list of models.
        digest: digest of the request, in the ledger.
        entry: place of the request.
        cell: hash of the cell; ``None`` without one.
        halt: stops it from another thread.
        receiver: takes the answer while it arrives.
        question: the question; ``None`` for a request that is made by chatmagic.
        source: the source of the answer.
        through: layer between the client and its transport; ``None`` for none.
    """

    client: Client
    request: Request | None
    digest: str
    entry: Entry
    cell: str | None
    _: KW_ONLY
    halt: Halt = field(default_factory=Halt)
    receiver: Receiver = field(default_factory=Receiver)
    question: RequestFacts | None = None
    source: AnswerSource = SERVICE
    through: Callable[[Transport], Transport] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a request, as far as it has come.

    Args:
        reply: the reply; without text if none began.
        problem: the error that ended it early; ``None`` for a whole answer.
        took: its cost in credits; ``None`` if unknown.
        is_sent: whether the request may have reached the service.
        has_removed_key: whether it held a key, which was removed.
    """

    reply: Reply[Any]
    problem: BaseException | None = None
    took: int | None = None
    is_sent: bool = False
    has_removed_key: bool = False

    def whole(self) -> Reply[Any]:
        """Return the whole reply.

        Raises:
            BaseException: the error that ended it early.
        """
        if self.problem is not None:
            raise self.problem
        return self.reply


Link = Callable[[Sending, Callable[[Sending], Answer]], Answer]
"""Step of an exchange, which is called with the request and with the next step."""


def exchange(sending: Sending, links: Sequence[Link]) -> Answer:
    """Return the answer to a request.

    Args:
        sending: the request.
        links: the links that it goes through, the first one first.

    Raises:
        ChatError: a link refuses it; nothing was sent.
        ChatInterrupted: it was stopped before it was sent.
    """
    return joined(links)(sending)


def joined(links: Sequence[Link]) -> Callable[[Sending], Answer]:
    """Return one step that consists of links and of the sending behind them.

    Args:
        links: the links, the first one first.
    """
    step = send_request
    for link in reversed(links):
        step = partial(_before, link, step)
    return step


def _before(link: Link, proceed: Callable[[Sending], Answer], sending: Sending) -> Answer:
    """Return the answer of a link that goes before a step."""
    return link(sending, proceed)


def send_request(sending: Sending) -> Answer:
    """Send a request once, and return its answer; the part that came is kept whatever ended it.

    Args:
        sending: the request.

    Raises:
        ChatError: nothing may be sent.
    """
    client = sending.client
    receiver = sending.receiver
    halt = sending.halt
    if sending.request is None:
        stream: Any = client.list_models(halt)
    else:
        stream = client.send(sending.request, halt, sending.through)
        stream.on_thoughts(receiver.thought)
    try:
        receiver.sent()
        with stream as fragments:
            receiver.begun()
            for fragment in fragments:
                receiver.fragment(fragment)
                if halt.reason == "stop":
                    # For a transport that ignores the halt, or that has the whole reply.
                    raise ChatInterrupted("Stopped.", reply=stream.reply)  # noqa: TRY301
    except BaseException as error:  # noqa: BLE001 - whoever asked raises it
        return Answer(stream.reply, error, has_removed_key=stream.has_removed_key)
    return Answer(stream.reply, has_removed_key=stream.has_removed_key)
