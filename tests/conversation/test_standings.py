"""Where turns stand, by the turns that stand above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatmagic.conversation import turn as turns
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.standings import above
from chatmagic.conversation.steering import Hiding, ThreadStart
from chatmagic.conversation.turn import MAIN, Turn
from chatmagic.models import Reply

if TYPE_CHECKING:
    import pytest


def talk(count: int) -> Conversation:
    """Return a conversation of so many turns, each of which carried those above it."""
    conversation = Conversation()
    for number in range(count):
        context = conversation.context()
        asked = Turn(f"q{number}", reply=Reply(f"r{number}"), carried=context.numbers)
        record = asked.to_record(context.digests, "0" * 64)
        conversation.add(
            Turn(f"q{number}", reply=asked.reply, carried=asked.carried, record=record)
        )
    return conversation


def test_what_stands_above_is_gone_past_once() -> None:
    """It goes on from there, and what was gone past before stays as it was."""
    conversation = talk(2)
    conversation.add(ThreadStart("side", owner="c"))
    conversation.add(Turn("q", reply=Reply("r")))
    before = conversation.threads
    conversation.add(Turn("p", reply=Reply("r"), thread="main"))
    assert [len(line) for line in before.values()] == [2, 1]
    assert {name: len(line) for name, line in conversation.threads.items()} == {
        "main": 3,
        "side": 1,
    }
    whole = above([])
    assert above([], whole) == whole


def test_an_ask_works_out_the_digest_of_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many stand above it: the work for a question does not grow with the talk."""
    made: list[str] = []

    def counted(prompt: str, reply: str) -> str:
        made.append(prompt)
        return f"{prompt} {reply}"

    monkeypatch.setattr(turns, "turn_digest", counted)
    conversation = talk(30)
    assert made.count("q3") == 2  # once for its own record
    made.clear()
    context = conversation.context()
    assert len(context.digests) == 30
    assert made == ["q29"]


def test_turns_share_the_list_of_those_that_they_carried() -> None:
    """And none is stale; one that carried others is."""
    conversation = talk(3)
    first, second, third = conversation.turns
    assert (first.carried, second.carried, third.carried) == ((), (1,), (1, 2))
    assert conversation.stale_turns() == ()
    conversation.add(Turn("q", reply=Reply("r"), carried=(2, 1)))
    assert [turn.prompt for turn in conversation.stale_turns()] == ["q"]


def test_a_turn_that_is_hidden_above_itself_is_not_carried() -> None:
    """As where the cell that hides it was moved above it."""
    passed = above([])
    passed.take(Hiding(turn=1))
    passed.take(Turn("q", reply=Reply("r"), number=1))
    passed.take(Turn("p", reply=Reply("r"), number=2))
    assert passed.numbers(MAIN) == (2,)
