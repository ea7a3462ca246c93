"""Text of an error of a cell, with its causes.

:func:`traceback.format_exception` does not write it, for two reasons. It suggests names by
``dir()`` of the user's objects, which runs the user's code. It writes files with their full paths,
which are private and differ from machine to machine.
"""

from __future__ import annotations

import linecache
import re
import textwrap
import traceback
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Final

from chatmagic._log import swallowed

FIRST: Final = 10
LAST: Final = 20
"""Number of frames of a long traceback that are kept at its beginning and at its end."""
_MOST_ERRORS: Final = 10
"""Largest number of errors of a chain, or of nested groups, that are kept."""
_CAUSE: Final = "The error above was the direct cause of the following one:"
_CONTEXT: Final = "While the error above was handled, the following one was raised:"


def traceback_text(
    error: BaseException, cell_of: Callable[[str], str | None], seen: AbstractSet[int] = frozenset()
) -> str:
    """Return an error with its traceback, after its causes and before the errors of its group.

    Args:
        error: the error.
        cell_of: returns the name of the cell for a file's name; ``None`` for a file of no cell.
        seen: identities of the errors that this one belongs to.
    """
    seen = {*seen, id(error)}
    lines: list[str] = []
    context = None if error.__suppress_context__ else error.__context__
    before = context if error.__cause__ is None else error.__cause__
    if before is not None and id(before) not in seen and len(seen) < _MOST_ERRORS:
        joint = _CONTEXT if error.__cause__ is None else _CAUSE
        lines += [traceback_text(before, cell_of, seen), "", joint, ""]
    lines += [*_calls(error, cell_of), *_message(error, cell_of)]
    if isinstance(error, BaseExceptionGroup) and len(seen) < _MOST_ERRORS:
        for number, nested in enumerate(error.exceptions, 1):
            lines.append(f"  Error {number:,} of {len(error.exceptions):,} in the group:")
            lines.append(textwrap.indent(traceback_text(nested, cell_of, seen), "    "))
    return "\n".join(lines)


def _calls(error: BaseException, cell_of: Callable[[str], str | None]) -> list[str]:
    """Return file, line, function and source of each frame, from the first frame of a cell on."""
    walked = traceback.walk_tb(error.__traceback__)
    frames = [(frame.f_code.co_filename, number, frame.f_code.co_name) for frame, number in walked]
    first = next((at for at, (file, _, _) in enumerate(frames) if cell_of(file)), None)
    # An error that a library caught has no frame of a cell.
    if first is None and isinstance(error, SyntaxError):
        return []
    calls = []
    for file, number, function in frames[first:]:
        if file.startswith("<frozen importlib"):
            continue
        place = f"  {cell_of(file) or _file(file)}, line {number}"
        if function != "<module>":
            place += f", in {function}"
        source = linecache.getline(file, number).strip()
        calls.append(f"{place}\n    {source}" if source else place)
    if (left_out := len(calls) - FIRST - LAST) > 0:
        calls[FIRST:-LAST] = [f"  [{left_out:,} calls left out]"]
    return ["Traceback (most recent call last):", *calls] if calls else []


def _message(error: BaseException, cell_of: Callable[[str], str | None]) -> list[str]:
    """Return the class of an error with its message, below the place of a syntax error."""
    kind = type(error)
    module = "" if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}."
    name = f"{module}{kind.__qualname__}"
    words = "(its message cannot be made)"
    lines = []
    if isinstance(error, SyntaxError):
        lines = _place(error, cell_of)
        words = error.msg
    else:
        with swallowed():  # the user's own class may fail to make it
            words = str(error)
    lines.append(f"{name}: {words}" if words else name)
    return [*lines, *map(str, getattr(error, "__notes__", ()))]


def _place(error: SyntaxError, cell_of: Callable[[str], str | None]) -> list[str]:
    """Return the place of a syntax error: file and line, the line itself, and a caret."""
    file = error.filename
    number = error.lineno
    if file is None:
        return []
    details = file, number, error.offset, error.text or linecache.getline(file, number or 0)
    shown = "".join(traceback.format_exception_only(SyntaxError("", details))).splitlines()
    return [f"  {cell_of(file) or _file(file)}, line {number}", *shown[1:-1]]


_LIBRARY: Final = re.compile(r".*/(?:(?:site|dist)-packages|python3\.\d+|Lib)/")


def _file(name: str) -> str:
    """Return a file's name without the folders of this machine."""
    path = PurePath(name).as_posix()
    if _LIBRARY.match(path) or path.startswith("<"):
        return _LIBRARY.sub("", path)
    return PurePath(name).name
