"""Where the address and the key come from, and which key may go where.

The address: ``%chat_connect``, else the environment, else ``%config`` in a cell, else a
configuration file. The key belongs to the origin that it was given for: one that was typed
or kept, to its own; the environment's, to the environment's address or, where that is
unset, to the configuration file's. Any other address gets no key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from chatmagic.client import kernel, key_file
from chatmagic.client.endpoint import AUTH_LINE, Endpoint
from chatmagic.errors import ConnectError, InputError
from chatmagic.protocol.auth import AUTH_WAYS, Auth, Secret
from chatmagic.protocol.url import EMULATOR, origin, warnings_for, without_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chatmagic.client.keystore import KeyStore

NO_KEY: Final = "{} holds no key: a key is one word of printable ASCII characters."
KEY_VARIABLES: Final = ("CHATMAGIC_API_KEY", key_file.VARIABLE)

FILE_VARIABLE: Final = "CHATMAGIC_CASSETTE"
MODE_VARIABLE: Final = "CHATMAGIC_MODE"


def resolve(
    environ: Mapping[str, str],
    *,
    chosen: str | None = None,
    cell_config: str | None = None,
    file_config: str | None = None,
    auth_config: str | None = None,
    typed: Mapping[str, Secret] | None = None,
    store: KeyStore | None = None,
) -> Endpoint:
    """Return where to ask and with which key, as a kernel is set; nothing is sent.

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
    environ = _Unshown(environ)
    guarded = (*known_keys(environ), *(typed or {}).values())
    place = resolve_address(
        environ, chosen=chosen, cell_config=cell_config, file_config=file_config
    )
    keyless = replace(place, guarded=guarded)
    if place.base_url == EMULATOR:
        return keyless
    way = _auth((environ.get("CHATMAGIC_AUTH"), "CHATMAGIC_AUTH"), (auth_config, "auth"))
    # The environment's word beats the setting, so that one has to be changed.
    line = "%env CHATMAGIC_AUTH={}" if environ.get("CHATMAGIC_AUTH", "").strip() else AUTH_LINE
    keyless = replace(keyless, auth=way, auth_line=line)
    if way == "none":
        return keyless
    own = environ.get("CHATMAGIC_BASE_URL", "").strip() or file_config
    return _with_key(keyless, environ, own, typed or {}, store)


def resolve_address(
    environ: Mapping[str, str],
    *,
    chosen: str | None = None,
    cell_config: str | None = None,
    file_config: str | None = None,
) -> Endpoint:
    """Return the address that counts, and what decided it, without a key; as :func:`resolve`."""
    return _address(
        (chosen, "%chat_connect"),
        (environ.get("CHATMAGIC_BASE_URL"), "CHATMAGIC_BASE_URL"),
        (cell_config, "%config"),
        (file_config, "configuration file"),
    )


def replaying(environ: Mapping[str, str]) -> str | None:
    """Return why nothing is ever sent, as a clause; ``None`` where requests are sent.

    Args:
        environ: the environment's variables.

    Raises:
        InputError: what the kernel's magics and settings say does not go together.
    """
    if environ.get(MODE_VARIABLE, "").strip().lower() == "replay":
        return f"{MODE_VARIABLE} says replay"
    return None if kernel.find_kernel is None else kernel.find_kernel().replaying()


