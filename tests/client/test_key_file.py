"""The file that holds a key: what it holds and, by mistake, its path are repeated nowhere."""

from __future__ import annotations

import os
import traceback
from typing import TYPE_CHECKING

import pytest

from chatmagic.client.key_file import VARIABLE, key_in, keys_in
from chatmagic.errors import InputError
from chatmagic.protocol.auth import Secret

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator
    from shells import Shell

KEY = "sk-private-7d1f"
posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")


def refusal(path: str) -> str:
    """Return all that an error of a path shows, its frames' locals included."""
    with pytest.raises(InputError) as caught:
        key_in(path)
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
    assert Secret(KEY) in keys_in(str(path))


@pytest.mark.parametrize("content", [KEY, "abcd==", "YWJjZA=", f"{KEY}/+=="])
def test_a_key_may_end_in_signs(tmp_path: Path, content: str) -> None:
    """As base64 does; that is no assignment."""
    path = tmp_path / "key"
    path.write_text(f"{content}\n", encoding="utf-8")
    assert key_in(str(path))[0] == Secret(content)
    assert keys_in(str(path)) == [Secret(content)]


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its path, as it was written, where that cannot be a key."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys").mkdir()
    shown = [str(tmp_path / "missing"), "~/.config/missing/api_key", "keys/missing"]
    for path in [*shown, "/no/such/folder/key", "keys"]:
        said = refusal(path)
        assert said.startswith(f"{VARIABLE}: {path} cannot be read: ") is (path != "keys")
        assert "cannot be read: " in said


@pytest.mark.parametrize(
    "path",
    [
        KEY,
        f"/{KEY}",
        f"./{KEY}",
        f"~/{KEY}",
        f"{KEY}.txt",
        "key.txt",
        "talk-7Hq/x+e=9",
        "abcdefgh",
        "abc.DEFGH",
        "ab.cdefgh12",
        "/0123456789abcdefghij0123",
        "~nobody-of-this-name/x",
        "a\0b",
        "x" * 5000,
    ],
)
def test_what_may_be_a_key_is_not_named(path: str) -> None:
    """A key that was put where its path belongs is not shown."""
    said = refusal(path)
    assert said.startswith(f"The file that {VARIABLE} names cannot be read: ")
    assert path not in said


@posix
@pytest.mark.parametrize(("mode", "is_open"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_file_that_others_can_read_is_warned_about(
    tmp_path: Path, mode: int, *, is_open: bool
) -> None:
    """By its variable: the path may be a key."""
    path = tmp_path / KEY
    path.write_text(KEY, encoding="utf-8")
    path.chmod(mode)
    key, warnings = key_in(str(path))
    assert key == Secret(KEY)
    assert len(warnings) == is_open
    for line in warnings:
        assert line.startswith(f"The file that {VARIABLE} names can be read by others")
        assert "chmod 600" in line
        assert KEY not in line


@posix
def test_the_warning_is_given_once(
    shell: Shell, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first question for which the file's key is used, and not for another's."""
    path = tmp_path / "key"
    path.write_text(os.environ["CHATMAGIC_API_KEY"], encoding="utf-8")
    path.chmod(0o644)
    monkeypatch.setenv(VARIABLE, str(path))
    assert "chmod" not in shell.machine("%chat echo:a").warned
    monkeypatch.delenv("CHATMAGIC_API_KEY")
    assert shell.machine("%chat echo:b").warned.count("chmod 600") == 1
    assert "chmod" not in shell.machine("%chat echo:c").warned
    assert len(emulator.requests) == 3
