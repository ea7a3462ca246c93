"""``%chat_connect`` and ``%chat_login``: where this kernel asks, and with which key."""

from __future__ import annotations

import getpass
import re
from typing import TYPE_CHECKING, Final

from chatmagic import text
from chatmagic._log import log_swallowed
from chatmagic.client import config, extras, keystore
from chatmagic.errors import InputError
from chatmagic.jupyter.execution import running
from chatmagic.protocol.auth import Secret, redacted
from chatmagic.protocol.url import EMULATOR, warnings_for, without_user

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from chatmagic.client.endpoint import Endpoint
    from chatmagic.jupyter.environment import KernelEnvironment
    from chatmagic.jupyter.settings import KernelSettings
    from chatmagic.session.session import Session


_SHOWN: Final = 200


class ConnectCommands:
    """``%chat_connect`` and ``%chat_login`` of one kernel.

    Args:
        shell: the kernel's shell.
        session: its session.
        environment: where that runs; takes the address and keys that are chosen.
        settings: the settings, read at each use.
    """

    def __init__(
        self,
        shell: InteractiveShell,
        session: Session,
        environment: KernelEnvironment,
        settings: KernelSettings,
    ) -> None:
        """Choose nothing yet."""
        self._shell = shell
        self._session = session
        self._environment = environment
        self._settings = settings

    def connect(self, line: str) -> None:
        """Run ``%chat_connect``.

        Args:
            line: what stands after the magic's name.

        Raises:
            InputError: the line names no address that can be used; nothing was changed.
        """
        word, model = _words(line)
        is_here = word.lower() == EMULATOR
        chosen = EMULATOR if is_here else without_user(word)
        if model is not None:
            extras.fields(self._settings.extra_body, model)
        self._environment.chosen = chosen
        if model is not None:
            self._settings.model = model
            self._environment.belong_here({"model"})
        self._session.disconnect()
        endpoint = self._environment.endpoint()
        # With a key it is as for a machine, so that a replay without one repeats it.
        lacks_key = endpoint.key is None and running(self._shell).audience != "machine"
        print(where(endpoint, of_key=lacks_key and not self._environment.is_replaying()))
        if not endpoint.is_emulator:
            print("Nothing was sent; the first question shows whether it answers.")
        for words in of_this_address(self._environment):
            print(words)
        if count := len(self._session.conversation):
            turns = text.counted(count, "turn")
            print(f"The conversation so far ({turns}) is sent along; %chat_reset begins a new one.")
        for warning in config.new_warnings(() if is_here else warnings_for(word)):
            print(warning)

    def login(self, line: str) -> None:
        """Run ``%chat_login``.

        Args:
            line: what stands after the magic's name.

        Raises:
            InputError: no person is there to enter a key, or the line is wrong.
        """
        if self._environment.is_replaying() and not line.strip():
            print("With these settings nothing is sent (%chat_cassette), so no key is needed.")
            return
        endpoint = self._environment.endpoint()
        if endpoint.is_emulator:
            raise InputError(
                "The emulator needs no key. Connect to a service first: %chat_connect URL."
            )
        origin = endpoint.origin
        store = keystore.open_store()
        if line.strip() == "--forget":
            typed = ["this kernel"] if self._environment.typed.pop(origin, None) else []
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
        self._environment.typed[origin] = key
        self._session.disconnect()
        try:
            answer = input(f"Keep it for next time? {_places(store)} Enter: this kernel only. ")
        except EOFError:
            answer = ""
        places: dict[str, keystore.Storage] = {
            "k": "keyring",
            "y": "keyring",
            "f": "private file",
        }
        place = places.get(answer.strip().lower()[:1])
        kept = "this kernel only" if place is None else f"the {store.save(origin, key, place)}"
        print(f"Key for {origin}: {kept}.")


def _words(line: str) -> tuple[str, str | None]:
    """Read the line of ``%chat_connect``: an address, and maybe a model."""
    match = re.search(r"(?<!\S)--model(?:=|\s+)(\S*)", line)
    model = None if match is None else match[1]
    words = (line if match is None else line[: match.start()] + line[match.end() :]).split()
    flag = next((word.partition("=")[0] for word in words if word.startswith("-")), "--model")
    if flag != "--model":
        raise InputError(
            f"{text.one_line(flag, _SHOWN)} is not an option of %chat_connect. Nothing was "
            "changed.",
            hint="%chat_connect URL --model NAME names the model to ask for.",
        )
    if len(words) != 1 or words[0].startswith("-") or model == "":
        raise InputError(
            "No address was given: %chat_connect URL, or %chat_connect emulator.",
            hint="%chat_connect URL --model NAME names the model to ask for.",
        )
    return words[0], model


def where(endpoint: Endpoint, *, of_key: bool = True) -> str:
    """Return where a session asks and where its key comes from, in a line without the key.

    Args:
        endpoint: where it asks.
        of_key: whether the line says where the key comes from.
    """
    if endpoint.is_emulator:
        return (
            f"Connected to the emulator of this kernel ({endpoint.url_from}): practice "
            "replies, no account, no key."
        )
    at = f"Connected to {endpoint.origin} ({endpoint.url_from})"
    if not of_key:
        return f"{at}."
    if endpoint.auth == "none":
        return f"{at}, without a key."
    if endpoint.key is None:
        without = endpoint.line_to_set("none")
        return (
            f"{at}. No key for this address yet: %chat_login asks for it; without keys: {without}"
        )
    return f"{at}; key from {endpoint.key_from}, sent as {endpoint.auth}."


def of_this_address(environment: KernelEnvironment) -> list[str]:
    """Return the lines on the model, and on settings that belong to another address.

    Raises:
        InputError: two models are named.
    """
    lines = []
    if (model := environment.model()) is not None:
        # A key that was put there by mistake is not shown.
        lines.append(f"Model: {text.one_line(redacted(model, environment.known_keys()), _SHOWN)}.")
    if elsewhere := environment.elsewhere():
        lines.append(f"Set for another address, so not used here: {', '.join(elsewhere)}.")
    return lines


def _hidden(question: str) -> Secret:
    try:
        key = Secret.of(getpass.getpass(question).strip())
    except Exception as error:  # noqa: BLE001 - whatever a front end says that cannot ask
        log_swallowed(error)
        raise InputError(
            "This front end cannot ask for a key.",
            hint="Set CHATMAGIC_API_KEY, or CHATMAGIC_API_KEY_FILE, before the kernel starts.",
        ) from None
    if key is None:
        raise InputError(config.NO_KEY.format("What was typed"))
    return key


def _places(store: keystore.KeyStore) -> str:
    keyring = "k: the system's keyring, " if store.keyring is not None else ""
    return f"{keyring}f: a private file of yours,"
