"""What a request carries in its place, and what holds there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from talks import abc, ask, carrying, prompts

from chatmagic.conversation import turn as turns
from chatmagic.conversation.conversation import Conversation
from chatmagic.conversation.question import Value
from chatmagic.conversation.steering import Hiding
from chatmagic.conversation.turn import Turn
from chatmagic.conversation.window import ARGUMENT, Position, QuestionPlace, Window
from chatmagic.errors import InputError
from chatmagic.models import Reply


def talk_of(count: int) -> Conversation:
    """Return a conversation of so many turns, each of which carried those above it."""
    conversation = Conversation()
    for number in range(count):
        carried = conversation.window().carried
        asked = Turn(f"q{number}", reply=Reply(f"r{number}"), carried=carried)
        conversation.add(replace(asked, record=asked.to_record("0" * 64)))
    return conversation


@pytest.mark.parametrize("last", [-1, True, 1.0, "3"])
def test_a_last_that_is_no_count_is_refused(last: Any) -> None:
    """Bad input gives one clear line."""
    with pytest.raises(InputError, match="last is a whole number, 0 or more"):
        abc().window(last=last)


def test_a_window_tells_numbers_digests_and_messages() -> None:
    """What the request, the turn and its record keep of the turns that are carried."""
    talk = abc()
    ask(talk, "q", entry="panel")
    window = talk.window()
    a, b, c, q = talk
    assert window.carried == (1, 2, 3, 4)
    assert window.carried.digests == tuple(turn.digest for turn in talk)
    assert window.messages == (*a.messages, *b.messages, *c.messages, *q.messages)
    assert window.from_panel == 1
    assert window.shown == frozenset()
    shown = Window((a, replace(b, shown=True), c), 2)
    assert shown.shown == {b.digest}
    assert talk.window(last=1).from_panel == 1
    assert talk.window(QuestionPlace("a")).from_panel == 0
    assert prompts(window.with_turn(c).turns) == ["a", "b", "c", "q", "c"]
    assert prompts(window.without_oldest(1).turns) == ["b", "c", "q"]
    assert window.without_oldest(4).carried == ()


@pytest.mark.parametrize(
    ("carried", "last", "fits"),
    [((1, 2), None, True), ((2,), None, False), ((2,), 1, True), ((), 0, True), ((), 1, False)],
)
def test_a_turn_carried_what_a_request_would_carry_now(
    carried: Sequence[int], last: int | None, *, fits: bool
) -> None:
    """What its request would leave out anyway does not count."""
    turn = Turn(prompt="p", reply=Reply("r"), carried=carrying(*carried), last=last)
    assert Window(visible=carrying(1, 2)).carries_as(turn) == fits


def test_a_turn_carried_the_instructions_that_hold() -> None:
    """By their text, whatever their name, kept or not."""
    turn = Turn(prompt="p", reply=Reply("r"), instructions=Value.of_text("a.md", "x").bare)
    assert Window(instructions=Value.of_text("", "x")).instructs_as(turn)
    assert not Window(instructions=Value.of_text("", "y")).instructs_as(turn)
    assert not Window().instructs_as(turn)
    own = replace(turn, instructions=Value.of_text(ARGUMENT, "z"))
    assert Window().instructs_as(own)


def test_an_ask_works_out_the_digest_of_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many stand above it: the work for a question does not grow with the talk."""
    made: list[str] = []

    def counted(prompt: str, reply: str) -> str:
        made.append(prompt)
        return f"{prompt} {reply}"

    conversation = talk_of(29)
    monkeypatch.setattr(turns, "turn_digest", counted)
    conversation.add(Turn("q29", reply=Reply("r"), carried=conversation.window().carried))
    assert len(conversation.window().carried.digests) == 30
    assert made == ["q29"]


def test_a_turn_that_is_hidden_above_itself_is_not_carried() -> None:
    """As where the cell that hides it was moved above it."""
    place = Position()
    Hiding(turn=1).steer(place)
    for number in (1, 2):
        place.add(Turn("q", reply=Reply("r"), number=number))
    place.add(Turn("asked so", reply=Reply("r"), number=3, hide=True))
    assert place.window().carried == (2,)
    assert prompts(place.window().turns) == ["q"]


def test_equal_ones_that_were_made_apart_are_compared_once() -> None:
    """As of turns that were loaded: those below go on from the parent that the turn has."""
    place = Position()
    for number in range(1, 5):
        carried = carrying(*range(1, number))
        turn = Turn("q", reply=Reply("r"), number=number, carried=carried)
        place.add(turn)
        assert place.replies[number][1].visible is carried
