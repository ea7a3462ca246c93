"""``%chat_connect`` and ``%chat_login``: where this kernel asks, and with which key."""

from __future__ import annotations

import getpass
import os
import secrets
import sys
from typing import TYPE_CHECKING, Any, Protocol

from chatmagic import address, frontend, keystore, settings
from chatmagic.clients import Setup
from chatmagic.errors import InputError
from chatmagic.secret import Secret

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.emulator import Emulator
    from chatmagic.session import Session
    from chatmagic.settings import Connection
    from chatmagic.taping import CassetteCommand


class Configured(Protocol):
    """The settings that count for a connection."""

    base_url: Any
    file_url: Any
    auth: Any
    timeout: Any
    extra_body: Any


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
        settings.local_emulator = self._start_emulator

    def connect(self, line: str) -> None:
        """Connect to a service: ``%chat_connect https://…``, or ``%chat_connect emulator``.

        Nothing is sent. A key goes only where it was given for: ``%chat_login`` asks for
        one. The emulator runs in this kernel, needs no account, and says what it is.
        """
        word = line.strip()
        if not word or len(word.split()) > 1:
            raise InputError("Say where to: %chat_connect URL, or %chat_connect emulator.")
        is_here = word.lower() == address.EMULATOR
        self._chosen = address.EMULATOR if is_here else address.without_user(word)
        self._session.disconnect()
        connection = self.connection()
        if settings.is_emulator(connection):
            print(where(connection))
        else:
            # It is the same with a key and without one, so that a replay without a key repeats it.
            print(f"Connected to {address.origin(connection.base_url)} ({connection.url_from}).")
            print("Nothing was sent; the first question shows whether it answers.")
            lacks_key = connection.key is None and connection.auth != "none"
            is_told = frontend.execution(self._shell).audience != "machine"
            if lacks_key and is_told and not self._cassette.is_replaying():
                print("No key for this address yet: %chat_login asks for it.")
                print(f"A server without keys: {settings.line_to_set(connection, 'none')}")
        if count := len(self._session.conversation):
            turns = f"{count:,} turn{'' if count == 1 else 's'}"
            print(f"The conversation so far ({turns}) goes along; %chat_reset begins a new one.")
        for warning in settings.news(() if is_here else address.warnings_for(word)):
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
        if settings.is_emulator(connection):
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

    def setup(self) -> Setup:
        """Say where and how the session asks, as things are set now."""
        connection = settings.practised(self.connection())
        for warning in settings.news(connection.warnings):
            print(warning, file=sys.stderr)
        return Setup(connection, self._configured.timeout, dict(self._configured.extra_body))

    def connection(self) -> Connection:
        """Find out where to and with which key, as things are set now."""
        configured = self._configured
        url = configured.base_url
        return settings.resolve(
            os.environ,
            chosen=self._chosen,
            cell_config=url if url != configured.file_url else None,
            file_config=configured.file_url,
            auth_config=configured.auth,
            typed=self._typed,
            store=keystore.open_store(os.environ),
        )

    def _start_emulator(self) -> tuple[str, Secret]:
        """Start this kernel's emulator, with an account of its own; give address and key."""
        if self._emulator is None:
            # tornado's server comes with the first practice.
            from chatmagic import emulator  # noqa: PLC0415

            self._emulator = emulator.Emulator(emulator.FRESH)
            self._emulator_at = self._emulator.start(), Secret(f"practice-{secrets.token_hex(8)}")
        return self._emulator_at

    def close(self) -> None:
        """Stop the emulator that was started for this kernel."""
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None
        settings.local_emulator = None


def where(connection: Connection) -> str:
    """Say where a session asks and where its key comes from, and nothing of the key."""
    if settings.is_emulator(connection):
        return (
            f"Connected to the emulator of this kernel ({connection.url_from}): practice "
            "replies, no account, no key."
        )
    at = f"Connected to {address.origin(connection.base_url)} ({connection.url_from})"
    if connection.auth == "none":
        return f"{at}, without a key."
    if connection.key is None:
        without = settings.line_to_set(connection, "none")
        return f"{at}. No key for this address yet: %chat_login asks for it; without: {without}"
    return f"{at}; key from {connection.key_from}, sent as {connection.auth}."


def _hidden(question: str) -> Secret:
    try:
        key = Secret.of(getpass.getpass(question).strip())
    except Exception:  # noqa: BLE001 - whatever a front end says that has nobody to ask
        raise InputError(
            "Nobody can be asked for a key here.",
            hint="Set CHATMAGIC_API_KEY, or CHATMAGIC_API_KEY_FILE, before the kernel starts.",
        ) from None
    if key is None:
        raise InputError(settings.NO_KEY.format("What was typed"))
    return key


def _places(store: keystore.KeyStore) -> str:
    keyring = "k: the system's keyring, " if store.keyring is not None else ""
    return f"{keyring}f: a private file of yours,"
