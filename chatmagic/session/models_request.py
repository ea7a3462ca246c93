"""Request for the list of a server's models, counted by the ledger and the budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from chatmagic._json import digest
from chatmagic.errors import NotRecordedError
from chatmagic.models import Reply
from chatmagic.session.ledger import Reservation

if TYPE_CHECKING:
    from chatmagic.client.client import ModelList
    from chatmagic.session.session import Session


def models(session: Session) -> tuple[ModelList, int | None]:
    """Ask the session's service for its models, while no other ask is under way.

    Returns:
        The list, and how many credits it took; ``None`` is unknown.

    Raises:
        ChatError: there is no list, or nothing may be sent.
    """
    return session.lock.alone("the list of models", lambda: _ask(session))


def _ask(session: Session) -> tuple[ModelList, int | None]:
    cassette = session.environment.cassette()
    if cassette is not None and cassette.config.mode == "replay":
        raise NotRecordedError(
            f"{cassette.config.name} is replayed here, and holds no list of models. Nothing was "
            "sent."
        )
    client = session.clients.client("service", session.environment.service)
    asked = Reservation(client.endpoint, "models", session.environment.cell()[0], digest("models"))
    reply, problem = Reply(""), cast("BaseException | None", None)
    try:
        session.ledger.begin(asked)
        listed = client.models()
        reply = Reply("", credits=listed.credits, origin=listed.origin)
    except BaseException as error:
        problem = error
        raise
    finally:
        session.ledger.end(asked, reply, problem)
    return listed, asked.took
