"""How many modules a prompt passes from the cell to the socket, and a fragment on its way back."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import chatmagic

if TYPE_CHECKING:
    from types import FrameType

    from shells import Shell

PACKAGE: Final = Path(chatmagic.__file__).parent
WORD: Final = "zebra"
MOST_DOWN: Final = 20
MOST_BACK: Final = 10
DEPTH: Final = 3
"""How deep an argument is looked into."""


@dataclass(frozen=True)
class Call:
    """A call of one of the package's functions, or of the socket's.

    Args:
        module: path in the package, without its ending.
        name: the function's qualified name.
        caller: the module of the package that called it.
        is_handed: whether an argument holds the word.
    """

    module: str
    name: str
    caller: str
    is_handed: bool


def holds(value: object, depth: int = DEPTH) -> bool:
    """Tell whether a value is text with the word, or is made of such."""
    if isinstance(value, str):
        return WORD in value
    if isinstance(value, bytes | bytearray):
        return WORD.encode() in value
    if depth == 0:
        return False
    if isinstance(value, dict):
        value = [*value.values()]
    if is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name, None) for field in fields(value)]
    return isinstance(value, list | tuple) and any(holds(item, depth - 1) for item in value)


def module_of(frame: FrameType | None) -> str:
    """Return the package's module that a frame, or the nearest one above it, is of."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if PACKAGE in path.parents:
            return path.relative_to(PACKAGE).with_suffix("").as_posix()
        frame = frame.f_back
    return ""


class Watch:
    """Takes note of the package's calls in this thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self.calls: list[Call] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, as ``sys.setprofile`` tells it."""
        if event != "call":
            return
        file, name = frame.f_code.co_filename, frame.f_code.co_qualname
        is_socket = file.endswith("http/client.py") and name == "HTTPConnection.send"
        if not is_socket and not file.startswith(str(PACKAGE)):
            return
        given = inspect.getargvalues(frame)
        names = filter(None, [*given.args, given.varargs, given.keywords])
        values = [given.locals.get(argument) for argument in names]
        module = "socket" if is_socket else module_of(frame)
        handed = any(map(holds, values))
        self.calls.append(Call(module, name, module_of(frame.f_back), handed))


def watched(shell: Shell, **how: Any) -> list[Call]:
    """Return the calls of a cell that asks for a reply with the word, the second of its kernel."""
    shell.do("%%chat\necho:one two three", **how)
    watch = Watch()
    sys.setprofile(watch)
    try:
        shell.do(f"%%chat\necho:one two {WORD} four five", **how)
    finally:
        sys.setprofile(None)
    return watch.calls


@pytest.mark.parametrize("how", [{"person": False}, {"cell": "a"}], ids=["machine", "page"])
def test_a_prompt_passes_few_modules_and_the_session_once(
    shell: Shell, how: dict[str, Any]
) -> None:
    """From the magic to the first write onto the socket; what makes the question is no entry."""
    calls = watched(shell, **how)
    begin, end = (
        next(place for place, call in enumerate(calls) if call.module == module)
        for module in ("jupyter/magics", "socket")
    )
    handed = [call for call in calls[begin:end] if call.is_handed]
    modules = {call.module for call in handed}
    assert {"jupyter/magics", "session/session", "client/connections"} <= modules
    assert len(modules) <= MOST_DOWN, sorted(modules)
    entries = [
        call.name
        for call in handed
        if call.module.startswith("session/") and not call.caller.startswith("session/")
    ]
    assert entries == ["Ask.__post_init__", "Session.run"]


@pytest.mark.parametrize("how", [{"person": False}, {"cell": "a"}], ids=["machine", "page"])
def test_a_fragment_passes_few_modules(shell: Shell, how: dict[str, Any]) -> None:
    """From the read that brings it to the next event, with it in one piece or not."""
    calls = watched(shell, **how)
    reads = [place for place, call in enumerate(calls) if call.name == "HttpExchange.read"]
    came = next(
        place
        for place, call in enumerate(calls)
        if place > reads[0] and call.module == "session/events" and call.is_handed
    )
    begin = max(place for place in reads if place < came)
    names = (call.name for call in calls[came:])
    end = came + next(place for place, name in enumerate(names) if name.endswith("._event"))
    modules = {call.module for call in calls[begin:end] if call.is_handed}
    assert {"protocol/sse", "session/events"} <= modules
    assert len(modules) <= MOST_BACK, sorted(modules)
