"""The file for nbval: the HTML of our outputs may differ, their text may not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from pages import cell, output, save
from shells import KEY, Shell, alone

from chatmagic import cli
from chatmagic.emulator.server import Emulator

SHOW = "from IPython.display import display\ndisplay({!r}, raw=True)"
REPLY = '<div class="chatmagic" role="group" aria-label="Reply"><p>{}</p>\n<div>x</div></div>'
SAID = '<p class="chatmagic-said" style="color: red;">{}</p>'


def patterns(path: Path) -> list[str]:
    """Give the patterns as nbval reads them, and check that they are an INI file too."""
    text = path.read_text()
    parser = ConfigParser(interpolation=None)
    parser.read_string(text)
    found = re.findall("^regex: (.*)$\n^replace: (.*)$", text, flags=re.MULTILINE)
    assert len(found) == len(parser.sections())
    return [regex for regex, _ in found]


@pytest.fixture
def shipped(capsys: pytest.CaptureFixture[str]) -> Path:
    """Give the file that ships, as the command names it."""
    assert cli.main(["sanitize-file"]) == 0
    return Path(capsys.readouterr().out.strip())


def test_all_our_html_is_blanked_and_no_text(
    shipped: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the commands really show, and nothing of what a machine compares as text."""
    with Emulator() as emulator, alone(monkeypatch, tmp_path):
        monkeypatch.setenv("CHATMAGIC_BASE_URL", emulator.url)
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        shell = Shell()
        shown = [
            shown["data"]
            for line in (
                "%chat_credits",
                "%chat echo:<div class=x> **b**",
                "%chat_history",
                "%chat_history all",
                "%chat_credits",
                "%chat_undo",
                "%chat_redo",
                "%chat_reset",
                "%chat_history",
            )
            for shown in shell.machine(line).outputs
        ]
        for line in ("%chat_panel", "%chat_credits --live"):
            shown += [output["data"] for output in shell.page(line, "P").outputs]
    shown = [data for data in shown if "text/html" in data]
    assert len(shown) == 13
    for data in shown:
        assert any(re.sub(regex, "", data["text/html"]) == "" for regex in patterns(shipped)), data
        assert all(re.sub(regex, "", data["text/plain"]) != "" for regex in patterns(shipped))


def nbval(path: Path, *words: str) -> int:
    """Run nbval over a notebook; its exit code."""
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-W", "default", "-c", os.devnull, *words, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode


def test_nbval_takes_it(shipped: Path, tmp_path: Path) -> None:
    """Other HTML of ours passes with it and fails without; other text fails with it."""
    now = [
        {"text/html": REPLY.format("new"), "text/plain": "same"},
        {"text/html": SAID.format("new"), "text/plain": "said"},
    ]
    was = [
        {"text/html": REPLY.format("old"), "text/plain": "same"},
        {"text/html": SAID.format("old"), "text/plain": "said"},
    ]
    pages = [cell(SHOW.format(n), [output(w, {})]) for n, w in zip(now, was, strict=True)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    path = save(tmp_path / "n.ipynb", pages, metadata=kernel, nbformat_minor=4)
    assert nbval(path, "--nbval-sanitize-with", str(shipped)) == 0
    assert nbval(path) == 1
    pages[0]["outputs"][0]["data"]["text/plain"] = ["other"]
    save(path, pages, metadata=kernel, nbformat_minor=4)
    assert nbval(path, "--nbval-sanitize-with", str(shipped)) == 1
