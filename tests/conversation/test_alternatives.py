"""Replies to one question: what another one replaces, which there are, and which is in force."""

from __future__ import annotations

from dataclasses import replace

import pytest
from talks import abc, again, ask, carries, prompts

from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError
from chatmagic.models import Reply


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
    assert (new.owner, tuple(new.carried)) == ("r", (1,))
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
        {"r": "replaced", "d": "taken back"},
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
    """Rule 21: of the cell run again and of others, also after a reset; others have their own."""
    talk = Conversation()
    for execution in "12":
        for prompt in "pq":
            ask(talk, prompt, "a", execution)
    again(talk, "r", "1")
    assert (len(texts(talk)), len(texts(talk, 1))) == (2, 3)
    assert len(set(texts(talk, 1))) == 2
    ask(talk, "other", "a", "3")
    assert len(texts(talk)) == 1
    assert len(talk.replies(99)) == 0
    ask(talk, "p", "a", "4")
    assert len(texts(talk)) == 3
    talk.reset()
    new = ask(talk, "p", "a", "5")
    assert len(texts(talk)) == 4
    assert [turn.number for turn in talk.replies(new.number).latest] == [new.number]


def test_equal_questions_of_one_execution_have_their_own_replies() -> None:
    """Also where the first of them is gone, or was asked again before the second one was asked."""
    talk = Conversation()
    for execution in "12":
        ask(talk, "p", "a", execution, thread="x")
        again(talk, "a", execution, number=talk.added)
        ask(talk, "p", "a", execution)
    assert [len(texts(talk, place)) for place in range(2)] == [4, 2]
    talk.delete("x")
    ask(talk, "p", "a", "2")
    assert [len(texts(talk, place)) for place in range(2)] == [2, 5]


def test_replies_are_counted_since_the_own_cell_asked() -> None:
    """So a second Run All picks among its own; what was taken back counts, too."""
    talk = Conversation()
    for run in range(1, 4):
        own = ask(talk, "p", "a", str(run))
        new = again(talk, "r", str(run))
        talk.undo()
        ask(talk, "q", "b", str(run))
        replies = talk.replies(own.number)
        assert [turn.number for turn in replies.latest] == [own.number, new.number]
        assert len(replies.earlier) == 2 * run - 2
        assert talk.replace_reply(replies.latest[1], own.number, asker="p").came == (new,)
        assert replies.name(new.number) == "reply 2 of 2"
    assert talk.turns[0] == new
    first = next(iter(replies))
    assert (replies.name(first.number), first.number) == ("an earlier reply", 1)


def test_a_reply_that_comes_too_late_is_kept_beside_the_others() -> None:
    """Its turn was taken back meanwhile: asked again by its cell, it is there to be picked."""
    talk = abc()
    gone = talk.turns[2]
    talk.undo()
    late = talk.replace_reply(replace(gone, number=0, reply=Reply("late")), gone.number)
    assert late.came == ()
    assert talk.known_turns()[4].reply.text == "late"
    new = ask(talk, "c", "c", "2")
    assert [turn.reply.text for turn in talk.replies(new.number).earlier][1:] == ["late"]


def test_replies_of_a_loaded_conversation_are_its_own() -> None:
    """Undone, those of before are there, and the cells of both are told what is not in force."""
    talk, other = abc(), abc()
    again(other, "r", "1")
    ask(other, "d", "d", "1")
    first = talk.turns[2]
    talk.load(other)
    assert [turn.number for turn in talk.replies(talk.turns[2].number)] == [6, 7]
    talk.undo()
    assert [turn.number for turn in talk.replies(first.number)] == [first.number]
    assert talk.marks() == {"r": "taken back", "d": "taken back"}


def test_stepping_without_a_cell_makes_no_place() -> None:
    """As the panel does."""
    talk = abc()
    new = again(talk, number=2)
    for _ in range(5):
        old, new = talk.replies(new.number)
        talk.replace_reply(old, new.number)
        talk.replace_reply(new, old.number)
    assert len(talk.slots) == 3


def test_an_earlier_reply_is_put_back_as_it_was() -> None:
    """A change to undo; what carried it is not stale any more, and its number is its own."""
    talk = abc()
    first = talk.turns[1]
    new = again(talk, "r", "1", number=first.number)
    change = talk.replace_reply(next(iter(talk.replies(new.number))), new.number, asker="p")
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
        talk.window_of(gone.number)
    assert talk.replace_reply(gone, gone.number).came == ()
    assert (prompts(talk), talk.undo_depth) == (["a"], 2)
