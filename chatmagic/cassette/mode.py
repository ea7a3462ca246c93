"""Choice of the cassette and its mode: environment, magic and configuration combined."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from chatmagic.client.config import FILE_VARIABLE, MODE_VARIABLE
from chatmagic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

Mode = Literal["live", "record", "replay", "refresh"]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
_Source = tuple[str | None, str]
"""A value, and the name of its source for messages."""

MAGIC: Final = "%chat_cassette"
NOTEBOOK: Final = ".ipynb"


@dataclass(frozen=True, slots=True)
class CassetteOptions:
    """The cassette's settings from one source: the magic, or the configuration.

    Args:
        file: path of the cassette; ``None`` if the source does not set it.
        mode: one of :data:`MODES`, unchecked; ``None`` if the source does not set it.
        fallback: ``emulator`` if the emulator answers requests that are not recorded; ``None`` if
            they are errors.
        by_order: whether a request that differs is answered by its position.
        off: whether the source ejects the cassette.
    """

    file: str | None = None
    mode: str | None = None
    fallback: str | None = None
    by_order: bool = False
    off: bool = False


@dataclass(frozen=True, slots=True)
class CassetteConfig:
    """The active cassette and its mode.

    Args:
        path: the file.
        mode: any mode except ``live``, in which no cassette is active.
        fallback: as for :class:`CassetteOptions`.
        by_order: as for :class:`CassetteOptions`.
        file_from: the source of the file, as messages name it.
        mode_from: the source of the mode, as messages name it.
    """

    path: Path
    mode: Mode
    fallback: str | None = None
    by_order: bool = False
    file_from: str = FILE_VARIABLE
    mode_from: str = ""

    @property
    def name(self) -> str:
        """The file's name without its folder, for messages."""
        return self.path.name

    @property
    def is_notebook(self) -> bool:
        """Whether the file is a notebook, which can only be replayed."""
        return self.path.suffix.lower() == NOTEBOOK


def resolve(
    environ: Mapping[str, str],
    magic: CassetteOptions | None = None,
    config: CassetteOptions | None = None,
    *,
    changed_later: AbstractSet[str] = frozenset(),
    interactive: bool = False,
) -> CassetteConfig | None:
    """Return the active cassette and its mode.

    The environment takes precedence over the magic and the configuration. Of these two the one
    that was set later counts.

    Args:
        environ: the environment's variables.
        magic: the settings of the last ``%chat_cassette``; ``None`` before its first use.
        config: the settings of ``ChatMagics``; ``None`` for none.
        changed_later: those of ``cassette`` and ``mode`` that were configured after the magic ran.
        interactive: whether a person runs the cells. It decides if no mode is set: a person
            records, a program replays.

    Returns:
        The cassette; ``None`` if none is active, so that every request goes to the service.

    Raises:
        InputError: the sources contradict each other.
    """
    magic, config = magic or CassetteOptions(), config or CassetteOptions()
    if magic.off:
        # Later configuration counts. An earlier replay stays, so that nothing is sent.
        is_replay = (config.mode or "").strip().lower() == "replay"
        config = CassetteOptions(
            config.file if "cassette" in changed_later else None,
            config.mode if changed_later or is_replay else None,
        )

    file, file_from = _setting(
        (environ.get(FILE_VARIABLE), FILE_VARIABLE),
        (magic.file, MAGIC),
        (config.file, "ChatMagics.cassette"),
        is_configured_later="cassette" in changed_later,
    )
    word, mode_from = _setting(
        (environ.get(MODE_VARIABLE), MODE_VARIABLE),
        (magic.mode, MAGIC),
        (config.mode, "ChatMagics.mode"),
        is_configured_later="mode" in changed_later,
    )
    mode = cast("Mode | Literal['']", word.lower())
    if mode and mode not in MODES:
        raise InputError(f"{mode_from} is one of {', '.join(MODES)}, not {word[:20]!r}.")
    if mode == "live" or not (mode or file):
        return None
    if not file:
        raise InputError(
            f"{mode_from} says {mode}, but no cassette is set. Nothing was sent.",
            hint="Set CHATMAGIC_CASSETTE, or run %chat_cassette FILE; mode live asks the service.",
        )
    try:
        path = Path(file).expanduser()
    except RuntimeError:
        raise InputError(f"{file_from} names a home folder that does not exist.") from None
    is_notebook = path.suffix.lower() == NOTEBOOK
    if is_notebook and file_from == FILE_VARIABLE and mode_from != MODE_VARIABLE:
        # The environment's notebook can only be replayed; a mode from elsewhere is not for it.
        mode = ""
    if not mode:
        mode, mode_from = _default_mode(magic, is_notebook=is_notebook, interactive=interactive)
    elif is_notebook and mode != "replay":
        raise InputError(
            f"A notebook can only be replayed, but {mode_from} says {mode}. Nothing was sent.",
            hint=f"Record into a file of its own: {path.stem}.jsonl.",
        )
    return CassetteConfig(path, mode, magic.fallback, magic.by_order, file_from, mode_from)


def _setting(
    environment: _Source, magic: _Source, config: _Source, *, is_configured_later: bool
) -> tuple[str, str]:
    """Return the value that takes precedence and its source; two empty strings without a value."""
    others = (config, magic) if is_configured_later else (magic, config)
    given = ((value.strip(), source) for value, source in (environment, *others) if value)
    return next(((value, source) for value, source in given if value), ("", ""))


def _default_mode(
    magic: CassetteOptions, *, is_notebook: bool, interactive: bool
) -> tuple[Mode, str]:
    """Return the mode if no source sets one, and the reason for messages."""
    if is_notebook:
        return "replay", "a notebook"
    if magic.fallback or magic.by_order:
        return "replay", "its option"
    return ("record", "a person asks") if interactive else ("replay", "no person asks")
