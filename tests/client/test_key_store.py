"""Where a key is kept: for its owner alone, for its place alone, and never twice."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from unittest.mock import Mock

import platformdirs
import pytest

from chatmagic import _files
from chatmagic._files import folder_lock
from chatmagic.client import key_store, keyring_keys
from chatmagic.client.key_store import UNFINISHED, KeyStore, open_store
from chatmagic.client.keyring_keys import KEYRING_SERVICE
from chatmagic.client.private_key_file import KEY_FILE_NAME
from chatmagic.errors import InputError
from chatmagic.protocol.api_key import Secret

HERE = "https://here.example:443"
THERE = "https://there.example:443"
OLD, NEW = Secret("sk-private-old"), Secret("sk-private-new")
posix = pytest.mark.skipif(os.name != "posix", reason="Windows keeps folders private by itself")


class Keyring:
    """A keyring in memory, that can be made to fail."""

    def __init__(self, *, broken: bool = False) -> None:
        """Hold nothing."""
        self.held: dict[tuple[str, str], str] = {}
        self.broken = broken

    def get_keyring(self) -> object:
        """Give the backend."""
        return self

    def get_password(self, service: str, name: str) -> str | None:
        """Give a password, or ``None``."""
        self._use()
        return self.held.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        """Keep a password."""
        self._use()
        self.held[service, name] = password

    def delete_password(self, service: str, name: str) -> None:
        """Forget a password."""
        self._use()
        del self.held[service, name]

    def _use(self) -> None:
        if self.broken:
            raise RuntimeError("the keyring is locked")


def store(folder: Path, keyring: Keyring | None = None) -> KeyStore:
    """Give a store in a folder that does not exist yet."""
    return KeyStore(folder / "new" / "chatmagic", keyring)


@posix
def test_a_file_is_private_and_holds_a_key_for_each_origin(tmp_path: Path) -> None:
    """Folder and file are their owner's alone, and nothing else is left in the folder."""
    kept = store(tmp_path)
    assert kept.load(HERE) is None
    assert kept.save(HERE, OLD, "keyring") == "private file"
    assert kept.save(THERE, NEW, "private file") == "private file"
    assert kept.load(HERE) == (OLD, "private file")
    assert kept.load(THERE) == (NEW, "private file")
    assert kept.load(HERE.replace("https", "http")) is None
    assert [path.name for path in kept.folder.iterdir()] == [KEY_FILE_NAME]
    assert kept.file.path.stat().st_mode & 0o777 == 0o600
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    assert kept.forget(HERE) == ["private file"]
    assert kept.forget(HERE) == []
    assert kept.load(THERE) == (NEW, "private file")


def test_a_keyring_keeps_a_key_by_its_place(tmp_path: Path) -> None:
    """The service is chatmagic and the user is the place; the file has the place without a key."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    assert kept.save(HERE, OLD, "keyring") == "keyring"
    assert keyring.held == {(KEYRING_SERVICE, HERE): OLD.reveal()}
    assert kept.load(HERE) == (OLD, "keyring")
    assert kept.load(THERE) is None
    assert json.loads(kept.file.path.read_text("utf-8")) == {HERE: None}
    assert kept.places() == (HERE,)
    assert kept.forget(HERE) == ["keyring"]
    assert kept.forget(HERE) == []
    assert kept.places() == ()


def in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process has read from a keyring."""
    monkeypatch.setattr(keyring_keys, "_read_here", {})


def test_all_kept_keys_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the file at each call, those of the keyring once in a process."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    assert kept.keys() == ()
    kept.save(HERE, OLD, "private file")
    kept.save(THERE, NEW, "keyring")
    in_another_process(monkeypatch)
    assert set(kept.keys()) == {OLD, NEW}
    keyring.broken = True
    assert set(kept.keys()) == {OLD, NEW}
    in_another_process(monkeypatch)
    assert set(kept.keys()) == {OLD}
    kept.file.path.write_text(json.dumps({HERE: "two words"}), encoding="utf-8")
    assert kept.keys() == ()
    kept.file.path.write_bytes(b"{")
    assert kept.keys() == kept.places() == ()
    assert not kept.has_key_in_keyring


def test_a_key_of_an_earlier_version_is_known_from_its_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keyring has no list; what was forgotten is known no more."""
    keyring = Keyring()
    keyring.held[KEYRING_SERVICE, HERE] = OLD.reveal()
    kept = store(tmp_path, keyring)
    in_another_process(monkeypatch)
    assert kept.keys() == ()
    assert kept.load(HERE) == (OLD, "keyring")
    assert kept.keys() == (OLD,)
    assert store(tmp_path / "another").keys() == ()
    kept.forget(HERE)
    assert kept.keys() == ()


def test_a_locked_keyring_is_not_opened_for_the_keys_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked for its password at a question that needs no key of it."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    kept.save(HERE, OLD, "keyring")
    in_another_process(monkeypatch)
    is_locked = Mock(return_value=True)
    monkeypatch.setattr(keyring_keys, "is_locked", is_locked)
    assert kept.keys() == ()
    is_locked.return_value = False
    assert kept.keys() == (OLD,)


def test_a_keyring_is_loaded_only_for_a_key_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package takes longer to load than a question may wait."""
    monkeypatch.setattr(platformdirs, "user_config_path", lambda *_, **__: tmp_path)
    find_keyring = Mock(return_value=Keyring())
    monkeypatch.setattr(key_store, "find_keyring", find_keyring)
    KeyStore(tmp_path).save(HERE, OLD, "private file")
    assert key_store.kept_keys() == (OLD,)
    find_keyring.assert_not_called()
    KeyStore(tmp_path, find_keyring.return_value).save(HERE, NEW, "keyring")
    assert key_store.kept_keys() == (NEW,)