def resolve_for_client(
    environ: Mapping[str, str],
    *,
    base_url: str | None = None,
    api_key: str | Secret | None = None,
    auth: str | None = None,
) -> Endpoint:
    """Return what a client in Python was given, or else what the environment has.

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
    environ = _Unshown(environ)
    own = environ.get("CHATMAGIC_BASE_URL")
    if base_url in (None, "") and not own:
        raise ConnectError(
            "No address is set for this client. Give base_url, or set CHATMAGIC_BASE_URL.",
            hint="chatmagic.ask(…) and current_session() use the kernel's connection.",
            fault="you",
        )
    place = _address((base_url, "argument"), (own, "CHATMAGIC_BASE_URL"))
    keyless = replace(place, guarded=known_keys(environ))
    if place.base_url == EMULATOR:
        return with_local_emulator(keyless)
    way = _auth((auth, "auth"), (environ.get("CHATMAGIC_AUTH"), "CHATMAGIC_AUTH"))
    keyless = replace(
        keyless, auth=way, auth_line='Client(auth="{}")', key_step="Client(api_key=…) gives {}"
    )
    if way == "none":
        return keyless
    if api_key is None:
        return _with_key(keyless, environ, own, {}, None)
    key = api_key if isinstance(api_key, Secret) else Secret.of(api_key)
    del api_key
    return replace(keyless, key=_usable(key, "api_key"), key_from="argument")


def with_local_emulator(endpoint: Endpoint) -> Endpoint:
    """Return the real address of the emulator, starting it; anything else as it is.

    Raises:
        ConnectError: there is no kernel to start it.
    """
    if endpoint.base_url != EMULATOR:
        return endpoint
    base_url, key = local_emulator()
    return replace(endpoint, base_url=base_url, key=key)


def local_emulator() -> tuple[str, Secret]:
    """Return the address of the kernel's emulator and a key, starting it.

    Raises:
        ConnectError: there is no kernel to start it.
    """
    if kernel.find_kernel is None:
        raise ConnectError(
            "The emulator of a kernel starts with %load_ext chatmagic.",
            hint="Elsewhere, run `chatmagic emulator` and give its address.",
        )
    return kernel.find_kernel().start_emulator()


def new_warnings(warnings: Iterable[str]) -> list[str]:
    """Return the warnings that were not given before in this process."""
    new = [warning for warning in warnings if warning not in _warned]
    _warned.update(new)
    return new


_warned: set[str] = set()


class _Unshown(Mapping[str, str]):
    """The environment, in a form that no traceback with its locals shows."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def __getitem__(self, name: str) -> str:
        return self._environ[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


def _with_key(
    endpoint: Endpoint,
    environ: Mapping[str, str],
    own: str | None,
    typed: Mapping[str, Secret],
    store: KeyStore | None,
) -> Endpoint:
    """Add the key that was given for the endpoint's origin, if there is one.

    Args:
        endpoint: where to ask.
        environ: the environment's variables.
        own: the address that the environment's key belongs to.
        typed: keys from a hidden prompt, by origin.
        store: the keys that were kept.
    """
    here = endpoint.origin
    if here in typed:
        return replace(endpoint, key=typed[here], key_from="%chat_login")
    home = _home(own)
    key: tuple[Secret, str] | None = _from_environment(environ) if here == home else None
    if key is None and store is not None:
        key = store.load(here)
    if key is not None:
        warnings = endpoint.warnings
        if key[1] == key_file.VARIABLE:
            open_file = key_file.warning(environ[key_file.VARIABLE])
            warnings += () if open_file is None else (open_file,)
        return replace(endpoint, key=key[0], key_from=key[1], warnings=warnings)
    if not any(environ.get(name, "").strip() for name in KEY_VARIABLES):
        return endpoint
    return replace(endpoint, elsewhere=home or "no address, as CHATMAGIC_BASE_URL gives none")


def _home(own: str | None) -> str | None:
    """Return the origin that the environment's key belongs to.

    An address that cannot be used has none: that is no reason to stop an ask elsewhere.
    """
    try:
        return origin(own) if own else None
    except InputError:
        return None


def _address(*sources: tuple[str | None, str]) -> Endpoint:
    """Return the first address that is set, with no key yet."""
    for url, url_from in sources:
        name = f"The base address ({url_from})"
        if url is not None and not isinstance(url, str):
            raise InputError(f"{name} is text, not {type(url).__name__}.")
        word = (url or "").strip()
        if word.lower() == EMULATOR:
            return Endpoint(EMULATOR, "bearer", None, url_from, EMULATOR)
        if word:
            base_url = without_user(word, name)
            return Endpoint(base_url, "bearer", None, url_from, warnings=warnings_for(word))
    raise ConnectError(
        "Not connected yet. Set CHATMAGIC_BASE_URL and CHATMAGIC_API_KEY, or run "
        "%chat_connect URL and %chat_login.",
        hint="To try without an account: %chat_connect emulator.",
        fault="you",
    )


def _auth(*sources: tuple[str | None, str]) -> Auth:
    """Return the first way that is set; what was set is not repeated: it might be a key."""
    for way, name in sources:
        word = way.strip().lower() if isinstance(way, str) else way
        for known in AUTH_WAYS:
            if word == known:
                return known
        if word:
            raise InputError(f"{name} is one of {', '.join(AUTH_WAYS)}; it is something else.")
    return "bearer"


def known_keys(environ: Mapping[str, str]) -> tuple[Secret, ...]:
    """Return the environment's keys, wherever they belong; what is none is no matter here."""
    variable, file_variable = KEY_VARIABLES
    key = Secret.of(environ.get(variable, "").strip())
    return (*([] if key is None else [key]), *key_file.keys_in(environ.get(file_variable, "")))


def _from_environment(environ: Mapping[str, str]) -> tuple[Secret, str] | None:
    """Return the environment's key and its variable; no message repeats what they hold."""
    variable, file_variable = KEY_VARIABLES
    if environ.get(variable, "").strip():
        return _usable(Secret.of(environ[variable].strip()), variable), variable
    if environ.get(file_variable, "").strip():
        return _usable(key_file.key_in(environ[file_variable]), file_variable), file_variable
    return None


def _usable(key: Secret | None, name: str) -> Secret:
    if key is None:
        raise InputError(NO_KEY.format(name))
    return key
