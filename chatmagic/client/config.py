"""Configuration of a client: sources of the address and the key, and which key goes where.

The address: ``%chat_connect``, else the environment, else ``%config`` in a cell, else a
configuration file. A key belongs to the place that it was given for, an origin and a path: a typed
or kept key to its own; the environment's key to the environment's address or, if that is unset, to
the configuration file's. Any other address gets no key. Some servers are known by name: those of
``servers.toml`` beside this file, and those of the user's own file.
"""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from chatmagic import advice
from chatmagic._fork import Lock
from chatmagic.advice import Note, sentences
from chatmagic.client import key_store
from chatmagic.client.endpoint import (
    AUTH_VARIABLE,
    KEY_VARIABLES,
    NO_ADDRESS,
    Endpoint,
)
from chatmagic.client.key_store import KeyStore
from chatmagic.client.servers import (
    hosted_server,
    known_server,
    known_servers,
    server_address,
)
from chatmagic.client.user_key_file import key_in_file, keys_in_file
from chatmagic.errors import InputError, NotConnectedError
from chatmagic.protocol.api_key import AUTH_WAYS, Auth, Secret, redacted
from chatmagic.protocol.other_protocols import refuse_other_protocol
from chatmagic.protocol.url import (
    EMULATOR,
    key_place_or_none,
    origin_or_none,
    shown_place,
    usable_url,
)
from chatmagic.safe_text import one_line

NamedSetting = tuple[str | None, str]
"""Value of a setting, ``None`` if it is unset, and its source in words."""

NO_KEY: Final = "{} holds no key: a key is one word of printable ASCII characters."

URL_VARIABLE: Final = "CHATMAGIC_BASE_URL"
FILE_VARIABLE: Final = "CHATMAGIC_CASSETTE"
MODE_VARIABLE: Final = "CHATMAGIC_MODE"
MODEL_VARIABLE: Final = "CHATMAGIC_MODEL"
_EXCERPT: Final = 60

warned: Final[set[Note]] = set()
"""The warnings that were given in this process."""


def environment_setting(name: str) -> NamedSetting:
    """Return the setting of an environment variable.

    Args:
        name: the variable's name.
    """
    return os.environ.get(name), name


def first_set(settings: Iterable[NamedSetting]) -> tuple[str, str]:
    """Return the first value that is set, and its source; two empty texts for none.

    Args:
        settings: the settings, in order of precedence.
    """
    texts = ((str(value).strip(), by) for value, by in settings if value is not None)
    return next((setting for setting in texts if setting[0]), ("", ""))


def resolve_endpoint(
    place: Endpoint,
    ways: Iterable[NamedSetting],
    *,
    key: Secret | None = None,
    file_url: str | None = None,
    typed: Mapping[str, Secret] | None = None,
    agreed: Mapping[str, str] | None = None,
    open_store: Callable[[], KeyStore] | None = None,
) -> Endpoint:
    """Return the address to ask, with its key; nothing is sent.

    Args:
        place: the address, as :func:`first_address` returns it.
        ways: settings of the way to send the key; the first that is set counts.
        key: a key for any address, which precedes all others.
        file_url: address of the environment's key if the environment has no address.
        typed: keys from a hidden prompt, by place.
        agreed: variables whose key a person lets go to a place, by place.
        open_store: returns the store of kept keys; called if no other key is known.

    Raises:
        InputError: the way to send the key, or the environment's key, cannot be used.
    """
    typed = typed or {}
    guarded = (*known_keys(), *typed.values())
    endpoint = replace(place, guarded=guarded, has_auth_variable=bool(_value(AUTH_VARIABLE)))
    if endpoint.base_url == EMULATOR:
        return endpoint
    # A server that is named takes its key in its own way, whatever the settings say.
    server = endpoint.server if endpoint.is_named else None
    auth = _way(ways) if server is None else server.auth
    endpoint = replace(endpoint, auth=auth)
    if auth == "none":
        return endpoint
    if key is not None:
        return replace(endpoint, key=key, key_from="argument")
    if (typed_key := typed.get(endpoint.key_place)) is not None:
        return replace(endpoint, key=typed_key, key_from="%chat_login")
    variable = (agreed or {}).get(endpoint.key_place, "")
    if _value(variable):
        agreed_key = usable_key(Secret.or_none(_value(variable)), variable)
        return replace(endpoint, key=agreed_key, key_from=variable)
    return _with_key(endpoint, file_url, typed, open_store)


