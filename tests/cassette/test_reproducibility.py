"""What another run of a notebook will not ask as it was asked."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cassettes import FILE, Quiet, mode
from shells import FIXED

from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
)
from chatmagic.session.events import Ask

if TYPE_CHECKING:
    from shells import Shell

    from chatmagic.emulator.server import Emulator

pytestmark = pytest.mark.usefixtures("folder")


def test_what_will_not_run_again_is_named(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stale, interrupted, cut-off and panel turns, cells below, and addresses."""
    session = mode(monkeypatch, "record")

    def notes(text: str, owner: str | None = None, **known: Any) -> str:
        view = Quiet()
        with contextlib.suppress(ChatError):
            session.run(Ask(text, owner=owner, entry=known.pop("entry", "cell"), **known), view)
        return " / ".join(view.notes)

    assert "not run again" not in notes("echo:one", "a")
    assert "not run again" not in notes("echo:two", "b")
    assert "not run again" not in notes("echo:hidden", "h", hide=True)
    said = notes("echo:after", "i")
    assert "sent without 1 hidden turn" in said
    assert "not run again" not in said
    session.change(Conversation.undo)
    session.change(Conversation.undo)
    assert "not run again" not in notes("echo:zero", "z", thread="other", order=["z", "a"])
    assert "1 turn below it came first" in notes("echo:uno", "a", execution="2")
    said = notes("echo:three", "c")
    assert "it carries 1 stale turn" in said
    emulator.settings = replace(FIXED, fault="cut", fault_after=1)
    notes("echo:cut off here", "d")
    emulator.settings = FIXED
    notes("echo:panel", entry="panel")
    said = notes("echo:<object at 0x7f00aa11bb22>", entry="python")
    assert "1 cut-off turn" in said
    assert "1 panel turn" in said
    assert "“at 0x7f00aa11bb22” is an address" in said
    assert "address" not in notes("echo:<object at 0x7f00aa11bb22>", "e", history=False)
    emulator.settings = replace(FIXED, fault="hold", fault_after=1)

    class Stop(Quiet):
        def fragment(self, text: str) -> None:
            raise KeyboardInterrupt(text)

    with pytest.raises(ChatInterrupted):
        session.run(Ask("echo:one two three", owner="f"), Stop())
    emulator.settings = FIXED
    assert "1 interrupted turn" in notes("echo:last", "g")


def test_the_status_names_what_will_not_run_again(shell: Shell) -> None:
    """For the whole conversation."""
    shell.do(f"%chat_cassette {FILE} --record", cell="c")
    shell.page("%chat echo:one", "a")
    shell.page("%chat echo:two", "b")
    shell.page("%chat echo:uno", "a")
    assert (
        "Will not run again as it is: 1 stale turn." in shell.do("%chat_cassette", cell="s").printed
    )
    shell.do("word = 'three'")
    shell.page("%chat echo:{{ word }}", "d")
    shell.do("%chat_save talk.json\n%chat_load talk.json")
    said = shell.do("%chat_cassette", cell="s").printed
    assert "Will not run again as it is: 1 loaded turn without the values put in." in said
    # Where no person watches, no cell could say so while it was live.
    shell.machine("%chat echo:{{ repr(object()) }}")
    said = shell.machine("%chat_cassette").printed
    assert re.search("Will not run again as it is: .*“at 0x[0-9a-f]+” is an address", said)
