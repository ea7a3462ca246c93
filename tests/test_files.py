"""A file is read, replaced and locked and nothing else in its folder is."""

from __future__ import annotations

import ast
import errno
import os
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from project import ROOT, syntax_tree

from chatmagic import _files
from chatmagic._files import (
    PRIVATE,
    clear_unfinished,
    content_of,
    folder_lock,
    open_file,
    open_to_change,
    replace_content,
)
from chatmagic.errors import InputError

posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")


def names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def permissions(path: Path) -> int:
    """Return the permissions of a file, not of what it leads to."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Return the function that sets the umask, which is set back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


# --- Reading ------------------------------------------------------------------------------------


def test_a_device_or_a_huge_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading ends in any case."""
    with pytest.raises(InputError, match="it is not a file"):
        content_of(Path(os.devnull))
    path = tmp_path / "large"
    monkeypatch.setattr(_files, "LARGEST", 2**20)
    path.write_bytes(bytes(2**20))
    assert content_of(path) == bytes(2**20)
    path.write_bytes(bytes(2**20 + 1))
    with pytest.raises(InputError, match=r"^large cannot be read: it is larger than 1 MiB\. Clear"):
        content_of(path)


def test_a_file_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays as it was, and nothing is left behind."""
    monkeypatch.setattr(_files, "LARGEST", 2**20)
    path = tmp_path / "large"
    replace_content(path, bytes(2**20))
    with pytest.raises(OSError, match="it would be larger than 1 MiB, which is not read again"):
        replace_content(path, bytes(2**20 + 1))
    assert content_of(path) == bytes(2**20)
    assert os.listdir(tmp_path) == ["large"]  # noqa: PTH208


def test_a_file_that_is_not_there_has_no_content(tmp_path: Path) -> None:
    """It is no error; a name that is none is one."""
    assert content_of(tmp_path / "none") is None
    with pytest.raises(InputError, match="not the name of a file"):
        content_of(tmp_path / "a\0b")


def make_pipe(path: Path) -> None:
    """Put a pipe at a path, which nobody writes to."""
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    """Put the remains of a socket at a path, whose name may be longer than a socket's."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


NO_FILES = pytest.mark.parametrize("make", [make_pipe, make_socket, Path.mkdir])


@posix
@NO_FILES
def test_what_is_no_file_is_neither_read_nor_replaced(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    """Nothing waits for it, and it stays."""
    path = tmp_path / "file"
    make(path)
    kind = stat.S_IFMT(path.lstat().st_mode)
    (tmp_path / "link").symlink_to(path)
    for name in ("file", "link"):
        with pytest.raises(InputError, match=f"^{name} cannot be read: it is not a file"):
            content_of(tmp_path / name)
    with pytest.raises(OSError, match="it is not a file"):
        replace_content(path, b"new")
    with pytest.raises(OSError, match=r"it is not a file|Is a directory"):
        open_to_change(path)
    assert names(tmp_path) == ["file", "link"]
    assert stat.S_IFMT(path.lstat().st_mode) == kind


@posix
def test_a_link_is_followed_where_that_is_wanted(tmp_path: Path) -> None:
    """A reader follows it, unless it is to be the file itself."""
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert content_of(tmp_path / "link") == b"content"
    with pytest.raises(OSError, match="it is a link"):
        open_file(tmp_path / "link", follows=False)


# --- Writing ------------------------------------------------------------------------------------


def test_a_file_has_its_new_content(tmp_path: Path) -> None:
    """Made or replaced, with nothing beside it."""
    path = tmp_path / "file"
    for content in (b"one", b"", b"two"):
        replace_content(path, content)
        assert path.read_bytes() == content
        assert names(tmp_path) == ["file"]


@posix
@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("name", ["file", ".file.new", "file.new", "file.tmp", ".file.tmp"])
def test_a_planted_link_is_not_written_through(tmp_path: Path, name: str, is_there: bool) -> None:
    """Whether it has the file's name or one that a temporary file may have."""
    decoy, folder = tmp_path / "profile", tmp_path / "cloned"
    folder.mkdir()
    if is_there:
        decoy.write_bytes(b"mine")
    (folder / name).symlink_to(decoy)
    replace_content(folder / "file", b"theirs")
    assert (decoy.read_bytes() if decoy.exists() else b"mine") == b"mine"
    assert decoy.exists() is is_there
    assert not (folder / "file").is_symlink()
    assert (folder / "file").read_bytes() == b"theirs"


@posix
def test_a_hard_link_keeps_its_content(tmp_path: Path) -> None:
    """The file of that name is another one afterwards."""
    (tmp_path / "profile").write_bytes(b"mine")
    (tmp_path / "file").hardlink_to(tmp_path / "profile")
    replace_content(tmp_path / "file", b"theirs")
    assert (tmp_path / "profile").read_bytes() == b"mine"
    assert (tmp_path / "file").read_bytes() == b"theirs"


@posix
def test_permissions_are_those_of_the_umask_or_the_file(
    tmp_path: Path, umask: Callable[[int], int]
) -> None:
    """A given mode beats both; a link's target has no say."""
    path = tmp_path / "file"
    for mask, kept in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        umask(mask)
        replace_content(path, b"new")
        assert permissions(path) == kept
        path.unlink()
    umask(0o022)
    for kept in (0o600, 0o640, 0o664, 0o755):
        path.touch()
        path.chmod(kept)
        replace_content(path, b"changed")
        assert permissions(path) == kept
    replace_content(path, b"private", PRIVATE)
    assert permissions(path) == PRIVATE
    (tmp_path / "open").touch()
    (tmp_path / "open").chmod(0o666)
    (tmp_path / "link").symlink_to("open")
    replace_content(tmp_path / "link", b"new")
    assert permissions(tmp_path / "link") == 0o644


@posix
def test_another_users_file_gives_no_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: Callable[[int], int]
) -> None:
    """A file planted for all to write is for its new owner alone to write."""
    del umask
    path, other = tmp_path / "file", os.getuid() + 1
    for planted, kept in ((0o666, 0o644), (0o600, 0o600)):
        path.touch()
        path.chmod(planted)
        with monkeypatch.context() as patched:
            patched.setattr(os, "getuid", lambda: other)
            replace_content(path, b"mine")
        assert permissions(path) == kept


