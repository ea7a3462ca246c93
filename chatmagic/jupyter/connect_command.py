"""``%chat_connect`` and ``%chat_login``: where this kernel asks, and with which key."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Final

from chatmagic import text
from chatmagic._log import log_swallowed
from chatmagic.client import config, keys
from chatmagic.client.endpoint import SET_AUTH, request_fields
from chatmagic.errors import ChatInterrupted, InputError
from chatmagic.jupyter import check_command
from chatmagic.jupyter.command_line import read
from chatmagic.jupyter.execution import running
from chatmagic.protocol.auth import Secret, redacted
from chatmagic.session import models_request

if TYPE_CHECKING:
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.jupyter.kernel import Kernel


USAGE: Final = "%chat_connect URL --model NAME names the model to ask for."
MOST_LISTED: Final = 500
"""How many models are listed at most."""
_SHOWN: Final = 200


def connect(kernel: Kernel, line: str) -> None:
    """Run ``%chat_connect``.

    Raises:
        InputError: the line names no address that can be used; nothing was changed.
        ChatInterrupted: a person ended a request.
    """
    flags = ("--models", "--check", "--ask")
    word, given = read("chat_connect", line, *flags, valued=["--model"], hint=USAGE)
    if "--ask" in given and "--check" not in given:
        raise InputError("--ask goes with --check: %chat_connect --check --ask.")
    if word or "--model" in given or not given.keys() & {*flags}:
        _connect(kernel, word, given.get("--model"))
    try:
        if "--models" in given:
            _list_models(kernel)
        if "--check" in given:
            print(text.unlinked(check_command.check(kernel, ask="--ask" in given)))
    except KeyboardInterrupt:
        raise ChatInterrupted("Interrupted; what was asked may have been sent.") from None


def _connect(kernel: Kernel, word: str, model: str | None) -> None:
    """Connect to an address, or to a server that is known by this name."""
    if len(word.split()) != 1 or model == "":
        raise InputError(
            "No address was given: %chat_connect URL, or %chat_connect emulator.",
            hint=USAGE,
        )
    place = config.address([(word, "%chat_connect")])
    if model is not None:
        request_fields(kernel.settings.extra_body, model)
    kernel.addresses.chosen = place.base_url if place.server is None else place.server.name
    if model is not None:
        kernel.settings.model = model
        kernel.addresses.belong_here({"model"})
    kernel.session.disconnect()
    endpoint = kernel.endpoint()
    # With a key it is as for a machine, so that a replay without one repeats it.
    lacks_key = endpoint.key is None and running(kernel.shell).audience != "machine"
    print(where(endpoint, of_key=lacks_key and not kernel.is_replaying()))
    if not endpoint.is_emulator:
        print("Nothing was sent; the first question shows whether it answers.")
    for words in of_this_address(kernel):
        print(words)
    if place.server is not None and place.server.needs_model and kernel.model() is None:
        name = place.server.name
        print(
            f"{name} answers only what names a model: %chat_connect {name} --model NAME. "
            "%chat_connect --models lists those that it has."
        )
    if count := len(kernel.session.conversation):
        turns = text.counted(count, "turn")
        print(f"The conversation so far ({turns}) is sent along; %chat_reset begins a new one.")
    for warning in config.new_warnings(place.warnings):
        print(warning)


def _list_models(kernel: Kernel) -> None:
    """Print the models that the service lists, and what the request took."""
    listed = models_request.models(kernel.session)
    keys, endpoint = kernel.known_keys(), kernel.session.endpoint
    names = [text.one_line(redacted(name, keys), _SHOWN) for name in listed.names]
    count = len(names)
    at = "here" if endpoint is None else endpoint.origin
    print(f"{text.counted(count, 'model') if count else 'No model'} at {at}{':' if count else '.'}")
    for name in names[:MOST_LISTED]:
        print(f"  {text.unlinked(name)}")
    if count > MOST_LISTED:
        print(f"  … and {count - MOST_LISTED:,} more.")
    cost = "its answer does not tell"
    if listed.took is not None:
        cost = f"by its answer it took {text.counted(listed.took, 'credit')}"
    print(f"One request was sent. Whether such a request takes credits is not documented; {cost}.")


def login(kernel: Kernel, line: str) -> None:
    """Run ``%chat_login``.

    Raises:
        InputError: no person is there to enter a key, or the line is wrong.
    """
    if kernel.is_replaying() and not line.strip():
        print("With these settings nothing is sent (%chat_cassette), so no key is needed.")
        return
    endpoint = kernel.endpoint()
    if endpoint.is_emulator:
        raise InputError(
            "The emulator needs no key. Connect to a service first: %chat_connect URL."
        )
    origin = endpoint.origin
    store = keys.open_store()
    words, given = read("chat_login", line, "--forget")
    if words:
        raise InputError(
            "%chat_login takes no key on its line, where it would be saved with the notebook."
        )
    if given:
        typed = ["this kernel"] if kernel.typed.pop(origin, None) else []
        gone = ", ".join([*typed, *store.forget(origin)])
        kernel.session.disconnect()
        print(f"Forgotten for {origin}: {gone or 'there was no key'}.")
        return
    key = _hidden(f"API key for {origin} (hidden): ")
    kernel.typed[origin] = key
    kernel.session.disconnect()
    try:
        answer = input(f"Keep it for next time? {_places(store)} Enter: this kernel only. ")
    except EOFError:
        answer = ""
    places: dict[str, keys.Storage] = {
        "k": "keyring",
        "y": "keyring",
        "f": "private file",
    }
    place = places.get(answer.strip().lower()[:1])
    kept = "this kernel only" if place is None else f"the {store.save(origin, key, place)}"
    print(f"Key for {origin}: {kept}.")


def where(endpoint: Endpoint, *, of_key: bool = True) -> str:
    """Return where a session asks and where its key comes from, in words without the key.

    Args:
        endpoint: where it asks.
        of_key: whether they say where the key comes from.
    """
    if endpoint.is_emulator:
        return (
            f"Connected to the emulator of this kernel ({endpoint.url_from}): practice "
            "replies, no account, no key."
        )
    name = "" if endpoint.server is None else f"{text.one_line(endpoint.server.name, _SHOWN)} at "
    at = f"Connected to {name}{endpoint.origin} ({endpoint.url_from})"
    if not of_key:
        return f"{at}."
    if endpoint.auth == "none":
        return f"{at}, without a key."
    if endpoint.key is None:
        elsewhere = endpoint.elsewhere
        has = "" if elsewhere is None else f" (the environment's belongs to {elsewhere})"
        return (
            f"{at}.\nNo key for this address yet{has}: %chat_login asks for it.\n"
            f"For a server without keys: {SET_AUTH.format('none')}"
        )
    return f"{at}; key from {endpoint.key_from}, sent as {endpoint.auth}."


def of_this_address(kernel: Kernel) -> list[str]:
    """Return the lines on the model, and on settings that belong to another address.

    Raises:
        InputError: two models are named.
    """
    lines = []
    if (model := kernel.model()) is not None:
        # A key that was put there by mistake is not shown.
        lines.append(f"Model: {text.one_line(redacted(model, kernel.known_keys()), _SHOWN)}.")
    if elsewhere := kernel.addresses.elsewhere():
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


def _places(store: keys.KeyStore) -> str:
    keyring = "k: the system's keyring, " if store.keyring is not None else ""
    return f"{keyring}f: a private file of yours,"
