"""The environment of a kernel: settings that its user configures."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from chatmagic._cached import cached_property
from chatmagic.advice import ADDRESS_CHOICE, Note, Place, note_at
from chatmagic.client import config, key_store, servers
from chatmagic.client.endpoint import (
    ADDRESS_SETTINGS,
    AUTH_VARIABLE,
    NO_SERVICE,
    Endpoint,
    ServiceSetup,
    request_fields,
    request_headers,
)
from chatmagic.errors import ChatError, InputError
from chatmagic.protocol import url
from chatmagic.protocol.api_key import Secret
from chatmagic.session.environment import Environment, RequestSettings

_ChoiceT = TypeVar("_ChoiceT")


class ConfiguredEnvironment(Environment):
    """Environment with settings, which are read at each use: a kernel's, or a shell's.

    Args:
        settings: the settings, such as :class:`chatmagic.jupyter.settings.KernelSettings`.
    """

    place: Place = "notebook"

    def __init__(self, settings: Any) -> None:
        """Choose and start nothing yet."""
        self.settings = settings
        self.chosen: str | None = None
        """The address that ``%chat_connect``, or an option of a command, chose."""
        self.chosen_by = "%chat_connect"
        """Source of the choice, in words."""
        self.emulator_clock: datetime | None = None
        """The time at which the clock of the emulator stands still; ``None`` if it does not."""
        self.typed: dict[str, Secret] = {}
        """The keys that were typed here, by the place that each belongs to."""
        self.agreed: dict[str, str] = {}
        """The variables whose key a person lets go to a place, by that place."""
        self._choices: dict[type, Any] = {}
        self._emulator: Any = None
        self._emulator_at = "", Secret("none")

    def choose(
        self, address: str | None, by: str, model: str | None, clock: datetime | None = None
    ) -> None:
        """Ask at an address from now on, for a model.

        Args:
            address: the address, or the name of a server; ``None`` is the one that is set.
            by: source of the choice, in words.
            model: the model's name; ``None`` is the one that is set for the address.
            clock: as :attr:`emulator_clock`.
        """
        self.chosen = address
        self.emulator_clock = clock
        self.chosen_by = by
        if model is not None:
            self.settings.model = model
            self.belong_here({"model"})

    def resume(self, earlier: ConfiguredEnvironment) -> None:
        """Keep what was chosen in an earlier environment of the same place, and its keys.

        Args:
            earlier: the environment, whose conversation continues, too.
        """
        self.chosen = earlier.chosen
        self.chosen_by = earlier.chosen_by
        self.emulator_clock = earlier.emulator_clock
        self.typed = earlier.typed
        self.agreed = earlier.agreed
        self._choices = earlier._choices

    def has_person(self) -> bool:
        """Return whether a person has asked here, who does what a program would not."""
        return self.is_watched()

    def notify(self, line: Note) -> None:
        """Print a line; unlike a warning, it fails no cell.

        Args:
            line: the line, which is shown in the words of this place.
        """
        print(note_at(line, self.place), file=sys.stderr)  # noqa: T201 - for a person

    def current(self, given: ServiceSetup | None = None) -> AddressSettings:
        """Return the settings of a question that is asked now.

        Args:
            given: the setup of a client of the user's own; ``None`` for none.
        """
        return AddressSettings(self, given)

    def service(self) -> ServiceSetup:
        """Return the endpoint of the session and its present settings.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        return self.current().service

    def setting(self, name: str) -> str | None:
        """Return the value of a feature's setting, as it was typed; ``None`` for none.

        Args:
            name: the setting's name.
        """
        value: str | None = getattr(self.settings, name, None)
        return value

    def start_emulator(self) -> tuple[str, Secret]:
        """Start the emulator of this place, once; return its address, and a key of its own."""
        # Loaded at its first use.
        from chatmagic.emulator import server  # noqa: PLC0415

        settings = replace(server.FRESH, now=self.emulator_clock)
        if self._emulator is None:
            self._emulator = server.Emulator(settings)
            self._emulator_at = self._emulator.start(), config.practice_key()
        self._emulator.settings = settings
        return self._emulator_at

    def choose_by_command(self, choice: object) -> None:
        """Keep what a feature's command chose, which counts before the settings of now.

        Args:
            choice: the choice; the only one of its class.
        """
        self._choices[type(choice)] = choice
        self.settings.changed_later.clear()

    def command_choice(self, kind: type[_ChoiceT]) -> _ChoiceT | None:
        """Return what a feature's command chose last; ``None`` before its first use.

        Args:
            kind: the class of the choice.
        """
        choice: _ChoiceT | None = self._choices.get(kind)
        return choice

    def set_since_chosen(self, name: str) -> bool:
        """Return whether a feature's setting was set after its command chose.

        Args:
            name: the setting's name.
        """
        return name in self.settings.changed_later

    def address(self) -> Endpoint:
        """Return the address that takes precedence, without a key.

        Raises:
            ChatError: nothing is connected, or it cannot be used.
        """
        return self.current().address

    def fields(self) -> dict[str, Any]:
        """Return the fields that requests have beside the interface's own, such as the model.

        Raises:
            InputError: two models are named.
        """
        return self.current().extra_body

    def endpoint(self) -> Endpoint:
        """Return the present address of requests, with its key.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        return self.current().endpoint

    def model(self) -> str | None:
        """Return the model that requests name; ``None`` if none was set for this address."""
        named = self.current().extra_body.get("model")
        return None if named is None else str(named)

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the known keys of all addresses."""
        try:
            return self.endpoint().known_keys
        except ChatError:
            return (*config.known_keys(), *self.typed.values())

    def settings_of_other_addresses(self) -> list[str]:
        """Return the names of the settings that belong to another address."""
        current = self.current()
        return [
            name
            for name in ADDRESS_SETTINGS
            if getattr(self.settings, name) and current.of_this_address(name) is None
        ]

    def belong_here(self, names: Iterable[str]) -> None:
        """Bind settings to the present address, or else to the first one.

        Args:
            names: names of settings; those that belong to no address are left alone.
        """
        here = self.current().here
        self.settings.homes.update((name, here) for name in ADDRESS_SETTINGS if name in names)

    def unused(self) -> Note | None:
        """Return a line about an address that ``%config`` set and that is not used."""
        base_url = self.settings.base_url
        if not base_url or base_url == self.settings.file_url:
            return None
        at = self.address()
        if _normalized(at.base_url) == _normalized(base_url):
            return None
        return (
            f"ChatMagics.base_url is not used: {at.url_from} names another address. "
            + ADDRESS_CHOICE
        )

    def close(self) -> None:
        """Stop the emulator."""
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None