def first_address(addresses: Iterable[NamedSetting]) -> Endpoint:
    """Return the first address that is set, and its source, without a key.

    Args:
        addresses: each with its source, in order of precedence.

    Raises:
        ConnectError: no address is set.
        InputError: it cannot be used.
    """
    word, url_from = first_set(addresses)
    if not word:
        raise NotConnectedError("Not connected yet.", hint=advice.NOT_CONNECTED)
    if word.lower() == EMULATOR:
        return Endpoint(EMULATOR, "bearer", None, url_from, EMULATOR)
    server = known_server(word)
    name = f"base address ({url_from})"
    is_named = server is not None
    try:
        url = word if server is None else server.base_url
        refuse_other_protocol(url)
        base_url, warnings = usable_url(url, name)
        server = server or hosted_server(base_url)
    except InputError as error:
        names = one_line(", ".join([EMULATOR, *known_servers()]), _EXCERPT * 4)
        error.advice = error.advice or sentences(f"Known by name: {names}.")
        raise
    return Endpoint(
        base_url, "bearer", None, url_from, warnings=warnings, server=server, is_named=is_named
    )


def offered_variable(endpoint: Endpoint) -> str | None:
    """Return the set variable of a service's own tools that may give the key; ``None`` for none.

    Args:
        endpoint: the service, as resolved; one that has a key, or needs none, is offered none.
    """
    server = endpoint.server
    if server is None or endpoint.key is not None or endpoint.is_keyless:
        return None
    is_key = Secret.or_none(_value(server.key_variable)) is not None
    return server.key_variable if is_key else None


def use_of(variable: str, place: str) -> str:
    """Return the question whether the key in a variable may go to a service.

    Args:
        variable: the variable of the service's own tools.
        place: the service, without a possible key.
    """
    return (
        f"{variable} is set. Send its key to {place}, and nowhere else, until this program ends? "
        "y: yes, Enter: no. "
    )


def is_yes(answer: str) -> bool:
    """Return whether a person's answer is yes.

    Args:
        answer: the answer, as typed.
    """
    return answer.strip().lower() in {"y", "yes"}


def model_of_environment() -> str | None:
    """Return the model that the environment names; ``None`` for none."""
    return _value(MODEL_VARIABLE) or None


def resolve_for_client(
    base_url: str | None = None, key: Secret | None = None, auth: str | None = None
) -> Endpoint:
    """Return the endpoint of a client in Python: its arguments, else the environment's settings.

    Args:
        base_url: address of the service; ``None`` takes the environment's.
        key: the key for any address; ``None`` for the environment's key, which is sent only to the
            environment's address.
        auth: the way to send the key; ``None`` takes the environment's.

    Raises:
        ConnectError: no address is set.
        InputError: an argument cannot be used.
    """
    addresses = [(base_url, "argument"), environment_setting(URL_VARIABLE)]
    if not first_set(addresses)[0]:
        raise NotConnectedError(
            "No address is set for this client. Give base_url, or set CHATMAGIC_BASE_URL.",
            hint="In a notebook, run %load_ext chatmagic first."
            if kernel is None
            else "chatmagic.ask(…) uses the kernel's connection.",
        )
    ways = (auth, "auth"), environment_setting(AUTH_VARIABLE)
    place = first_address(addresses)
    return with_local_emulator(resolve_endpoint(place, ways, key=key))


def with_local_emulator(endpoint: Endpoint) -> Endpoint:
    """Start the emulator if it is meant, and return the endpoint with its real address.

    Args:
        endpoint: the endpoint; any other than the emulator's is returned as it is.
    """
    if endpoint.base_url != EMULATOR:
        return endpoint
    with _starting:
        base_url, key = _emulator_of_process() if kernel is None else kernel.start_emulator()
    return replace(endpoint, base_url=base_url, key=key)


_starting: Final = Lock()
"""Held while an emulator is started, so that threads start one together."""


@functools.cache
def _emulator_of_process() -> tuple[str, Secret]:
    """Start the emulator of a process without a kernel; return its address, and a key of its own.

    A forked child asks its parent's; any other child starts one of its own.
    """
    # Loaded at its first use.
    from chatmagic.emulator.server import Emulator  # noqa: PLC0415

    emulator = Emulator()
    atexit.register(emulator.stop)
    return emulator.start(), practice_key()


def practice_key() -> Secret:
    """Return a new key for an emulator of this process, which no other process knows."""
    return Secret(f"practice-{os.urandom(8).hex()}")


def replaying() -> str | None:
    """Return the reason why nothing is sent, as a clause; ``None`` if requests are sent.

    Raises:
        InputError: the magics and settings of the kernel contradict each other.
    """
    if _value(MODE_VARIABLE).lower() == "replay":
        return f"{MODE_VARIABLE} says replay"
    replayed = None if replayed_here is None else replayed_here()
    if replayed is None:
        return None
    return f"{replayed.name} is replayed here ({replayed.mode_from})"


