"""Environments of a session, each with the settings of a place, and the session's clients."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from chatmagic._cached import cached_property
from chatmagic.advice import ADDRESS_CHOICE, Note, Place, note_at
from chatmagic.cassette.cassette import CASSETTE, AnswerSource
from chatmagic.cassette.choice import CassetteConfig, CassetteOptions, resolve
from chatmagic.client import config, key_store
from chatmagic.client.client import Client
from chatmagic.client.endpoint import (
    ADDRESS_SETTINGS,
    AUTH_VARIABLE,
    Endpoint,
    ServiceSetup,
    request_fields,
    request_headers,
)
from chatmagic.client.stream import CreditTracker
from chatmagic.conversation.cell_order import Layout
from chatmagic.errors import ChatError, InputError
from chatmagic.protocol import url
from chatmagic.protocol.api_key import Secret
from chatmagic.safe_text import one_line


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

    @property
    def before_address(self) -> ServiceSetup | CassetteConfig:
        """The settings that a request has before its address is known.

        Raises:
            ChatError: no address is known, or a setting cannot be used.
        """
        return self.given or self.cassette or self.service

    @cached_property
    def cassette(self) -> CassetteConfig | None:
        """The cassette that is chosen; ``None`` for none.

        Raises:
            InputError: the settings contradict each other.
        """
        return self._environment.cassette()


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
        endpoint = config.resolve_for_client()
        fields = request_fields(None, config.model_of_environment())
        return ServiceSetup(endpoint, extra_body=fields)

    def cassette(self) -> CassetteConfig | None:
        """Return the cassette that is chosen; ``None`` for none.

        Raises:
            InputError: the settings contradict each other.
        """
        choice = resolve(os.environ)
        fields = request_fields(None, config.model_of_environment())
        return None if choice is None else replace(choice, extra_body=fields)

    def replayed(self) -> CassetteConfig | None:
        """Return the cassette that is replayed, so that nothing is sent; ``None`` for none.

        Raises:
            InputError: the settings contradict each other.
        """
        choice = self.cassette()
        return choice if choice is not None and choice.mode == "replay" else None

    def is_replaying(self) -> bool:
        """Return whether nothing is sent, or a setting is wrong."""
        try:
            return self.replayed() is not None
        except ChatError:
            return True

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

    def is_watched(self) -> bool:
        """Return whether a person sees printed text while it is printed."""
        return sys.stderr is not None and sys.stderr.isatty()

    def setting(self, name: str) -> str | None:
        """Return the value of a feature's setting, as it was typed; ``None`` for none.

        Args:
            name: the setting's name.
        """
        del name
        return None

    def notify(self, line: Note) -> None:
        """Show a line to the user, beside the reply.

        Args:
            line: the line, which is shown in the words of this place.
        """
        warnings.warn(note_at(line, self.place), stacklevel=2)


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
        self.typed: dict[str, Secret] = {}
        """The keys that were typed here, by the place that each belongs to."""
        self.agreed: dict[str, str] = {}
        """The variables whose key a person lets go to a place, by that place."""
        self._emulator: Any = None
        self._emulator_at = "", Secret("none")

    def choose(self, address: str | None, by: str, model: str | None) -> None:
        """Ask at an address from now on, for a model.

        Args:
            address: the address, or the name of a server; ``None`` is the one that is set.
            by: source of the choice, in words.
            model: the model's name; ``None`` is the one that is set for the address.
        """
        self.chosen = address
        self.chosen_by = by
        if model is not None:
            self.settings.model = model
            self.belong_here({"model"})

    def resume(self, earlier: ConfiguredEnvironment) -> None:
        """Keep the connection of an earlier environment of the same place, and the keys for it.

        Args:
            earlier: the environment, whose conversation continues, too.
        """
        self.chosen = earlier.chosen
        self.chosen_by = earlier.chosen_by
        self.typed = earlier.typed
        self.agreed = earlier.agreed

    def has_person(self) -> bool:
        """Return whether a person has asked here, so that a cassette records by itself."""
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

    def cassette(self) -> CassetteConfig | None:
        """Return the cassette that the session inserts now; ``None`` for none.

        Raises:
            InputError: the settings contradict each other.
        """
        return self.current().cassette

    def setting(self, name: str) -> str | None:
        """Return the value of a feature's setting, as it was typed; ``None`` for none.

        Args:
            name: the setting's name.
        """
        value: str | None = getattr(self.settings, name, None)
        return value

    def start_emulator(self) -> tuple[str, Secret]:
        """Start the emulator of this place, once; return its address, and a key of its own."""
        if self._emulator is None:
            # Loaded at its first use.
            from chatmagic.emulator import server  # noqa: PLC0415

            self._emulator = server.Emulator(server.FRESH)
            self._emulator_at = self._emulator.start(), Secret(f"practice-{os.urandom(8).hex()}")
        return self._emulator_at

    def choice(self) -> CassetteConfig | None:
        """Return the cassette that is chosen now; ``None`` for none.

        Raises:
            InputError: the settings contradict each other.
        """
        return resolve(
            os.environ,
            self.settings.chosen_cassette,
            CassetteOptions(self.setting("cassette"), self.setting("mode")),
            changed_later=self.settings.changed_later & {"cassette", "mode"},
            interactive=self.has_person(),
        )

    def address(self) -> Endpoint:
        """Return the address that takes precedence, without a key.

        Raises:
            ChatError: nothing is connected, or it cannot be used.
        """
        return self.current().address

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

    def elsewhere(self) -> list[str]:
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
    def cassette(self) -> CassetteConfig | None:
        """The cassette that the session inserts now; ``None`` for none.

        Raises:
            InputError: the settings contradict each other.
        """
        choice = self._configured.choice()
        if choice is None:
            return None
        return replace(
            choice,
            timeout=self._settings.timeout,
            limits=self._settings.limits,
            extra_body=self.extra_body,
            system_role=bool(self.of_this_address("system_role")),
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
        if not value:
            return None
        homes = self._settings.homes
        own = ""
        if name not in homes:
            own = self._settings.file_url or os.environ.get(config.URL_VARIABLE, "")
        if homes.get(name) is None:
            homes[name] = _normalized(own) if own.strip() else self.here
        return value if homes[name] == self.here else None


def _normalized(base_url: str) -> str:
    """Return an address in one spelling; empty for one that cannot be used."""
    if base_url.strip().lower() == url.EMULATOR:
        return url.EMULATOR
    try:
        return url.request_url(config.server_address(base_url))
    except InputError:
        return ""


def of_process() -> Environment:
    """Return the kernel's environment; without a kernel, the environment of plain Python."""
    return config.kernel or Environment()


