"""Servers that are known by name: ``servers.toml`` beside this file, and the user's own."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import platformdirs

from chatmagic.errors import InputError
from chatmagic.protocol.auth import AUTH_WAYS
from chatmagic.protocol.url import EMULATOR, usable
from chatmagic.text import one_line

if TYPE_CHECKING:
    from chatmagic.protocol.auth import Auth

FILE: Final = "servers.toml"
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Server:
    """Server that is known by name, and what it calls for.

    Args:
        name: what a person types in place of its address.
        base_url: its address.
        auth: in which of the interface's ways the key is given.
        needs_model: whether it refuses a request that names no model.
        stream_usage: whether it tells a stream's tokens only where the request asks for them.
    """

    name: str
    base_url: str
    auth: Auth = "none"
    needs_model: bool = False
    stream_usage: bool = False


def find(name: str) -> Server | None:
    """Return the server of a name; ``None`` where there is none, as for a URL.

    Args:
        name: what stands for an address, in any case.

    Raises:
        InputError: the user's file cannot be read.
    """
    name = name.strip().lower()
    if not name or "/" in name or name == EMULATOR:
        return None
    return next((table[name] for table in tables() if name in table), None)


def address_of(name: str) -> str:
    """Return the address of a server that is known by this name; else what was given.

    Args:
        name: the name, or an address.

    Raises:
        InputError: the user's file cannot be read.
    """
    server = find(name)
    return name if server is None else server.base_url


def known() -> str:
    """Return a line with the names that stand for an address.

    Raises:
        InputError: the user's file cannot be read.
    """
    own, ours = tables()
    names = one_line(", ".join({EMULATOR: None, **ours, **own}), _SHOWN * 4)
    return f"Known by name: {names}."


def tables() -> tuple[dict[str, Server], dict[str, Server]]:
    """Return the servers by name: those of the user's file, which count first, and ours.

    Raises:
        InputError: the user's file cannot be read.
    """
    own = platformdirs.user_config_path("chatmagic", appauthor=False, roaming=True) / FILE
    return _read(own), _read(Path(__file__).with_name(FILE))


def _read(path: Path) -> dict[str, Server]:
    """Read a file; one that is not there has no server."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        # What tomllib says is a place and a reason; it quotes no value.
        raise InputError(f"{path} cannot be read: {one_line(str(error), _SHOWN)}.") from None
    return {name.lower(): _server(path, name.lower(), value) for name, value in content.items()}


def _server(path: Path, name: str, value: object) -> Server:
    known = {field.name for field in fields(Server)} - {"name"}
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    server = Server(name, **{"base_url": "", **given}) if known >= set(given) else None
    if (
        server is None
        or not isinstance(server.base_url, str)
        or server.auth not in AUTH_WAYS
        or not all(isinstance(flag, bool) for flag in (server.needs_model, server.stream_usage))
    ):
        raise InputError(
            f"{path}: [{one_line(name, _SHOWN)}] holds something else than base_url, auth, "
            "needs_model and stream_usage, or a wrong value.",
            hint="The reference page on servers shows an example.",
        )
    usable(server.base_url, f"The base_url of [{one_line(name, _SHOWN)}] in {path.name}")
    return server