@posix
def test_permissions_are_set_before_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: Callable[[int], int]
) -> None:
    """Nobody can open the file meanwhile, not even while it is empty."""
    umask(0)
    path, seen, real = tmp_path / "file", list[int](), os.open

    def opened(*given: object, **named: object) -> int:
        descriptor = real(*given, **named)  # type: ignore[arg-type] # whatever is given
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    path.touch()
    path.chmod(0o640)
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "fsync", lambda to: seen.append(stat.S_IMODE(os.fstat(to).st_mode)))
    replace_content(path, b"content")
    replace_content(path, b"content", PRIVATE)
    assert seen == [0o600, 0o640, 0o600, 0o600]


@posix
def test_a_group_that_cannot_be_kept_has_no_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The members of another group could read what only those of the old one could."""
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o664)
    given = Mock(side_effect=PermissionError)
    monkeypatch.setattr(os, "fchown", given)
    replace_content(path, b"of the same group")
    assert permissions(path) == 0o664
    real = os.fstat
    state = Mock(wraps=real(0), st_gid=-2)
    monkeypatch.setattr(os, "fstat", lambda _: state)
    replace_content(path, b"of another group")
    assert permissions(path) == 0o604


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_whatever_ends_the_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: type[BaseException]
) -> None:
    """A full disk, an interrupt, and the end of the process."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os if step == "fsync" else Path, step, Mock(side_effect=error))
    with pytest.raises((OSError, KeyboardInterrupt, SystemExit)):
        replace_content(path, b"new")
    assert names(tmp_path) == ["file"]
    assert path.read_bytes() == b"old"


def test_two_writers_never_tear_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One writes while another is about to finish: each has a file of its own."""
    path, real = tmp_path / "file", os.fsync
    replace_content(path, b"old")

    def other(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", real)
        replace_content(path, b"B" * 10)
        assert path.read_bytes() == b"B" * 10
        real(descriptor)

    monkeypatch.setattr(os, "fsync", other)
    replace_content(path, b"A" * 1_000)
    assert path.read_bytes() == b"A" * 1_000
    assert names(tmp_path) == ["file"]


def test_temporary_names_cannot_be_foreseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one is taken all the same, what has it stays."""
    new, real = list[str](), Path.replace

    def replace(self: Path, to: Path) -> Path:
        new.append(self.name)
        return real(self, to)

    monkeypatch.setattr(Path, "replace", replace)
    for _ in range(3):
        replace_content(tmp_path / "file", b"content")
    assert len({*new}) == 3
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".chatmagic-guessed.new").write_bytes(b"planted")
    with pytest.raises(FileExistsError):
        replace_content(tmp_path / "file", b"more")
    assert (tmp_path / ".chatmagic-guessed.new").read_bytes() == b"planted"
    assert (tmp_path / "file").read_bytes() == b"content"


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    """By its names, and nothing else."""
    left = [".chatmagic-0123456789abcdef.new", "tmpab_1xy0z"]
    for name in (*left, "mine.new", "tmp"):
        (tmp_path / name).touch()
    (tmp_path / ".chatmagic-folder.new").mkdir()
    assert clear_unfinished(tmp_path, "tmp????????") == 2
    assert names(tmp_path) == [".chatmagic-folder.new", "mine.new", "tmp"]


