"""The line of ``%chat_cassette``."""

from __future__ import annotations

import pytest

from chatmagic.cassette.cassette import CassetteOptions
from chatmagic.jupyter.commands import cassette


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
def test_the_line_is_read(line: str, chosen: CassetteOptions) -> None:
    """A file with spaces, options before or behind it."""
    assert cassette._options(cassette.CASSETTE.parse(line), "before.jsonl") == chosen
