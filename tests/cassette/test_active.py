"""What could not be saved is kept, told, and taken along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cassettes import FILE, asked, mode, prompts

from chatmagic.errors import ChatError
from chatmagic.session.current import current_session

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell

pytestmark = pytest.mark.usefixtures("folder")


def test_a_file_that_cannot_be_written_costs_no_reply(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """The reply is kept here, and saved with the next one."""
    session = mode(monkeypatch, "record")
    (folder / f".{FILE}.new").mkdir()
    with pytest.raises(ChatError, match="could not be written") as caught:
        session.ask("echo:one")
    assert "kept in this kernel" in str(caught.value)
    assert [turn.reply.text for turn in session.conversation] == ["one"]
    (folder / f".{FILE}.new").rmdir()
    session.ask("echo:two")
    assert prompts() == ["echo:one", "echo:two"]
    assert len(emulator.requests) == 2


def test_what_could_not_be_written_is_saved_by_the_status(
    shell: Shell, emulator: Emulator, full: list[str]
) -> None:
    """On a disk that is full nothing half-written is left; when there is room, all is saved."""
    shell.do(f"%chat_cassette {FILE} --record")
    full.append(FILE)
    ran = shell.fails("%chat echo:one")
    assert "No space left on device. What was recorded is kept in this kernel." in ran.traceback[0]
    assert list(Path().iterdir()) == []
    told = shell.do("%chat_cassette").printed
    assert "record (%chat_cassette)" in told
    assert "1 of them not saved: talk.jsonl could not be written: No space left" in told
    shell.fails("%chat echo:two")
    full.clear()
    assert "not saved" not in shell.do("%chat_cassette").printed
    assert prompts() == ["echo:one", "echo:two"]
    assert asked(emulator) == ["echo:one", "echo:two"]


def test_what_could_not_be_saved_goes_along_into_another_file(
    shell: Shell, emulator: Emulator, full: list[str]
) -> None:
    """It is told what became of it, and nothing of it is asked again."""
    shell.do(f"%chat_cassette {FILE} --record")
    full.append(FILE)
    shell.fails("%chat --no-history echo:one")
    full.append("other.jsonl")
    told = shell.do("%chat_cassette other.jsonl --record").printed
    assert "1 recorded exchange from talk.jsonl: other.jsonl could not be written" in told
    full.remove("other.jsonl")
    shell.do("%chat --no-history echo:two")
    assert prompts("other.jsonl") == ["echo:one", "echo:two"]
    shell.do("%chat --no-history echo:one")
    assert asked(emulator) == ["echo:one", "echo:two"]
    assert "not saved" not in shell.do("%chat_cassette").printed
    full.append("other.jsonl")
    shell.fails("%chat --no-history echo:three")
    told = shell.do("%chat_cassette third.jsonl --record").printed
    assert "1 recorded exchange from other.jsonl saved in third.jsonl." in told
    assert "lost" not in told


@pytest.mark.parametrize("conflict", [True, False])
def test_off_works_though_nothing_can_be_saved(
    shell: Shell, emulator: Emulator, full: list[str], conflict: bool
) -> None:
    """And says what will be lost; it is taken along later, when a file takes it."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat --no-history echo:one")
    if conflict:
        Path(FILE).write_text("<<<<<<< HEAD\n", encoding="utf-8")
    else:
        full.append(FILE)
    shell.fails("%chat --no-history echo:two")
    told = shell.do("%chat_cassette --off").printed
    assert "1 recorded exchange could not be saved in talk.jsonl, and will be lost" in told
    assert ("a merge conflict" if conflict else "No space left") in told
    shell.do("%chat --no-history echo:three")
    told = shell.do("%chat_cassette").printed
    assert "No cassette is in use" in told
    assert "1 recorded exchange could not be saved" in told
    told = shell.do("%chat_cassette other.jsonl --record").printed
    assert "1 recorded exchange from talk.jsonl saved in other.jsonl." in told
    assert prompts("other.jsonl") == ["echo:two"]
    assert "could not" not in shell.do("%chat_cassette").printed
    assert asked(emulator) == ["echo:one", "echo:two", "echo:three"]


def test_live_works_though_nothing_can_be_saved(
    shell: Shell, full: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the environment, by another cassette and by the configuration; the next cell says so."""
    shell.do(f"%chat_cassette {FILE} --record")
    full.append(FILE)
    shell.fails("%chat echo:one")
    monkeypatch.setenv("CHATMAGIC_MODE", "live")
    ran = shell.page("%chat echo:two", "a")
    assert "1 recorded exchange could not be saved in talk.jsonl" in repr(ran.messages)
    assert "could not be saved" not in repr(shell.page("%chat echo:three", "b").messages)
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    monkeypatch.setenv("CHATMAGIC_CASSETTE", "third.jsonl")
    ran = shell.page("%chat echo:four", "c")
    assert "1 recorded exchange from talk.jsonl saved in third.jsonl" in repr(ran.messages)
    assert prompts("third.jsonl") == ["echo:one", "echo:four"]


def test_unloading_lets_go_of_the_cassette(shell: Shell, emulator: Emulator) -> None:
    """A session that stays asks as the environment says."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat echo:one")
    shell.do("%unload_ext chatmagic")
    current_session().ask("echo:two")
    assert prompts() == ["echo:one"]
    assert len(emulator.requests) == 2
