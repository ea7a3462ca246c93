"""``chatmagic ask``: its environment, its files of conversations, and the command itself."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from commands import HERE, with_signals
from logged import Emulator
from loopback import DONE, EVENTS, Peer, Server, chunked, document, event, head, playing, stream
from served import LIMIT
from shares import each_time
from shell_asking import Asked
from shells import FIXED, KEY, asked, bodies

from chatmagic import _initial_environ, cli
from chatmagic.archive.cassette_file import CassetteFile
from chatmagic.client import config
from chatmagic.jupyter.settings import FileSettings
from chatmagic.session.ask import Outcome
from chatmagic.session.configured_environment import ConfiguredEnvironment
from chatmagic.session.session import Session

Run = Callable[..., Asked]


def test_a_person_is_there_where_messages_go_to_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Then a cassette records by itself."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    environment = ConfiguredEnvironment(FileSettings())
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
        assert environment.is_watched() is environment.has_person() is is_terminal
    monkeypatch.setattr(sys, "stderr", None)
    assert not environment.is_watched()


def test_a_warning_is_in_a_shells_words(ask: Run, emulator: Emulator) -> None:
    """It is a line like the others, and names no magic."""
    ran = ask("echo:a", "--connect", emulator.url.replace("://", "://me:word@"))
    assert ran.code == 0
    assert ran.err.startswith("(The address of http://127.0.0.1:")
    assert "which is not used: leave it out. A key goes into CHATMAGIC_API_KEY.)\n" in ran.err


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 2), (None, 2)])
def test_a_variable_of_other_tools_is_offered_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    answer: str | None,
    code: int,
) -> None:
    """Its key is sent only after a yes; where nobody can answer, the error says how to give it."""
    whole = document({"choices": [{"message": {"content": "Hello"}}]})
    monkeypatch.setattr("chatmagic.client.endpoint.is_loopback", lambda _url: False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("LAB_KEY", KEY)
    (tmp_path / "chatmagic").mkdir()
    typed = io.StringIO(answer)
    is_terminal = answer is not None
    monkeypatch.setattr(typed, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdin", typed)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with Server(playing(whole)) as server:
        table = f'[lab]\nbase_url = "{server.origin}"\nauth = "bearer"\nkey_variable = "LAB_KEY"\n'
        (tmp_path / "chatmagic" / "servers.toml").write_text(table)
        assert cli.main(["ask", "--connect", "lab", "hello"]) == code
        sent = [asked.headers.get("authorization") for asked in server.asked]
    err = capsys.readouterr().err
    assert sent == ([f"Bearer {KEY}"] if code == 0 else [])
    assert (f"LAB_KEY is set. Send its key to {server.origin}" in err) is is_terminal
    assert ('CHATMAGIC_BASE_URL=lab CHATMAGIC_API_KEY="$LAB_KEY" gives it' in err) is (code != 0)
    assert KEY not in err


def test_what_a_cassette_lost_meanwhile_is_written_at_the_end(
    ask: Run, emulator: Emulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Put back behind the reply, as git does; a line says so."""
    file = tmp_path / "tape.jsonl"
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(file))
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    ask("echo:a")
    older = file.read_bytes()
    real = Session.run

    def run(*given: Any) -> Outcome:
        outcome = real(*given)
        file.write_bytes(older)
        return outcome

    monkeypatch.setattr(Session, "run", run)
    ran = ask("echo:b")
    assert ran.err.count("(1 recorded exchange had gone from tape.jsonl since it was read") == 1
    assert [held.prompt for held in CassetteFile(file).read_interactions()] == ["echo:a", "echo:b"]
    assert len(emulator.requests) == 2


def saved(folder: Path) -> list[Path]:
    """Return the files of conversations in a state folder."""
    return sorted((folder / "state" / "chatmagic" / "shell").glob("*"))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_conversation_is_private(ask: Run, tmp_path: Path) -> None:
    """Each is a file that only its owner can read, and stays so; the last one is by its time."""
    ask("echo:a")
    ask("echo:b")
    first, second = saved(tmp_path)
    os.utime(second, ns=(1, 1))
    first.chmod(0o644)
    ran = ask("echo:c", "--continue")
    modes = [path.stat().st_mode & 0o777 for path in (first.parent, first, second)]
    assert modes == [0o700, 0o600, 0o600]
    assert saved(tmp_path) == [first, second]
    assert ran.err.endswith(f"(kept, with the conversation: {first})\n")
    replies = [turn["reply"] for turn in json.loads(first.read_text())["turns"]]
    assert replies[1:] == ["c"]


