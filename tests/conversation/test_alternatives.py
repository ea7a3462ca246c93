"""Replies to one question: what another one replaces, which there are, and which is in force."""

from __future__ import annotations

import pytest
from talks import abc, again, ask, carries, prompts

from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError


def texts(talk: Conversation, place: int = 0) -> list[str]:
    """Give the replies to the question of a live turn, by its place."""
    return [turn.reply.text for turn in talk.replies(talk.turns[place].number)]


def test_another_cell_asks_a_turn_again_in_its_place() -> None:
    """Rule 20: with what stands above the turn; those below it are stale, until it is undone."""
    talk = abc()
    first = talk.turns[1]
    new = again(talk, "r", "1", number=first.number)
    assert [turn.number for turn in talk] == [1, new.number, 3]
    assert prompts(talk.stale_turns()) == ["c"]
    assert (new.owner, new.carried) == ("r", (1,))
    assert carries(talk, "r") == ["a", "b", "c"]
    assert talk.marks() == {"b": "replaced", "c": "stale"}
    assert talk.in_force("b") == new
    ask(talk, "d", "d", "1")
    assert again(talk, "r", "2").prompt == "c"
    for kind in ("retry", "ask", "retry"):
        change = talk.undo()
        assert change is not None
        assert change.kind == kind
    assert (talk.turns[1], talk.stale_turns(), talk.marks()) == (
        first,
        (),
        {"r": "taken back", "d": "taken back"},
    )


def test_a_cell_that_asks_again_is_no_place_of_the_turn() -> None:
    """Run again, the turn's own cell replaces it; gone, the asking one leaves it."""
    talk = abc()
    again(talk, "r", "1")
    assert talk.set_aside(["r"]) is None
    assert texts(talk, 2)[-1].endswith("'")
    ask(talk, "c", "c", "2")
    assert talk.marks() == {"r": "replaced"}
    assert again(talk, "r", "2").carried == (1, 2)
    assert talk.set_aside(["c"]) is not None
    assert prompts(talk) == ["a", "b"]
    assert talk.marks()["r"] == "taken back"


def test_replies_are_those_to_one_question_in_one_place() -> None:
    """Rule 21: of the cell run again and of others, up to a reset; another question has its own."""
    talk = Conversation()
    for execution in "12":
        for prompt in "pq":
            ask(talk, prompt, "a", execution)
    again(talk, "r", "1")
    assert (len(texts(talk)), len(texts(talk, 1))) == (2, 3)
    assert len(set(texts(talk, 1))) == 2
    ask(talk, "other", "a", "3")
    assert len(texts(talk)) == 1
    assert talk.replies(99) == ()
    ask(talk, "p", "a", "4")
    assert len(texts(talk)) == 3
    talk.reset()
    ask(talk, "p", "a", "5")
    assert len(texts(talk)) == 1


def test_an_earlier_reply_is_put_back_as_it_was() -> None:
    """A change to undo; what carried it is not stale any more, and its number is its own."""
    talk = abc()
    first = talk.turns[1]
    new = again(talk, "r", "1", number=first.number)
    change = talk.replace_reply(talk.replies(new.number)[0], new.number, asker="p")
    assert (change.kind, change.came, change.went) == ("pick", (first,), (new,))
    assert talk.stale_turns() == ()
    assert talk.marks() == {"r": "replaced"}
    assert talk.in_force("r") == first
    assert [turn.number for turn in talk.replies(first.number)] == [2, 4]
    talk.undo()
    assert talk.turns[1] == new
    assert ask(talk, "d", "d", "1").number not in {turn.number for turn in abc()} | {4}


def test_a_turn_that_is_not_live_is_not_asked_again() -> None:
    """Nothing is replaced either, and that is a change all the same (rule 8)."""
    talk = abc()
    gone = talk.turns[1]
    talk.undo()
    talk.undo()
    with pytest.raises(InputError, match="not in the conversation any more"):
        talk.context_of(gone.number)
    assert talk.replace_reply(gone, gone.number).came == ()
    assert (prompts(talk), talk.undo_depth) == (["a"], 2)
