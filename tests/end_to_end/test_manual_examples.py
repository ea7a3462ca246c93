"""Each block of code of the manual runs as it is printed, in the order of its page.

Cells and lines of a shell run in this process, with the emulator as the service. Nothing goes out.
A block ``text`` is what the block before it shows, and is compared.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml  # type: ignore[import-untyped] # its types are a package of their own
from libraries import library
from project import ROOT, files
from shells import Shell
from traitlets.config.loader import PyFileConfigLoader

from chatmagic import cli

REFERENCE = ROOT / "notebooks" / "reference"
PAGES = [path for path in files("*.md", REFERENCE) if "\n```" in path.read_text("utf-8")]
HANDED_IN = ROOT / "tests" / "samples" / "saved_notebook.ipynb"
"""What a student handed in."""
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS: Final = {
    "jupyter lab": "a server, which tests/browser starts",
    "jupyter nbconvert --to pdf": "needs LaTeX; test_paper converts with the same template",
    "pip": "fetches from a registry",
    "pytest": "test_notebooks and test_pytest_plugin run it",
}
"""Beginnings of lines that do not run here, and why; a shell reads these lines, too."""
OTHERS: Final = {"jupyter": "nbconvert", "nbstripout": "nbstripout", "pandoc": "pypandoc"}
"""Programs of others, and the package of each; the last test runs their lines."""
NOT_RUN: Final = {
    "{toctree}": "a list for Sphinx",
    "tex": "test_paper makes a document with it",
}
"""Languages of blocks that are no program, and why."""


@dataclass
class Block:
    """A block of code of a page."""

    language: str
    code: str


def blocks(name: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    found = FENCED.findall((REFERENCE / f"{name}.md").read_text("utf-8"))
    return [Block(language, code) for language, code in found]


class Reader:
    """A person who types a page's blocks, with the emulator as the service.

    Args:
        shell: the notebook's kernel.
        monkeypatch: what sets the variables of a shell's line.
        capsys: what shows a command's output.
    """

    def __init__(
        self, shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin a page."""
        self._shell = shell
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.shown = ""

    def read(self, block: Block) -> None:
        """Run a block, parse it, or compare it with what the one before it showed."""
        match block.language:
            case "python" if block.code.startswith("c."):
                Path("config.py").write_text(block.code, "utf-8")
                assert PyFileConfigLoader("config.py").load_config()
            case "python":
                ran = self._shell.do(block.code)
                result = "" if ran.result is None else repr(ran.result)
                self.shown = "\n".join([ran.printed, *ran.texts, result])
            case "sh":
                self.shown = "".join(map(self._line, block.code.splitlines()))
            case "text":
                self._compare(block.code)
            case "json":
                json.loads(block.code)
            case "toml":
                tomllib.loads(block.code)
            case "yaml":
                self._workflow(yaml.safe_load(block.code))
            case language:
                assert language in NOT_RUN

    def _workflow(self, document: dict[str, Any]) -> None:
        """Have a shell read each step of a workflow; other documents have none."""
        for job in document.get("jobs", {}).values():
            for step in job["steps"]:
                _syntax(step.get("run", ""))

    def _line(self, line: str) -> str:
        """Run a shell's line, and return what it showed."""
        _syntax(line)
        if re.sub(r"^(\w+=\S+ )*", "", line).startswith((*PROGRAMS, *OTHERS)):
            return ""
        *_, last = _parts(shlex.split(line, comments=True), "|")
        command, *target = _parts(last, ">")
        with self._monkeypatch.context() as here:
            while "=" in command[0]:
                name, _, value = command.pop(0).partition("=")
                here.setenv(name, value)
            assert command[0] == "chatmagic", line
            here.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"+ a line")))
            ended = cli.main(command[1:])
        shown = self._capsys.readouterr()
        assert ended == int(command[1] == "compare"), shown
        for (name,) in target:
            with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - in the page's folder
                file.write(shown.out)
        return shown.out

    def _compare(self, text: str) -> None:
        """Compare each line with what was shown; ``…`` stands for anything."""
        for line in text.splitlines():
            pattern = ".*".join(re.escape(part) for part in line.split("…"))
            assert re.search(pattern, self.shown), f"{line!r} is not in {self.shown!r}"


def _syntax(script: str) -> None:
    """Have a shell read lines without running them."""
    subprocess.run(["bash", "-n", "-c", script], check=True)  # noqa: S607 - the system's shell


def _parts(words: list[str], mark: str) -> list[list[str]]:
    """Return the parts of a line between its marks."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == mark:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


@pytest.mark.parametrize("name", [path.stem for path in PAGES])
def test_each_block_runs_as_printed(
    name: str,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The blocks of a page run in order, and show what the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.prefix", str(tmp_path))  # where chatmagic install writes
    Path("submissions").mkdir()
    shutil.copy(HANDED_IN, "submissions")
    monkeypatch.setattr("builtins.input", lambda _: "y")
    monkeypatch.setattr("getpass.getpass", lambda _: "")
    reader = Reader(shell, monkeypatch, capsys)
    for block in blocks(name):
        reader.read(block)


@pytest.mark.release
def test_each_line_of_other_programs_runs_as_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They convert ``paper.ipynb``, and set up a repository of git."""
    packages = [Path(library(name).__file__).parent for name in OTHERS.values()]
    # A package's program is beside Python's own; that of pypandoc is in a folder of its own.
    folders = [Path(sys.executable).parent, *(package / "files" for package in packages)]
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], *map(str, folders)]))
    monkeypatch.chdir(tmp_path)
    shutil.copy(HANDED_IN, "paper.ipynb")
    subprocess.run(["git", "init", "-q"], check=True)  # noqa: S607 - the system's git
    shell = [each for path in PAGES for each in blocks(path.stem) if each.language == "sh"]
    lines = [line for block in shell for line in block.code.splitlines()]
    ran = [
        line
        for line in lines
        if line.startswith(tuple(OTHERS)) and not line.startswith(tuple(PROGRAMS))
    ]
    for line in ran:
        subprocess.run(shlex.split(line), check=True, capture_output=True)
    assert {line.partition(" ")[0] for line in ran} == set(OTHERS)
    assert Path("paper.docx").is_file()
    assert Path(".gitattributes").is_file()