@pytest.mark.parametrize("content", ["", "[", "{}", "[" * 100_000, '{"chatmagic": "other"}'])
def test_a_damaged_file(ask: Run, emulator: Emulator, tmp_path: Path, content: str) -> None:
    """It is named in one line, and nothing is sent."""
    ask("echo:a")
    (file,) = saved(tmp_path)
    file.write_text(content)
    ran = ask("echo:b", "--continue")
    assert (ran.code, len(emulator.requests)) == (2, 1)
    assert re.search(r"cannot be read: .* Nothing was sent", ran.err)


def test_the_reply_alone_is_on_standard_output(ask: Run, emulator: Emulator) -> None:
    """All else is on the other, and nothing of the process is left changed."""
    ran = ask("echo:one", "{{ two }}  three")
    assert (ran.code, ran.out) == (0, "one {{ two }}  three\n")
    assert re.fullmatch(
        r"\(99 of 100 credits left · resets 2026-01-02 00:00 UTC · 5 tokens sent, 5 received\)\n"
        r"\(kept, and --continue goes on with it: .*/chatmagic/shell/.*\.json\)\n",
        ran.err,
    )
    assert bodies(emulator)[0]["stream"] is True
    assert emulator.requests[0].ways == ("bearer",)
    assert config.kernel is None
    assert KEY not in ran.out + ran.err


@pytest.mark.parametrize(
    ("words", "given", "prompt"),
    [
        ((), "echo:ä\nb\n", "echo:ä\nb"),
        (("-",), "echo:a\n\n", "echo:a\n"),
        (("-",), "\ufeffecho:a", "echo:a"),
        (("Review", "this:", "-"), "a\n", "Review this:\n\na"),
        (("echo:a",), "not read", "echo:a"),
        (("--", "-t is an option?"), "", "-t is an option?"),
        (("--", "--system=Be brief."), "", "--system=Be brief."),
        (("Stop", "seed", "image=a b"), "", "Stop seed image=a b"),
    ],
)
def test_where_the_question_comes_from(
    ask: Run, emulator: Emulator, words: tuple[str, ...], given: str, prompt: str
) -> None:
    """Words, standard input, or both; all of it as it is but for the last line's end."""
    assert ask(*words, given=given.encode()).code == 0
    assert asked(emulator) == [[prompt]]


def test_options_and_settings_are_those_of_a_kernel(
    ask: Run, emulator: Emulator, tmp_path: Path
) -> None:
    """IPython's configuration file holds, and an option counts before it."""
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_config.py").write_text(
        "c.ChatMagics.temperature = 0.5\nc.ChatMagics.model = 'small'\n"
        "c.ChatMagics.no_stream = c.ChatMagics.no_credits = True\n"
        "c.InteractiveShellApp.extensions = ['chatmagic']\n"
    )
    assert "credits" not in ask("echo:a").err
    back = ("--stream", "--credits")
    assert "credits" in ask("echo:b", "-t", "0", "-n", "9", *back, "-m", "large").err
    facts = ("stream", "temperature", "max_tokens", "model")
    assert [[body.get(fact) for fact in facts] for body in bodies(emulator)] == [
        [False, 0.5, None, "small"],
        [True, 0, 9, "large"],
    ]
    (profile / "ipython_config.py").write_text("c.ChatMagics.temperature = 'hot'\n")
    ran = ask("echo:a")
    assert (ran.code, len(emulator.requests)) == (2, 2)
    assert ran.err.startswith("chatmagic: IPython's configuration file: ")
    (profile / "ipython_config.py").write_text("c.ChatMagics.model = (")
    ran = ask("echo:a")
    assert (ran.code, len(emulator.requests)) == (2, 2)
    assert "configuration file cannot be run: SyntaxError. Nothing was sent." in ran.err


def test_it_goes_on_with_the_last_conversation(ask: Run, emulator: Emulator) -> None:
    """Only where it is asked to; with it each turn is kept, and without it each conversation."""
    assert ask("echo:a", "--continue").code == 2
    ask("echo:a")
    ask("echo:b", "--continue")
    ask("echo:alone", "--no-history", "--continue")
    ask("echo:c")
    ask("echo:d", "--continue", "--last", "0")
    ran = ask("echo:e", "--continue")
    assert asked(emulator) == [
        ["echo:a"],
        ["echo:a", "a", "echo:b"],
        ["echo:alone"],
        ["echo:c"],
        ["echo:d"],
        ["echo:c", "c", "echo:d", "d", "echo:e"],
    ]
    assert ran.out == "e\n"


