"""Settings: the typed traits of ``%config ChatMagics``.

A kernel's settings come from its cells, too; those of a command outside a kernel only from
IPython's configuration files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import new_class
from typing import Any, Final, TypeVar, cast

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

from chatmagic._log import log_swallowed
from chatmagic.client import config, servers
from chatmagic.client.endpoint import Limits, Timeout, request_fields, request_headers
from chatmagic.errors import InputError
from chatmagic.jupyter.cells.executed_cells import CellNotes
from chatmagic.models import Message
from chatmagic.protocol import url
from chatmagic.protocol.api_key import AUTH_WAYS, Secret, redacted, refuse_keys
from chatmagic.protocol.request import Request
from chatmagic.safe_text import one_line
from chatmagic.session.feature import Setting, one_of
from chatmagic.session.features import all_settings

_SHOWN: Final = 300


def _base_url(value: str | None) -> None:
    """Refuse a value that is no address of a service."""
    if value and value.strip() and value.strip().lower() != url.EMULATOR:
        url.request_url(servers.server_address(value))


_ANY: Final = (Message("user", ""),)
_CHECKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "base_url": _base_url,
    "auth": one_of(AUTH_WAYS),
    "timeout": Timeout.from_value,
    "limits": Limits.from_value,
    "model": lambda value: request_fields(None, value),
    "extra_body": lambda value: Request(_ANY, extra=request_fields(value)).encode(),
    "extra_headers": request_headers,
    **{setting.name: setting.check for setting in all_settings()},
}
"""Checks of the values of traits; each raises an error of one line."""


_SettingsT = TypeVar("_SettingsT", bound=Configurable)


def _trait_of(setting: Setting) -> TraitType[Any, Any]:
    """Return the trait of a feature's setting."""
    if setting.is_number:
        return CUnicode(None, allow_none=True, help=setting.help)
    return Unicode(None, allow_none=True, help=setting.help)


def _with_features(settings: type[_SettingsT]) -> type[_SettingsT]:
    """Return a class of settings with a trait for each setting of a feature."""
    traits = {setting.name: _trait_of(setting) for setting in all_settings()}
    # %config and the configuration files can set all of them.
    for trait in (*settings.class_own_traits().values(), *traits.values()):
        trait.tag(config=True)
    namespace = {"__module__": settings.__module__, "__doc__": settings.__doc__, **traits}
    made = new_class(
        settings.__name__, (settings,), exec_body=lambda names: names.update(namespace)
    )
    return cast("type[_SettingsT]", made)


@_with_features
class KernelSettings(Configurable):
    """The settings of one kernel; the manual's page "Configuration" describes them."""

    file_url: str | None
    """The address that a configuration file sets."""
    listed_models: tuple[str, ...] = ()
    """The models that the server listed last, for Tab."""
    homes: dict[str, str | None]
    """The address of each setting that belongs to one."""
    changed_later: set[str]
    """The names of the settings that were set after a feature's command ran."""
    notes: CellNotes | None = None
    """The notes on the cells; ``None`` while the extension is not loaded."""

    base_url = Unicode(None, allow_none=True, help="Address of the service.")
    auth = Unicode(None, allow_none=True, help="How the key is sent: bearer, ….")
    timeout = AnyTrait(None, help="Seconds to wait, or a dict of seconds by name.")
    limits = AnyTrait(None, help="Largest reply: a dict of bytes by name.")
    model = Unicode(None, allow_none=True, help="Model to ask for, at the address it was set for.")
    extra_body = Dict(help="Fields that a compatible server requires.")
    stream_usage = Bool(False, help="Ask for token counts with each stream.")
    response_format = Bool(True, help="Name the form of a reply in JSON in a field of its own.")
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
    keep_values = Bool(False, help="Keep the values of {{ }} in the notebook and in saved files.")
    keep_output = Bool(False, help="Tag cells with a record, so that nbstripout keeps outputs.")
    fit = Bool(False, help="Send a question that is too long again without the oldest turns.")
    stream = Enum(["auto", "updates", "text", "off"], "auto", help="How a reply is shown.")

    @validate(*_CHECKS)
    def _checked(self, proposal: dict[str, Any]) -> Any:
        """Return a value that its check accepts."""
        name = proposal["trait"].name
        value = proposal["value"]
        try:
            _CHECKS[name](value)
            if name == "extra_headers":
                refuse_keys([*value, *value.values()], self.known_keys())
        except (InputError, ValueError) as error:
            raise TraitError(f"ChatMagics.{name}: {error}") from None
        return value

    def __init__(self, *args: Any, **named: Any) -> None:
        """Set the values of the configuration files; later values come from cells."""
        self.homes = {}
        self.changed_later = set()
        self.file_url = None
        super().__init__(*args, **named)
        self.file_url = self.base_url

    def known_keys(self) -> tuple[Secret, ...]:
        """Return the environment's keys, which no setting and no error may hold."""
        return config.known_keys()

    def _load_config(self, cfg: Config, *more: Any, **named: Any) -> None:
        """Set the values of a file or of ``%config``; no error of it shows a key."""
        try:
            super()._load_config(cfg, *more, **named)
        except TraitError as error:
            raise TraitError(one_line(redacted(str(error), self.known_keys()), _SHOWN)) from None


class FileSettings(KernelSettings):
    """The settings of each new kernel of this user, before a cell changes them.

    Raises:
        InputError: a file sets a wrong value, or cannot be run.
    """

    def __init__(self) -> None:
        """Read the files as IPython reads them: the user's own precedes the system's."""
        try:
            super().__init__(config=Config({"FileSettings": _files().get("ChatMagics", {})}))
        except TraitError as error:
            raise InputError(f"IPython's configuration file: {error}") from None


def _files() -> Config:
    """Return the configuration of IPython's files."""
    try:
        profile = Path(get_ipython_dir()) / "profile_default"
    except OSError as error:
        raise InputError(
            f"IPython's folder {one_line(str(error.filename))} cannot be made: {error.strerror}. "
            "Nothing was sent.",
            hint="IPYTHONDIR names another folder.",
        ) from None
    # If a file's settings, such as a limit, cannot be read, nothing may be sent.
    reader = Application(raise_config_file_errors=True)
    try:
        reader.load_config_file(
            "ipython_config", path=[str(profile), *ENV_CONFIG_DIRS, *SYSTEM_CONFIG_DIRS]
        )
    except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
        log_swallowed(error)
        message = f"IPython's configuration file cannot be run: {type(error).__name__}."
        raise InputError(f"{message} Nothing was sent.", hint=f"It is in {profile}.") from None
    return reader.config