def test_an_older_key_never_comes_back(tmp_path: Path) -> None:
    """What is kept in one place is taken out of the other."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    kept.save(HERE, OLD, "keyring")
    kept.save(HERE, NEW, "private file")
    assert kept.load(HERE) == (NEW, "private file")
    kept.save(HERE, OLD, "keyring")
    assert kept.load(HERE) == (OLD, "keyring")
    assert kept.forget(HERE) == ["keyring"]
    assert kept.load(HERE) is None


def test_a_broken_keyring_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it raises, the private file does its work; the log tells its type alone."""
    caplog.set_level(logging.DEBUG, "chatmagic")
    kept = store(tmp_path, Keyring(broken=True))
    assert kept.load(HERE) is None
    assert kept.save(HERE, OLD, "keyring") == "private file"
    assert kept.load(HERE) == (OLD, "private file")
    assert kept.forget(HERE) == ["private file"]
    assert "Swallowed: " in caplog.text
    assert OLD.reveal() not in caplog.text


def test_what_is_no_key_is_none(tmp_path: Path) -> None:
    """A keyring or a file that somebody else has written to gives no key that is none."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    kept.save(HERE, OLD, "private file")
    keyring.held[KEYRING_SERVICE, HERE] = "two words"
    assert kept.load(HERE) == (OLD, "private file")
    kept.file.path.write_text(json.dumps({HERE: "two words", THERE: 1}), encoding="utf-8")
    assert kept.load(HERE) is None
    assert kept.load(THERE) is None


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    """It is neither read nor replaced; the keyring still works."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    kept.save(HERE, OLD, "private file")
    kept.file.path.chmod(mode)
    for use in (kept.load, kept.forget, lambda at: kept.save(at, NEW, "private file")):
        with pytest.raises(InputError, match=f"{KEY_FILE_NAME} is not private to you") as caught:
            use(HERE)
        assert "private-" not in f"{caught.value!r}{caught.value}{caught.value.hint}"
    assert kept.save(HERE, NEW, "keyring") == "keyring"
    assert kept.load(HERE) == (NEW, "keyring")


def test_a_damaged_file_is_not_overwritten(tmp_path: Path) -> None:
    """The keys in it may still be saved by hand."""
    kept = store(tmp_path)
    kept.save(HERE, OLD, "private file")
    kept.file.path.write_bytes(b"{")
    with pytest.raises(InputError, match="is damaged"):
        kept.save(THERE, NEW, "private file")
    assert kept.file.path.read_bytes() == b"{"


def test_a_file_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No half-written file with keys in it stays behind."""
    kept, full = store(tmp_path), Mock(side_effect=OSError(28, "No space left on device"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(InputError, match=r"cannot be written: No space left on device\."):
            kept.save(HERE, OLD, "private file")
    assert list(kept.folder.iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        with pytest.raises(InputError, match="cannot be written"):
            KeyStore(tmp_path / "new").save(HERE, OLD, "private file")


def test_what_a_killed_save_left_is_removed(tmp_path: Path) -> None:
    """By the next save, and by --forget, even if there is no other copy of the key."""
    kept = store(tmp_path)
    for name in ("tmpab_1xy0z", ".chatmagic-0123456789abcdef.new"):
        kept.save(HERE, OLD, "private file")
        left = kept.folder / name
        left.write_text(json.dumps({HERE: OLD.reveal()}), encoding="utf-8")
        kept.save(THERE, NEW, "private file")
        assert not left.exists()
        left.write_text(json.dumps({HERE: OLD.reveal()}), encoding="utf-8")
        kept.file.path.unlink()
        assert kept.forget(HERE) == [UNFINISHED]
        assert list(kept.folder.iterdir()) == []


@posix
def test_two_processes_keep_both_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One waits while the other reads and writes, so that no key gets lost; not for ever."""
    kept = store(tmp_path)
    kept.save(HERE, OLD, "private file")
    clock = [0.0]
    monkeypatch.setattr(_files, "monotonic", lambda: clock[0])
    monkeypatch.setattr(_files, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    with folder_lock(kept.folder), pytest.raises(InputError, match="another process has locked"):
        kept.save(THERE, NEW, "private file")
    kept.save(THERE, NEW, "private file")
    assert kept.load(HERE) == (OLD, "private file")
    assert kept.load(THERE) == (NEW, "private file")


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG specification is Linux's")
def test_on_linux_the_folder_is_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absolute XDG_CONFIG_HOME, else .config in the home folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert open_store().folder == tmp_path / "chatmagic"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert open_store().folder == Path.home() / ".config" / "chatmagic"