def test_standard_input_beside_words(emulator: Emulator, tmp_path: Path) -> None:
    """It is not read without a dash, and a line says so: it may be a script's own."""
    running = process(
        emulator.url, tmp_path, "echo:a", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    _, notes = running.communicate(b"a secret", timeout=60)
    assert notes.startswith(b"(standard input is not read; - at the end takes it)\n(")
    assert asked(emulator) == [["echo:a"]]


def test_without_history_no_folder_is_needed(
    ask: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is kept; with it nothing would be asked."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "kept" not in ask("echo:a", "--no-history").err
    assert ask("echo:a").code == 2


def test_a_dry_run(ask: Run, emulator: Emulator) -> None:
    """The request is on standard output, and nothing is sent or kept."""
    ask("echo:a")
    ran = ask("b\x1b[2J", "--dry", "--continue", "--thread", "side")
    sent = json.loads(ran.out)
    assert [message["content"] for message in sent["messages"]] == ["b\x1b[2J"]
    assert "\x1b" not in ran.out
    assert ran.err == f"(It would go to {emulator.url}/v1/chat/completions. Nothing was sent.)\n"
    assert len(emulator.requests) == 1


def test_a_cassette_answers_without_a_service(
    ask: Run, emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It records and replays as in a kernel."""
    monkeypatch.setenv("CHATMAGIC_CASSETTE", str(tmp_path / "tape.jsonl"))
    monkeypatch.setenv("CHATMAGIC_MODE", "record")
    ask("echo:a")
    monkeypatch.setenv("CHATMAGIC_MODE", "replay")
    assert ask("echo:a").out == "a\n"
    ran = ask("echo:b")
    assert (ran.code, ran.out) == (2, "")
    assert "Nothing was sent" in ran.err
    assert len(emulator.requests) == 1


HOSTILE, SAFE = "a\x1b]0;x\x07b\rc\u202ed\n", "a␛]0;x␇bc\ufffdd\n"


@pytest.mark.parametrize(
    ("script", "ends", "words"),
    [
        (stream(event(HOSTILE, finish_reason="stop"), DONE), (0, SAFE), ""),
        (stream(event("a", finish_reason="\x1b[2J"), DONE), (0, "a\n"), "ended with: ␛[2J"),
        (stream(event("Hel")), (3, "Hel\n"), "The reply was cut off"),
        (document(LIMIT, "429 No"), (4, ""), "No credits left"),
        (document({}, "500 No"), (1, ""), "failed"),
        (document({"error": "\x1b[2J"}, "401 No"), (1, ""), "did not accept the key"),
        (stream(event("no JSON", finish_reason="stop"), DONE), (3, "no JSON\n"), "JSON"),
    ],
)
def test_how_it_ends(
    ask: Run, monkeypatch: pytest.MonkeyPatch, script: bytes, ends: tuple[int, str], words: str
) -> None:
    """The exit code says what happened; nothing that a server sends acts in a terminal."""
    with Server(playing(script)) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        options = ["--format", "json"] if "JSON" in words else []
        ran = ask("hello", *options)
    assert (ran.code, ran.out) == ends
    assert words in ran.err
    assert "\x1b" not in ran.err
    assert KEY not in ran.err


@pytest.mark.parametrize(
    ("words", "given", "part"),
    [
        ((), b"", "The prompt is empty"),
        ((), b"\xff\xfe", "no text in UTF-8"),
        (("a", "-t", "hot"), b"", "-t/--temperature: it takes a finite number"),
        (("a", "--above", "2"), b"", "--above"),
        (("a", "--connect", "nowhere"), b"", "is not a URL"),
        (("--schema", "x", "a"), b"", "--schema"),
        ((f"the key {KEY}",), b"", "holds your API key"),
    ],
)
def test_nothing_is_sent(
    ask: Run, emulator: Emulator, words: tuple[str, ...], given: bytes, part: str
) -> None:
    """For what is wrong before that the code is 2, with one line."""
    ran = ask(*words, given=given)
    assert (ran.code, ran.out) == (2, "")
    assert part in ran.err
    assert ran.err.startswith("chatmagic: ")
    assert emulator.requests == []


def test_no_standard_input(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a service manager starts it: that is no question."""
    del ask
    monkeypatch.setattr(sys, "stdin", None)
    assert cli.main(["ask"]) == 2


def test_a_reply_that_cannot_be_kept(
    ask: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It came and was paid for; what is wrong is said after it, and no empty file is left."""
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    ran = ask("echo:a")
    assert saved(tmp_path) == []
    assert (ran.code, ran.out) == (3, "a\n")
    assert ran.err.endswith("No space left on device. This reply is not kept.\n")


def test_a_budget_holds(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is for one question here; 4 is the code."""
    monkeypatch.setitem(_initial_environ.VARIABLES, "CHATMAGIC_BUDGET", "0 turns")
    with Server(playing(stream(event("a", finish_reason="stop"), DONE))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", server.origin)
        ran = ask("a")
        assert (ran.code, len(server.asked)) == (4, 0)
    assert "The budget of 0 turns is not enough" in ran.err


def process(url: str, folder: Path, *words: str, **how: Any) -> subprocess.Popen[bytes]:
    """Start the command as a process of its own."""
    env = {
        **os.environ,
        "CHATMAGIC_BASE_URL": url,
        "CHATMAGIC_API_KEY": KEY,
        "XDG_STATE_HOME": str(folder),
        "PYTHONPATH": str(HERE),
    }
    command = [sys.executable, "-m", "chatmagic", "ask", *words]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, **how)


def beginning(peer: Peer) -> None:
    """Begin a reply, and say no more."""
    peer.request()
    peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}), chunked(event("One two")))
    peer.gone()


@with_signals
@pytest.mark.parametrize("name", each_time(["SIGINT", "SIGTERM", "SIGHUP"], 3))
def test_an_interrupt_keeps_what_came(tmp_path: Path, name: str) -> None:
    """Ctrl-C ends it with 130, as a closed terminal does; the turn is kept, marked, privately."""
    number = getattr(signal, name)
    with Server(beginning) as server:
        # A test run under nohup ignores a hang-up, as would what it starts.
        before = signal.signal(number, signal.SIG_DFL)
        running = process(server.origin, tmp_path, "hello", stdout=subprocess.PIPE)
        signal.signal(number, before)
        assert running.stdout is not None
        assert running.stdout.read(7) == b"One two"
        running.send_signal(number)
        rest, complaint = running.communicate(timeout=60)
    assert (running.returncode, rest) == (130, b"\n")
    assert b"Interrupted after 2 words; the text so far is kept, marked." in complaint
    assert b'chatmagic ask --continue "Go on." asks for the rest.' in complaint
    assert b"Traceback" not in complaint
    (file,) = (tmp_path / "chatmagic" / "shell").glob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    (turn,) = json.loads(file.read_text())["turns"]
    assert (turn["reply"], turn["record"]["state"]) == ("One two", "interrupted")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_standard_output_that_cannot_be_written(emulator: Emulator, tmp_path: Path) -> None:
    """That is one line, and what came is kept."""
    with Path("/dev/full").open("w") as full:
        running = process(emulator.url, tmp_path, "echo:a b c", stdout=full)
        _, complaint = running.communicate(timeout=60)
    assert running.returncode == 3
    kept, complaint = complaint.splitlines()
    assert kept.startswith(b"(kept, and --continue goes on with it: ")
    assert complaint == b"chatmagic: standard output cannot be written: No space left on device."
    (file,) = (tmp_path / "chatmagic" / "shell").glob("*.json")
    assert json.loads(file.read_text())["turns"]


@with_signals
def test_a_pipe_that_nobody_reads(tmp_path: Path) -> None:
    """As with ``… | head -1``: it ends quietly, and what came is kept."""
    reader, writer = os.pipe()
    os.close(reader)
    with Emulator(replace(FIXED, delay=0.0)) as emulator:
        running = process(emulator.url, tmp_path, "echo:a b c", stdout=writer)
        os.close(writer)
        _, complaint = running.communicate(timeout=60)
    assert (running.returncode, complaint) == (128 + signal.SIGPIPE, b"")
    (file,) = (tmp_path / "chatmagic" / "shell").glob("*.json")
    assert json.loads(file.read_text())["turns"]


@pytest.mark.parametrize(("closed", "code", "told"), [((2,), 0, b""), ((1,), 3, b"closed")])
def test_a_stream_that_is_closed(
    emulator: Emulator, tmp_path: Path, closed: tuple[int, ...], code: int, told: bytes
) -> None:
    """Nothing meant for the other goes to standard output; without that nothing is asked."""

    def close() -> None:
        for number in closed:
            os.close(number)

    asking = process(emulator.url, tmp_path, "echo:a", stdout=subprocess.PIPE, preexec_fn=close)
    out, err = asking.communicate(timeout=60)
    assert asking.returncode == code
    assert out == (b"a\n" if code == 0 else b"")
    assert told in err
    assert len(emulator.requests) == (code == 0)
