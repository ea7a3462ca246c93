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
KEY_VARIABLES: Final = ("CHATMAGIC_API_KEY", "CHATMAGIC_API_KEY_FILE")

_NEVER: Final = re.compile(r"[\s\x00-\x1f\x7f\\<>\"{}|^`]")

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
        elsewhere: what the environment's key belongs to, in words, where that is not here.
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
        return _practice(url_from)
    auth = _auth((environ.get("CHATMAGIC_AUTH"), "CHATMAGIC_AUTH"), (auth_config, "auth"))
    open_door = Connection(base_url, auth, None, url_from)
    if auth == "none":
        return open_door
    own = environ.get("CHATMAGIC_BASE_URL", "").strip() or file_config
    return _with_key(open_door, environ, own, typed or {}, store)


def for_client(
    environ: Mapping[str, str],
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    auth: str | None = None,
) -> Connection:
    """Find out what a client in Python was given, or else what the environment has.

    Args:
        environ: the environment's variables.
        base_url: address of the service; ``None`` takes the environment's.
        api_key: the key, for whichever address it is; ``None`` takes the environment's,
            which goes to the environment's address alone.
        auth: in which way the key is given; ``None`` takes the environment's.

    Raises:
        ConnectError: no address is set, or the emulator cannot be started here.
        InputError: an argument cannot be used.
    """
    own = environ.get("CHATMAGIC_BASE_URL")
    if not (base_url or own):
        raise ConnectError(
            "No address is set for this client. Give base_url, or set CHATMAGIC_BASE_URL.",
            hint="A kernel's own connection is used by chatmagic.ask and current_session().",
        )
    address, url_from = _address((base_url, "argument"), (own, "CHATMAGIC_BASE_URL"))
    if address == EMULATOR:
        return practised(_practice(url_from))
    way = _auth((auth, "auth"), (environ.get("CHATMAGIC_AUTH"), "CHATMAGIC_AUTH"))
    open_door = Connection(address, way, None, url_from)
    if way == "none":
        return open_door
    if api_key is None:
        return _with_key(open_door, environ, own, {}, None)
    return replace(open_door, key=_secret(api_key, "api_key"), key_from="argument")


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
    path = parts.path.rstrip("/")
    before = path.removesuffix(PATH) if path.endswith(PATH) else path.removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{before}{PATH}"


def origin(url: str) -> str:
    """Give the scheme, host and port of an address, in one way of writing them.

    Raises:
        InputError: as :func:`endpoint`.
    """
    parts = _split(url)
    host = _host(parts)
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{parts.port or DEFAULT_PORTS[parts.scheme]}"


def is_loopback(url: str) -> bool:
    """Tell whether an address is on this machine."""
    host = _host(_split(url))
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # Before Python 3.13 an IPv4 address in an IPv6 one does not count by itself.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def warnings_for(url: str) -> list[str]:
    """Say what is unwise about an address."""
    if url != EMULATOR and _split(url).scheme == "http" and not is_loopback(url):
        return [f"{origin(url)} is not encrypted: the key and the conversation can be read."]
    return []


def _practice(url_from: str) -> Connection:
    return Connection(EMULATOR, "bearer", None, url_from, EMULATOR)


def _with_key(
    connection: Connection,
    environ: Mapping[str, str],
    own: str | None,
    typed: Mapping[str, Secret],
    store: KeyStore | None,
) -> Connection:
    """Add the key that was given for the connection's origin, if there is one.

    Args:
        connection: where to ask.
        environ: the environment's variables.
        own: the address that the environment's key belongs to.
        typed: keys from a hidden prompt, by origin.
        store: the keys that were kept.
    """
    here = origin(connection.base_url)
    if here in typed:
        return replace(connection, key=typed[here], key_from="%chat_login")
    home = _home(own)
    found: tuple[Secret, str] | None = _from_environment(environ) if here == home else None
    if found is None and store is not None:
        found = store.load(here)
    if found is not None:
        return replace(connection, key=found[0], key_from=found[1])
    named = any(environ.get(name, "").strip() for name in KEY_VARIABLES)
    if not named:
        return connection
    return replace(connection, elsewhere=home or "no address, as CHATMAGIC_BASE_URL gives none")


def _home(own: str | None) -> str | None:
    """Give the origin that the environment's key belongs to.

    An address that cannot be used has none: that is no reason to stop an ask elsewhere.
    """
    try:
        return origin(own) if own else None
    except InputError:
        return None


def _address(*found: tuple[str | None, str]) -> tuple[str, str]:
    for url, url_from in found:
        word = (url or "").strip()
        if word.lower() == EMULATOR:
            return EMULATOR, url_from
        if word:
            _split(word, f"The base address ({url_from})")
            return word, url_from
    raise ConnectError(
        "Not connected yet. Set CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY, or run "
        "%chat_connect URL and %chat_login.",
        hint="To try without an account: %chat_connect emulator.",
    )


def _split(url: str, name: str = "The base address") -> SplitResult:
    """Take an address apart; what it says is not repeated, for it may hold a secret."""
    word = url.strip()
    try:
        # Two readers of a URL must not differ about its host: what they differ on is refused.
        parts = urlsplit("" if _NEVER.search(word) else word)
        host, port = _host(parts), parts.port
    except ValueError:
        host, port = "", None
    if "" in host.split(".") or parts.scheme not in DEFAULT_PORTS or port == 0 or "%" in host:
        raise InputError(f"{name} is not a URL like https://chat.example.org.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(
            f"{name} holds a user name, a query or a fragment; leave those out.",
            hint="A key goes into CHATMAGIC_API_KEY, or is asked for by %chat_login.",
        )
    return parts


def _host(parts: SplitResult) -> str:
    """Give the host in lower case; the dot that may end a name is no part of it."""
    return (parts.hostname or "").removesuffix(".")


def _auth(*found: tuple[str | None, str]) -> Auth:
    """Give the first way that is set; what was set is not repeated: it might be a key."""
    for way, name in found:
        word = (way or "").strip().lower()
        for known in AUTH_WAYS:
            if word == known:
                return known
        if word:
            raise InputError(f"{name} is one of {', '.join(AUTH_WAYS)}; it is something else.")
    return "bearer"


def _from_environment(environ: Mapping[str, str]) -> tuple[Secret, str] | None:
    """Give the environment's key and its variable; no message repeats what they hold."""
    variable, file_variable = KEY_VARIABLES
    if value := environ.get(variable, "").strip():
        return _secret(value, variable), variable
    if path := environ.get(file_variable, "").strip():
        return _secret(_content(path, file_variable), file_variable), file_variable
    return None


def _content(path: str, name: str) -> str:
    """Read a key's file. A key that was put where the path belongs is not repeated either."""
    why = "it is not text"
    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        why = error.strerror or type(error).__name__
    except (ValueError, RuntimeError):
        # Raised below, so that no exception that quotes the file hangs on to ours.
        pass
    raise InputError(f"The file that {name} names cannot be read: {why}.")


def _secret(value: str, name: str) -> Secret:
    try:
        return Secret(value)
    except ValueError:
        why = "one word of printable ASCII characters"
    raise InputError(f"{name} holds no key: a key is {why}.")
