"""The command line: what it understands, and how it ends."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from commands import HERE, asked, command, printed_address, until, with_signals

import chatmagic
from chatmagic import cli
from chatmagic.conversation.options import OPTIONS
from chatmagic.emulator import server
from chatmagic.emulator.service import FRESH, Settings


def settings(*words: str) -> Settings:
    """Give the settings with which these words start the emulator."""
    with mock.patch.object(server, "serve") as serve:
        assert cli.main(["emulator", *words]) == 0
    made: Settings = serve.call_args.args[0]
    return made


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "COMMAND"),
        (["dance"], 'dance is not a command. Nothing was sent. chatmagic ask "QUESTION" asks;'),
        (["-m", "gpt-4o", "Why?"], '-m is not a command. Nothing was sent. chatmagic ask "QUES'),
        (["models"], "%chat_connect --models lists them."),
        (["ask", "-s", "Be brief.", "Hi"], "-s is not an option. Nothing was sent. The question"),
        (["demo", "a", "b"], "b"),
        (["demo", "--port", "65536"], "from 0 to 65535"),
        (["emulator", "--port", "http"], "'http'"),
        (["emulator", "--credits", "many"], "--credits"),
        (["emulator", "--cred", "5"], "--cred"),
        (
            ["ask", "--system", "Be brief.", "Hi"],
            "The question itself can begin with instructions.",
        ),
        (["ask", "Hi", "--system=Be brief."], "--system is not an option. Nothing was sent. The"),
        (
            ["ask", "--top_p=1", "Hi"],
            'c.ChatMagics.extra_body = {"top_p": VALUE} in ipython_config',
        ),
        (["ask", "--nope", "Hi"], "--help shows the usage."),
    ],
)
def test_what_is_asked_wrongly_is_told_in_one_line(
    words: list[str], part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bad value gives one line that names it, and the exit code 2; nothing is started."""
    monkeypatch.setattr("chatmagic.emulator.server.serve", lambda *_: pytest.fail("it was started"))
    assert cli.main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert part in said.err
    assert said.err.startswith("chatmagic: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("words", [["--help"], ["demo", "--help"], ["emulator", "--help"]])
def test_help_is_there(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each level has its help."""
    with pytest.raises(SystemExit) as left:
        cli.main(words)
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("usage: chatmagic")


def test_settings_of_the_emulator_have_options() -> None:
    """Without options only the clock differs from a kernel's emulator."""
    assert settings() == Settings(delay=FRESH.delay)
    words = ["--credits", "5", "--cost", "2", "--delay", "0.5"]
    assert settings(*words) == Settings(credits=5, cost=2, delay=0.5)


def test_python_runs_it_by_the_packages_name() -> None:
    """``python -m chatmagic --version`` says which release it is."""
    words = [sys.executable, "-m", "chatmagic", "--version"]
    ran = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == (f"chatmagic {chatmagic.__version__}\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
@pytest.mark.parametrize(
    "words", [["audit", "--json", "notebooks/01-quickstart.ipynb"], ["sanitize-file"]]
)
def test_a_pipe_that_nobody_reads_is_no_error(words: list[str]) -> None:
    """As with ``… | head``: no traceback, and the exit code that a shell gives SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-m", "chatmagic", *words],
        cwd=HERE,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (128 + signal.SIGPIPE, "")


@with_signals
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_emulator_answers_and_ends_quietly(number: signal.Signals, tmp_path: Path) -> None:
    """Started by name, it prints its address, answers a question, and Ctrl-C ends it."""
    said = tmp_path / "said"
    words = ["-m", "chatmagic", "emulator", "--port", "0", "--credits", "7"]
    with command(said, *words) as emulator:
        address = until(printed_address(said))
        question = {"messages": [{"role": "user", "content": "echo: hello"}]}
        headers = {"Authorization": "Bearer emulator-key", "Content-Type": "application/json"}
        status, body = asked(
            address, "POST", "/v1/chat/completions", body=json.dumps(question), headers=headers
        )
        assert status == 200
        assert "hello" in json.loads(body)["choices"][0]["message"]["content"]
        before = said.read_text()
        emulator.send_signal(number)
        assert emulator.wait(60) == 0
    assert said.read_text() == before


OF_A_NOTEBOOK = {"schema", "output", "above", "tag", "cells", "with_error", "raw", "quiet"}
OF_A_NOTEBOOK |= {"background", "markdown"}
"""What needs cells, names of a namespace, or a page."""


def test_each_option_of_a_shell_is_there() -> None:
    """With its flags, its help and its opposite; what is not given is not among the arguments."""
    parser = argparse.ArgumentParser()
    cli.add_ask_arguments(parser)
    text = " ".join(parser.format_help().split())
    for option in OPTIONS:
        if option.dest == "model":
            continue  # each command that asks has one of its own
        assert option.in_shell == (option.dest not in OF_A_NOTEBOOK)
        assert (f"{option.flags[-1]} " in text) == option.in_shell
        assert not option.in_shell or option.help in text
    given = vars(parser.parse_args(["a"]))
    assert given == {
        "words": ["a"],
        "continue": False,
        "connect": None,
        "model": None,
        "dry": False,
    }
    given = vars(parser.parse_args(["--no-stream", "-t", "1", "--last=2", "a", "b"]))
    assert (given["stream"], given["temperature"], given["last"]) == (False, 1.0, 2)
    assert vars(parser.parse_args(["--stream"]))["stream"] is True
