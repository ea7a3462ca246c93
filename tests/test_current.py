"""There is one session for all of a process that asks for none of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import chatmagic
from chatmagic.current import current_session

if TYPE_CHECKING:
    from chatmagic.emulator import Emulator
    from chatmagic.session import Session


def test_the_kernels_session(session: Session, emulator: Emulator) -> None:
    """There is one, and ``chatmagic.ask`` asks in it."""
    assert current_session() is current_session() is chatmagic.current_session()
    assert current_session() is not session
    assert chatmagic.ask("echo:short", max_tokens=3).text == "short"
    assert [turn.prompt for turn in current_session().conversation] == ["echo:short"]
    assert emulator.requests[0].body["max_tokens"] == 3
