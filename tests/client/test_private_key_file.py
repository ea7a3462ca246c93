"""The private file of keys: its owner's alone, and never half written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from chatmagic.client.private_key_file import PrivateKeyFile
from chatmagic.errors import InputError

HERE = "https://here.example:443"
OLD = "sk-private-old"
posix = pytest.mark.skipif(os.name != "posix", reason="Windows keeps folders private by itself")


def save(kept: PrivateKeyFile, key: str | None) -> None:
    """Write a file with one key."""
    with kept.changing():
        kept.write({HERE: key})


def test_a_file_holds_a_key_or_none_for_a_place(tmp_path: Path) -> None:
    """Before its first key there is no file; of another value there is no key."""
    kept = PrivateKeyFile(tmp_path / "chatmagic")
    assert kept.read() == {}
    for key in (OLD, None):
        save(kept, key)
        assert kept.read() == {HERE: key}
    with kept.changing() as is_cleared:
        assert not is_cleared
        kept.path.write_text(f'{{"{HERE}": 1, "x": null}}', encoding="utf-8")
    assert kept.read() == {"x": None}


@posix
def test_what_is_no_file_of_the_users_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in the file's place must be a file, and the user's own."""
    kept = PrivateKeyFile(tmp_path / "chatmagic")
    save(kept, OLD)
    file = kept.path
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: -1)
        with pytest.raises(InputError, match="not private"):
            kept.read()
    file.rename(tmp_path / "elsewhere")
    ways: list[Callable[[], object]] = [
        lambda: file.symlink_to(tmp_path / "elsewhere"),
        lambda: os.mkfifo(file, 0o600),
        lambda: file.mkdir(0o700),
    ]
    for put in ways:
        put()
        with pytest.raises(InputError, match="not private"):
            kept.read()
        if not file.is_dir():
            file.unlink()


@pytest.mark.parametrize(
    "content", [b"", b"{", b'["sk-private"]', b'{"sk-private\xff": 1}', b"[" * 100_000]
)
def test_a_damaged_file_holds_no_keys(tmp_path: Path, content: bytes) -> None:
    """And no error quotes those that may be in it."""
    kept = PrivateKeyFile(tmp_path / "chatmagic")
    save(kept, OLD)
    kept.path.write_bytes(content)
    with pytest.raises(InputError, match="is damaged") as caught:
        kept.read()
    assert caught.value.__context__ is None
    assert kept.path.read_bytes() == content


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_the_end_of_a_process_leaves_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
) -> None:
    """Wherever it comes."""
    kept = PrivateKeyFile(tmp_path / "chatmagic")
    for owner, step in ((os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, Mock(side_effect=end))
            with pytest.raises(end):
                save(kept, OLD)
        assert list(kept.folder.iterdir()) == []
