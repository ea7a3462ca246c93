"""Which cassette is active, and in which mode."""

from __future__ import annotations

import pytest

from chatmagic.cassette.mode import CassetteOptions, resolve
from chatmagic.errors import InputError


@pytest.mark.parametrize(
    ("environ", "magic", "config", "person", "mode"),
    [
        ({}, None, None, True, None),
        ({"CHATMAGIC_CASSETTE": "e.jsonl"}, None, None, False, "replay"),
        ({"CHATMAGIC_CASSETTE": "e.jsonl"}, None, None, True, "record"),
        (
            {"CHATMAGIC_CASSETTE": "e.jsonl", "CHATMAGIC_MODE": "Refresh "},
            None,
            None,
            False,
            "refresh",
        ),
        ({"CHATMAGIC_CASSETTE": "e.jsonl", "CHATMAGIC_MODE": "live"}, None, None, False, None),
        ({"CHATMAGIC_MODE": "live"}, CassetteOptions("m.jsonl", "replay"), None, False, None),
        ({"CHATMAGIC_MODE": "replay"}, CassetteOptions("m.jsonl", "record"), None, True, "replay"),
        ({}, CassetteOptions("m.jsonl"), None, True, "record"),
        ({}, CassetteOptions("m.jsonl"), None, False, "replay"),
        (
            {},
            CassetteOptions("m.jsonl", "refresh"),
            CassetteOptions("c.jsonl", "replay"),
            False,
            "refresh",
        ),
        ({}, CassetteOptions("m.jsonl", fallback="emulator"), None, True, "replay"),
        ({}, CassetteOptions("m.jsonl", by_order=True), None, True, "replay"),
        ({}, None, CassetteOptions("c.jsonl"), False, "replay"),
        ({}, None, CassetteOptions("c.jsonl", "record"), False, "record"),
        ({}, CassetteOptions(off=True), CassetteOptions("c.jsonl", "record"), False, None),
        ({"CHATMAGIC_CASSETTE": "e.jsonl"}, CassetteOptions(off=True), None, False, "replay"),
        ({"CHATMAGIC_CASSETTE": "paper.ipynb"}, None, None, True, "replay"),
        (
            {"CHATMAGIC_CASSETTE": "paper.ipynb"},
            CassetteOptions("m.jsonl", "record"),
            None,
            True,
            "replay",
        ),
        ({"CHATMAGIC_CASSETTE": " "}, None, None, True, None),
    ],
)
def test_who_decides(
    environ: dict[str, str],
    magic: CassetteOptions | None,
    config: CassetteOptions | None,
    person: bool,
    mode: str | None,
) -> None:
    """The environment beats the magic, which beats the configuration."""
    choice = resolve(environ, magic, config, interactive=person)
    assert (None if choice is None else choice.mode) == mode
    if choice is not None:
        assert choice.name[0] == (
            "e" if environ.get("CHATMAGIC_CASSETTE", " ")[0] == "e" else choice.name[0]
        )


@pytest.mark.parametrize(
    ("magic", "config", "later", "found"),
    [
        (CassetteOptions("m", "record"), CassetteOptions("c", "replay"), {"mode"}, ("m", "replay")),
        (
            CassetteOptions("m", "record"),
            CassetteOptions("c", "replay"),
            {"cassette"},
            ("c", "record"),
        ),
        (CassetteOptions("m", "record"), CassetteOptions("c", "replay"), set(), ("m", "record")),
        (CassetteOptions("m"), CassetteOptions(None, "replay"), set(), ("m", "replay")),
        (CassetteOptions("m", "replay"), CassetteOptions(None, "live"), {"mode"}, None),
        (CassetteOptions("m", "replay"), CassetteOptions(None, None), {"mode"}, ("m", "replay")),
        (CassetteOptions(off=True), CassetteOptions("c", "record"), {"cassette"}, ("c", "record")),
        (CassetteOptions(off=True), CassetteOptions("c", "record"), set(), None),
        (CassetteOptions(off=True), CassetteOptions("c", "replay"), {"cassette"}, ("c", "replay")),
        (CassetteOptions(off=True), CassetteOptions("c", "replay"), set(), InputError),
        (CassetteOptions(off=True), CassetteOptions(None, "Replay"), {"mode"}, InputError),
        (CassetteOptions(off=True), CassetteOptions("c", "record"), {"mode"}, InputError),
    ],
)
def test_the_later_word_counts(
    magic: CassetteOptions,
    config: CassetteOptions,
    later: set[str],
    found: tuple[str, str] | type[Exception] | None,
) -> None:
    """Of the magic and the configuration, for the file and for the mode; no replay becomes live."""
    if isinstance(found, type):
        with pytest.raises(found, match=r"no cassette is set\. Nothing was sent"):
            resolve({}, magic, config, changed_later=later)
        return
    choice = resolve({}, magic, config, changed_later=later)
    assert found == (None if choice is None else (choice.name, choice.mode))


@pytest.mark.parametrize(
    ("environ", "magic", "match"),
    [
        ({"CHATMAGIC_MODE": "replay"}, None, "CHATMAGIC_MODE says replay, but no cassette is set"),
        (
            {"CHATMAGIC_MODE": "play"},
            None,
            "CHATMAGIC_MODE is one of live, record, replay, refresh",
        ),
        (
            {},
            CassetteOptions("p.ipynb", "record"),
            "A notebook can only be replayed, but %chat_cassette says",
        ),
        (
            {"CHATMAGIC_MODE": "refresh"},
            CassetteOptions("p.IPYNB"),
            "A notebook can only be replayed",
        ),
        (
            {},
            CassetteOptions("~nobody-here/talk.jsonl", "record"),
            "%chat_cassette names a home folder",
        ),
        (
            {"CHATMAGIC_CASSETTE": "p.ipynb", "CHATMAGIC_MODE": "record"},
            None,
            "A notebook can only be replayed, but CHATMAGIC_MODE says",
        ),
    ],
)
def test_what_does_not_go_together(
    environ: dict[str, str], magic: CassetteOptions | None, match: str
) -> None:
    """One clear line before anything is sent."""
    with pytest.raises(InputError, match=match):
        resolve(environ, magic)
