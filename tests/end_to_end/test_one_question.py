"""One question, followed from its cell to its reply: each thing is computed once."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest
from logged import Emulator
from shells import Shell

from chatmagic.client import config
from chatmagic.client.client import Client
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.options import Option
from chatmagic.session import prepare

ONCE: Final[dict[str, Callable[..., Any]]] = {
    "the window": Conversation.window,
    "the address": config.first_address,
    "the key": config.resolve_endpoint,
    "the question": prepare.prepare,
    "the request on its way": Client.send,
}
"""What one question computes once, whatever its settings are."""
NEVER: Final = {name: getattr(Option, name).func for name in ("flags", "dest", "trait", "on")}
"""What the table of options computes once for all questions."""

CELLS: Final = {
    "a plain one": "%%chat\necho:hi",
    "with the cells above": "%%chat --above new\necho:hi",
    "in a thread": "%%chat --thread aside\necho:hi",
    "on a line": "%chat echo:hi",
    "one that may end": "%%chat --background\necho:hi",
}
SETTINGS: Final = {
    "the address's own": (
        "%config ChatMagics.model = 'small'",
        "%config ChatMagics.extra_headers = {'X-Team': 'a'}",
        "%config ChatMagics.system_role = True",
    ),
    "a cassette": ("%chat_cassette FOLDER/talk.jsonl --record",),
}


@contextmanager
def counted(functions: dict[str, Callable[..., Any]]) -> Iterator[Counter[str]]:
    """Count the calls of functions, in this thread and in those that begin meanwhile."""
    names: dict[CodeType, str] = {function.__code__: name for name, function in functions.items()}
    calls: Counter[str] = Counter(dict.fromkeys(functions, 0))

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in names:
            calls[names[frame.f_code]] += 1

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_question_computes_each_thing_once(
    cell: str, settings: str, shell: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    """Its window, its address and its request: from a page that shows it, as from anywhere."""
    for line in SETTINGS[settings]:
        shell.page(line.replace("FOLDER", str(tmp_path)), "settings")
    shell.page("%%chat\necho:first", "first")
    with counted({**ONCE, **NEVER}) as calls:
        shell.page(CELLS[cell], "second")
        shell.kernel.background.wait()
    assert calls == {**dict.fromkeys(ONCE, 1), **dict.fromkeys(NEVER, 0)}
    assert len(emulator.requests) == 2
