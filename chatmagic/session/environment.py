"""Environment of a session: the settings of its place; here those of plain Python."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any, Final, TypeVar

from chatmagic import _started_emulators
from chatmagic._cached import cached_property
from chatmagic.advice import Note, Place, note_at
from chatmagic.client import config
from chatmagic.client.endpoint import NO_SERVICE, Endpoint, ServiceSetup, request_fields
from chatmagic.conversation.cell_order import Layout
from chatmagic.errors import ChatError, InputError
from chatmagic.protocol.url import EMULATOR
from chatmagic.safe_text import one_line
from chatmagic.session.map.progress import BarView, PrintedBar

_ChoiceT = TypeVar("_ChoiceT")
_OURS: Final = __name__.partition(".")[0]


class RequestSettings:
    """Settings of one question; each is read once, when it is first needed.

    Args:
        environment: the source of the settings.
        given: the setup of a client of the user's own, which precedes them; ``None`` for none.
    """

    def __init__(self, environment: Environment, given: ServiceSetup | None = None) -> None:
        """Read nothing yet."""
        self.given = given
        self._environment = environment

    @cached_property
    def service(self) -> ServiceSetup:
        """The endpoint and its settings; read only if no cassette answers.

        Raises:
            ChatError: no address is known, or a setting cannot be used.
        """
        return self.given or self._configured_service()

    def _configured_service(self) -> ServiceSetup:
        """Return the endpoint of the environment and its settings."""
        return self._environment.service()

    @cached_property
    def without_service(self) -> ServiceSetup:
        """The settings of a request that no service answers, for which no address need be known.

        Raises:
            InputError: a setting cannot be used.
        """
        return ServiceSetup(NO_SERVICE, extra_body=self._environment.fields())


class Environment:
    """Settings of a session's place, read again at each ask, so that changes take effect.

    This class is for a plain Python process, which has only its variables. A kernel has
    :class:`chatmagic.jupyter.kernel.Kernel`.
    """

    place: Place = "python"
    """The place that shows what the session says."""

    def current(self, given: ServiceSetup | None = None) -> RequestSettings:
        """Return the settings of a question that is asked now.

        Args:
            given: the setup of a client of the user's own; ``None`` for none.
        """
        return RequestSettings(self, given)

    def service(self) -> ServiceSetup:
        """Return the endpoint and its settings; called only if no cassette answers.

        Raises:
            ChatError: no address is known, or a setting cannot be used.
        """
        return ServiceSetup(config.resolve_for_client(), extra_body=self.fields())

    def address(self) -> Endpoint:
        """Return the address of requests, without a key.

        Raises:
            ChatError: nothing is connected, or it cannot be used.
        """
        return config.first_address([config.environment_setting(config.URL_VARIABLE)])

    def fields(self) -> dict[str, Any]:
        """Return the fields that requests have beside the interface's own, such as the model.

        Raises:
            InputError: two models are named.
        """
        return request_fields(None, config.model_of_environment())

    def cell(self) -> tuple[str | None, str | None]:
        """Return the hash of the running cell and the identity of its execution, if known.

        Raises:
            InputError: the cell may not ask.
        """
        return None, None

    def layout(self, owner: str | None) -> Layout | None:
        """Return the order of the cells on the page of a cell; ``None`` if no page reports it.

        Args:
            owner: the hash of the cell; ``None`` takes the page that reported last.
        """
        del owner
        return None

    def named(self, name: str) -> object:
        """Return the value of a name in the user's namespace.

        Args:
            name: an identifier, or several with dots between them.

        Raises:
            InputError: there is no such name.
        """
        raise InputError(
            f"The schema {one_line(name)} is not known here. Nothing was sent.",
            hint="Give the schema itself: ask(…, schema=…).",
        )

    def has_person(self) -> bool:
        """Return whether a person has asked here, who does what a program would not."""
        return False

    def is_watched(self) -> bool:
        """Return whether a person sees printed text while it is printed."""
        return sys.stderr is not None and sys.stderr.isatty()

    def bar_view(self) -> BarView:
        """Return the place of a map's bar, for a person who sees printed text."""
        return PrintedBar(sys.stderr)

    def setting(self, name: str) -> str | None:
        """Return the value of a feature's setting, as it was typed; ``None`` for none.

        Args:
            name: the setting's name.
        """
        del name
        return None

    def command_choice(self, kind: type[_ChoiceT]) -> _ChoiceT | None:
        """Return what a feature's command chose last; ``None`` before its first use.

        Args:
            kind: the class of the choice.
        """
        del kind
        return None

    def set_since_chosen(self, name: str) -> bool:
        """Return whether a feature's setting was set after its command chose.

        Args:
            name: the setting's name.
        """
        del name
        return False

    def is_practice(self) -> bool:
        """Return whether questions go to an emulator of this process, which no budget counts."""
        try:
            address = self.address()
        except ChatError:
            return False
        if address.base_url == EMULATOR:
            return True
        return _started_emulators.is_one(address.origin)

    def notify(self, line: Note) -> None:
        """Show a line to the user, beside the reply, each time.

        Args:
            line: the line, which is shown in the words of this place.
        """
        file, number = _user_line()
        # ``warnings.warn`` shows the same words of the same line only once.
        warnings.warn_explicit(note_at(line, self.place), UserWarning, file, number)


def _user_line() -> tuple[str, int]:
    """Return the file and the line number of the code that called this package."""
    frame = inspect.currentframe()
    while frame is not None and _package(frame.f_globals.get("__name__", "")) == _OURS:
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _package(module: str) -> str:
    """Return the package of a module."""
    return module.partition(".")[0]


def of_process() -> Environment:
    """Return the kernel's environment; without a kernel, the environment of plain Python."""
    return config.kernel or Environment()
