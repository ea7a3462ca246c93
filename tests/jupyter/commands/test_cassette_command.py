"""The line of ``%chat_cassette``."""

from __future__ import annotations

import pytest

from chatmagic.cassette.cassette import CassetteOptions
from chatmagic.errors import InputError
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
        ("--else Emulator a--b.jsonl", CassetteOptions("a--b.jsonl", fallback="emulator")),
        ("--refresh", CassetteOptions("before.jsonl", "refresh")),
    ],
)
def test_the_line_is_read(line: str, chosen: CassetteOptions) -> None:
    """A file with spaces, options before or behind it."""
    assert cassette._options(cassette.CASSETTE.parse(line), "before.jsonl") == chosen


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("f --record --replay", "--record and --replay do not go together"),
        ("f --else", "--else takes one word: emulator"),
        ("f --else nobody", "--else takes one word: emulator"),
        ("f --record --by-order", "go with --replay"),
        ("f --off", "--off goes with nothing else"),
        ("f --yes", "--yes goes with --prune"),
        ("f --rec", "takes no other option here than --record"),
    ],
)
def test_a_line_that_makes_no_sense(line: str, match: str) -> None:
    """One line, and a second that shows how."""
    with pytest.raises(InputError, match=match) as caught:
        cassette._options(cassette.CASSETTE.parse(line))
    assert caught.value.hint == cassette.USAGE
