"""``%chat_cassette --prune``: listed first, removed by number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cassettes import FILE, held, prompts

from chatmagic.cassette.storage import CassetteFile

if TYPE_CHECKING:
    from logged import Emulator
    from shells import Shell

pytestmark = pytest.mark.usefixtures("folder")


def test_pruning_lists_first_and_removes_by_number(shell: Shell, emulator: Emulator) -> None:
    """Nothing goes that was not listed in this kernel, and nothing while it is replayed."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    for cell, prompt in (("a", "one"), ("b", "two"), ("a", "uno"), ("c", "three"), ("b", "dos")):
        shell.page(f"%chat --no-history echo:{prompt}", cell)
    for line in ("--prune superseded", "--prune 1"):
        failed = shell.fails(f"%chat_cassette {line}")
        assert "talk.jsonl was not listed as it is now." in failed.traceback[0]
    listed = shell.do("%chat_cassette --prune").printed
    assert "   3  echo:one (3 characters, superseded)" in listed
    assert "Nothing was removed." in listed
    assert "--prune superseded the 2" in listed
    assert len(held()) == 5
    for wrong in ("0", "6", "x", "superseded 1", "1 superseded"):
        assert (
            "is not a number of that list"
            in shell.fails(f"%chat_cassette --prune {wrong}").traceback[0]
        )
    # What is listed is what is removed: it is listed again after each change.
    shell.page("%chat --no-history echo:two", "b")
    failed = shell.fails("%chat_cassette --prune superseded")
    assert "talk.jsonl was not listed as it is now." in failed.traceback[0]
    assert len(held()) == 5
    shell.do("%chat_cassette --prune")
    removed = shell.do("%chat_cassette --prune superseded").printed
    assert "echo:one" in removed
    assert "Removed 2 from talk.jsonl." in removed
    assert prompts() == ["echo:uno", "echo:three", "echo:two"]
    assert "was not listed" in shell.fails("%chat_cassette --prune 3").traceback[0]
    shell.do("%chat_cassette --prune")
    shell.do("%chat_cassette --prune 1 1")
    assert prompts() == ["echo:three", "echo:two"]
    assert "It holds 2 exchanges;" in shell.do("%chat_cassette").printed
    shell.do(f"%chat_cassette {FILE} --replay")
    shell.do("%chat_cassette --prune")
    assert "is replayed" in shell.fails("%chat_cassette --prune 1").traceback[0]
    shell.do("%chat_cassette --off")
    assert "No cassette is in use" in shell.fails("%chat_cassette --prune").traceback[0]
    assert len(emulator.requests) == 5


def test_pruning_goes_by_what_the_file_holds(shell: Shell, emulator: Emulator) -> None:
    """What another kernel put in is listed; what it changed since is listed again first."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    shell.page("%chat --no-history echo:one", "a")
    shell.page("%chat --no-history echo:two", "b")
    other = CassetteFile(Path(FILE))
    one, two = other.read()
    secret = replace(one, request="5" * 64, prompt="secret", before=("6" * 64,))
    other.save(lambda _, now: (*now, secret))
    assert "   3  secret (3 characters)" in shell.do("%chat_cassette --prune").printed
    other.save(lambda _, now: tuple(each for each in now if each.prompt != one.prompt))
    failed = shell.fails("%chat_cassette --prune 1 2")
    assert "talk.jsonl was not listed as it is now." in failed.traceback[0]
    assert prompts() == [two.prompt, "secret"]
    assert "   2  secret" in shell.do("%chat_cassette --prune").printed
    shell.do("%chat_cassette --prune 2")
    assert prompts() == [two.prompt]
    assert len(emulator.requests) == 2


def test_pruning_that_cannot_be_saved_removes_nothing(
    shell: Shell, emulator: Emulator, full: list[str]
) -> None:
    """Neither now nor when the file can be written again, or read."""
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    shell.page("%chat --no-history echo:one", "a")
    text = Path(FILE).read_text()
    shell.do("%chat_cassette --prune")
    Path(FILE).write_text(text.replace("{", "<<<<<<< HEAD\n{", 1))
    shell.fails("%chat_cassette --prune 1")
    assert "echo:one" in shell.do("%chat_cassette --prune").printed
    Path(FILE).write_text(text)
    full.append(FILE)
    shell.fails("%chat_cassette --prune 1")
    full.clear()
    shell.page("%chat --no-history echo:two", "b")
    assert prompts() == ["echo:one", "echo:two"]
    shell.do("%chat_cassette --prune")
    shell.do("%chat_cassette --prune 1")
    assert prompts() == ["echo:two"]
    assert len(emulator.requests) == 2


def test_an_empty_cassette_has_nothing_to_prune(shell: Shell) -> None:
    """It says so."""
    shell.do(f"%chat_cassette {FILE} --record")
    assert shell.do("%chat_cassette --prune").printed == "talk.jsonl holds nothing.\n"
