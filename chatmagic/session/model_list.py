"""The list of a service's models, asked for as a request of a session."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from chatmagic._json import digest
from chatmagic.client.halt import Halt
from chatmagic.client.listed_models import ModelList
from chatmagic.errors import NotRecordedError
from chatmagic.session.ask_lock import AskLock
from chatmagic.session.client_pool import ClientPool
from chatmagic.session.environment import Environment
from chatmagic.session.exchange import Sending, exchange
from chatmagic.session.feature import Feature
from chatmagic.session.features import replayed_file


class ListingSession(Protocol):
    """Session as the list of its models sees it."""

    clients: ClientPool
    environment: Environment
    features: tuple[Feature, ...]
    lock: AskLock


def listed_models(session: ListingSession) -> tuple[ModelList, int | None]:
    """Return the models of a session's service, and the cost of the list in credits.

    The list is asked for while no question is under way. The cost is ``None`` if it is unknown.

    Args:
        session: the session, whose ledger counts the request.

    Raises:
        ChatError: there is no list, or nothing may be sent.
    """
    file = replayed_file(session.environment)
    if file is not None:
        raise NotRecordedError(
            f"{file.name} is replayed here, and holds no list of models. Nothing was sent."
        )
    halt = Halt()
    return session.lock.alone("the list of models", partial(_asked, session, halt), halt)


def _asked(session: ListingSession, halt: Halt) -> tuple[ModelList, int | None]:
    """Return the list as the service answers it, and its cost."""
    client = session.clients.client("service", session.environment.service)
    cell, _ = session.environment.cell()
    answer = exchange(
        Sending(client, None, digest("models"), "models", cell, halt=halt), session.features
    )
    listed: ModelList = answer.whole().parsed
    return listed, answer.took