def setup_for(
    source: AnswerSource, environment: Environment, cassette: CassetteConfig | None
) -> ServiceSetup:
    """Return the address and the options of a source of answers.

    Args:
        source: the service, the emulator or the cassette.
        environment: the source of the service and the emulator.
        cassette: the cassette that is chosen; ``None`` for none.

    Raises:
        ChatError: a setting cannot be used.
    """
    if source == "service" or cassette is None:
        return environment.service()
    endpoint = CASSETTE
    if source == "emulator":
        practice = config.first_address([(url.EMULATOR, "--else emulator")])
        endpoint = config.with_local_emulator(practice)
    return ServiceSetup(endpoint, cassette.timeout, cassette.extra_body, limits=cassette.limits)


class ClientPool:
    """The clients that a session asks with, and the connections that they keep.

    Args:
        given: the client for the service; ``None`` makes one by the environment.
    """

    def __init__(self, given: Client | None = None) -> None:
        """Start without other clients."""
        self.given = given
        self.latest = given
        """The client of the latest ask; ``None`` before the first."""
        self._made: dict[AnswerSource, Client] = {}

    @property
    def credit_state(self) -> CreditTracker:
        """The credits that the client of the latest ask knows."""
        return CreditTracker() if self.latest is None else self.latest.credit_tracker

    def client(self, source: AnswerSource, setup: Callable[[], ServiceSetup]) -> Client:
        """Return the client for an ask: the kept one, if its setup is still the same.

        Args:
            source: the service, the emulator or the cassette.
            setup: returns the endpoint and its settings; not called for a given client.

        Raises:
            ChatError: a setting cannot be used.
        """
        if source == "service" and self.given is not None:
            self.latest = self.given
            return self.given
        new = setup()
        client = self._made.get(source)
        if client is not None and new.endpoint.account == client.endpoint.account:
            client.retune(new)
        else:
            if client is not None:
                client.close()
            client = Client.connected(new)
        self._made[source] = self.latest = client
        return client

    def forget(self) -> None:
        """Close and forget all clients; the next ask makes new ones."""
        self.close()
        self._made.clear()
        self.latest = self.given

    def close(self) -> None:
        """Close the connections that are kept."""
        for client in (self.given, *self._made.values()):
            if client is not None:
                client.close()
