"""Choice of the cassette and of its mode: environment, magic and configuration."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, get_args

from chatmagic.advice import NO_CASSETTE
from chatmagic.client.config import FILE_VARIABLE, MODE_VARIABLE, first_set
from chatmagic.errors import InputError

Mode = Literal["live", "record", "replay", "refresh"]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)

MAGIC: Final = "%chat_cassette"


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
        return self.path.suffix.lower() == ".ipynb"

    @property
    def is_recording(self) -> bool:
        """Whether answers are recorded."""
        return self.mode in {"record", "refresh"}


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
        changed_later: the options, ``cassette`` or ``mode``, that were configured after the magic
            ran.
        interactive: whether a person runs the cells. It decides if no mode is set: a person
            records, a program replays.

    Returns:
        The cassette; ``None`` if none is active, so that every request goes to the service.

    Raises:
        InputError: the sources contradict each other.
    """
    magic = magic or CassetteOptions()
    config = config or CassetteOptions()
    if magic.off:
        config = _after_off(config, changed_later)
    sources = _Sources(environ, magic, config, changed_later)
    file, file_from = sources.file()
    word, mode_from = sources.mode()
    mode = _checked_mode(word, mode_from)
    if mode == "live" or not (mode or file):
        return None
    if not file:
        raise InputError(
            f"{mode_from} says {mode}, but no cassette is set. Nothing was sent.",
            hint=NO_CASSETTE,
        )
    path = _path(file, file_from)
    chosen = CassetteConfig(path, mode or "replay", magic.fallback, magic.by_order, file_from)
    if chosen.is_notebook:
        return replace(chosen, mode="replay", mode_from="a notebook")
    if interactive and not (mode or magic.fallback or magic.by_order):
        return replace(chosen, mode="record", mode_from="a person asks")
    return replace(chosen, mode_from=mode_from or "by default")


@dataclass(frozen=True, slots=True)
class _Sources:
    """The three sources of a cassette's settings, in their precedence.

    Args:
        environ: the environment's variables, which count first.
        magic: the settings of the magic.
        config: the settings of ``ChatMagics``.
        changed_later: the options that were configured after the magic ran.
    """

    environ: Mapping[str, str]
    magic: CassetteOptions
    config: CassetteOptions
    changed_later: AbstractSet[str]

    def file(self) -> tuple[str, str]:
        """Return the path of the cassette and its source; two empty texts for none."""
        return self._first(FILE_VARIABLE, "cassette", self.magic.file, self.config.file)

    def mode(self) -> tuple[str, str]:
        """Return the mode, unchecked, and its source; two empty texts for none."""
        return self._first(MODE_VARIABLE, "mode", self.magic.mode, self.config.mode)

    def _first(
        self, variable: str, option: str, of_magic: str | None, of_config: str | None
    ) -> tuple[str, str]:
        """Return the value of an option that takes precedence, and its source."""
        from_environment = (self.environ.get(variable), variable)
        from_magic = (of_magic, MAGIC)
        from_config = (of_config, f"ChatMagics.{option}")
        if option in self.changed_later:
            return first_set([from_environment, from_config, from_magic])
        return first_set([from_environment, from_magic, from_config])


def _checked_mode(word: str, source: str) -> Mode | None:
    """Return the mode that a source names; ``None`` for an empty word."""
    mode = word.lower()
    if not mode:
        return None
    if mode not in MODES:
        raise InputError(f"{source} is one of {', '.join(MODES)}, not {word[:20]!r}.")
    return mode


def _after_off(config: CassetteOptions, changed_later: AbstractSet[str]) -> CassetteOptions:
    """Return what counts of the configuration after the magic has ejected the cassette.

    Later configuration counts. An earlier replay stays, so that nothing is sent.

    Args:
        config: the settings of ``ChatMagics``.
        changed_later: the options that were configured after the magic ran.
    """
    is_replay = (config.mode or "").strip().lower() == "replay"
    return CassetteOptions(
        config.file if "cassette" in changed_later else None,
        config.mode if changed_later or is_replay else None,
    )


def _path(file: str, source: str) -> Path:
    """Return the path of a cassette that a source names."""
    try:
        return Path(file).expanduser()
    except RuntimeError:
        raise InputError(f"{source} names a home folder that does not exist.") from None
