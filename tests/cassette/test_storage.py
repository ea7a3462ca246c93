"""A cassette's file: whole at any moment, and shared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from project import ROOT

from chatmagic.cassette import serializer
from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.storage import CassetteFile
from chatmagic.errors import ChatError, InputError
from chatmagic.models import Message
from chatmagic.protocol.wire import Request

if TYPE_CHECKING:
    from pathlib import Path

STEPS = ("open", "write", "flush", "fsync", "chmod", "replace", "fsync of the folder")


def one(prompt: str) -> Interaction:
    """Give an exchange."""
    return Interaction.asked(Request((Message("user", prompt),)), text=f"re {prompt}")


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
    assert not file.exists()
    assert file.read() == ()
    put(file, one("a"), one("b"))
    assert file.exists()
    assert CassetteFile(file.path).read() == (one("a"), one("b"))
    assert names(file.path.parent) == ["talk.jsonl"]
    before = file.path.stat().st_mtime_ns
    put(file, one("a"), one("b"))
    assert file.path.stat().st_mtime_ns == before, "what has not changed is not written"


def test_two_kernels_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """Each takes in what the other has saved since, before it saves."""
    mine, other = CassetteFile(tmp_path / "talk.jsonl"), CassetteFile(tmp_path / "talk.jsonl")
    put(mine, one("a"))
    other.read()
    put(other, one("a"), one("b"))
    put(mine, one("a"), one("c"))
    assert set(map(repr, CassetteFile(mine.path).read())) == set(map(repr, map(one, "abc")))


def test_a_damaged_file_is_never_destroyed(tmp_path: Path) -> None:
    """Neither by reading nor by saving; mended, it goes on."""
    file = CassetteFile(tmp_path / "talk.jsonl")
    put(file, one("a"))
    good = file.path.read_text()
    for bad in (good.replace("re a", "no"), '{"chatmagic": "cassette", "version": 9}', "\xff"):
        file.path.write_bytes(bad.encode("latin-1"))
        with pytest.raises(InputError):
            file.read()
        with pytest.raises(InputError):
            put(file, one("b"))
        assert file.path.read_bytes() == bad.encode("latin-1")
    file.path.write_text(good)
    put(file, one("a"), one("b"))
    assert len(file.read()) == 2


def test_a_file_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    """One line, and the reply is not lost with it."""
    (tmp_path / "folder").write_text("no folder")
    with pytest.raises(ChatError, match="could not be written"):
        put(CassetteFile(tmp_path / "folder" / "talk.jsonl"), one("a"))
    (tmp_path / "here.jsonl").mkdir()
    with pytest.raises(InputError, match=r"here\.jsonl cannot be read"):
        CassetteFile(tmp_path / "here.jsonl").read()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
@pytest.mark.skipif(sys.platform == "win32", reason="it has no pipes among its files")
@pytest.mark.parametrize("name", ["folder", "pipe", "loop", "x" * 300, "nul\0", "full/below"])
def test_what_is_no_file_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    """Whatever a name leads to; who would replay it hears of it too."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "full").write_bytes(b"full")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    file = CassetteFile(tmp_path / name)
    if file.exists():
        with pytest.raises(InputError, match="cannot be read: "):
            file.read()
    with pytest.raises(ChatError, match=r"cannot be read|could not be written"):
        put(file, one("a"))


def test_a_link_and_the_rights_of_a_file_stay(tmp_path: Path) -> None:
    """What a link points to is replaced, and who may read it is not changed."""
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    put(CassetteFile(target), one("a"))
    target.chmod(0o640)
    link.symlink_to(target)
    put(CassetteFile(link), one("b"))
    assert link.is_symlink()
    assert CassetteFile(target).read() == (one("b"), one("a"))
    assert target.stat().st_mode & 0o777 == 0o640


DIES = """
import os, pathlib, signal, sys
from chatmagic.cassette import storage
from chatmagic.cassette.interaction import Interaction
from chatmagic.protocol.wire import Request
from chatmagic.models import Message

step, path = sys.argv[1:]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
def dies_in(owner, name, nth=1):
    real, count = getattr(owner, name), [0]
    def dying(*given, **named):
        count[0] += 1
        return die() if count[0] == nth else real(*given, **named)
    setattr(owner, name, dying)

class Half:
    def __init__(self, file):
        self.file = file
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def __getattr__(self, name):
        return getattr(self.file, name)
    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        if step == "write":
            die()
        return self.file.write(data[len(data) // 2 :])
    def flush(self):
        return die() if step == "flush" else self.file.flush()

real = pathlib.Path.open
def half(self, mode="r", *given, **named):
    if mode != "wb":
        return real(self, mode, *given, **named)
    return die() if step == "open" else Half(real(self, mode, *given, **named))
pathlib.Path.open = half
if step == "fsync":
    dies_in(os, "fsync")
if step == "fsync of the folder":
    dies_in(os, "fsync", 2)
if step == "chmod":
    dies_in(pathlib.Path, "chmod")
if step == "replace":
    dies_in(pathlib.Path, "replace")
def one(prompt):
    return Interaction.asked(Request((Message("user", prompt),)), text="re " + prompt * 5000)
storage.CassetteFile(pathlib.Path(path)).save(lambda before, now: (*now, one("new")))
sys.exit("it did not die")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_kernel_leaves_a_whole_file(tmp_path: Path, step: str) -> None:
    """Killed at each step of the writing, the file is the old one or the new one."""
    path = tmp_path / "talk.jsonl"
    put(CassetteFile(path), one("a"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    died = subprocess.run(
        [sys.executable, "-c", DIES, step, str(path)], env=environment, check=False
    )
    assert died.returncode == -signal.SIGKILL
    prompts = [exchange.prompt for exchange in CassetteFile(path).read()]
    assert prompts == (["a", "new"] if step == "fsync of the folder" else ["a"])
    put(CassetteFile(path), one("b"))
    assert names(tmp_path) == ["talk.jsonl"], "what it left behind is gone with the next save"


def test_without_a_lock_it_is_saved_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.setattr(sys, "platform", "win32")
    put(CassetteFile(tmp_path / "talk.jsonl"), one("a"))
    lines = (tmp_path / "talk.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0]) == {"chatmagic": "cassette", "version": serializer.VERSION}
