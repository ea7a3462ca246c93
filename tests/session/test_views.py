"""Views of an ask that write no HTML: the text as it arrives, and the rest at the end."""

from __future__ import annotations

import pytest

from chatmagic.conversation.record import Record
from chatmagic.models import Reply
from chatmagic.session.ask import Outcome
from chatmagic.session.views import THOUGHTS_ABOVE, Listener, TextView

RECORD = Record(
    prompt="a", state="complete", origin="live", request="0" * 64, reply="0" * 64, parameters={}
)


def test_a_listener_gets_the_fragments() -> None:
    """And needs no function for that."""
    seen: list[str] = []
    for listener in (Listener(seen.append), Listener(None)):
        listener.fragment("a")
    assert seen == ["a"]


def test_a_text_is_written_once_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """What arrived after the last fragment is written at the end, safe for a terminal."""
    view = TextView()
    view.fragment("one ")
    view.fragment("\x1b[2Jtwo")
    outcome = Outcome(Reply("one \x1b[2Jtwo three"), RECORD)
    view.ended(outcome)
    assert capsys.readouterr().out == "one ␛[2Jtwo three"
    assert THOUGHTS_ABOVE not in view.lines(outcome)


@pytest.mark.parametrize("written", ["hm", "hm</think>Ye"])
def test_thoughts_that_were_written_as_the_reply_are_told(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They cannot be taken back, so the reply follows what ends them."""
    view = TextView()
    view.fragment(written)
    outcome = Outcome(Reply("Yes.", reasoning="hm"), RECORD)
    view.ended(outcome)
    assert "".join(capsys.readouterr().out.split()) == "hm</think>Yes."
    assert view.lines(outcome)[0] == THOUGHTS_ABOVE
