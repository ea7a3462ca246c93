"""Settings: the typed traits of ``%config ChatMagics``, and a session's environment by them.

A kernel has those of its cells; a command outside a kernel, those of IPython's configuration files.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from IPython.core.application import ENV_CONFIG_DIRS, SYSTEM_CONFIG_DIRS
from IPython.paths import get_ipython_dir
from traitlets import Any as AnyTrait
from traitlets import (
    Bool,
    CUnicode,
    Dict,
    Enum,
    Float,
    Integer,
    TraitError,
    TraitType,
    Unicode,
    validate,
)
from traitlets.config import Application, Config, Configurable

from chatmagic._log import log_swallowed, swallowed
from chatmagic.cassette.cassette import (
    MODES,
    CassetteConfig,
    CassetteOptions,
    CassetteSetup,
    resolve,
)
from chatmagic.client import config, keys
from chatmagic.client.endpoint import (
    ADDRESS_SETTINGS,
    AUTH_VARIABLE,
    Endpoint,
    ServiceSetup,
    Timeout,
    request_fields,
    request_headers,
)
from chatmagic.errors import ChatError, InputError
from chatmagic.jupyter.cells.notes import CellNotes
from chatmagic.models import Message
from chatmagic.protocol import url
from chatmagic.protocol.auth import AUTH_WAYS, Secret, redacted, refuse_keys
from chatmagic.protocol.wire import Request
from chatmagic.session.budget import Budget
from chatmagic.text import one_line

if TYPE_CHECKING:
    from chatmagic.emulator.server import Emulator

_SHOWN: Final = 300


def _base_url(value: str | None) -> None:
    if value and value.strip() and value.strip().lower() != url.EMULATOR:
        url.request_url(config.server_address(value))


def _one_of(words: tuple[str, ...]) -> Callable[[str | None], None]:
    def check(value: str | None) -> None:
        # What was set is not repeated: it might be a key.
        if value and value.strip() and value.strip().lower() not in words:
            raise InputError(f"it is one of {', '.join(words)}, or None.")

    return check


def _temperature(value: float | None) -> None:
    if value is not None and not math.isfinite(value):
        raise InputError("it is a finite number, or None.")


_ANY: Final = (Message("user", ""),)
_CHECKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "base_url": _base_url,
    "auth": _one_of(AUTH_WAYS),
    "timeout": Timeout.from_value,
    "model": lambda value: request_fields(None, value),
    "extra_body": lambda value: Request(_ANY, extra=request_fields(value)).encode(),
    "extra_headers": request_headers,
    "temperature": _temperature,
    "mode": _one_of(MODES),
    "budget": lambda value: value and value.strip() and Budget.parse(value, "it"),
}
"""What refuses, in one line, a value that the trait's type does not."""


