"""Base of every description: its bound, how it is cut, and texts of single objects."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass
from datetime import date, time, timedelta
from numbers import Number
from typing import TYPE_CHECKING, Any, Final

from IPython.lib.pretty import RepresentationPrinter

from chatmagic._log import log_swallowed
from chatmagic.text import counted, one_line, without_memory_addresses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from IPython.core.interactiveshell import InteractiveShell

LIMIT: Final = 4_000
"""The most characters of a description, with what it says of what was left out."""
COUNTED: Final = 100_000
"""How far a text is made to tell how long it is; a longer one is longer than that."""
_CELL: Final = 60
_NAME: Final = 40
_CELL_READ: Final = 1_000
_WORD: Final = 12
_CUT_WORD: Final = re.compile(rf"(?<![\w.+=-])([\w.+=-]{{{_WORD}}})[\w.+=-]{{1,200}}\Z")
"""A word that a cut goes through: of a password, most of it would be one that no check knows."""
_SCALARS: Final = (Number, date, time, timedelta)
_SIZED: Final = (list, tuple, set, frozenset, dict)


@dataclass(frozen=True, slots=True)
class Description:
    """Text that stands for an object in a prompt.

    Args:
        text: the text, at most :data:`LIMIT` characters of an object that is no text.
        what: what it describes, such as ``80 rows``; empty for a text or a number.
        whole: whether it is all of the object's text or source, not a selection.
    """

    text: str
    what: str = ""
    whole: bool = False

    def words(self, expression: str) -> str:
        """Return what went in for a person, in one line; empty for a text or a number.

        Args:
            expression: as typed between the braces.
        """
        if not self.what:
            return ""
        size = counted(len(self.text), "character")
        how = "in" if self.whole else "described in"
        return f"{one_line(expression, _NAME)}: {self.what} {how} {size}"


def whole_or_cut(text: str, what: str, of: str, *, complete: bool = True) -> Description:
    """Return a text as a description, cut where it is too long.

    Args:
        text: the text.
        what: what it describes.
        of: what the text is of, for the line that says how much was left out.
        complete: whether there is no more of the text; otherwise it is of unknown length.
    """
    if complete and len(text) <= LIMIT:
        return Description(text, what, whole=True)
    total = f"{len(text):,}" if complete else f"more than {COUNTED:,}"
    line = f"\n[cut: the first {{:,}} of {total} characters of {of}]"
    kept = _CUT_WORD.sub(r"\1", text[: LIMIT - len(line.format(LIMIT))])
    return Description(kept + line.format(len(kept)), what)


def is_a(value: object, package: str, *names: str) -> bool:
    """Return whether an object is of a class of a library, which is not imported for that.

    Args:
        value: any object.
        package: the library's module.
        names: names of its classes.
    """
    module = sys.modules.get(package)
    kinds = (getattr(module, name, None) for name in names)
    return issubclass(type(value), tuple(kind for kind in kinds if isinstance(kind, type)))


def kind_of(value: object) -> str:
    """Return the name of an object's type, with its size where that is a built-in container."""
    kind = type(value)
    name = one_line(type.__dict__["__name__"].__get__(kind), _NAME)
    if kind not in _SIZED:
        return name
    return f"{name} of {counted(len(value), 'item')}"  # type: ignore[arg-type]


class _Full(Exception):  # noqa: N818 - it ends the printing, nothing is wrong
    """More was written than is wanted."""


class _Bounded(io.StringIO):
    """Stream that takes so many characters."""

    def __init__(self, limit: int) -> None:
        """Begin empty."""
        super().__init__()
        self._limit = limit

    def write(self, text: str) -> int:
        """Keep a piece as far as it fits.

        Raises:
            _Full: it does not fit.
        """
        kept = super().write(text[: self._limit - self.tell()])
        if kept < len(text):
            raise _Full
        return kept


def printed(
    value: object, shell: InteractiveShell | None = None, limit: int = COUNTED
) -> tuple[str, bool]:
    """Return an object as IPython shows it in text, and whether that is all of it.

    A long one is printed no further than the limit, and no sequence is shortened before. It
    has no address of an object.

    Args:
        value: any object.
        shell: the shell whose printers count; ``None`` for IPython's own.
        limit: the most characters of the text.
    """

    def start(text: Any, printer: RepresentationPrinter, _cycle: object) -> None:
        # The repr of a whole text would be made before any of it is written.
        printer.text(repr(text if len(text) <= limit else text[: limit + 1]))

    stream = _Bounded(limit)
    printer = RepresentationPrinter(stream, max_seq_length=limit)
    display = None if shell is None else shell.display_formatter
    if display is not None and (plain := display.formatters.get("text/plain")) is not None:
        # Copies: printing moves what is deferred to the types.
        printer.max_width = plain.max_width
        printer.singleton_pprinters = dict(plain.singleton_printers)
        printer.type_pprinters = dict(plain.type_printers)
        printer.deferred_pprinters = dict(plain.deferred_printers)
    for kind in (str, bytes, bytearray):
        printer.type_pprinters[kind] = start
    try:
        printer.pretty(value)
        printer.flush()
    except _Full:
        return without_memory_addresses(stream.getvalue()), False
    return without_memory_addresses(stream.getvalue()), True


def cell(value: object, limit: int = _CELL) -> str:
    """Return an object in a few characters, for a cell of a table; it never fails.

    Args:
        value: any object.
        limit: the most characters.
    """
    try:
        if issubclass(type(value), str):
            return _short(str(value)[:_CELL_READ], limit)
        if issubclass(type(value), _SCALARS) or is_a(value, "numpy", "generic"):
            return _short(str(value), limit)
        return _short(printed(value, limit=_CELL_READ)[0], limit)
    except Exception as error:  # noqa: BLE001 - an object's own methods may raise anything
        log_swallowed(error)
        return one_line(f"<{kind_of(value)}>", limit)


def _short(text: str, limit: int) -> str:
    line = one_line(text, limit + 1)
    if len(line) <= limit:
        return line
    return _CUT_WORD.sub(r"\1", line[: limit - 1]).rstrip() + "…"


def ends(total: int, most: int) -> list[int]:
    """Return the places of the first and the last of so many, two thirds of them first.

    Args:
        total: how many there are.
        most: how many places to give at most.
    """
    if total <= most:
        return list(range(total))
    last = most // 3
    return [*range(most - last), *range(total - last, total)]


def places(noun: str, shown: Sequence[int], total: int) -> str:
    """Return places in words, counted from 1: ``rows 1 to 7 and 78 to 80 of 80``.

    Args:
        noun: what stands there, in the singular.
        shown: the places, from 0, with one gap at most.
        total: how many there are.
    """
    if len(shown) == total:
        return f"all {counted(total, noun)}"
    gap = gap_of(shown)
    runs = [run for run in (shown[:gap], shown[gap:]) if run]
    named = " and ".join(
        f"{run[0] + 1:,} to {run[-1] + 1:,}" if len(run) > 1 else f"{run[0] + 1:,}" for run in runs
    )
    return f"{noun}s {named} of {total:,}"


def gap_of(shown: Sequence[int]) -> int:
    """Return how many places there are before the first that is left out."""
    return next((at for at, place in enumerate(shown) if at != place), len(shown))
