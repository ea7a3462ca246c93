"""The state of a conversation: a turn that a cell takes over, and a conversation that is loaded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talks import abc, again, ask, carries, carrying, prompts, saved

from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import QuestionPlace
from chatmagic.models import Reply


def test_a_cell_takes_a_turn_over() -> None:
    """Its place is the cell's: run, the cell replaces it; no request carries both."""
    talk = Conversation()
    ask(talk, "a", "a", "1")
    panel = ask(talk, "p", "panel", "1", entry="panel")
    new = again(talk, number=panel.number)
    ask(talk, "b", "b", "1")
    talk.hand_over(new.number, "new")
    talk.hand_over(99, "nobody")
    owners = [(turn.owner, turn.entry, turn.number) for turn in talk]
    assert owners == [("a", "cell", 1), ("new", "cell", 3), ("b", "cell", 4)]
    assert talk.window(QuestionPlace("b", "2")).from_panel == 0
    assert talk.stale_turns() == ()
    assert carries(talk, "new") == ["a"]
    ask(talk, "p", "new", "2")
    assert prompts(talk) == ["a", "p", "b"]


def talked(asks: Sequence[tuple[str | None, int]], after: int = 0) -> Conversation:
    """Give a conversation in which these cells asked, each in one of a few executions."""
    talk = Conversation(after)
    for owner, execution in asks:
        ask(talk, f"{owner}{execution}", owner, str(execution))
    return talk


ASKED = st.lists(st.tuples(st.sampled_from([*"abc", None]), st.integers(1, 2)), max_size=6)


@given(mine=ASKED, theirs=ASKED, again=st.booleans())
def test_a_loaded_conversation_stands_in_for_the_live_one(
    mine: list[tuple[str | None, int]], theirs: list[tuple[str | None, int]], *, again: bool
) -> None:
    """Rule 11: one change, which undo takes back; its turns keep order, owners and staleness."""
    talk, other = talked(mine), saved(talked(theirs, 10))
    if again:
        talk.load(saved(talked(theirs, 20)))
    before, numbers = talk.turns, {turn.number for turn in talk}
    change = talk.load(other)
    assert change.kind == "load"
    assert change.went == before
    assert change.came == talk.turns
    assert [(t.prompt, t.owner, t.execution) for t in talk] == [
        (t.prompt, t.owner, t.execution) for t in other
    ]
    assert prompts(talk.stale_turns()) == prompts(other.stale_turns())
    assert {*talk.known_turns} >= numbers | {turn.number for turn in talk}
    assert not numbers & {turn.number for turn in talk}
    loaded = talk.turns
    talk.undo()
    assert talk.turns == before
    talk.redo()
    assert talk.turns == loaded
    assert ask(talk, "next").carried == tuple(turn.number for turn in loaded)


def test_where_nothing_has_happened_a_loaded_conversation_brings_its_changes() -> None:
    """Rule 11: what it undid can be done again; elsewhere there would be two pasts."""
    other = abc()
    other.undo()
    for talk in (Conversation(), Conversation()):
        talk.load(other)
        assert prompts(talk) == ["a", "b"]
        assert (talk.undo_depth, talk.redo_depth) == (2, 1)
        talk.redo()
        assert prompts(talk) == ["a", "b", "c"]
    assert prompts(other) == ["a", "b"]
    talk = Conversation()
    talk.undo()
    talk.load(other)
    assert (talk.undo_depth, talk.redo_depth) == (1, 0)
    with pytest.raises(ValueError, match="the same number"):
        talk.load(abc())


def test_a_turn_that_is_not_known_stays_so() -> None:
    """A number of 0 among those carried is no turn's, also after loading."""
    other = Conversation(after=3)
    other.add(Turn(prompt="p", reply=Reply("r"), carried=carrying(0)))
    talk = abc()
    (turn,) = talk.load(other).came
    assert turn.carried == (0,)
    assert turn in talk.stale_turns()
