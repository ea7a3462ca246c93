"""The file for nbval: the look of our outputs may differ, their text may not."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path
from typing import cast

import nbformat
import pytest
from comparison import Comparison
from logged import Emulator
from nbformat import NotebookNode
from shells import KEY, Shell, alone

from chatmagic import cli

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
        shown += [output["data"] for output in shell.page("%chat_panel", "P").outputs]
    shown = [data for data in shown if "text/html" in data]
    assert len(shown) == 11
    assert sum(bool(data.get("text/markdown")) for data in shown) == 1
    for data in shown:
        for look in {"text/html", "text/markdown"} & set(data):
            assert any(re.sub(regex, "", data[look]) == "" for regex in patterns(shipped)), data
        assert all(re.sub(regex, "", data["text/plain"]) != "" for regex in patterns(shipped))


def notebook(*outputs: dict[str, str]) -> NotebookNode:
    """Give a notebook with a cell for each output."""
    cells = [
        nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("display_data", output)])  # type: ignore[no-untyped-call]
        for output in outputs
    ]
    return cast("NotebookNode", nbformat.v4.new_notebook(cells=cells))  # type: ignore[no-untyped-call]


def test_nbval_takes_it(shipped: Path) -> None:
    """Other HTML of ours passes with it and fails without; other text fails with it."""
    now, was, other = (
        notebook(
            {"text/html": REPLY.format(html), "text/plain": text},
            {"text/html": SAID.format(html), "text/plain": "said"},
        )
        for html, text in (("new", "same"), ("old", "same"), ("new", "other"))
    )
    with_it, without = Comparison(shipped.read_text("utf-8")), Comparison()
    assert with_it.agrees(now, was)
    assert not without.agrees(now, was)
    assert not with_it.agrees(now, other)
