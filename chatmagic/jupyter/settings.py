"""The settings of ``%config ChatMagics`` as typed traits, which refuse a wrong value.

A kernel has those of its cells; a command outside a kernel, those of IPython's configuration files.
"""

from __future__ import annotations

import math
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

from chatmagic._log import log_swallowed
from chatmagic.cassette.mode import MODES
from chatmagic.client import config
from chatmagic.client.endpoint import Timeout, request_fields, request_headers
from chatmagic.errors import InputError
from chatmagic.models import Message
from chatmagic.protocol import url
from chatmagic.protocol.auth import AUTH_WAYS, redacted, refuse_keys
from chatmagic.protocol.wire import Request
from chatmagic.session.budget import Budget
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatmagic.cassette.mode import CassetteOptions
    from chatmagic.jupyter.cells.notes import CellNotes
    from chatmagic.protocol.auth import Secret

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


def _model(value: str | None) -> None:
    request_fields(None, value)


def _extra_body(value: object) -> None:
    Request((Message("user", ""),), extra=request_fields(value)).encode()


def _temperature(value: float | None) -> None:
    if value is not None and not math.isfinite(value):
        raise InputError("it is a finite number, or None.")


def _budget(value: str | None) -> None:
    if value and value.strip():
        Budget.parse(value, "it")


_CHECKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "base_url": _base_url,
    "auth": _one_of(AUTH_WAYS),
    "timeout": Timeout.from_value,
    "model": _model,
    "extra_body": _extra_body,
    "extra_headers": request_headers,
    "temperature": _temperature,
    "mode": _one_of(MODES),
    "budget": _budget,
}
"""What refuses, in one line, a value that the trait's type does not."""


class _NoSwitch(TraitType[Any, Any]):
    """A trait that does not take True and False, which Python takes for numbers."""

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse True and False."""
        if isinstance(value, bool):
            self.error(obj, value)
        return super().validate(obj, value)  # type: ignore[misc]


class _Number(_NoSwitch, Float[Any, Any]):
    """A number."""


class _WholeNumber(_NoSwitch, Integer[Any, Any]):
    """A whole number."""


class KernelSettings(Configurable):
    """The settings of one kernel; the manual's page "Configuration" says what they do."""

    file_url: str | None
    """The address that a configuration file sets."""
    homes: dict[str, str | None]
    """The address that each setting was set for, where it belongs to one."""
    changed_later: set[str]
    """Which of the cassette's settings were set after ``%chat_cassette`` ran."""
    chosen_cassette: CassetteOptions | None = None
    """What ``%chat_cassette`` set last; ``None`` before its first use."""
    notes: CellNotes | None = None
    """What is noted of the cells; ``None`` while the extension is not loaded."""
    _is_made = False

    base_url = Unicode(None, allow_none=True, help="Address of the service.").tag(config=True)
    auth = Unicode(None, allow_none=True, help="How the key is sent: bearer, ….").tag(config=True)
    timeout = AnyTrait(
        None,
        help="Seconds to wait for the first byte and in silence; or a dict of seconds by name: "
        "connect, first_byte, silence, total; or a chatmagic.Timeout.",
    ).tag(config=True)
    model = Unicode(
        None, allow_none=True, help="Model to ask for; sent to the address it was set for."
    ).tag(config=True)
    extra_body = Dict(help="Fields that a compatible server requires.").tag(config=True)
    stream_usage = Bool(
        False, help="Ask for token counts with each stream; most servers send them only then."
    ).tag(config=True)
    extra_headers = Dict(
        help="Headers that a gateway requires, never a key; sent to the address they were set for."
    ).tag(config=True)
    system_role = Bool(
        False,
        help="Send %%chat_instructions as a message of the role system, which the server has.",
    ).tag(config=True)
    temperature = _Number(None, allow_none=True, help="Default of --temperature.").tag(config=True)
    max_tokens = _WholeNumber(None, allow_none=True, help="Default of --max-tokens.").tag(
        config=True
    )
    last = _WholeNumber(None, allow_none=True, min=0, help="Default of --last.").tag(config=True)
    no_history = Bool(False, help="Default of --no-history.").tag(config=True)
    no_stream = Bool(False, help="Default of --no-stream.").tag(config=True)
    raw = Bool(False, help="Default of --raw.").tag(config=True)
    quiet = Bool(False, help="Default of --quiet.").tag(config=True)
    no_credits = Bool(False, help="Default of --no-credits.").tag(config=True)
    format = Enum(
        ["markdown", "text", "code", "json"], None, allow_none=True, help="Default of --format."
    ).tag(config=True)
    keep_values = Bool(
        False, help="Keep what {{ }} puts in: in the notebook, shown folded, and in saved files."
    ).tag(config=True)
    keep_output = Bool(
        False,
        help="Tag cells with a record keep_output in the page, so that nbstripout leaves their "
        "outputs.",
    ).tag(config=True)
    fit = Bool(
        False,
        help="Send a question once more without the oldest turns where the service says that the "
        "conversation is too long.",
    ).tag(config=True)
    budget = CUnicode(
        None,
        allow_none=True,
        help='What may be used: "50" (credits) or "20 turns" of this kernel.',
    ).tag(config=True)
    cassette = Unicode(None, allow_none=True, help="File to record and replay.").tag(config=True)
    mode = Unicode(
        None, allow_none=True, help="What is done with it: record, replay, refresh, live."
    ).tag(config=True)
    stream = Enum(
        ["auto", "updates", "text", "off"],
        "auto",
        help="How a reply is shown while it comes: off shows it once, at its end.",
    ).tag(config=True)

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
        """Set what a file or ``%config`` says; no error of it shows a key."""
        try:
            super()._load_config(cfg, *more, **named)
        except TraitError as error:
            words = redacted(str(error), self.known_keys())
            raise TraitError(one_line(words, _SHOWN)) from None


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
    profile = Path(get_ipython_dir()) / "profile_default"
    # Without what a file says, such as its budget, nothing is to be sent.
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
