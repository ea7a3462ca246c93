"""Where a key is kept: for its owner alone, for its place alone, and never twice."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import platformdirs
import pytest
from logged import Emulator
from shells import Shell

from chatmagic import _files
from chatmagic._files import folder_lock
from chatmagic.client import key_store
from chatmagic.client.key_store import (
    FILE,
    KEY_FILE_VARIABLE,
    SERVICE,
    UNFINISHED,
    KeyStore,
    key_in_file,
    keys_in_file,
    open_store,
)
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
    assert [path.name for path in kept.folder.iterdir()] == [FILE]
    assert (kept.folder / FILE).stat().st_mode & 0o777 == 0o600
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    assert kept.forget(HERE) == ["private file"]
    assert kept.forget(HERE) == []
    assert kept.load(THERE) == (NEW, "private file")


def test_a_keyring_keeps_a_key_by_its_place(tmp_path: Path) -> None:
    """The service is chatmagic and the user is the place; the file has the place without a key."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    assert kept.save(HERE, OLD, "keyring") == "keyring"
    assert keyring.held == {(SERVICE, HERE): OLD.reveal()}
    assert kept.load(HERE) == (OLD, "keyring")
    assert kept.load(THERE) is None
    assert json.loads((kept.folder / FILE).read_text("utf-8")) == {HERE: None}
    assert kept.places() == (HERE,)
    assert kept.forget(HERE) == ["keyring"]
    assert kept.forget(HERE) == []
    assert kept.places() == ()


def in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process has read from a keyring."""
    monkeypatch.setattr(key_store, "_in_keyring", {})


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
    (kept.folder / FILE).write_text(json.dumps({HERE: "two words"}), encoding="utf-8")
    assert kept.keys() == ()
    (kept.folder / FILE).write_bytes(b"{")
    assert kept.keys() == kept.places() == ()
    assert not kept.has_key_in_keyring


def test_a_key_of_an_earlier_version_is_known_from_its_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keyring has no list; what was forgotten is known no more."""
    keyring = Keyring()
    keyring.held[SERVICE, HERE] = OLD.reveal()
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
    monkeypatch.setattr(key_store, "is_locked", is_locked)
    assert kept.keys() == ()
    is_locked.return_value = False
    assert kept.keys() == (OLD,)


def test_only_the_secret_service_says_that_it_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, or as one of several keyrings; if it cannot be asked, it is taken for locked."""
    backend = type("Keyring", (), {"__module__": "keyring.backends.SecretService"})()
    for each in (backend, SimpleNamespace(backends=[SimpleNamespace(), backend])):
        module = SimpleNamespace(get_keyring=lambda each=each: each)
        for state in (True, False):
            collection = Mock(is_locked=Mock(return_value=state))
            storage = Mock(get_any_collection=Mock(return_value=collection))
            monkeypatch.setitem(sys.modules, "secretstorage", storage)
            assert key_store.is_locked(module) is state
            storage.dbus_init.return_value.close.assert_called_once_with()
        monkeypatch.setitem(sys.modules, "secretstorage", None)
        assert key_store.is_locked(module)
    assert not key_store.is_locked(SimpleNamespace(get_keyring=SimpleNamespace))


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
    keyring.held[SERVICE, HERE] = "two words"
    assert kept.load(HERE) == (OLD, "private file")
    (kept.folder / FILE).write_text(json.dumps({HERE: "two words", THERE: 1}), encoding="utf-8")
    assert kept.load(HERE) is None
    assert kept.load(THERE) is None


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    """It is neither read nor replaced; the keyring still works."""
    keyring = Keyring()
    kept = store(tmp_path, keyring)
    kept.save(HERE, OLD, "private file")
    (kept.folder / FILE).chmod(mode)
    for use in (kept.load, kept.forget, lambda at: kept.save(at, NEW, "private file")):
        with pytest.raises(InputError, match=f"{FILE} is not private to you") as caught:
            use(HERE)
        assert "private-" not in f"{caught.value!r}{caught.value}{caught.value.hint}"
    assert kept.save(HERE, NEW, "keyring") == "keyring"
    assert kept.load(HERE) == (NEW, "keyring")


@posix
def test_what_is_no_file_of_the_users_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in the file's place must be a file, and the user's own."""
    kept = store(tmp_path)
    kept.save(HERE, OLD, "private file")
    file = kept.folder / FILE
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: -1)
        with pytest.raises(InputError, match="not private"):
            kept.load(HERE)
    file.rename(tmp_path / "elsewhere")
    ways: list[Callable[[], object]] = [
        lambda: file.symlink_to(tmp_path / "elsewhere"),
        lambda: os.mkfifo(file, 0o600),
        lambda: file.mkdir(0o700),
    ]
    for put in ways:
        put()
        with pytest.raises(InputError, match="not private"):
            kept.load(HERE)
        if not file.is_dir():
            file.unlink()


@pytest.mark.parametrize(
    "content", [b"", b"{", b'["sk-private"]', b'{"sk-private\xff": 1}', b"[" * 100_000]
)
def test_a_damaged_file_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    """The keys in it may still be saved by hand; no error quotes them."""
    kept = store(tmp_path)
    kept.save(HERE, OLD, "private file")
    (kept.folder / FILE).write_bytes(content)
    with pytest.raises(InputError, match="is damaged") as caught:
        kept.save(THERE, NEW, "private file")
    assert caught.value.__context__ is None
    assert (kept.folder / FILE).read_bytes() == content


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
        (kept.folder / FILE).unlink()
        assert kept.forget(HERE) == [UNFINISHED]
        assert list(kept.folder.iterdir()) == []


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_the_end_of_a_process_leaves_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
) -> None:
    """Wherever it comes."""
    kept = store(tmp_path)
    for owner, step in ((os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, Mock(side_effect=end))
            with pytest.raises(end):
                kept.save(HERE, OLD, "private file")
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


@pytest.mark.parametrize("priority", [5, 1, 0, -1, None])
def test_a_keyring_is_used_if_it_has_somewhere_to_keep_a_key(
    monkeypatch: pytest.MonkeyPatch, priority: int | None
) -> None:
    """The keyrings that fail or forget have a priority of 0 or less; the package is optional."""
    module = SimpleNamespace(get_keyring=lambda: SimpleNamespace(priority=priority))
    monkeypatch.setitem(sys.modules, "keyring", None if priority is None else module)
    key_store.find_keyring.cache_clear()
    assert open_store().keyring is (module if priority and priority > 0 else None)
    key_store.find_keyring.cache_clear()


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
