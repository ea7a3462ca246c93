"""The user's own file with a key: read without a word of it in any error."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest
from logged import Emulator
from shells import Shell

from chatmagic.client.user_key_file import KEY_FILE_VARIABLE, key_in_file, keys_in_file
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import Secret

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
KEY = "sk-private-7d1f"


def refusal(path: str) -> str:
    """Return all that an error of a path shows, its frames' locals included."""
    with pytest.raises(InputError) as caught:
        key_in_file(path)
    frames = "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    )
    assert KEY not in frames.replace(path, "")
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        f"CHATMAGIC_API_KEY={KEY}",
        f"api_key = {KEY}\n",
        f"export KEY='{KEY}'",
        f'# of the team\nKEY="{KEY}"\n',
        f"A=1\nKEY={KEY}",
    ],
)
def test_an_assignment_is_no_key(tmp_path: Path, content: str) -> None:
    """It is refused without a word of it, and what it holds is guarded all the same."""
    path = tmp_path / "keys"
    path.write_text(content, encoding="utf-8")
    assert "holds NAME=value, not a key alone" in refusal(str(path))
    assert Secret(KEY) in keys_in_file(str(path))


@pytest.mark.parametrize("content", [KEY, "abcd==", "YWJjZA=", f"{KEY}/+=="])
def test_a_key_may_end_in_signs(tmp_path: Path, content: str) -> None:
    """As base64 does; that is no assignment."""
    path = tmp_path / "key"
    path.write_text(f"{content}\n", encoding="utf-8")
    assert key_in_file(str(path))[0] == Secret(content)
    assert keys_in_file(str(path)) == [Secret(content)]


@pytest.mark.parametrize(
    "path", [KEY, f"~/{KEY}", "/no/such/file", "~nobody-here/x", "a\0b", "x" * 5000]
)
def test_a_file_that_cannot_be_read_is_named_by_its_variable(path: str) -> None:
    """A key that was put where its path belongs is not shown."""
    said = refusal(path)
    assert said.startswith(f"The file that {KEY_FILE_VARIABLE} names cannot be read: ")
    assert path not in said


@posix
@pytest.mark.parametrize(
    ("mode", "done"),
    [
        (0o600, None),
        (0o640, "read"),
        (0o604, "read"),
        (0o620, "changed"),
        (0o602, "changed"),
        (0o666, "read and changed"),
    ],
)
def test_a_file_that_others_can_use_is_warned_about(
    tmp_path: Path, mode: int, done: str | None
) -> None:
    """By its variable: the path may be a key."""
    path = tmp_path / KEY
    path.write_text(KEY, encoding="utf-8")
    path.chmod(mode)
    key, warnings = key_in_file(str(path))
    assert key == Secret(KEY)
    named = f"The file that {KEY_FILE_VARIABLE} names"
    words = f"{named} can be {done} by others on this machine; chmod 600 makes it private."
    assert warnings == (() if done is None else (words,))


@posix
def test_a_file_of_another_user_is_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That user can change it at any time; the system's user may, as a secret's mount does."""
    path = tmp_path / "key"
    path.write_text(KEY, encoding="utf-8")
    path.chmod(0o600)
    state = os.stat_result((0o100600, 1, 1, 1, 4711, 0, 9, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _: state)
    key, warnings = key_in_file(str(path))
    assert key == Secret(KEY)
    assert [line.partition("names ")[2] for line in warnings] == [
        "belongs to another user, who can change it; copy it to a file of yours."
    ]


@posix
def test_a_pipe_holds_no_key(tmp_path: Path) -> None:
    """It is not waited for."""
    os.mkfifo(tmp_path / "pipe")
    assert "names cannot be read: it is not a file." in refusal(str(tmp_path / "pipe"))


@posix
def test_the_warning_is_given_once(
    shell: Shell, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first question for which the file's key is used, and not for another's."""
    path = tmp_path / "key"
    path.write_text(os.environ["CHATMAGIC_API_KEY"], encoding="utf-8")
    path.chmod(0o644)
    monkeypatch.setenv(KEY_FILE_VARIABLE, str(path))
    assert "chmod" not in shell.machine("%chat echo:a").warned
    monkeypatch.delenv("CHATMAGIC_API_KEY")
    assert shell.machine("%chat echo:b").warned.count("chmod 600") == 1
    assert "chmod" not in shell.machine("%chat echo:c").warned
    assert len(emulator.requests) == 3
