"""Which cassette is chosen, and in which mode."""

from __future__ import annotations

from typing import Any

import pytest
from cases import each_case

from chatmagic.cassette.choice import CassetteConfig, CassetteOptions, resolve
from chatmagic.errors import InputError


def given(file: str | None = None, mode: str | None = None, **more: Any) -> CassetteOptions:
    """Give what one source sets."""
    return CassetteOptions(file, mode, **more)


NONE_SET = r"but no cassette is set\. Nothing was sent"


def environ(file: str = "", mode: str = "") -> dict[str, str]:
    """Give the environment's variables."""
    return {"CHATMAGIC_CASSETTE": file, "CHATMAGIC_MODE": mode}


@each_case(
    ("environment", "magic", "config", "later", "person", "found"),
    [
        ({}, None, None, "", True, None),
        (environ("e"), None, None, "", False, ("e", "replay")),
        (environ("e"), None, None, "", True, ("e", "record")),
        (environ("e", "Refresh "), None, None, "", False, ("e", "refresh")),
        (environ(mode="live"), given("m", "replay"), None, "", False, None),
        (environ(mode="replay"), given("m", "record"), None, "", True, ("m", "replay")),
        ({}, given("m"), None, "", True, ("m", "record")),
        ({}, given("m"), None, "", False, ("m", "replay")),
        ({}, given("m", "refresh"), given("c", "replay"), "", False, ("m", "refresh")),
        ({}, given("m", fallback="emulator"), None, "", True, ("m", "replay")),
        ({}, given("m", by_order=True), None, "", True, ("m", "replay")),
        ({}, None, given("c", "record"), "", False, ("c", "record")),
        (environ("e"), given(off=True), None, "", False, ("e", "replay")),
        (environ("e.ipynb"), given("m", "record"), None, "", True, ("e.ipynb", "replay")),
        (environ(mode="refresh"), given("p.IPYNB"), None, "", True, ("p.IPYNB", "replay")),
        (environ(" "), None, None, "", True, None),
        # Of the magic and the configuration the later one counts, and no replay becomes live.
        ({}, given("m", "record"), given("c", "replay"), "mode", False, ("m", "replay")),
        ({}, given("m", "record"), given("c", "replay"), "cassette", False, ("c", "record")),
        ({}, given("m"), given(None, "replay"), "", False, ("m", "replay")),
        ({}, given("m", "replay"), given(None, "live"), "mode", False, None),
        ({}, given(off=True), given("c", "record"), "cassette", False, ("c", "record")),
        ({}, given(off=True), given("c", "record"), "", False, None),
        ({}, given(off=True), given("c", "replay"), "", False, NONE_SET),
        ({}, given(off=True), given(None, "Replay"), "mode", False, NONE_SET),
        ({}, given(off=True), given("c", "record"), "mode", False, NONE_SET),
        (environ(mode="replay"), None, None, "", False, f"CHATMAGIC_MODE says replay, {NONE_SET}"),
        (environ(mode="play"), None, None, "", False, "CHATMAGIC_MODE is one of live, record, re"),
        ({}, given("~nobody-here/t", "record"), None, "", False, "%chat_cassette names a home fo"),
    ],
)
def test_who_decides(
    environment: dict[str, str],
    magic: CassetteOptions | None,
    config: CassetteOptions | None,
    later: str,
    found: tuple[str, str] | str | None,
    *,
    person: bool,
) -> None:
    """The environment beats the magic, which beats the configuration; or one line says why not."""
    changed = frozenset(filter(None, [later]))

    def choice() -> CassetteConfig | None:
        return resolve(environment, magic, config, changed_later=changed, interactive=person)

    if isinstance(found, str):
        with pytest.raises(InputError, match=found):
            choice()
    else:
        chosen = choice()
        assert found == (None if chosen is None else (chosen.name, chosen.mode))
