"""What the doctor gathers: of a place where things are set, and of one where nothing is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from shells import KEY, alone

from chatmagic._log import log_swallowed
from chatmagic.client.keys import open_store
from chatmagic.doctor.gathering import credits_in_words, gather
from chatmagic.doctor.observations import FrontEnd
from chatmagic.protocol.auth import Secret
from chatmagic.session.session import Session
from chatmagic.shell.shell_environment import ShellEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chatmagic.doctor.observations import Observations

HERE = FrontEnd("a shell", "prints")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ShellEnvironment]:
    """Give a place where nothing is set."""
    with alone(monkeypatch, tmp_path):
        made = ShellEnvironment()
        yield made
        made.close()


def seen(place: ShellEnvironment) -> Observations:
    """Return what is seen there."""
    return gather(place, Session(environment=place), HERE)


def test_where_nothing_is_set(place: ShellEnvironment) -> None:
    """There is no address, so no way to it; the versions are there all the same."""
    found = seen(place)
    assert found.address.trouble is not None
    assert (found.network, found.files, found.cassette.name) == (None, (), "")
    assert not found.clock.is_compared
    assert {"chatmagic", "Python", "ipython", "ipywidgets"} <= set(found.versions)


def test_what_is_not_installed_is_said(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be what is missing."""
    monkeypatch.setattr("chatmagic.doctor.gathering.PACKAGES", ("no-such-package-of-ours",))
    assert seen(place).versions["no-such-package-of-ours"] == "is not installed"


def test_the_emulator(place: ShellEnvironment) -> None:
    """It is not started to be looked at."""
    place.addresses.chosen = "emulator"
    found = seen(place)
    assert found.address.is_emulator
    assert found.network is None


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_keys_and_files(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the key is, and which private files others can read."""
    key_file = tmp_path / "key"
    key_file.write_text(KEY)
    key_file.chmod(0o640)
    open_store().save("http://127.0.0.1:9", Secret(KEY), "private file")
    kept = tmp_path / "state" / "chatmagic" / "shell" / "a.json"
    kept.parent.mkdir(parents=True)
    kept.touch(0o600)
    monkeypatch.setenv("CHATMAGIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CHATMAGIC_API_KEY_FILE", str(key_file))
    found = seen(place)
    assert (found.key.key_from, found.key.trouble) == ("CHATMAGIC_API_KEY_FILE", None)
    assert [(file.mode, file.is_open) for file in found.files] == [
        (0o640, True),
        (0o600, False),
        (0o600, False),
    ]
    assert found.network is not None
    monkeypatch.setenv("CHATMAGIC_API_KEY_FILE", str(tmp_path / "none"))
    found = seen(place)
    assert found.key.trouble is not None
    assert "cannot be read" in found.key.trouble.what
    assert KEY not in repr(found)


def test_a_cassette(
    place: ShellEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that is damaged is named; one that is to be recorded need not be there."""
    tape = tmp_path / "tape.jsonl"
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tape))
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    found = seen(place).cassette
    assert (found.name, found.mode, found.count) == ("tape.jsonl", "record (CHATMAGIC_MODE)", 0)
    tape.write_text("{")
    trouble = seen(place).cassette.trouble
    assert trouble is not None
    assert "tape.jsonl" in trouble.what


def test_a_folder_that_takes_nothing(place: ShellEnvironment, tmp_path: Path) -> None:
    """It is named, with the system's reason; where it can be written nothing is left behind."""
    state = tmp_path / "state"
    assert seen(place).folder is None
    assert not state.exists()
    state.touch()
    trouble = seen(place).folder
    assert trouble is not None
    assert str(state / "chatmagic") in trouble.what
    assert "XDG_STATE_HOME" in trouble.todo


def test_the_last_errors(place: ShellEnvironment) -> None:
    """By type and place, without a message, the latest at the end."""
    log_swallowed(LookupError(KEY))
    assert seen(place).errors[-1] == "builtins.LookupError"


@pytest.mark.parametrize(
    ("took", "remaining", "words"),
    [
        (None, None, "what it took is not told"),
        (1, 98, "it took 1 credit, 98 are left"),
        (None, 98, "what it took is not told, 98 are left"),
    ],
)
def test_what_was_told_of_the_credits(took: int | None, remaining: int | None, words: str) -> None:
    """As far as it was."""
    assert credits_in_words(took, remaining) == words
