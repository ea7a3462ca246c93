"""Gathering of what the doctor looks at: packages, settings, files, the way to the service."""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import platformdirs

from chatmagic import _log
from chatmagic._version import __version__
from chatmagic.cassette.cassette import Cassette
from chatmagic.client import config, keys
from chatmagic.doctor.observations import (
    Address,
    CassetteSeen,
    Clock,
    FrontEnd,
    Key,
    Observations,
    PrivateFile,
    Trouble,
)
from chatmagic.doctor.probe import probe
from chatmagic.errors import ChatError
from chatmagic.protocol.url import EMULATOR
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.cassette.mode import CassetteConfig
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.doctor.observations import Network
    from chatmagic.protocol.auth import Secret
    from chatmagic.session.session import Session

PACKAGES: Final = ("ipython", "ipykernel", "ipywidgets", "requests", "urllib3")
_OPEN: Final = 0o077
_LEAST: Final = 65_536
"""Bytes that there must be room for."""


class Place(Protocol):
    """Place that is looked at: what is set there."""

    def address(self) -> Endpoint:
        """Return the address that counts, without a key; raises :exc:`ChatError`."""

    def endpoint(self) -> Endpoint:
        """Return where requests go and with which key; raises :exc:`ChatError`."""

    def choice(self) -> CassetteConfig | None:
        """Return the cassette that is chosen; raises :exc:`ChatError`."""

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known, for whichever address."""


def gather(place: Place, session: Session, front_end: FrontEnd) -> Observations:
    """Return what is seen; connections are tried, and no request is sent.

    Args:
        place: what is set.
        session: its session, whose answers so far told the time.
        front_end: what shows replies.
    """
    errors = tuple(_log.LAST)
    address, key, network = _service(place)
    off = session.credit_state.clock_off
    return Observations(
        versions=_versions(),
        front_end=front_end,
        address=address,
        key=key,
        network=network,
        clock=Clock(off is not None, off),
        files=_files(),
        folder=_folder(),
        cassette=_cassette(place),
        errors=errors,
    )


def _versions() -> dict[str, str]:
    versions = {"chatmagic": __version__, "Python": platform.python_version()}
    versions[platform.system() or "system"] = f"{platform.release()} {platform.machine()}"
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "is not installed"
    return versions


def _service(place: Place) -> tuple[Address, Key, Network | None]:
    """Return the address, its key, and the way there."""
    try:
        at = place.address()
    except ChatError as error:
        return Address(trouble=trouble_of(error)), Key(), None
    is_emulator = at.base_url == EMULATOR
    try:
        endpoint = place.endpoint()
        key = Key(endpoint.key_from, endpoint.auth, endpoint.elsewhere)
    except ChatError as error:
        endpoint, key = at, Key(trouble=trouble_of(error))
    if is_emulator:
        return Address(url_from=at.url_from, is_emulator=True), key, None
    address = Address(endpoint.posted_to(), at.url_from, warnings=at.warnings)
    return address, key, probe(at.base_url)


def _folder() -> Trouble | None:
    """Return why nothing can be written to the state folder; ``None`` where it can."""
    folder = platformdirs.user_state_path("chatmagic", appauthor=False)
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(_LEAST))
    except OSError as error:
        what = f"nothing can be written to {folder}: {error.strerror}"
        return Trouble(what, "The shell keeps conversations in it: free it, or set XDG_STATE_HOME.")
    return None


def _files() -> tuple[PrivateFile, ...]:
    """Return the private files that are there: of keys, and of conversations from a shell."""
    if os.name != "posix":
        return ()
    named, _ = config.environment_setting(keys.KEY_FILE_VARIABLE)
    paths = [Path(named).expanduser()] if named else []
    paths.append(keys.open_store().folder / keys.FILE)
    state = platformdirs.user_state_path("chatmagic", appauthor=False)
    paths += sorted((state / "shell").glob("*.json"))
    files = []
    for path in paths:
        with contextlib.suppress(OSError):
            mode = path.stat().st_mode & 0o777
            files.append(PrivateFile(str(path), mode, bool(mode & _OPEN)))
    return tuple(files)


def _cassette(place: Place) -> CassetteSeen:
    """Return the cassette that is chosen, read anew."""
    try:
        choice = place.choice()
        if choice is None:
            return CassetteSeen()
        count = len(Cassette(choice).interactions)
    except ChatError as error:
        return CassetteSeen(trouble=trouble_of(error))
    return CassetteSeen(choice.name, f"{choice.mode} ({choice.mode_from})", count)


def trouble_of(error: ChatError) -> Trouble:
    """Return what an error says, and what to do."""
    return Trouble(error.message, error.hint or "")


def credits_in_words(took: int | None, remaining: int | None) -> str:
    """Return what an answer told of the credits.

    Args:
        took: about how many it took; ``None`` is unknown.
        remaining: how many are left; ``None`` is unknown.
    """
    cost = "what it took is not told" if took is None else f"it took {counted(took, 'credit')}"
    return cost if remaining is None else f"{cost}, {remaining:,} are left"
