"""The line of ``%chat_cassette``."""

from __future__ import annotations

from pathlib import Path

import pytest
from shells import Shell

from chatmagic.cassette.choice import CassetteOptions


@pytest.mark.parametrize(
    ("line", "chosen"),
    [
        ("talk.jsonl", CassetteOptions("talk.jsonl")),
        (
            "--replay my talk.jsonl --else emulator",
            CassetteOptions("my talk.jsonl", "replay", "emulator"),
        ),
        ("'my talk.jsonl' --by-order", CassetteOptions("my talk.jsonl", by_order=True)),
        ("--else emulator a--b.jsonl", CassetteOptions("a--b.jsonl", fallback="emulator")),
        ("--refresh", CassetteOptions("before.jsonl", "refresh")),
    ],
)
def test_the_line_is_read(
    shell: Shell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    chosen: CassetteOptions,
) -> None:
    """A file with spaces, options before or behind it."""
    monkeypatch.chdir(tmp_path)
    shell.do("%chat_cassette before.jsonl")
    shell.run(f"%chat_cassette {line}")  # a file to replay is not there
    assert shell.kernel.command_choice(CassetteOptions) == chosen
