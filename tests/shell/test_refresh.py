"""``chatmagic refresh``: one command asks again, keeps the old text and says what changed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from audits import exchange, tape

from chatmagic import cli
from chatmagic.archive.cassette_file import copies_before_refresh
from chatmagic.shell import refresh as module

ASK = [sys.executable, "-m", "chatmagic", "ask", "--connect", "emulator", "Say hello."]


def test_a_command_asks_again_and_its_new_words_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The old text stays in a copy; the exit status says that words differ; the table is alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kept = exchange("Stays.", "as it is", origin="emulator")
    path = tape(tmp_path / "talk.jsonl", exchange("Say hello.", "old", origin="emulator"), kept)
    before = path.read_bytes()
    assert cli.main(["refresh", "--json", str(path), *ASK]) == 1
    (copy,) = copies_before_refresh(path)
    assert copy.read_bytes() == before
    told = json.loads(capfd.readouterr().out)
    assert told["counts"]["other words"] == told["counts"]["the same answer"] == 1
    first = next(item for item in told["questions"] if item["old"]["prompt"] == "Say hello.")
    assert first["old"]["text"] == "old"
    assert first["new"]["text"] != "old"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.jsonl", "true"], "There is no cassette absent.jsonl to refresh. Nothing was"),
        (["talk.jsonl"], "Which command asks the questions again? Nothing was sent."),
        (["talk.jsonl", "./absent"], "./absent cannot be started: No such file or directory."),
    ],
)
def test_what_cannot_be_refreshed_is_one_line(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nothing is sent then."""
    monkeypatch.chdir(tmp_path)
    tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    assert cli.main(["refresh", *words]) == 2
    assert message in capfd.readouterr().err


def run_by(
    monkeypatch: pytest.MonkeyPatch, path: Path, content: bytes, status: int
) -> list[dict[str, Any]]:
    """Let a command write this content and end so; return its environments."""
    environments: list[dict[str, Any]] = []

    def run(_: object, **given: Any) -> SimpleNamespace:
        environments.append(given["env"])
        path.write_bytes(content)
        return SimpleNamespace(returncode=status)

    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=run))
    return environments


@pytest.mark.parametrize(("status", "code"), [(0, 0), (7, 2)])
def test_the_exit_status_says_what_happened(
    status: int,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The same words are no difference; a command that failed is an error of its own."""
    path = tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    days = [(("Date", "Thu, 01 Jan 2026 12:00:00 GMT"),)]
    again = tape(tmp_path / "again.jsonl", exchange("q", "r", headers=days[0])).read_bytes()
    environments = run_by(monkeypatch, path, again, status)
    assert cli.main(["refresh", str(path), "study"]) == code
    told = capfd.readouterr()
    assert "asked again, word for word the same: 1." in told.out
    assert ("the command ended with status 7." in told.err) is (status == 7)
    assert environments[0]["CHATMAGIC_MODE"] == "refresh"
    assert environments[0]["CHATMAGIC_CASSETTE"] == str(path.absolute())


def test_a_command_that_asked_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not a comparison without a difference."""
    path = tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    run_by(monkeypatch, path, path.read_bytes(), 3)
    assert cli.main(["refresh", str(path), "study"]) == 2
    words = f"The command asked nothing that {path} records, and ended with status 3."
    assert words in " ".join(capfd.readouterr().err.split())
