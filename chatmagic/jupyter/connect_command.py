"""``%chat_connect`` and ``%chat_login``: where this kernel asks, and with which key."""

from __future__ import annotations

import getpass
import os
import secrets
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from chatmagic import text
from chatmagic._log import log_swallowed
from chatmagic.client import config, extras, keystore
from chatmagic.client import url as address
from chatmagic.client.extras import OF_AN_ADDRESS
from chatmagic.errors import ChatError, InputError
from chatmagic.jupyter import execution
from chatmagic.protocol.auth import Secret
from chatmagic.session.client_pool import ServiceSetup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.cassette.active import CassetteSetup
    from chatmagic.client.config import Endpoint
    from chatmagic.emulator.server import Emulator
    from chatmagic.jupyter.cassette_command import CassetteCommand
    from chatmagic.jupyter.settings import Kept
    from chatmagic.session.session import Session


class Configured(Protocol):
    """The settings that count for a connection."""

    base_url: Any
    auth: Any
    timeout: Any
    model: Any
    extra_body: Any
    stream_usage: Any
    extra_headers: Any
    kept: Kept


_SHOWN: Final = 60


class ConnectCommands:
    """The connection of one kernel, as its magics, settings and environment choose it.

    Args:
        shell: the kernel's shell.
        session: its session.
        configured: the settings, read at each use.
        cassette: its cassette, in whose replay nothing is sent.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        session: Session,
        configured: Configured,
        cassette: CassetteCommand,
    ) -> None:
        """Choose nothing yet; the emulator can be asked for from now on."""
        self._shell = shell
        self._session = session
        self._configured = configured
        self._cassette = cassette
        self._chosen: str | None = None
        self._typed: dict[str, Secret] = {}
        self._emulator: Emulator | None = None
        config.local_emulator = self._start_emulator

    def connect(self, line: str) -> None:
        """Connect to a service: ``%chat_connect https://…``, or ``%chat_connect emulator``.

        ``--model NAME`` names the model to ask for. Nothing is sent. A key goes only where it
        was given for: ``%chat_login`` asks for one. The emulator runs in this kernel, needs no
        account, and says what it is.
        """
        word, model = _words(line)
        is_here = word.lower() == address.EMULATOR
        chosen = address.EMULATOR if is_here else address.without_user(word)
        if model is not None:
            extras.fields(self._configured.extra_body, model)
        self._chosen = chosen
        if model is not None:
            self._configured.model = model
            self.belong_here({"model"})
        self._session.disconnect()
        connection = self.connection()
        if config.is_emulator(connection):
            print(where(connection))
        else:
            # It is the same with a key and without one, so that a replay without a key repeats it.
            print(f"Connected to {address.origin(connection.base_url)} ({connection.url_from}).")
            print("Nothing was sent; the first question shows whether it answers.")
            lacks_key = connection.key is None and connection.auth != "none"
            is_told = execution.execution(self._shell).audience != "machine"
            if lacks_key and is_told and not self._cassette.is_replaying():
                print("No key for this address yet: %chat_login asks for it.")
                print(f"A server without keys: {config.line_to_set(connection, 'none')}")
        if (model := self.model()) is not None:
            print(f"Model: {text.one_line(model, _SHOWN)}.")
        if elsewhere := self.elsewhere():
            print(f"Set for another address, so not used here: {', '.join(elsewhere)}.")
        if count := len(self._session.conversation):
            turns = f"{count:,} turn{'' if count == 1 else 's'}"
            print(f"The conversation so far ({turns}) goes along; %chat_reset begins a new one.")
        for warning in config.news(() if is_here else address.warnings_for(word)):
            print(warning)

    def login(self, line: str) -> None:
        """Ask for the key by a hidden prompt, and offer to keep it.

        The key belongs to the address that is connected now, and goes nowhere else.
        ``%chat_login --forget`` forgets the key that was kept for it.
        """
        if self._cassette.is_replaying() and not line.strip():
            print("As things are set nothing is sent (%chat_cassette), so no key is needed.")
            return
        connection = self.connection()
        if config.is_emulator(connection):
            raise InputError("The emulator needs no key. Connect first: %chat_connect URL.")
        origin = address.origin(connection.base_url)
        store = keystore.open_store(os.environ)
        if line.strip() == "--forget":
            typed = ["this kernel"] if self._typed.pop(origin, None) else []
            gone = ", ".join([*typed, *store.forget(origin)])
            self._session.disconnect()
            print(f"Forgotten for {origin}: {gone or 'there was no key'}.")
            return
        if line.strip():
            raise InputError(
                "%chat_login takes no key on its line, where it would be saved with the notebook."
                if not line.strip().startswith("-")
                else "%chat_login has one option: --forget."
            )
        key = _hidden(f"API key for {origin} (hidden): ")
        self._typed[origin] = key
        self._session.disconnect()
        try:
            answer = input(f"Keep it for next time? {_places(store)} Enter: this kernel only. ")
        except EOFError:
            answer = ""
        places: dict[str, keystore.Place] = {"k": "keyring", "f": "private file"}
        places["y"] = "keyring"
        place = places.get(answer.strip().lower()[:1])
        kept = "this kernel only" if place is None else f"the {store.save(origin, key, place)}"
        print(f"Key for {origin}: {kept}.")

    def setup(self) -> ServiceSetup:
        """Say where and how the session asks, as things are set now."""
        connection = config.with_local_emulator(self.connection())
        for warning in config.news(connection.warnings):
            print(warning, file=sys.stderr)
        return ServiceSetup(
            connection, self._configured.timeout, self.extra_body(), self.extra_headers()
        )

    def cassette_setup(self) -> CassetteSetup | None:
        """Return what a session is to put in now, whose requests name the model as any others."""
        setup = self._cassette.setup()
        return setup and replace(setup, extra_body=self.extra_body())

    def model(self) -> str | None:
        """Return the model that requests name; ``None`` where none was set for this address."""
        named = self.extra_body().get("model")
        return None if named is None else str(named)

    def extra_body(self) -> dict[str, Any]:
        """Return the fields that requests have beside the interface's own.

        Raises:
            InputError: two models are named.
        """
        given = self._configured.extra_body
        if self._configured.stream_usage:
            given = {"stream_options": {"include_usage": True}, **given}
        return extras.fields(given, self._of_here("model"))

    def extra_headers(self) -> dict[str, str]:
        """Return the headers that requests to this address have beside the connection's own."""
        return extras.headers(self._of_here("extra_headers"))

    def elsewhere(self) -> list[str]:
        """Return the names of the settings that were set for another address than this."""
        return [
            name
            for name in OF_AN_ADDRESS
            if getattr(self._configured, name) and self._of_here(name) is None
        ]

    def belong_here(self, names: Iterable[str]) -> None:
        """Let settings belong to the address that is asked now, or else to the first one."""
        here = self._here()
        self._configured.kept.homes.update((name, here) for name in OF_AN_ADDRESS if name in names)

    def unused_address(self) -> str | None:
        """Say in one line that an address which ``%config`` set is not used, where that is so."""
        url = self._configured.base_url
        if not url or url == self._configured.kept.file_url or self._here() == _place(url):
            return None
        by = config.resolve_address(os.environ, **self._addresses()).url_from
        return (
            f"ChatMagics.base_url is not used: {by} names another address. "
            "%chat_connect URL beats them all."
        )

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known, for whichever address."""
        try:
            connection = self.connection()
        except ChatError:
            return (*config.known_keys(os.environ), *self._typed.values())
        return tuple(key for key in (*connection.guarded, connection.key) if key is not None)

    def _of_here(self, name: str) -> Any:
        """Return a setting, if it belongs to the address that is asked now; else ``None``.

        What a file sets belongs to the file's address, or to the environment's. What was set
        before there was an address belongs to the first one.
        """
        value = getattr(self._configured, name)
        if not value:
            return None
        homes, here = self._configured.kept.homes, self._here()
        if name not in homes:
            own = self._configured.kept.file_url or os.environ.get("CHATMAGIC_BASE_URL", "")
            homes[name] = _place(own) if own.strip() else None
        if homes[name] is None:
            homes[name] = here
        return value if homes[name] == here else None

    def _here(self) -> str | None:
        """Return where requests are posted to now; ``None`` while nothing is connected."""
        try:
            return _place(config.resolve_address(os.environ, **self._addresses()).base_url)
        except ChatError:
            return None

    def _addresses(self) -> dict[str, str | None]:
        """Return the addresses that were set here, by who set them."""
        url, file_url = self._configured.base_url, self._configured.kept.file_url
        cell_url = url if url != file_url else None
        return {"chosen": self._chosen, "cell_config": cell_url, "file_config": file_url}

    def connection(self) -> Endpoint:
        """Find out where to and with which key, as things are set now."""
        return config.resolve(
            os.environ,
            **self._addresses(),
            auth_config=self._configured.auth,
            typed=self._typed,
            store=keystore.open_store(os.environ),
        )

    def _start_emulator(self) -> tuple[str, Secret]:
        """Start this kernel's emulator, with an account of its own; give address and key."""
        if self._emulator is None:
            # tornado's server comes with the first practice.
            from chatmagic.emulator import server  # noqa: PLC0415

            self._emulator = server.Emulator(server.FRESH)
            self._emulator_at = self._emulator.start(), Secret(f"practice-{secrets.token_hex(8)}")
        return self._emulator_at

    def close(self) -> None:
        """Stop the emulator that was started for this kernel."""
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None
        config.local_emulator = None