def known_keys() -> tuple[Secret, ...]:
    """Return the keys for any place that are known here: no request may hold one of them.

    These are the environment's, also those in its file, the kept ones, and those that were typed
    into this kernel. Values that are no key are ignored here.
    """
    name, file_name = KEY_VARIABLES
    keys = [Secret.or_none(_value(name))]
    if path := _value(file_name):
        keys += keys_in_file(path)
    keys += key_store.kept_keys()
    keys += getattr(kernel, "typed", {}).values()
    agreed_variables = getattr(kernel, "agreed", {}).values()
    keys += [Secret.or_none(_value(variable)) for variable in agreed_variables]
    return tuple(key for key in keys if key is not None)


def new_warnings(warnings: Iterable[Note]) -> list[Note]:
    """Return the warnings that were not given before in this process.

    Args:
        warnings: a line each.
    """
    new = [warning for warning in warnings if warning not in warned]
    warned.update(new)
    return new


def _value(name: str) -> str:
    """Return the value of an environment variable; empty if it is unset, or has no name."""
    return os.environ.get(name, "").strip()


def _way(ways: Iterable[NamedSetting]) -> Auth:
    """Return the first way that is set; no error repeats the value, which might be a key."""
    word, name = first_set(ways)
    for known in AUTH_WAYS:
        if word.lower() == known:
            return known
    if word:
        raise InputError(f"{name} must be one of {', '.join(AUTH_WAYS)}.")
    return "bearer"


def _with_key(
    endpoint: Endpoint,
    file_url: str | None,
    typed: Iterable[str],
    open_store: Callable[[], KeyStore] | None,
) -> Endpoint:
    """Return an endpoint with the key for its place: the environment's, or else a kept one.

    Without one, it says to which other place a key that is here belongs.

    Args:
        endpoint: the endpoint, without a key.
        file_url: the address of a configuration file; ``None`` for none.
        typed: the places of the keys that were typed into this kernel.
        open_store: opens the store of kept keys; ``None`` for no store.
    """
    place = endpoint.key_place
    environment_url = server_address(_value(URL_VARIABLE) or file_url or "")
    environment_place = key_place_or_none(environment_url)
    is_in_environment = any(map(_value, KEY_VARIABLES))
    if place == environment_place and is_in_environment:
        key, key_from, warnings = _environments_key()
        warnings = endpoint.warnings + warnings
        return replace(endpoint, key=key, key_from=key_from, warnings=warnings)
    store = None if open_store is None else open_store()
    if store is not None and (kept := store.load(place)) is not None:
        return replace(endpoint, key=kept[0], key_from=kept[1])
    if is_in_environment:
        owner = NO_ADDRESS
        if environment_place is not None:
            owner = _owner(environment_place, endpoint)
        return replace(endpoint, elsewhere=f"the environment's belongs to {owner}")
    if (neighbour := _neighbour(endpoint, typed, store)) is not None:
        owner = _owner(neighbour, endpoint)
        return replace(endpoint, elsewhere=f"the one for this host belongs to {owner}")
    return endpoint


def _neighbour(endpoint: Endpoint, typed: Iterable[str], store: KeyStore | None) -> str | None:
    """Return a place at the origin of an address that has a key; ``None`` for none."""
    places = [*typed, *(() if store is None else store.places())]
    for place in places:
        if origin_or_none(place) == endpoint.origin:
            return place
    # Earlier versions kept keys by origin, in a keyring without a list of them.
    is_kept = store is not None and store.load(endpoint.origin) is not None
    return endpoint.origin if is_kept else None


def _owner(place: str, endpoint: Endpoint) -> str:
    """Return the place of a key for a message: no key is in it."""
    return redacted(shown_place(place), endpoint.known_keys)


def _environments_key() -> tuple[Secret, str, tuple[Note, ...]]:
    """Return the environment's key, its variable, and a warning about its file.

    Raises:
        InputError: the value is no key; the message does not repeat it.
    """
    name, file_name = KEY_VARIABLES
    if _value(name):
        return usable_key(Secret.or_none(_value(name)), name), name, ()
    key, warnings = key_in_file(_value(file_name))
    return usable_key(key, file_name), file_name, warnings


def usable_key(key: Secret | None, name: str) -> Secret:
    """Return a checked key.

    Args:
        key: the given value; ``None`` if it cannot be a key.
        name: its place, for a message, which does not repeat the value.

    Raises:
        InputError: it is no key, or stands in quotation marks.
    """
    if key is None:
        raise InputError(NO_KEY.format(name))
    if key.is_quoted:
        raise InputError(
            f"The key in {name} stands in quotation marks. Nothing was sent.",
            hint="Leave the marks out: the reader of the file took them for a part of the key.",
        )
    return key


replayed_here: Callable[[], Any] | None = None
"""Returns the file that the kernel replays, or ``None``; ``None`` without the extension."""
kernel: Any = None
"""The environment of the kernel's session; ``None`` without the extension."""
