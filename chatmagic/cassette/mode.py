"""Which cassette is in, and what is done with it: the environment, the magic, the configuration."""

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
MAGIC: Final = "%chat_cassette"
NOTEBOOK: Final = ".ipynb"


@dataclass(frozen=True, slots=True)
class CassetteOptions:
    """What one place says of the cassette: the magic, or the configuration.

    Args:
        file: the cassette; ``None`` says nothing.
        mode: ``record``, ``replay``, ``refresh`` or ``live``; ``None`` says nothing.
        fallback: who answers what is not recorded: ``emulator``; ``None`` is nobody.
        by_order: whether a request that differs is answered by its place.
        off: whether the cassette that is in was taken out.
    """

    file: str | None = None
    mode: str | None = None
    fallback: str | None = None
    by_order: bool = False
    off: bool = False


@dataclass(frozen=True, slots=True)
class CassetteConfig:
    """The cassette that is in, and what is done with it.

    Args:
        path: the file.
        mode: what is done.
        fallback: as for :class:`CassetteOptions`.
        by_order: as for :class:`CassetteOptions`.
        file_from: who decided the file, in words.
        mode_from: who decided the mode, in words.
    """

    path: Path
    mode: Mode
    fallback: str | None = None
    by_order: bool = False
    file_from: str = FILE_VARIABLE
    mode_from: str = ""

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return self.path.name

    @property
    def is_notebook(self) -> bool:
        """Whether it is a notebook, which is only replayed."""
        return self.path.suffix.lower() == NOTEBOOK


def resolve(
    environ: Mapping[str, str],
    magic: CassetteOptions | None = None,
    config: CassetteOptions | None = None,
    *,
    changed_later: AbstractSet[str] = frozenset(),
    interactive: bool = False,
) -> CassetteConfig | None:
    """Find out which cassette is in: the environment beats the magic and the config.

    Of these two, what was said later counts.

    Args:
        environ: the environment's variables.
        magic: what ``%chat_cassette`` said last; ``None`` if nothing.
        config: what ``ChatMagics`` says.
        changed_later: which of ``cassette`` and ``mode`` was configured after the magic ran.
        interactive: whether a person asks; a machine replays what nobody said to record.

    Returns:
        The choice; ``None`` where every question goes to the service, as without a cassette.

    Raises:
        InputError: what is said does not go together.
    """
    magic, config = magic or CassetteOptions(), config or CassetteOptions()
    if magic.off:
        config = _since_off(config, changed_later)
    files = [(magic.file, MAGIC), (config.file, "ChatMagics.cassette")]
    modes = [(magic.mode, MAGIC), (config.mode, "ChatMagics.mode")]
    if "cassette" in changed_later:
        files.reverse()
    if "mode" in changed_later:
        modes.reverse()
    file, file_from = _first((environ.get(FILE_VARIABLE), FILE_VARIABLE), *files)
    word, mode_from = _first((environ.get(MODE_VARIABLE), MODE_VARIABLE), *modes)
    mode = _mode(word, mode_from)
    if mode == "live":
        return None
    if not file:
        if mode is None:
            return None
        raise InputError(
            f"{mode_from} says {mode}, but no cassette is set. Nothing was sent.",
            hint="Set CHATMAGIC_CASSETTE, or run %chat_cassette FILE; the mode live asks anew.",
        )
    return _chosen(file, file_from, mode, mode_from, magic, interactive=interactive)


def _chosen(
    file: str,
    file_from: str,
    mode: Mode | None,
    mode_from: str,
    magic: CassetteOptions,
    *,
    interactive: bool,
) -> CassetteConfig:
    """Give the cassette of this file, in this mode or the one that goes with it."""
    try:
        path = Path(file).expanduser()
    except RuntimeError:
        raise InputError(f"{file_from} names a home folder that there is not.") from None
    is_notebook = path.suffix.lower() == NOTEBOOK
    if is_notebook and file_from == FILE_VARIABLE and mode_from != MODE_VARIABLE:
        # It can only be replayed, so it beats the mode that was meant for another file.
        mode = None
    if mode is None:
        mode, mode_from = _unstated(magic, is_notebook=is_notebook, interactive=interactive)
    if is_notebook and mode != "replay":
        raise InputError(
            f"A notebook is only replayed, and {mode_from} says {mode}. Nothing was sent.",
            hint=f"Record into a file of its own: {path.stem}.jsonl.",
        )
    return CassetteConfig(path, mode, magic.fallback, magic.by_order, file_from, mode_from)


def _since_off(config: CassetteOptions, changed_later: AbstractSet[str]) -> CassetteOptions:
    """Give what the configuration says after ``--off``, by which no replay becomes a live ask."""
    mode = config.mode if changed_later or (config.mode or "").strip().lower() == "replay" else None
    return CassetteOptions(config.file if "cassette" in changed_later else None, mode)


def _unstated(magic: CassetteOptions, *, is_notebook: bool, interactive: bool) -> tuple[Mode, str]:
    """Give the mode where nobody said one."""
    if is_notebook:
        return "replay", "a notebook"
    if magic.fallback or magic.by_order:
        return "replay", "its option"
    return ("record", "a person asks") if interactive else ("replay", "no person asks")


def _first(*said: tuple[str | None, str]) -> tuple[str, str]:
    found = ((word.strip(), whence) for word, whence in said if word and word.strip())
    return next(found, ("", ""))


def _mode(word: str, whence: str) -> Mode | None:
    if word and word.lower() not in MODES:
        raise InputError(f"{whence} is one of {', '.join(MODES)}, not {word[:20]!r}.")
    return cast("Mode", word.lower()) if word else None
