"""A cassette's file: it is whole, and several kernels share it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from cassettes import exchange_of, talk

from chatmagic import _files
from chatmagic._files import folder_lock
from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.archive.cassette_format import cassette_text
from chatmagic.archive.interaction import Interaction
from chatmagic.errors import ChatError, InputError
from chatmagic.models import Message
from chatmagic.protocol.request import Request


def one(prompt: str) -> Interaction:
    """Give an exchange."""
    return exchange_of(Request((Message("user", prompt),)), text=f"re {prompt}")


def names(folder: Path) -> list[str]:
    """Give what is in a folder."""
    return [path.name for path in folder.iterdir()]


def put(file: CassetteFile, *exchanges: Interaction) -> None:
    """Save these, with what others have put in."""

    def merged(
        before: tuple[Interaction, ...], now: tuple[Interaction, ...]
    ) -> tuple[Interaction, ...]:
        return (*exchanges, *(held for held in now if held not in before))

    file.save(merged)


def test_what_is_saved_is_there(tmp_path: Path) -> None:
    """In a folder that is made for it, and with nothing beside it."""
    file = CassetteFile(tmp_path / "new" / "talk.jsonl")
    assert file.read_interactions() == ()
    put(file, one("a"), one("b"))
    assert CassetteFile(file.path).read_interactions() == (one("a"), one("b"))
    assert names(file.path.parent) == ["talk.jsonl"]
    before = file.path.stat().st_mtime_ns
    put(file, one("a"), one("b"))
    assert file.path.stat().st_mtime_ns == before, "what has not changed is not written"


def test_lines_that_end_as_on_windows_are_read(tmp_path: Path) -> None:
    """And what is saved then ends as always."""
    held, file = talk(2), CassetteFile(tmp_path / "talk.jsonl")
    file.path.write_bytes(cassette_text(held[:1]).replace("\n", "\r\n").encode())
    file.save(lambda _, now: (*now, held[1]))
    assert file.path.read_text("utf-8") == cassette_text(held)


def test_a_file_is_read_again_only_where_it_has_changed(tmp_path: Path) -> None:
    """Also where it has as many bytes as before."""
    file, other = CassetteFile(tmp_path / "talk.jsonl"), CassetteFile(tmp_path / "talk.jsonl")
    put(file, one("a"))
    assert file.read_interactions() is file.read_interactions() is file.held
    other.save(lambda _, __: (one("b"),))
    assert file.read_interactions() == (one("b"),)


def test_what_could_not_be_added_is_named_by_nothing_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exchange that is given up after a full disk is no part of the next one's turns."""
    held = talk(3)
    file = CassetteFile(tmp_path / "talk.jsonl")
    put(file, held[0])
    before = file.path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space")))
        with pytest.raises(ChatError, match="No space"):
            file.save(lambda _, now: (*now, held[1]))
    assert file.path.read_bytes() == before
    file.save(lambda _, now: (*now, held[2]))
    assert CassetteFile(file.path).read_interactions() == (held[0], held[2])


def test_a_damaged_file_is_never_destroyed(tmp_path: Path) -> None:
    """Neither by reading nor by saving; mended, it goes on."""
    file = CassetteFile(tmp_path / "talk.jsonl")
    put(file, one("a"))
    good = file.path.read_text()
    for bad in (good.replace("re a", "no"), '{"chatmagic": "cassette", "version": 9}', "\xff"):
        file.path.write_bytes(bad.encode("latin-1"))
        with pytest.raises(InputError):
            file.read_interactions()
        with pytest.raises(InputError):
            put(file, one("b"))
        assert file.path.read_bytes() == bad.encode("latin-1")
    file.path.write_text(good)
    put(file, one("a"), one("b"))
    assert len(file.read_interactions()) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="it has no pipes among its files")
@pytest.mark.parametrize("name", ["folder", "pipe", "loop", "x" * 300, "nul\0", "full/below"])
def test_what_is_no_file_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    """Whatever a name leads to; who would replay it hears of it too."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "full").write_bytes(b"full")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    file = CassetteFile(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read: "):
        file.read_interactions()
    with pytest.raises(ChatError, match=r"cannot be read|could not be written"):
        put(file, one("a"))


def test_a_link_becomes_a_file(tmp_path: Path) -> None:
    """What it leads to is read, and is as before; permissions stay."""
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    put(CassetteFile(target), one("a"))
    target.chmod(0o640)
    link.symlink_to(target)
    put(CassetteFile(link), one("b"))
    assert not link.is_symlink()
    assert CassetteFile(link).read_interactions() == (one("b"), one("a"))
    assert CassetteFile(target).read_interactions() == (one("a"),)
    put(CassetteFile(target), one("c"))
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="has no such lock")
def test_a_locked_folder_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said after a second; after ten the exchange is not saved, and the error says so."""
    clock = [0.0]
    monkeypatch.setattr(_files, "monotonic", lambda: clock[0])
    monkeypatch.setattr(_files, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    file, said = CassetteFile(tmp_path / "talk.jsonl"), list[float]()
    with folder_lock(tmp_path), pytest.raises(ChatError, match="another process has locked"):
        file.save(lambda _, __: (one("a"),), lambda: said.append(clock[0]))
    assert said == [pytest.approx(1, abs=0.1)]
    assert clock == [pytest.approx(10, abs=0.1)]
    assert names(tmp_path) == []
    put(file, one("a"))
    assert CassetteFile(file.path).read_interactions() == (one("a"),)


class Killed(BaseException):
    """End of a process, behind which nothing is cleaned up."""


@pytest.mark.parametrize(
    ("call", "nth", "left"),
    [("fsync", 1, ["a"]), ("replace", 1, ["a"]), ("fsync", 2, ["new", "a"])],
)
def test_a_killed_kernel_leaves_a_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, nth: int, left: list[str]
) -> None:
    """Killed at each step of the writing, the file is the old one or the new one."""
    path, owner, steps = tmp_path / "talk.jsonl", os if call == "fsync" else Path, list[Any]()
    put(CassetteFile(path), one("a"))
    real = getattr(owner, call)

    def dying(*given: Any) -> Any:
        steps.append(given)
        if len(steps) == nth:
            raise Killed
        return real(*given)

    new, file = one("new"), CassetteFile(path)
    with monkeypatch.context() as patched:
        patched.setattr(owner, call, dying)
        with pytest.raises(Killed):
            file.save(lambda _, now: (new, *now))
    assert [exchange.prompt for exchange in CassetteFile(path).read_interactions()] == left
    put(CassetteFile(path), one("b"))
    assert names(tmp_path) == ["talk.jsonl"], "the next save takes away what was left behind"
    assert [exchange.prompt for exchange in CassetteFile(path).read_interactions()] == ["b", *left]
