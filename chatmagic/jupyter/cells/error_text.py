"""An error with its traceback as plain text, made without running the user's code.

:func:`traceback.format_exception` is not used, for two reasons. It suggests names by ``dir()`` of
the user's objects, which runs the user's code. It writes files with their full paths, which are
private and differ from machine to machine.
"""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from chatmagic._log import log_swallowed
from chatmagic.conversation.attachments import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Frame = tuple[str, int, str]

FIRST, LAST = 10, 20
"""How many frames of a long traceback are kept at its beginning and at its end."""
MOST_ERRORS: Final = 10
"""How many errors of a chain or of a group are kept."""
DEEPEST: Final = 5
"""How many groups may stand in one another."""
MOST_OF_A_MESSAGE: Final = 20_000
"""How many characters of an error's message are kept."""

_CAUSE: Final = "The error above was the direct cause of the following one:"
_CONTEXT: Final = "While the error above was handled, the following one was raised:"


def traceback_text(error: BaseException, cell_of: Callable[[str], str | None]) -> str:
    """Return an error with its traceback, its causes, and the errors of its group.

    Args:
        error: the error.
        cell_of: returns the name of the cell for a file's name; ``None`` for a file of no cell.
    """
    return "\n".join(_chain(error, cell_of, 0))


def _chain(error: BaseException, cell_of: Callable[[str], str | None], depth: int) -> list[str]:
    """Return the lines of an error, after those of the errors that led to it."""
    chain: list[tuple[BaseException, str]] = []
    item: BaseException | None = error
    while item is not None and all(item is not known for known, _ in chain):
        earlier = item.__cause__
        if earlier is None and not item.__suppress_context__:
            earlier = item.__context__
        words = "" if earlier is None else _CONTEXT if item.__cause__ is None else _CAUSE
        chain.append((item, words))
        item = earlier
    lines: list[str] = []
    if len(chain) > MOST_ERRORS:
        lines.append(f"[{len(chain) - MOST_ERRORS:,} earlier errors left out]")
    for number, (each, words) in enumerate(reversed(chain[:MOST_ERRORS])):
        if words and (number or lines):
            lines += ["", words, ""]
        lines += _error_lines(each, cell_of, depth)
    return lines


def _error_lines(
    error: BaseException, cell_of: Callable[[str], str | None], depth: int
) -> list[str]:
    frames = _frames(error, cell_of)
    lines = ["Traceback (most recent call last):", *_framed(frames, cell_of)] if frames else []
    lines += _message(error, cell_of)
    if isinstance(error, BaseExceptionGroup):
        lines += _members(error.exceptions, cell_of, depth + 1)
    return lines


def _members(
    errors: Sequence[BaseException], cell_of: Callable[[str], str | None], depth: int
) -> list[str]:
    """Return the lines of a group's errors, indented."""
    if depth > DEEPEST:
        return [f"  [{len(errors):,} errors left out, nested too deeply]"]
    lines: list[str] = []
    for number, each in enumerate(errors[:MOST_ERRORS], 1):
        lines.append(f"  Error {number:,} of {len(errors):,} in the group:")
        lines += [f"    {line}".rstrip() for line in _chain(each, cell_of, depth)]
    if len(errors) > MOST_ERRORS:
        lines.append(f"  [{len(errors) - MOST_ERRORS:,} more errors left out]")
    return lines


def _frames(error: BaseException, cell_of: Callable[[str], str | None]) -> list[Frame]:
    """Return file, line and function of each frame, from the first frame of a cell on."""
    walked = traceback.walk_tb(error.__traceback__)
    frames = [(f.f_code.co_filename, number, f.f_code.co_name) for f, number in walked]
    first = next((n for n, frame in enumerate(frames) if cell_of(frame[0])), None)
    # An error that was caught in a library has no frame of a cell.
    if first is None and isinstance(error, SyntaxError):
        return []
    return [frame for frame in frames[first:] if not frame[0].startswith("<frozen importlib")]


def _framed(frames: list[Frame], cell_of: Callable[[str], str | None]) -> list[str]:
    lines: list[str] = []
    for place, (file, number, function) in enumerate(frames):
        left_out = len(frames) - FIRST - LAST
        if left_out > 0 and FIRST <= place < FIRST + left_out:
            if place == FIRST:
                lines.append(f"  [{left_out:,} calls left out]")
            continue
        inside = "" if function == "<module>" else f", in {function}"
        lines.append(f"  {cell_of(file) or _file(file)}, line {number}{inside}")
        if source := linecache.getline(file, number).strip():
            lines.append(f"    {source}")
    return lines


def _message(error: BaseException, cell_of: Callable[[str], str | None]) -> list[str]:
    kind = type(error)
    module = "" if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}."
    name = f"{module}{kind.__qualname__}"
    lines: list[str] = []
    if isinstance(error, SyntaxError):
        lines += _place(error, cell_of)
    words = error.msg if isinstance(error, SyntaxError) else _words(error)
    lines.append(f"{name}: {shortened(str(words), MOST_OF_A_MESSAGE)}" if words else name)
    notes = getattr(error, "__notes__", None)
    if isinstance(notes, list):
        lines += [shortened(note, MOST_OF_A_MESSAGE) for note in notes if isinstance(note, str)]
    return lines


def _words(error: BaseException) -> str:
    """Return an error's message; a class of the user's may fail to make it."""
    try:
        return str(error)
    except Exception as failure:  # noqa: BLE001 - the user's own code may raise anything
        log_swallowed(failure)
        return "(its message cannot be made)"


def _place(error: SyntaxError, cell_of: Callable[[str], str | None]) -> list[str]:
    """Return the place of a syntax error: file and line, the line itself, and a caret."""
    file, number, column = error.filename, error.lineno, error.offset
    if not isinstance(file, str) or not isinstance(number, int):
        return []
    lines = [f"  {cell_of(file) or _file(file)}, line {number}"]
    text = error.text if isinstance(error.text, str) else linecache.getline(file, number)
    if shown := text.rstrip("\n").lstrip():
        lines.append(f"    {shown}")
        indented = len(text) - len(text.lstrip())
        if isinstance(column, int) and column > indented:
            lines.append(f"    {' ' * (column - indented - 1)}^")
    return lines


def _file(name: str) -> str:
    """Return a file's name without the folders of this machine."""
    path = PurePath(name).as_posix()
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in path:
            return path.rpartition(folder)[2]
    library = PurePath(sysconfig.get_path("stdlib")).as_posix()
    if path.startswith(f"{library}/"):
        return path[len(library) + 1 :]
    return path if path.startswith("<") else PurePath(name).name