class AddressSettings(RequestSettings):
    """Settings of one question in a configured place; its address is resolved once.

    Args:
        environment: the source of the settings.
        given: the setup of a client of the user's own; ``None`` for none.
    """

    def __init__(
        self, environment: ConfiguredEnvironment, given: ServiceSetup | None = None
    ) -> None:
        """Resolve nothing yet."""
        super().__init__(environment, given)
        self._configured = environment
        self._settings = environment.settings

    @cached_property
    def address(self) -> Endpoint:
        """The address that takes precedence, without a key.

        Raises:
            ChatError: nothing is connected, or it cannot be used.
        """
        base_url = self._settings.base_url
        file_url = self._settings.file_url
        return config.first_address(
            [
                (self._configured.chosen, self._configured.chosen_by),
                config.environment_setting(config.URL_VARIABLE),
                (base_url if base_url != file_url else None, "%config"),
                (file_url, "configuration file"),
            ]
        )

    @cached_property
    def here(self) -> str | None:
        """The address of requests in one spelling; ``None`` while nothing is connected."""
        with contextlib.suppress(ChatError):
            return _normalized(self.address.base_url)
        return None

    @cached_property
    def endpoint(self) -> Endpoint:
        """The address of requests, with its key.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        return config.resolve_endpoint(
            self.address,
            [config.environment_setting(AUTH_VARIABLE), (self._settings.auth, "auth")],
            file_url=self._settings.file_url,
            typed=self._configured.typed,
            agreed=self._configured.agreed,
            open_store=key_store.open_store,
        )

    def _configured_service(self) -> ServiceSetup:
        """Return the endpoint of the environment and its settings.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        endpoint = config.with_local_emulator(self.endpoint)
        for warning in config.new_warnings(endpoint.warnings):
            self._environment.notify(warning)
        return ServiceSetup(
            endpoint,
            timeout=self._settings.timeout,
            extra_body=self.extra_body,
            extra_headers=request_headers(self.of_this_address("extra_headers")),
            system_role=bool(self.of_this_address("system_role")),
            stream_usage=self._settings.stream_usage,
            response_format=self._settings.response_format,
            limits=self._settings.limits,
        )

    @cached_property
    def without_service(self) -> ServiceSetup:
        """The settings of a request that no service answers, for which no address need be known.

        Raises:
            InputError: a setting cannot be used.
        """
        return ServiceSetup(
            NO_SERVICE,
            timeout=self._settings.timeout,
            extra_body=self.extra_body,
            system_role=bool(self.of_this_address("system_role")),
            limits=self._settings.limits,
        )

    @cached_property
    def extra_body(self) -> dict[str, Any]:
        """The fields that requests have beside the interface's own.

        Raises:
            InputError: two models are named.
        """
        fields = self._settings.extra_body
        model = self.of_this_address("model")
        # The environment's model belongs to its address, and a setting counts before it.
        if not model and "model" not in (fields or {}):
            at = _normalized(os.environ.get(config.URL_VARIABLE, ""))
            model = config.model_of_environment() if at in {"", self.here} else None
        return request_fields(fields, model)

    def of_this_address(self, name: str) -> Any:
        """Return a setting, if it belongs to the present address; else ``None``.

        The settings of a file belong to the file's address, or to the environment's. Settings that
        are older than the first address belong to that address.

        Args:
            name: the setting's name.
        """
        value = getattr(self._settings, name)
        return value if value and self._home_of(name) == self.here else None

    def _home_of(self, name: str) -> str | None:
        """Return the address that a setting belongs to, which its first use decides."""
        homes: dict[str, str | None] = self._settings.homes
        if homes.get(name) is None:
            first = ""
            if name not in homes:
                first = self._settings.file_url or os.environ.get(config.URL_VARIABLE, "")
            homes[name] = _normalized(first) if first.strip() else self.here
        return homes[name]


def _normalized(base_url: str) -> str:
    """Return an address in one spelling; empty for one that cannot be used."""
    if base_url.strip().lower() == url.EMULATOR:
        return url.EMULATOR
    try:
        return url.request_url(servers.server_address(base_url))
    except InputError:
        return ""
