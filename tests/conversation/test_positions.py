"""Positions in a conversation: the turns and the thread above a place."""

from __future__ import annotations

from talks import abc, ask, prompts

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.positions import Positions
from chatmagic.conversation.slots import Slot, position_below
from chatmagic.conversation.steering import ThreadStart
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.models import Reply


def test_what_stands_above_is_gone_past_once() -> None:
    """It goes on from there, and what was gone past before stays as it was."""
    conversation = Conversation()
    ask(conversation, "a")
    ask(conversation, "b")
    conversation.add(ThreadStart("side", owner="c"))
    conversation.add(Turn("q", reply=Reply("r")))
    before = conversation.threads
    conversation.add(Turn("p", reply=Reply("r"), thread="main"))
    assert [len(line) for line in before.values()] == [2, 1]
    assert {name: len(line) for name, line in conversation.threads.items()} == {
        "main": 3,
        "side": 1,
    }
    whole = position_below([])
    assert position_below([], whole) == whole


def test_the_thread_and_the_turns_above_are_those_of_the_window() -> None:
    """At any place, of a question that is asked again, too; no window is computed for them."""
    talk = abc()
    talk.add(ThreadStart("aside", owner="t", execution="1"))
    side = ask(talk, "p", "d", "1")
    for owner, thread in ((None, None), ("b", None), ("e", None), ("e", "main"), ("e", "new")):
        at = QuestionPlace(owner, "9", thread=thread)
        window = talk.window(at)
        assert talk.thread_at(at) == window.thread
        assert talk.above(at) == window.above
    for number, name in ((1, "main"), (side.number, "aside")):
        at = QuestionPlace("r", again=number)
        assert talk.window(at).thread == name
        assert talk.thread_at(at) == name


def test_a_position_is_right_whatever_was_asked_before() -> None:
    """The kept position serves the slots below it, and no others."""
    slots = [Slot(key, None, (Turn(f"q{key}", reply=Reply("r"), number=key),)) for key in range(4)]
    other = (slots[0], slots[2])
    positions = Positions()
    for above in (tuple(slots[:2]), tuple(slots), tuple(slots), other, tuple(slots[:1]), ()):
        asked = prompts(positions.below(above).lines["main"])
        assert asked == [turn.prompt for slot in above for turn in slot.turns]
