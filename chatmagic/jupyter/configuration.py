"""What a person has set for a kernel or a command: address, key, cassette, budget, emulator."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from chatmagic._log import swallowed
from chatmagic.cassette.cassette import CassetteSetup
from chatmagic.cassette.mode import CassetteOptions, resolve
from chatmagic.client import config, keys
from chatmagic.client.endpoint import (
    ADDRESS_SETTINGS,
    ServiceSetup,
    request_fields,
    request_headers,
)
from chatmagic.errors import ChatError, InputError
from chatmagic.protocol import url
from chatmagic.protocol.auth import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatmagic.cassette.mode import CassetteConfig
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.emulator.server import Emulator
    from chatmagic.jupyter.settings import KernelSettings


class Addresses:
    """The addresses that may be set for one kernel, and what belongs to the one that counts.

    Args:
        settings: the kernel's settings, read at each use.
    """

    def __init__(self, settings: KernelSettings) -> None:
        """Choose nothing yet."""
        self.chosen: str | None = None
        """The address that ``%chat_connect``, or an option of a command, chose."""
        self.chosen_by = "%chat_connect"
        """What chose it, in words."""
        self._settings = settings

    def candidates(self) -> list[config.Setting]:
        """Return the addresses that may be set, the one that counts first before the others."""
        base_url, file_url = self._settings.base_url, self._settings.file_url
        return [
            (self.chosen, self.chosen_by),
            config.environment_setting(config.URL_VARIABLE),
            (base_url if base_url != file_url else None, "%config"),
            (file_url, "configuration file"),
        ]

    def of_this_address(self, name: str) -> Any:
        """Return a setting, if it belongs to the address that is asked now; else ``None``.

        What a file sets belongs to the file's address, or to the environment's. What was set
        before there was an address belongs to the first one.

        Args:
            name: the setting's.
        """
        value = getattr(self._settings, name)
        if not value:
            return None
        homes, here = self._settings.homes, self._here()
        if name not in homes:
            own = self._settings.file_url or os.environ.get(config.URL_VARIABLE, "")
            homes[name] = _normalized(own) if own.strip() else None
        if homes[name] is None:
            homes[name] = here
        return value if homes[name] == here else None

    def stream_usage(self) -> bool:
        """Return whether the server that is asked now tells tokens of streams only if asked."""
        with swallowed(ChatError):
            return config.first_address(self.candidates()).stream_usage
        return False

    def elsewhere(self) -> list[str]:
        """Return the names of the settings that were set for another address than this."""
        return [
            name
            for name in ADDRESS_SETTINGS
            if getattr(self._settings, name) and self.of_this_address(name) is None
        ]

    def belong_here(self, names: Iterable[str]) -> None:
        """Bind settings to the address that is asked now, or else to the first one.

        Args:
            names: of settings; those that belong to no address are left alone.
        """
        here = self._here()
        self._settings.homes.update((name, here) for name in ADDRESS_SETTINGS if name in names)

    def unused(self) -> str | None:
        """Return a line about an address that ``%config`` set and that is not used."""
        base_url = self._settings.base_url
        if not base_url or base_url == self._settings.file_url:
            return None
        if self._here() == _normalized(base_url):
            return None
        by = config.first_address(self.candidates()).url_from
        return (
            f"ChatMagics.base_url is not used: {by} names another address. "
            "%chat_connect URL has precedence."
        )

    def _here(self) -> str | None:
        """Return where requests are posted to now; ``None`` while nothing is connected."""
        try:
            return _normalized(config.first_address(self.candidates()).base_url)
        except ChatError:
            return None


def _normalized(base_url: str) -> str:
    """Return an address in one way of writing it; empty for one that cannot be used."""
    if base_url.strip().lower() == url.EMULATOR:
        return url.EMULATOR
    try:
        return url.request_url(config.server_address(base_url))
    except InputError:
        return ""


class ConfiguredEnvironment:
    """What a session needs of its settings, which are read at each use.

    With what its two kinds add, :class:`chatmagic.jupyter.kernel.Kernel` and the shell's, it is an
    environment (:class:`chatmagic.session.environment.Environment`).
    """

    def __init__(self, settings: KernelSettings) -> None:
        """Choose nothing yet; starts nothing."""
        self.addresses = Addresses(settings)
        self.settings = settings
        self.typed: dict[str, Secret] = {}
        """The keys that were typed here, by origin."""
        self._emulator: Emulator | None = None
        self._emulator_at = "", Secret("none")

    def has_person(self) -> bool:
        """Return whether a person has asked here, so that a cassette records by itself."""
        raise NotImplementedError

    def notify(self, line: str) -> None:
        """Print a line where it fails no cell.

        Args:
            line: what it says.
        """
        print(line, file=sys.stderr)

    def service(self) -> ServiceSetup:
        """Return where and how the session asks, as things are set now.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        endpoint = config.with_local_emulator(self.endpoint())
        for warning in config.new_warnings(endpoint.warnings):
            self.notify(warning)
        return ServiceSetup(
            endpoint,
            self.settings.timeout,
            self.extra_body(),
            request_headers(self.addresses.of_this_address("extra_headers")),
            self.has_system_role(),
        )

    def cassette(self) -> CassetteSetup | None:
        """Return which cassette the session puts in now; ``None`` for no cassette.

        Raises:
            InputError: what is set does not go together.
        """
        choice = self.choice()
        if choice is None:
            return None
        return CassetteSetup(
            choice, self.settings.timeout, self.extra_body(), self.has_system_role()
        )

    def budget(self) -> str | None:
        """Return the budget that is set; ``None`` for none."""
        return self.settings.budget

    def start_emulator(self) -> tuple[str, Secret]:
        """Start the emulator of this place, once; return its address, and a key of its own."""
        if self._emulator is None:
            # tornado's server comes with the first practice.
            from chatmagic.emulator import server  # noqa: PLC0415

            self._emulator = server.Emulator(server.FRESH)
            self._emulator_at = self._emulator.start(), Secret(f"practice-{os.urandom(8).hex()}")
        return self._emulator_at

    def replaying(self) -> str | None:
        """Return why nothing is sent from here, as a clause; ``None`` where it is.

        Raises:
            InputError: what is set does not go together.
        """
        choice = self.choice()
        if choice is None or choice.mode != "replay":
            return None
        return f"{choice.name} is replayed here ({choice.mode_from})"

    def choice(self) -> CassetteConfig | None:
        """Return which cassette is chosen, as things are set now; ``None`` for no cassette.

        Raises:
            InputError: what is set does not go together.
        """
        return resolve(
            os.environ,
            self.settings.chosen_cassette,
            CassetteOptions(self.settings.cassette, self.settings.mode),
            changed_later=frozenset(self.settings.changed_later),
            interactive=self.has_person(),
        )

    def is_replaying(self) -> bool:
        """Return whether nothing is sent, or something is wrong with what is set."""
        try:
            return self.replaying() is not None
        except ChatError:
            return True

    def address(self) -> Endpoint:
        """Return the address that counts, without a key.

        Raises:
            ChatError: nothing is connected, or it cannot be used.
        """
        return config.first_address(self.addresses.candidates())

    def endpoint(self) -> Endpoint:
        """Return where requests go and with which key, as things are set now.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        return config.resolve_endpoint(
            self.address(),
            [config.environment_setting(config.AUTH_VARIABLE), (self.settings.auth, "auth")],
            file_url=self.settings.file_url,
            typed=self.typed,
            open_store=keys.open_store,
        )

    def model(self) -> str | None:
        """Return the model that requests name; ``None`` where none was set for this address."""
        named = self.extra_body().get("model")
        return None if named is None else str(named)

    def extra_body(self) -> dict[str, Any]:
        """Return the fields that requests have beside the interface's own.

        Raises:
            InputError: two models are named.
        """
        return request_fields(
            self.settings.extra_body,
            self.addresses.of_this_address("model"),
            stream_usage=self.settings.stream_usage or self.addresses.stream_usage(),
        )

    def has_system_role(self) -> bool:
        """Return whether the server that is asked takes messages of the role ``system``."""
        return bool(self.addresses.of_this_address("system_role"))

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known, for whichever address."""
        try:
            endpoint = self.endpoint()
        except ChatError:
            return (*config.known_keys(), *self.typed.values())
        return endpoint.known_keys

    def close(self) -> None:
        """Stop the emulator."""
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None
