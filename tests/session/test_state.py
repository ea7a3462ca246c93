"""State of a session before its first ask."""

from __future__ import annotations

from chatmagic.session.environment import PlainPython
from chatmagic.session.state import SessionState


def test_a_new_session_knows_nothing_and_runs_in_plain_python() -> None:
    """Each has a conversation and a lock of its own."""
    first, second = SessionState(), SessionState()
    assert len(first.conversation) == 0
    assert (first.took, first.token_rate, first.clients.latest) == (None, None, None)
    assert isinstance(first.environment, PlainPython)
    assert first.lock.is_free()
    assert second.lock.is_free()
