"""A state of a conversation, and the changes that it can be gone back over."""

from __future__ import annotations

from chatmagic.conversation.changes import Snapshot, Step
from chatmagic.conversation.request_facts import Value
from chatmagic.conversation.steering import Instructions

BRIEF = Instructions(Value.of("instructions", "Be brief."))
LONG = Instructions(Value.of("instructions", "Be long."))


def test_a_new_conversation_has_nothing_to_go_back_to() -> None:
    """Its first turn is number 1."""
    now = Snapshot()
    assert (now.slots, now.done, now.undone, now.void) == ((), (), (), 0)
    assert now.next_number == 1


def test_a_step_knows_the_items_of_the_slots_that_it_touched() -> None:
    """By the slots' keys, before it and after it."""
    step = Step("instructions", ((0, (), (BRIEF,)), (3, (BRIEF,), (LONG,))))
    assert step.before == {0: (), 3: (BRIEF,)}
    assert step.after == {0: (BRIEF,), 3: (LONG,)}
    assert step.held == ((0, (), (BRIEF,)), (3, (BRIEF,), (LONG,)))
