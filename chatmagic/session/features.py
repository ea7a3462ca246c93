"""The list of features, in the order in which a question meets them as links.

A feature is one object in a module of this folder. The session, the settings of a kernel, ``%chat``
and the doctor read the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from chatmagic._fork import Lock
from chatmagic.advice import Note
from chatmagic.errors import ChatError
from chatmagic.session.budget_limit import Budgets
from chatmagic.session.environment import Environment, of_process
from chatmagic.session.feature import Feature, Setting
from chatmagic.session.habits import Habits
from chatmagic.session.key_note import KeyNote
from chatmagic.session.ledger import Ledger, Limit
from chatmagic.session.recorder import Recorder
from chatmagic.session.secret_check import SecretCheck
from chatmagic.session.source import AnswerFile


class Host(Protocol):
    """Session as its features see it."""

    @property
    def ledger(self) -> Ledger:
        """The ledger of the process."""

    @property
    def state_lock(self) -> Lock:
        """Lock for state that all its asks share."""

    def notify(self, line: Note) -> None:
        """Show a line to the user at once.

        Args:
            line: the line.
        """


FEATURES: Final[Mapping[type[Feature], Callable[[Host], Feature]]] = {
    KeyNote: lambda host: KeyNote(host.notify),
    SecretCheck: lambda _: SecretCheck(),
    Recorder: lambda host: Recorder(host.notify, host.state_lock),
    Habits: lambda host: Habits(host.notify),
    Budgets: lambda host: host.ledger.limit(Budgets),
    Ledger: lambda host: host.ledger,
}
"""The features, each with a function that returns the one of a session."""


def features_of(host: Host) -> tuple[Feature, ...]:
    """Return the features of a session.

    Args:
        host: the session.
    """
    return tuple(made(host) for made in FEATURES.values())


def new_ledger(environment: Callable[[], Environment] = of_process) -> Ledger:
    """Return an empty ledger with its limits.

    Args:
        environment: returns the environment of the process.
    """
    return Ledger(environment, [kind for kind in FEATURES if issubclass(kind, Limit)])


def answer_file(environment: Environment) -> AnswerFile | None:
    """Return the file of recorded answers that is chosen in a place; ``None`` for none.

    Args:
        environment: the settings of the place.

    Raises:
        InputError: the settings contradict each other.
    """
    chosen = (kind.answer_file(environment) for kind in FEATURES)
    return next(filter(None, chosen), None)


def replayed_file(environment: Environment) -> AnswerFile | None:
    """Return the file that is replayed in a place, so that nothing is sent; ``None`` for none.

    Args:
        environment: the settings of the place.

    Raises:
        InputError: the settings contradict each other.
    """
    chosen = answer_file(environment)
    return chosen if chosen is not None and chosen.is_replayed else None


def sends_nothing(environment: Environment) -> bool:
    """Return whether nothing is sent from a place, also because a setting is wrong.

    Args:
        environment: the settings of the place.
    """
    try:
        return replayed_file(environment) is not None
    except ChatError:
        return True


def all_settings() -> list[Setting]:
    """Return the settings of all features."""
    return [setting for kind in FEATURES for setting in kind.settings]
