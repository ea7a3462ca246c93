"""The settings of ``%config ChatMagics`` as typed traits, which refuse a wrong value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from traitlets.config import Configurable

from chatmagic.errors import InputError
from chatmagic.jupyter import checks

if TYPE_CHECKING:
    from traitlets.config import Config

    from chatmagic.cassette.mode import CassetteOptions
    from chatmagic.jupyter.cell_notes import CellNotes
    from chatmagic.protocol.auth import Secret

CHECKED = [
    "base_url",
    "auth",
    "timeout",
    "model",
    "extra_body",
    "extra_headers",
    "temperature",
    "mode",
    "budget",
]
"""The settings whose type does not say enough; :mod:`chatmagic.jupyter.checks` checks them."""


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

    order = Enum(
        ["page", "run"],
        "page",
        help="Where a turn stands: as its cell in the page, where that is known, or as first run.",
    ).tag(config=True)

    @validate(*CHECKED)
    def _checked(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        try:
            checks.check(name, value, self.known_keys() if name == "extra_headers" else ())
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
            raise TraitError(checks.without_keys(str(error), self.known_keys())) from None
