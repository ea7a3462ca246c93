"""A session's cassette: what it holds and the file lacks is written, at each moment, and said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cassettes import FILE, asked, prompts
from logged import Emulator
from shares import each_time
from shells import Page, Shell

from chatmagic import _files
from chatmagic._files import folder_lock

pytestmark = pytest.mark.usefixtures("folder")


def test_what_could_not_be_written_is_saved_later_or_elsewhere(
    shell: Shell, emulator: Emulator, full: list[str]
) -> None:
    """By the status, or by another cassette; nothing half-written is left, nothing asked again."""
    shell.do(f"%chat_cassette {FILE} --record")
    full.append(FILE)
    ran = shell.fails("%chat --no-history echo:one")
    assert "No space left on device. The recorded replies are kept in memory." in ran.traceback[0]
    assert list(Path().iterdir()) == []
    told = shell.do("%chat_cassette").printed
    assert "talk.jsonl could not be written: No space left on device. " in told
    assert "1 recorded exchange could not be saved, and will be lost" in told
    full.clear()
    assert "could not" not in shell.do("%chat_cassette").printed
    assert prompts() == ["echo:one"]
    full += [FILE, "other.jsonl"]
    shell.fails("%chat --no-history echo:two")
    told = shell.do("%chat_cassette other.jsonl --record").printed
    assert "other.jsonl could not be written" in told
    full.remove("other.jsonl")
    shell.do("%chat --no-history echo:three")
    assert prompts("other.jsonl") == ["echo:two", "echo:three"]
    shell.do("%chat --no-history echo:two")
    assert asked(emulator) == ["echo:one", "echo:two", "echo:three"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such lock")
def test_another_process_has_locked_the_folder(
    shell: Shell, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait and its end are said; the cell has its reply, and the next one goes on."""
    clock = [0.0]
    monkeypatch.setattr(_files, "monotonic", lambda: clock[0])
    monkeypatch.setattr(_files, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    shell.do(f"%chat_cassette {FILE} --record")
    with folder_lock(Path()):
        ran = shell.do("%chat --no-history echo:one")
        assert ran.error is None
        assert "process has locked the folder of talk.jsonl; the recorded reply" in ran.warned
        unsaved = "talk.jsonl could not be written: another process has locked its folder. The"
        assert unsaved in ran.warned
        assert clock == [pytest.approx(10, abs=0.1)]
        ran = shell.do("%chat --no-history echo:two")
        assert ran.error is None
        assert unsaved in ran.warned
        assert clock == [pytest.approx(10, abs=0.1)], "it is not waited for again"
        assert "2 recorded exchanges could not be saved" in shell.do("%chat_cassette").printed
        assert list(Path().iterdir()) == []
    shell.do("%chat --no-history echo:three")
    assert prompts() == ["echo:one", "echo:two", "echo:three"]
    assert asked(emulator) == prompts()


def test_off_works_though_nothing_can_be_saved(shell: Shell, emulator: Emulator) -> None:
    """And says what will be lost; it is taken along later, when a file takes it."""
    shell.do(f"%chat_cassette {FILE} --record")
    shell.do("%chat --no-history echo:one")
    Path(FILE).write_text("<<<<<<< HEAD\n", encoding="utf-8")
    assert "a merge conflict" in repr(shell.fails("%chat --no-history echo:two").error)
    told = shell.do("%chat_cassette --off").printed
    # What the file held before is not in it now, either.
    assert "2 recorded exchanges could not be saved, and will be lost" in told
    ran = shell.do("%chat --no-history echo:three")
    assert "2 recorded exchanges could not be saved" in ran.warned
    told = shell.do("%chat_cassette").printed
    assert "No cassette is in use" in told
    assert "2 recorded exchanges could not be saved" in told
    told = shell.do("%chat_cassette other.jsonl --record").printed
    assert "could not" not in told
    assert prompts("other.jsonl") == ["echo:one", "echo:two"]
    assert "could not" not in shell.do("%chat_cassette").printed
    assert asked(emulator) == ["echo:one", "echo:two", "echo:three"]


GONE = "2 recorded exchanges had gone from talk.jsonl since it was read here: written again."


@pytest.fixture
def put_back(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Record four exchanges; return what puts back the file of the first two, as git does."""
    monkeypatch.setenv("CHATMAGIC_MODE", "")
    shell.do(f"%chat_cassette {FILE} --record", cell="in")
    shell.page("%chat --no-history echo:1", "1")
    shell.page("%chat --no-history echo:2", "2")
    older = Path(FILE).read_bytes()
    shell.page("%chat --no-history echo:3", "3")
    shell.page("%chat --no-history echo:4", "4")

    def write() -> None:
        Path(FILE).write_bytes(older)

    return write


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize(
    ("line", "said"),
    each_time(
        [
            ("%chat_cassette", "printed"),
            ("%chat_cassette --off", "printed"),
            ("%chat_cassette other.jsonl --record", "printed"),
            (f"%chat_cassette {FILE} --replay", "printed"),
            ("%chat --no-history echo:1", "warned"),
            ("%chat_cassette --prune", "printed"),
            ("%reload_ext chatmagic", "warned"),
            ("%chat -q --no-history echo:3", "warned"),
            ("%unload_ext chatmagic", "warned"),
            ("import chatmagic; chatmagic.ask('echo:4', history=False)", "warned"),
            ("%chat --no-history echo:5", "warned"),
            ("%env CHATMAGIC_MODE=live\n%chat --no-history echo:5", "warned"),
        ],
        4,
    ),
)
def test_what_the_file_lost_is_written_at_the_next_moment(
    shell: Shell, put_back: Callable[[], None], line: str, said: str, *, is_deleted: bool
) -> None:
    """Whether it asks, is answered from memory or ends the use; it says so, once, and for good."""
    put_back()
    if is_deleted:
        Path(FILE).unlink()
    ran = shell.do(line, cell="x")
    assert prompts()[:4] == ["echo:1", "echo:2", "echo:3", "echo:4"]
    assert (GONE.replace("2", "4", 1) if is_deleted else GONE) in getattr(ran, said)
    if line != "%unload_ext chatmagic":
        assert "had gone" not in shell.do("%chat_cassette", cell="s").printed


def test_the_line_on_lost_exchanges_is_printed_behind_the_reply(
    shell: Shell, put_back: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it stays under the last state of the reply, which replaces the live one."""
    shown: list[str] = []
    publisher = shell.shell.display_pub
    notify = shell.kernel.notify

    def noted(line: str) -> None:
        assert isinstance(publisher, Page)
        shown.append(publisher.messages[-1]["data"]["text/plain"])
        notify(line)

    monkeypatch.setattr(shell.kernel, "notify", noted)
    put_back()
    assert GONE in shell.page("%chat --no-history echo:3", "3").warned
    assert shown == ["3"]


def test_what_the_file_lost_is_told_under_an_error(
    shell: Shell, emulator: Emulator, put_back: Callable[[], None]
) -> None:
    """The file is whole before the request is sent."""
    emulator.stop()
    put_back()
    assert GONE in shell.fails("%chat --no-history echo:5", cell="x").warned


def test_what_a_lost_file_held_is_counted_where_it_cannot_be_written(
    shell: Shell, put_back: Callable[[], None], full: list[str]
) -> None:
    """Answered from memory, each cell says it under its reply until a file takes it."""
    put_back()
    full.append(FILE)
    for _ in range(2):
        ran = shell.page("%chat --no-history echo:4", "4")
        assert "2 recorded exchanges could not be saved" in ran.warned
        assert "No space left on device" in ran.warned
    full.clear()
    assert GONE in shell.page("%chat --no-history echo:4", "4").warned
    assert prompts() == ["echo:1", "echo:2", "echo:3", "echo:4"]


def test_a_replay_writes_nothing_and_tells_what_the_file_lacks(
    shell: Shell, put_back: Callable[[], None]
) -> None:
    """It answers from what it has read, and from what another kernel has added."""
    whole = Path(FILE).read_bytes()
    shell.do(f"%chat_cassette {FILE} --replay")
    put_back()
    older = Path(FILE).read_bytes()
    assert "It holds 2 exchanges, and this kernel 2 more; in" in shell.do("%chat_cassette").printed
    assert shell.page("%chat --no-history echo:4", "4").texts == ["4"]
    assert "had gone" not in shell.do("%chat_cassette --off").printed
    assert Path(FILE).read_bytes() == older
    shell.do(f"%chat_cassette {FILE} --replay")
    Path(FILE).write_bytes(whole)
    assert shell.page("%chat --no-history echo:3", "3").texts == ["3"]


def conflict(older: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Give what git leaves of two files that both have recorded more than an older one."""
    ends = ours[len(older) :], theirs[len(older) :]
    return b"%b<<<<<<< HEAD\n%b=======\n%b>>>>>>> side\n" % (older, *ends)


MERGED = "talk.jsonl has the marks of a merge conflict, and both of its halves are used."


def test_both_sides_of_a_merge_conflict_are_used(
    shell: Shell, emulator: Emulator, put_back: Callable[[], None]
) -> None:
    """Recording writes the file without the marks; what neither side has, is written, too."""
    ours = Path(FILE).read_bytes()
    put_back()
    older = Path(FILE).read_bytes()
    shell.do("%chat_cassette --off")
    put_back()
    shell.do(f"%chat_cassette {FILE} --record")
    shell.page("%chat --no-history echo:5", "5")
    theirs = Path(FILE).read_bytes()
    shell.page("%chat --no-history echo:6", "6")
    Path(FILE).write_bytes(conflict(older, ours, theirs))
    ran = shell.page("%chat --no-history echo:3", "3")
    assert MERGED in ran.warned
    assert "1 recorded exchange had gone from talk.jsonl" in ran.warned
    assert prompts() == [f"echo:{n}" for n in range(1, 7)]
    assert b"<<<" not in Path(FILE).read_bytes()
    assert MERGED not in shell.page("%chat --no-history echo:4", "4").warned
    assert len(emulator.requests) == 6


def test_a_merge_conflict_is_replayed_as_it_is(shell: Shell, put_back: Callable[[], None]) -> None:
    """It says so where the cassette is chosen; a file that is chosen to record is left as it is."""
    ours = Path(FILE).read_bytes()
    put_back()
    shell.do("%chat_cassette --off")
    put_back()
    older = Path(FILE).read_bytes()
    text = conflict(older, ours, older)
    Path(FILE).write_bytes(text)
    for option in ("--record", "--replay"):
        assert MERGED in shell.do(f"%chat_cassette {FILE} {option}").printed
        assert shell.page("%chat --no-history echo:3", "3").texts == ["3"]
        assert Path(FILE).read_bytes() == text


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
def test_two_kernels_lose_nothing_of_each_other(emulator: Emulator) -> None:
    """Both record into one file at the same time."""
    program = """
import sys, chatmagic
for number in range(15):
    chatmagic.ask(f"echo:{sys.argv[1]} {number}", history=False)
"""
    environment = {**os.environ, "CHATMAGIC_CASSETTE": FILE, "CHATMAGIC_MODE": "record"}
    kernels = [
        subprocess.Popen([sys.executable, "-c", program, name], env=environment) for name in "ab"
    ]
    assert [kernel.wait() for kernel in kernels] == [0, 0]
    assert sorted(prompts()) == sorted(f"echo:{name} {n}" for name in "ab" for n in range(15))
    assert len(emulator.requests) == 30


@pytest.mark.skipif(sys.platform == "win32", reason="has no fork")
def test_what_the_file_lost_is_written_as_the_program_ends(emulator: Emulator) -> None:
    """By the interpreter's exit, with the line on standard error."""
    program = """
import os, pathlib, chatmagic
session = chatmagic.Session()
session.ask("echo:1")
older = pathlib.Path("talk.jsonl").read_bytes()
session.ask("echo:2")
pathlib.Path("talk.jsonl").write_bytes(older)
if os.fork() == 0:
    raise SystemExit
os.wait()
assert pathlib.Path("talk.jsonl").read_bytes() == older, "not by a child"
"""
    environment = {**os.environ, "CHATMAGIC_CASSETTE": FILE, "CHATMAGIC_MODE": "record"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert prompts() == ["echo:1", "echo:2"]
    assert ran.stderr.count("1 recorded exchange had gone from talk.jsonl") == 1
    assert len(emulator.requests) == 2
