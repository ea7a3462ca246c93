"""The lock of a session: one ask at a time in a thread of the conversation."""

from __future__ import annotations

from functools import partial

import pytest
from logged import Emulator

from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError
from chatmagic.session.events import Began, Event
from chatmagic.session.session import Session


def test_asking_from_a_follower_is_refused(session: Session, emulator: Emulator) -> None:
    """It is called in the worker, so an ask or a change there would wait for itself."""
    problems: list[str] = []

    def follow(event: Event) -> None:
        if isinstance(event, Began):
            for nested in (
                partial(session.ask, "echo:inner"),
                partial(session.changes.make, Conversation.undo),
            ):
                with pytest.raises(InputError) as caught:
                    nested()
                problems.append(caught.value.message)

    session.followers.add(follow)
    session.ask("echo:outer")
    assert problems == ["A reply is still streaming here; ask again when it has ended."] * 2
    assert len(emulator.requests) == 1
