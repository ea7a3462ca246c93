"""What an ask would send, without sending it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import pytest
from asking import Seen
from environments import GivenEnvironment

from chatmagic.cassette.cassette import CassetteSetup
from chatmagic.cassette.mode import CassetteConfig
from chatmagic.conversation.cell_order import Layout
from chatmagic.conversation.request_facts import Part, TokenRate
from chatmagic.errors import ConnectError, InputError
from chatmagic.session.events import Ask

if TYPE_CHECKING:
    from pathlib import Path

    from logged import Emulator

    from chatmagic.cassette.mode import Mode
    from chatmagic.session.session import Session


def _same(setup: CassetteSetup) -> CassetteSetup:
    return setup


def test_a_preview_leaves_all_as_it_is(session: Session, emulator: Emulator) -> None:
    """Also where the question itself would set turns aside."""
    for name in "ab":
        session.run(Ask(f"echo:{name}", owner=name), Seen())
    session.environment = GivenEnvironment(layout=lambda _: Layout((), (), frozenset("b")))
    seen = session.preview(Ask("echo:next", last=3))
    assert seen.parts == (Part("turn 1 (prompt and reply)", 7), Part("the prompt", 9))
    assert [turn.prompt for turn in session.conversation] == ["echo:a", "echo:b"]
    assert len(emulator.requests) == 2
    session.run(Ask("echo:next", last=3), Seen())
    assert emulator.requests[2].body == seen.request.to_json()


def test_a_preview_tells_what_goes_along_and_how(session: Session) -> None:
    """Headers by their names, turns that are left out, and what tokens are estimated by."""
    session.ask("echo:one")
    session.ask("echo:two")
    service = replace(session.environment.service(), extra_headers={"X-Team": "blue"})
    session.environment = GivenEnvironment(service=lambda: service)
    seen = session.preview(Ask("echo:three", last=1))
    assert seen.notes == ("the last 1 of 2 turns go along",)
    assert seen.extra_headers == ("X-Team",)
    assert isinstance(seen.rate, TokenRate)
    assert seen.rate.characters == len("echo:oneoneecho:two")
    assert "blue" not in repr(seen)


def test_a_preview_needs_no_service_in_a_replay_alone(session: Session, tmp_path: Path) -> None:
    """While recording one is needed, as for the question; an empty prompt is none."""

    def none() -> NoReturn:
        raise ConnectError("Not connected yet.")

    modes: tuple[Mode, ...] = ("record", "replay")
    for mode in modes:
        setup = CassetteSetup(CassetteConfig(tmp_path / "c.jsonl", mode))
        session.environment = GivenEnvironment(service=none, cassette=partial(_same, setup))
        if mode == "record":
            with pytest.raises(ConnectError):
                session.preview(Ask("echo:one"))
        else:
            seen = session.preview(Ask("echo:one"))
            assert (seen.endpoint, seen.cassette) == (None, setup.config)
    with pytest.raises(InputError):
        session.preview(Ask(" "))
