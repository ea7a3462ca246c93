"""State that the asks of one session share, from one to the next."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chatmagic.cassette.cassette import ActiveCassette
from chatmagic.client.client import Client
from chatmagic.client.credit_tracker import CreditState
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.request_facts import TokenRate
from chatmagic.session.environment import PlainPython
from chatmagic.session.events import Followers
from chatmagic.session.ledger import Ledger
from chatmagic.session.secret_check import SecretCheck
from chatmagic.session.worker import AskLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatmagic.cassette.cassette import AnswerSource
    from chatmagic.client.endpoint import ServiceSetup
    from chatmagic.conversation.cell_order import Layout
    from chatmagic.models import Reply
    from chatmagic.protocol.wire import Request
    from chatmagic.session.environment import Environment
    from chatmagic.session.events import Ask


class ClientPool:
    """The clients that a session asks with, and the connections that they keep.

    Args:
        given: the client for the service; ``None`` makes one as the environment says.
    """

    def __init__(self, given: Client | None = None) -> None:
        """Start without any."""
        self.given = given
        self.latest = given
        """The client of the latest ask; ``None`` before the first."""
        self._made: dict[AnswerSource, Client] = {}

    @property
    def credit_state(self) -> CreditState:
        """The credits as the client of the latest ask knows them."""
        return CreditState() if self.latest is None else self.latest.credit_tracker.state

    def client(self, source: AnswerSource, setup: Callable[[], ServiceSetup]) -> Client:
        """Return the client for an ask: the one that is kept, where its setup still holds.

        Args:
            source: what answers.
            setup: returns where and how to ask; not called for the client that was given.

        Raises:
            ChatError: what is set cannot be used.
        """
        if source == "service" and self.given is not None:
            self.latest = self.given
            return self.given
        new, client = setup(), self._made.get(source)
        if client is not None and new.endpoint.is_same_service(client.endpoint):
            client.retune(new)
        else:
            if client is not None:
                client.close()
            client = Client.connected(new)
        self._made[source] = self.latest = client
        return client

    def forget(self) -> None:
        """Close all; the next ask makes its own."""
        self.close()
        self._made.clear()
        self.latest = self.given

    def close(self) -> None:
        """Close the connections that are kept."""
        for client in (self.given, *self._made.values()):
            if client is not None:
                client.close()


class SessionState:
    """State that the asks of one session share.

    Args:
        client: the client that asks; ``None`` makes one as the environment says at each ask.
        environment: where the session runs; ``None`` is plain Python.
    """

    ledger = Ledger()
    """The requests of this process, ``rows`` and ``to_dataframe()``: its budgets hold for all its
    sessions together."""

    def __init__(
        self, client: Client | None = None, *, environment: Environment | None = None
    ) -> None:
        """Start an empty conversation; nothing is sent."""
        self.conversation = Conversation()
        self.cassette = ActiveCassette()
        self.environment: Environment = environment or PlainPython()
        """Where the session runs; another one counts from the next ask on."""
        self.clients = ClientPool(client)
        self.took: int | None = None
        """About how many credits the latest turn took; ``None`` is unknown."""
        self.token_rate: TokenRate | None = None
        """Tokens of the latest request whose service told them; ``None`` before the first."""
        self.followers = Followers()
        self.lock = AskLock()
        self.state_lock = threading.RLock()
        """Held for a moment where an ask reads or changes what others under way share; in
        workers alone, as an interrupt could leave it taken."""
        self.secret_check = SecretCheck()

    def threads_of(self, ask: Ask) -> list[str]:
        """Return the name of the thread that a question is asked in, then those that share turns.

        What is asked in these, a question carries, or would carry, so they are not asked at once.

        Args:
            ask: the question.

        Raises:
            InputError: it asks a turn again that is not in the conversation any more.
        """
        conversation, layout = self.conversation, self.layout_of(ask)
        order = ask.order if layout is None else layout.order
        name, threads = ask.window_in(conversation, order).thread, conversation.threads
        own = {turn.number for turn in threads.get(name, ())}
        others = (
            other
            for other, turns in threads.items()
            if other != name and any(turn.number in own for turn in turns)
        )
        return [name, *others]

    def layout_of(self, ask: Ask) -> Layout | None:
        """Return the order of the cells that an ask goes by; ``None`` where it brings its own.

        Args:
            ask: the ask.
        """
        if not ask.history or ask.order is not None:
            return None
        # The panel is in no page's list; the page that reported last counts.
        return self.environment.layout(None if ask.entry == "panel" else ask.owner)


def note_tokens(session: SessionState, request: Request, reply: Reply) -> None:
    """Note the tokens that a service counted for a request, where its answer told them."""
    if reply.usage is not None and reply.usage.prompt_tokens is not None:
        size = sum(len(message.content) for message in request.messages)
        session.token_rate = TokenRate(size, reply.usage.prompt_tokens)
