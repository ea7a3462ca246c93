"""Sources of answers: the service, or what a feature names in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from chatmagic.client.endpoint import ServiceSetup
from chatmagic.models import Reply
from chatmagic.session.environment import RequestSettings


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """AnswerSource of the answer to one question; this one is the service.

    Args:
        name: its name, under which its client is kept.
        notes: lines to show while the reply is awaited.
    """

    name: str = "service"
    notes: tuple[str, ...] = ()

    @property
    def is_service(self) -> bool:
        """Whether the service answers, so that something is sent there."""
        return self.name == SERVICE.name

    def setup(self, settings: RequestSettings) -> ServiceSetup:
        """Return its address and the settings of its requests.

        Args:
            settings: the settings of the question.

        Raises:
            ChatError: a setting cannot be used.
        """
        return settings.service

    def completed(self, reply: Reply[Any]) -> Reply[Any]:
        """Return a reply with the facts that the source alone knows.

        Args:
            reply: the reply.
        """
        return reply


SERVICE: Final = AnswerSource()
"""The service as the source of an answer."""


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """File of recorded answers that are given in place of the service's.

    Args:
        title: title of its row in a preview.
        name: name of the file.
        mode: its use: in a ``replay`` it alone answers, in a ``record`` it answers what it holds,
            and in a ``refresh`` it answers nothing.
        mode_from: the source of the mode, as messages name it.
    """

    title: str
    name: str
    mode: str
    mode_from: str

    @property
    def is_replayed(self) -> bool:
        """Whether it alone answers, so that nothing is sent."""
        return self.mode == "replay"

    @property
    def may_answer(self) -> bool:
        """Whether it answers the requests that it holds."""
        return self.mode != "refresh"