class KernelSettings(Configurable):
    """The settings of one kernel; the manual's page "Configuration" describes them."""

    file_url: str | None
    """The address that a configuration file sets."""
    listed_models: tuple[str, ...] = ()
    """The models that the server listed last, for Tab."""
    homes: dict[str, str | None]
    """The address that each setting was set for, where it belongs to one."""
    changed_later: set[str]
    """Which of the cassette's settings were set after ``%chat_cassette`` ran."""
    chosen_cassette: CassetteOptions | None = None
    """What ``%chat_cassette`` set last; ``None`` before its first use."""
    notes: CellNotes | None = None
    """What is noted of the cells; ``None`` while the extension is not loaded."""

    base_url = Unicode(None, allow_none=True, help="Address of the service.")
    auth = Unicode(None, allow_none=True, help="How the key is sent: bearer, ….")
    timeout = AnyTrait(None, help="Seconds to wait, or a dict of seconds by name.")
    model = Unicode(None, allow_none=True, help="Model to ask for, at the address it was set for.")
    extra_body = Dict(help="Fields that a compatible server requires.")
    stream_usage = Bool(False, help="Ask for token counts with each stream.")
    extra_headers = Dict(help="Headers that a gateway requires, never a key.")
    system_role = Bool(False, help="Send %%chat_instructions in the role system.")
    temperature = Float(None, allow_none=True, help="Default of --temperature.")
    max_tokens = Integer(None, allow_none=True, help="Default of --max-tokens.")
    last = Integer(None, allow_none=True, min=0, help="Default of --last.")
    no_history = Bool(False, help="Default of --no-history.")
    no_stream = Bool(False, help="Default of --no-stream.")
    raw = Bool(False, help="Default of --raw.")
    quiet = Bool(False, help="Default of --quiet.")
    no_credits = Bool(False, help="Default of --no-credits.")
    format = Enum(
        ["markdown", "text", "code", "json"], None, allow_none=True, help="Default of --format."
    )
    above = Enum(["new", "all"], None, allow_none=True, help="Default of --above.")
    above_limit = Integer(None, allow_none=True, min=0, help="Most characters of --above.")
    keep_values = Bool(False, help="Keep what {{ }} puts in, in the notebook and in saved files.")
    keep_output = Bool(False, help="Tag cells with a record, so that nbstripout keeps outputs.")
    fit = Bool(False, help="Send a question that is too long again without the oldest turns.")
    budget = CUnicode(None, allow_none=True, help='"50" (credits) or "20 turns" of this kernel.')
    cassette = Unicode(None, allow_none=True, help="File to record and replay.")
    mode = Unicode(None, allow_none=True, help=f"What is done with it: {', '.join(MODES)}.")
    stream = Enum(["auto", "updates", "text", "off"], "auto", help="How a reply is shown.")

    @validate(*_CHECKS)
    def _checked(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        try:
            _CHECKS[name](value)
            if name == "extra_headers":
                refuse_keys([*value, *value.values()], self.known_keys())
        except (InputError, ValueError) as error:
            raise TraitError(f"ChatMagics.{name}: {error}") from None
        return value

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that no setting and no error may hold."""
        raise NotImplementedError

    def _load_config(self, cfg: Config, *more: Any, **named: Any) -> None:
        """Set the values of a file or of ``%config``; no error of it shows a key."""
        try:
            super()._load_config(cfg, *more, **named)
        except TraitError as error:
            words = redacted(str(error), self.known_keys())
            raise TraitError(one_line(words, _SHOWN)) from None


# %config and the configuration files set all of them.
for _trait in vars(KernelSettings).values():
    if isinstance(_trait, TraitType):
        _trait.tag(config=True)


class FileSettings(KernelSettings):
    """The settings that hold for each new kernel of this user, before a cell sets another.

    Raises:
        InputError: a file sets a wrong value, or cannot be run.
    """

    def __init__(self) -> None:
        """Read the files as IPython reads them: the user's own counts before the system's."""
        self.homes, self.changed_later, self.file_url = {}, set(), None
        try:
            super().__init__(config=Config({"FileSettings": _files().get("ChatMagics", {})}))
        except TraitError as error:
            raise InputError(f"IPython's configuration file: {error}") from None
        self.file_url = self.base_url

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the environment's keys."""
        return config.known_keys()


def _files() -> Config:
    try:
        profile = Path(get_ipython_dir()) / "profile_default"
    except OSError as error:
        raise InputError(
            f"IPython's folder {one_line(str(error.filename))} cannot be made: {error.strerror}. "
            "Nothing was sent.",
            hint="IPYTHONDIR names another folder.",
        ) from None
    # Without a file's settings, such as its budget, nothing is to be sent.
    reader = Application(raise_config_file_errors=True)
    try:
        reader.load_config_file(
            "ipython_config", path=[str(profile), *ENV_CONFIG_DIRS, *SYSTEM_CONFIG_DIRS]
        )
    except Exception as error:  # noqa: BLE001 - whatever the user's own code raises
        log_swallowed(error)
        what = f"IPython's configuration file cannot be run: {type(error).__name__}."
        raise InputError(f"{what} Nothing was sent.", hint=f"It is in {profile}.") from None
    return reader.config


class ConfiguredEnvironment:
    """What a session needs of its settings, which are read at each use.

    With the methods of its two kinds, :class:`chatmagic.jupyter.kernel.Kernel` and the shell's, it
    is an environment (:class:`chatmagic.session.environment.Environment`).
    """

    def __init__(self, settings: KernelSettings) -> None:
        """Choose nothing yet; starts nothing."""
        self.settings = settings
        self.chosen: str | None = None
        """The address that ``%chat_connect``, or an option of a command, chose."""
        self.chosen_by = "%chat_connect"
        """What chose it, in words."""
        self.typed: dict[str, Secret] = {}
        """The keys that were typed here, by origin."""
        self._emulator: Emulator | None = None
        self._emulator_at = "", Secret("none")

    def has_person(self) -> bool:
        """Return whether a person has asked here, so that a cassette records by itself."""
        raise NotImplementedError

    def notify(self, line: str) -> None:
        """Print a line where it fails no cell.

        Args:
            line: the line.
        """
        print(line, file=sys.stderr)

    def service(self) -> ServiceSetup:
        """Return where and how the session asks, as things are set now.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        endpoint = config.with_local_emulator(self.endpoint())
        for warning in config.new_warnings(endpoint.warnings):
            self.notify(warning)
        return ServiceSetup(
            endpoint,
            self.settings.timeout,
            self.extra_body(),
            request_headers(self.of_this_address("extra_headers")),
            bool(self.of_this_address("system_role")),
        )

    def cassette(self) -> CassetteSetup | None:
        """Return which cassette the session puts in now; ``None`` for no cassette.

        Raises:
            InputError: the settings contradict each other.
        """
        choice = self.choice()
        if choice is None:
            return None
        system_role = bool(self.of_this_address("system_role"))
        return CassetteSetup(choice, self.settings.timeout, self.extra_body(), system_role)

    def budget(self) -> str | None:
        """Return the budget that is set; ``None`` for none."""
        return self.settings.budget

    def start_emulator(self) -> tuple[str, Secret]:
        """Start the emulator of this place, once; return its address, and a key of its own."""
        if self._emulator is None:
            # It comes with the first practice.
            from chatmagic.emulator import server  # noqa: PLC0415

            self._emulator = server.Emulator(server.FRESH)
            self._emulator_at = self._emulator.start(), Secret(f"practice-{os.urandom(8).hex()}")
        return self._emulator_at

    def replaying(self) -> str | None:
        """Return why nothing is sent from here, as a clause; ``None`` where it is.

        Raises:
            InputError: the settings contradict each other.
        """
        choice = self.choice()
        if choice is None or choice.mode != "replay":
            return None
        return f"{choice.name} is replayed here ({choice.mode_from})"

    def choice(self) -> CassetteConfig | None:
        """Return which cassette is chosen, as things are set now; ``None`` for no cassette.

        Raises:
            InputError: the settings contradict each other.
        """
        return resolve(
            os.environ,
            self.settings.chosen_cassette,
            CassetteOptions(self.settings.cassette, self.settings.mode),
            changed_later=frozenset(self.settings.changed_later),
            interactive=self.has_person(),
        )

    def is_replaying(self) -> bool:
        """Return whether nothing is sent, or a setting is wrong."""
        try:
            return self.replaying() is not None
        except ChatError:
            return True

    def address(self) -> Endpoint:
        """Return the address that counts, without a key.

        Raises:
            ChatError: nothing is connected, or it cannot be used.
        """
        return config.first_address(self.candidates())

    def endpoint(self) -> Endpoint:
        """Return where requests go and with which key, as things are set now.

        Raises:
            ChatError: nothing is connected, or a setting cannot be used.
        """
        return config.resolve_endpoint(
            self.address(),
            [config.environment_setting(AUTH_VARIABLE), (self.settings.auth, "auth")],
            file_url=self.settings.file_url,
            typed=self.typed,
            open_store=keys.open_store,
        )

    def model(self) -> str | None:
        """Return the model that requests name; ``None`` where none was set for this address."""
        named = self.extra_body().get("model")
        return None if named is None else str(named)

    def extra_body(self) -> dict[str, Any]:
        """Return the fields that requests have beside the interface's own.

        Raises:
            InputError: two models are named.
        """
        return request_fields(
            self.settings.extra_body,
            self.of_this_address("model") or self._model_of_environment(),
            stream_usage=self.settings.stream_usage or self.stream_usage(),
        )

    def _model_of_environment(self) -> str | None:
        """Return the environment's model, unless it has another address or a setting names one."""
        names_one = "model" in (self.settings.extra_body or {})
        at = _normalized(os.environ.get(config.URL_VARIABLE, ""))
        is_elsewhere = at not in {"", self._here()}
        return None if names_one or is_elsewhere else config.model_of_environment()

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the keys that are known, for whichever address."""
        try:
            endpoint = self.endpoint()
        except ChatError:
            return (*config.known_keys(), *self.typed.values())
        return endpoint.known_keys

    # --- Addresses, and the settings of each

    def candidates(self) -> list[config.Setting]:
        """Return the addresses that may be set, the one that counts first before the others."""
        base_url, file_url = self.settings.base_url, self.settings.file_url
        return [
            (self.chosen, self.chosen_by),
            config.environment_setting(config.URL_VARIABLE),
            (base_url if base_url != file_url else None, "%config"),
            (file_url, "configuration file"),
        ]

    def of_this_address(self, name: str) -> Any:
        """Return a setting, if it belongs to the address that is asked now; else ``None``.

        What a file sets belongs to the file's address, or to the environment's. What was set
        before there was an address belongs to the first one.

        Args:
            name: the setting's.
        """
        value = getattr(self.settings, name)
        if not value:
            return None
        homes, here = self.settings.homes, self._here()
        if name not in homes:
            own = self.settings.file_url or os.environ.get(config.URL_VARIABLE, "")
            homes[name] = _normalized(own) if own.strip() else None
        if homes[name] is None:
            homes[name] = here
        return value if homes[name] == here else None

    def stream_usage(self) -> bool:
        """Return whether the server that is asked now tells tokens of streams only if asked."""
        with swallowed(ChatError):
            return self.address().stream_usage
        return False

    def elsewhere(self) -> list[str]:
        """Return the names of the settings that were set for another address than this."""
        return [
            name
            for name in ADDRESS_SETTINGS
            if getattr(self.settings, name) and self.of_this_address(name) is None
        ]

    def belong_here(self, names: Iterable[str]) -> None:
        """Bind settings to the address that is asked now, or else to the first one.

        Args:
            names: of settings; those that belong to no address are left alone.
        """
        here = self._here()
        self.settings.homes.update((name, here) for name in ADDRESS_SETTINGS if name in names)

    def unused(self) -> str | None:
        """Return a line about an address that ``%config`` set and that is not used."""
        base_url = self.settings.base_url
        if not base_url or base_url == self.settings.file_url:
            return None
        if self._here() == _normalized(base_url):
            return None
        by = self.address().url_from
        return (
            f"ChatMagics.base_url is not used: {by} names another address. "
            "%chat_connect URL has precedence."
        )

    def _here(self) -> str | None:
        """Return where requests are posted to now; ``None`` while nothing is connected."""
        with contextlib.suppress(ChatError):
            return _normalized(self.address().base_url)
        return None

    def close(self) -> None:
        """Stop the emulator."""
        if self._emulator is not None:
            self._emulator.stop()
            self._emulator = None


def _normalized(base_url: str) -> str:
    """Return an address in one way of writing it; empty for one that cannot be used."""
    if base_url.strip().lower() == url.EMULATOR:
        return url.EMULATOR
    try:
        return url.request_url(config.server_address(base_url))
    except InputError:
        return ""
