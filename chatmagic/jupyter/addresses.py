"""Addresses that are set for a kernel, and the settings that belong to one of them alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from chatmagic._log import swallowed
from chatmagic.client import config
from chatmagic.client.endpoint import ADDRESS_SETTINGS
from chatmagic.errors import ChatError, InputError
from chatmagic.protocol import url

if TYPE_CHECKING:
    from collections.abc import Iterable

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
            config.variable(config.URL_VARIABLE),
            (base_url if base_url != file_url else None, "%config"),
            (file_url, "configuration file"),
        ]

    def of_this_address(self, name: str) -> Any:
        """Return a setting, if it belongs to the address that is asked now; else ``None``.

        What a file sets belongs to the file's address, or to the environment's. What was set
        before there was an address belongs to the first one.
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
            return config.address(self.candidates()).stream_usage
        return False

    def elsewhere(self) -> list[str]:
        """Return the names of the settings that were set for another address than this."""
        return [
            name
            for name in ADDRESS_SETTINGS
            if getattr(self._settings, name) and self.of_this_address(name) is None
        ]

    def belong_here(self, names: Iterable[str]) -> None:
        """Bind settings to the address that is asked now, or else to the first one."""
        here = self._here()
        self._settings.homes.update((name, here) for name in ADDRESS_SETTINGS if name in names)

    def unused(self) -> str | None:
        """Return a line about an address that ``%config`` set and that is not used."""
        base_url = self._settings.base_url
        if not base_url or base_url == self._settings.file_url:
            return None
        if self._here() == _normalized(base_url):
            return None
        by = config.address(self.candidates()).url_from
        return (
            f"ChatMagics.base_url is not used: {by} names another address. "
            "%chat_connect URL has precedence."
        )

    def _here(self) -> str | None:
        """Return where requests are posted to now; ``None`` while nothing is connected."""
        try:
            return _normalized(config.address(self.candidates()).base_url)
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