def _place(base_url: str) -> str:
    """Return an address in one way of writing it; nothing is an address that cannot be used."""
    if base_url.strip().lower() == address.EMULATOR:
        return address.EMULATOR
    try:
        return address.request_url(base_url)
    except InputError:
        return ""


def _words(line: str) -> tuple[str, str | None]:
    """Read the line of ``%chat_connect``: an address, and maybe a model."""
    words, model = line.split(), None
    for place, word in enumerate(words):
        if word == "--model" and len(words) > place + 1:
            model = words[place + 1]
            del words[place : place + 2]
            break
        if word.startswith("--model="):
            model = word.removeprefix("--model=")
            del words[place]
            break
    flag = next((word.partition("=")[0] for word in words if word.startswith("-")), "--model")
    if flag != "--model":
        raise InputError(
            f"{text.one_line(flag, _SHOWN)} is not an option of %chat_connect. Nothing was "
            "changed.",
            hint="%chat_connect URL --model NAME names the model to ask for.",
        )
    if len(words) != 1 or words[0].startswith("-") or model == "":
        raise InputError(
            "Say where to: %chat_connect URL, or %chat_connect emulator.",
            hint="%chat_connect URL --model NAME names the model to ask for.",
        )
    return words[0], model


def where(connection: Endpoint) -> str:
    """Say where a session asks and where its key comes from, and nothing of the key."""
    if config.is_emulator(connection):
        return (
            f"Connected to the emulator of this kernel ({connection.url_from}): practice "
            "replies, no account, no key."
        )
    at = f"Connected to {address.origin(connection.base_url)} ({connection.url_from})"
    if connection.auth == "none":
        return f"{at}, without a key."
    if connection.key is None:
        without = config.line_to_set(connection, "none")
        return (
            f"{at}. No key for this address yet: %chat_login asks for it; without keys: {without}"
        )
    return f"{at}; key from {connection.key_from}, sent as {connection.auth}."


def _hidden(question: str) -> Secret:
    try:
        key = Secret.of(getpass.getpass(question).strip())
    except Exception as error:  # noqa: BLE001 - whatever a front end says that cannot ask
        log_swallowed(error)
        raise InputError(
            "Nobody can be asked for a key here.",
            hint="Set CHATMAGIC_API_KEY, or CHATMAGIC_API_KEY_FILE, before the kernel starts.",
        ) from None
    if key is None:
        raise InputError(config.NO_KEY.format("What was typed"))
    return key


def _places(store: keystore.KeyStore) -> str:
    keyring = "k: the system's keyring, " if store.keyring is not None else ""
    return f"{keyring}f: a private file of yours,"