@posix
def test_a_file_that_grows_has_one_name(tmp_path: Path, umask: Callable[[int], int]) -> None:
    """A link is refused, whether it leads to a file or not, and so is a hard link."""
    umask(0o027)
    profile = tmp_path / "profile"
    (tmp_path / "link").symlink_to(profile)
    with pytest.raises(OSError, match="it is a link"):
        open_to_change(tmp_path / "link")
    assert not profile.exists()
    with open_to_change(profile) as file:
        file.write(b"mine")
    assert permissions(profile) == 0o640
    with pytest.raises(OSError, match="it is a link"):
        open_to_change(tmp_path / "link")
    (tmp_path / "other").hardlink_to(profile)
    with pytest.raises(OSError, match="several names"):
        open_to_change(tmp_path / "other")
    assert profile.read_bytes() == b"mine"


# --- Locks --------------------------------------------------------------------------------------


@posix
def test_who_waits_for_a_folder_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody else."""
    waits, has_it = threading.Event(), threading.Event()
    monkeypatch.setattr(_files, "SAID_AFTER", 0.0)

    def second() -> None:
        with folder_lock(tmp_path, waits.set, longest=None):
            has_it.set()

    thread = threading.Thread(target=second)
    with folder_lock(tmp_path, pytest.fail):
        thread.start()
        assert waits.wait(60)
        assert not has_it.is_set()
    thread.join(60)
    assert has_it.is_set()
    assert names(tmp_path) == [], "a lock makes no file"


@posix
def test_a_folder_without_locks_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some network drives, where no folder can be locked."""
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError(errno.EBADF, "Bad descriptor")))
    with folder_lock(tmp_path, pytest.fail):
        pass


@posix
def test_only_a_folder_is_locked(tmp_path: Path) -> None:
    """A pipe in its place is not waited for."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotADirectoryError), folder_lock(tmp_path / "pipe"):
        pass


# --- One way ------------------------------------------------------------------------------------

OPENING = frozenset(
    {"open", "fdopen", "FileIO", "write_text", "write_bytes", "read_text", "read_bytes", "touch"}
    | {"mkstemp", "NamedTemporaryFile", "rename", "symlink_to", "hardlink_to", "truncate", "mkfifo"}
    | {"copyfile", "copy2", "copytree", "move", "to_csv", "FileHandler", "flock"}
)
ELSEWHERE = {
    ("cli.py", "open"): "the null device",
    ("demo.py", "read_bytes"): "a lesson of ours",
    ("emulator/replies.py", "read_text"): "a file of ours",
    ("render/formula_allowlist.py", "read_text"): "a file of ours",
    ("protocol/secret_scanner.py", "read_text"): "a file of ours",
    ("jupyter/page/joined_module.py", "read_text"): "a file of ours",
    ("session/map/shared_files.py", "open"): "JobFile.open",
    ("session/map/claims.py", "open"): "a file whose bytes are locked, and never written",
    ("jupyter/page/bridge.py", "open"): "a connection with a page",
    ("client/transport.py", "open"): "a connection with a service",
    ("study/review_file.py", "truncate"): "a file of `open_to_change`",
}


def test_every_file_is_opened_in_one_way() -> None:
    """No other module opens, writes or locks a file; the exceptions are listed with a reason."""
    calls = set()
    for path in (ROOT / "chatmagic").rglob("*.py"):
        name = path.relative_to(ROOT / "chatmagic").as_posix()
        for node in ast.walk(syntax_tree(path)):
            if isinstance(node, ast.Call) and name != "_files.py":
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                calls |= {(name, called)} if called in OPENING else set()
    assert calls == {*ELSEWHERE}
