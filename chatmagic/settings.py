"""Where the address and the key come from, and which key may go where.

The address: ``%chat_connect``, else the environment, else ``%config`` in a cell, else a
configuration file. The key belongs to the origin that it was given for: one that was typed
or kept, to its own; the environment's, to the environment's address or, where that is
unset, to the configuration file's. Any other address gets no key.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from chatmagic.errors import ConnectError, InputError
from chatmagic.wire import AUTH_WAYS, Auth, Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.keystore import KeyStore

EMULATOR: Final = "emulator"
PATH: Final = "/v1/chat/completions"
DEFAULT_PORTS: Final = {"http": 80, "https": 443}

local_emulator: Callable[[], tuple[str, Secret]] | None = None
"""Starts the emulator of this process and gives its address and a key; set by the extension."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a request goes, and with which key.

    Args:
        base_url: address of the service, or ``emulator``.
        auth: in which of the interface's ways the key is given (interface §5).
        key: the key; ``None`` where there is none for this address.
        url_from: who decided the address, in words.
        key_from: where the key comes from, in words.
        elsewhere: the origin that the environment's key belongs to, where that is another.
    """

    base_url: str
    auth: Auth
    key: Secret | None
    url_from: str
    key_from: str | None = None
    elsewhere: str | None = None


def resolve(
    environ: Mapping[str, str],
    *,
    chosen: str | None = None,
    cell_config: str | None = None,
    file_config: str | None = None,
    auth_config: str | None = None,
    typed: Mapping[str, Secret] | None = None,
    store: KeyStore | None = None,
) -> Connection:
    """Find out where to ask and with which key; nothing is sent.

    Args:
        environ: the environment's variables.
        chosen: what ``%chat_connect`` chose.
        cell_config: ``ChatMagics.base_url`` as a cell set it.
        file_config: ``ChatMagics.base_url`` as a configuration file has it.
        auth_config: ``ChatMagics.auth``.
        typed: keys from a hidden prompt, by origin.
        store: the keys that were kept.

    Raises:
        ConnectError: no address is set.
        InputError: an address, a way of the key, or the environment's key cannot be used.
    """
    base_url, url_from = _address(
        (chosen, "%chat_connect"),
        (environ.get("CHATMAGIC_BASE_URL"), "CHATMAGIC_BASE_URL"),
        (cell_config, "%config"),
        (file_config, "configuration file"),
    )
    if base_url == EMULATOR:
        return Connection(EMULATOR, "bearer", None, url_from, EMULATOR)
    auth = _auth(environ.get("CHATMAGIC_AUTH") or auth_config)
    here = origin(base_url)
    if auth == "none":
        return Connection(base_url, auth, None, url_from)
    if typed and here in typed:
        return Connection(base_url, auth, typed[here], url_from, "%chat_login")
    own = environ.get("CHATMAGIC_BASE_URL") or file_config
    its_own = None if own is None or own == EMULATOR else origin(own)
    if here == its_own and (found := _from_environment(environ)):
        return Connection(base_url, auth, found[0], url_from, found[1])
    if store is not None and (found := store.load(here)):
        return Connection(base_url, auth, found[0], url_from, found[1])
    named = environ.get("CHATMAGIC_API_KEY") or environ.get("CHATMAGIC_API_KEY_FILE")
    elsewhere = its_own if named and its_own != here else None
    return Connection(base_url, auth, None, url_from, None, elsewhere)


def for_client(
    environ: Mapping[str, str],
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    auth: str | None = None,
) -> Connection:
    """Find out what a client in Python was given, or else what the environment has.

    Raises:
        ConnectError: no address is set, or the emulator cannot be started here.
        InputError: an argument cannot be used.
    """
    found = resolve(environ, chosen=base_url, store=None)
    if base_url is not None:
        found = replace(found, url_from="argument")
    if auth is not None:
        found = replace(found, auth=_auth(auth))
    if api_key is not None:
        try:
            found = replace(found, key=Secret(api_key), key_from="argument")
        except ValueError as error:
            raise InputError(f"{error}.") from None
    if found.auth == "none":
        found = replace(found, key=None, key_from=None)
    return practised(found)


def practised(connection: Connection) -> Connection:
    """Give the real address of the emulator, starting it; anything else as it is.

    Raises:
        ConnectError: there is nobody here to start it.
    """
    if connection.base_url != EMULATOR:
        return connection
    if local_emulator is None:
        raise ConnectError(
            "The emulator of a kernel starts with %load_ext chatmagic.",
            hint="Elsewhere, run `chatmagic emulator` and give its address.",
        )
    base_url, key = local_emulator()
    return replace(connection, base_url=base_url, key=key)


def is_emulator(connection: Connection) -> bool:
    """Tell whether a connection is to the emulator of this process."""
    return connection.key_from == EMULATOR


def no_key_message(connection: Connection) -> tuple[str, str]:
    """Say that there is no key for an address, and what to do, on two lines."""
    what = f"There is no API key for {origin(connection.base_url)}. Nothing was sent."
    if connection.elsewhere is not None:
        what += f" The environment's key belongs to {connection.elsewhere}."
    return what, "%chat_login asks for one; a server that wants none takes CHATMAGIC_AUTH=none."


def endpoint(base_url: str) -> str:
    """Give the address that requests are posted to (interface §4.1).

    A base URL that ends in ``/v1``, or in the whole path, is taken as meant.

    Raises:
        InputError: it is not an http or https address, or holds what no base URL holds.
    """
    parts = _split(base_url)
    path = re.sub(r"(/v1)?(/chat/completions)?/*$", "", parts.path)
    return f"{parts.scheme.lower()}://{parts.netloc}{path}{PATH}"


def origin(url: str) -> str:
    """Give the scheme, host and port of an address, in one way of writing them.

    Raises:
        InputError: as :func:`endpoint`.
    """
    parts = _split(url)
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").rstrip(".")
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}:{parts.port or DEFAULT_PORTS[scheme]}"


def is_loopback(url: str) -> bool:
    """Tell whether an address is on this machine."""
    host = (_split(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def warnings_for(url: str) -> list[str]:
    """Say what is unwise about an address."""
    if url != EMULATOR and urlsplit(url).scheme.lower() == "http" and not is_loopback(url):
        return [f"{origin(url)} is not encrypted: the key and the conversation can be read."]
    return []


def _address(*found: tuple[str | None, str]) -> tuple[str, str]:
    for url, url_from in found:
        if url:
            word = url.strip()
            if word.lower() == EMULATOR:
                return EMULATOR, url_from
            _split(word)
            return word, url_from
    raise ConnectError(
        "Not connected yet. Set CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY, or run "
        "%chat_connect URL and %chat_login.",
        hint="To try without an account: %chat_connect emulator.",
    )


def _split(url: str) -> SplitResult:
    """Take an address apart; what it says is not repeated, for it may hold a secret."""
    try:
        parts = urlsplit(url.strip())
        valid = parts.port is None or parts.port > 0
    except ValueError:
        valid = False
    if not valid or parts.scheme.lower() not in DEFAULT_PORTS or not parts.hostname:
        raise InputError("The base address is not a URL like https://chat.example.org.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(
            "The base address holds a user name, a query or a fragment; leave those out.",
            hint="A key goes into CHATMAGIC_API_KEY, or is asked for by %chat_login.",
        )
    return parts


def _auth(way: str | None) -> Auth:
    word = (way or "bearer").strip().lower()
    for known in AUTH_WAYS:
        if word == known:
            return known
    raise InputError(f"The key is sent in one of these ways: {', '.join(AUTH_WAYS)}.")


def _from_environment(environ: Mapping[str, str]) -> tuple[Secret, str] | None:
    """Give the environment's key, whose value no message repeats."""
    name, value = "CHATMAGIC_API_KEY", environ.get("CHATMAGIC_API_KEY")
    if not value and (path := environ.get("CHATMAGIC_API_KEY_FILE")):
        name = "CHATMAGIC_API_KEY_FILE"
        try:
            value = Path(path).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise InputError(f"The file that {name} names cannot be read.") from None
    if not value:
        return None
    try:
        return Secret(value), name
    except ValueError:
        raise InputError(
            f"{name} holds no key: a key is one word of printable ASCII characters."
        ) from None
