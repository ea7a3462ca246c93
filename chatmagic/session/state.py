"""State that the asks of one session share, from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmagic.cassette.cassette import ActiveCassette
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.request_facts import TokenRate
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.environment import PlainPython
from chatmagic.session.events import Followers
from chatmagic.session.ledger import Ledger
from chatmagic.session.lock import AskLock
from chatmagic.session.secret_check import SecretCheck

if TYPE_CHECKING:
    from chatmagic.client.client import Client
    from chatmagic.models import Reply
    from chatmagic.protocol.wire import Request
    from chatmagic.session.environment import Environment
    from chatmagic.session.ledger import Reservation


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
        self.request: Reservation | None = None
        """The latest request of an ask; ``None`` where none was sent."""
        self.token_rate: TokenRate | None = None
        """Tokens of the latest request whose service told them; ``None`` before the first."""
        self.followers = Followers()
        self.lock = AskLock()
        self.secret_check = SecretCheck()


def note_tokens(session: SessionState, request: Request, reply: Reply) -> None:
    """Note the tokens that a service counted for a request, where its answer told them."""
    if reply.usage is not None and reply.usage.prompt_tokens is not None:
        size = sum(len(message.content) for message in request.messages)
        session.token_rate = TokenRate(size, reply.usage.prompt_tokens)
