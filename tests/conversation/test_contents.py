"""What is read of a conversation: what a request carries, what is stale."""

from __future__ import annotations

from typing import Any

import pytest
from talks import abc, ask, prompts

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Context
from chatmagic.errors import InputError


def test_an_empty_conversation() -> None:
    """It is empty and carries nothing."""
    talk = Conversation()
    assert len(talk) == 0
    assert talk.context() == Context((), 0)
    assert repr(talk) == "<Conversation: turns: 0, stale: 0>"


def test_stale_honours_last() -> None:
    """Rule 9: what the request would leave out anyway makes no turn stale."""
    talk = abc()
    d = ask(talk, "d", "d", "1d", last=1)
    e = ask(talk, "e", "e", "1e", last=0)
    assert (d.carried, e.carried) == ((3,), ())
    ask(talk, "A", "a", "2a")
    assert prompts(talk.stale_turns()) == ["b", "c"]
    ask(talk, "C", "c", "2c")
    assert prompts(talk.stale_turns()) == ["b", "d"]


@pytest.mark.parametrize(
    ("last", "expected"), [(None, "abc"), (0, ""), (1, "c"), (3, "abc"), (9, "abc")]
)
def test_a_request_may_leave_out_the_oldest(last: int | None, expected: str) -> None:
    """Rule 10: it carries the newest, and tells how many there would be."""
    context = abc().context(last=last)
    assert "".join(prompts(context.turns)) == expected
    assert context.total == 3


@pytest.mark.parametrize("last", [-1, True, 1.0, "3"])
def test_a_last_that_is_no_count_is_refused(last: Any) -> None:
    """Bad input gives one clear line."""
    with pytest.raises(InputError, match="last is a whole number, 0 or more"):
        abc().context(last=last)
