"""Servers that are known by name: chatmagic's own list, and the one of the user."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import platformdirs

from chatmagic._files import open_file
from chatmagic._json import NOT_UTF_8, json_fault
from chatmagic.client.endpoint import LIMIT_FIELDS, Server
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import AUTH_WAYS
from chatmagic.protocol.url import (
    EMULATOR,
    is_loopback,
    origin,
    origin_or_none,
    request_url,
    usable_url,
)
from chatmagic.safe_text import one_line

SERVERS_FILE: Final = "servers.toml"
_REPAIR: Final = "Repair it, or rename it: without it chatmagic's own list is known."
_SHOWN: Final = 60
_FIELDS: Final[Mapping[str, type]] = {
    "base_url": str,
    "auth": str,
    "key_variable": str,
    "models_page": str,
    "needs_model": bool,
    "stream_usage": bool,
    "response_format": bool,
    "limit_field": str,
    "refuses": list,
}
"""The facts of a server in a file, and their types."""


def known_server(name: str) -> Server | None:
    """Return the server that is known by a name; ``None`` for any other text, such as a URL.

    Args:
        name: the text that was given as the address.

    Raises:
        InputError: the user's file cannot be read.
    """
    name = name.strip().lower()
    is_name = name != "" and "/" not in name and name != EMULATOR
    return known_servers().get(name) if is_name else None


def server_address(name: str) -> str:
    """Return the address of a server of this name; else the text itself.

    Args:
        name: the name, or an address.

    Raises:
        InputError: the user's file cannot be read.
    """
    server = known_server(name)
    return name if server is None else server.base_url


def hosted_server(base_url: str) -> Server | None:
    """Return the hosted service that is known by name and has this address; ``None`` for none.

    An address on this machine may be that of any server.

    Args:
        base_url: the address, which may lack the version.

    Raises:
        InputError: the user's file cannot be read.
    """
    if origin_or_none(base_url) not in _hosted_origins():
        return None
    posted = request_url(base_url)
    servers = known_servers().values()
    return next((server for server in servers if request_url(server.base_url) == posted), None)


@functools.cache
def _hosted_origins() -> frozenset[str]:
    """Return the origins of the hosted services in chatmagic's own list."""
    addresses = [server.base_url for server in _own_list().values()]
    return frozenset(origin(address) for address in addresses if not is_loopback(address))


@functools.cache
def _own_list() -> Mapping[str, Server]:
    """Return the servers in chatmagic's own list."""
    return _with_servers_of_file({}, Path(__file__).with_name(SERVERS_FILE))


def known_servers() -> dict[str, Server]:
    """Return the servers by name; each value in the user's file replaces that of chatmagic's list.

    Raises:
        InputError: the user's file cannot be read.
    """
    folder = platformdirs.user_config_path("chatmagic", appauthor=False, roaming=True)
    return _with_servers_of_file(_own_list(), folder / SERVERS_FILE)


def _with_servers_of_file(ours: Mapping[str, Server], path: Path) -> dict[str, Server]:
    """Return known servers with those of a file, each fact of which counts before theirs.

    Args:
        ours: the known servers, by name.
        path: the file, which need not exist.

    Raises:
        InputError: the file cannot be read, or holds a wrong value.
    """
    servers = dict(ours)
    for name, value in _tables_in(path).items():
        servers[name.lower()] = _server_of(path, name.lower(), value, ours)
    return servers


def _tables_in(path: Path) -> dict[str, Any]:
    """Return the tables of a file by their names; none if there is no such file."""
    try:
        with open_file(path) as file:
            return tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} cannot be read: {NOT_UTF_8}.", hint=_REPAIR) from None
    except tomllib.TOMLDecodeError as error:
        # tomllib's message is a place and a reason; it quotes no value.
        why = one_line(str(error), 2 * _SHOWN)
        raise InputError(f"{path} cannot be read: {why}.", hint=_REPAIR) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {json_fault(error)}.", hint=_REPAIR) from None


def _server_of(path: Path, name: str, value: Any, ours: Mapping[str, Server]) -> Server:
    """Return the server that a table of a file describes.

    Args:
        path: the file.
        name: the name of the server.
        value: the table, or any other value.
        ours: the servers of chatmagic's own list, whose facts it may replace.

    Raises:
        InputError: it holds a wrong value.
    """
    shown = one_line(name, _SHOWN)
    if not _is_server(value):
        known = ", ".join(_FIELDS)
        raise InputError(
            f"{path}: [{shown}] holds something else than {known}, or a wrong value.",
            hint="The reference page on servers shows an example.",
        )
    facts = dict(value)
    if "refuses" in facts:
        facts["refuses"] = tuple(facts["refuses"])
    server = replace(ours.get(name) or Server(name, ""), **facts)
    usable_url(server.base_url, f"base_url of [{shown}] in {path.name}")
    return server


def _is_server(value: Any) -> bool:
    """Return whether a value is a table with facts of a server."""
    return (
        isinstance(value, dict)
        and all(type(item) is _FIELDS.get(key) for key, item in value.items())
        and value.get("auth", "none") in AUTH_WAYS
        and value.get("limit_field", LIMIT_FIELDS[0]) in LIMIT_FIELDS
        and all(type(field) is str for field in value.get("refuses", ()))
    )
