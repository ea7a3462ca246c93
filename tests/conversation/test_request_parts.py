"""The parts of a request, and an estimate of tokens."""

from __future__ import annotations

from chatmagic.conversation.request_facts import RequestFacts, Value
from chatmagic.conversation.request_parts import Part, TokenRate, parts_of


def test_the_parts_stand_in_the_order_in_which_they_are_sent() -> None:
    """Instructions, turns, what was put in front and in, and the rest of the prompt."""
    values = (Value.of("load", "x" * 10, "cell"), Value.of("df", "y" * 7))
    asked = RequestFacts("x" * 10 + "\n\nWhy " + "y" * 7, typed="Why {{ df }}", values=values)
    instructions = Value.of("", "Be short.", "instructions")
    assert parts_of([(1, 30), (0, 40)], instructions, asked) == [
        Part("instructions", 9),
        Part("turn 1 (prompt and reply)", 30),
        Part("a turn that is not live any more (prompt and reply)", 40),
        Part("cell load", 10),
        Part("{{ df }}", 7),
        Part("the rest of the prompt", 6),
    ]
    assert parts_of([], None, RequestFacts("Why?")) == [Part("the prompt", 4)]


def test_many_turns_are_one_part() -> None:
    """But for the newest twenty."""
    parts = parts_of([(place, place) for place in range(1, 24)], None, RequestFacts("Why?"))
    assert parts[0] == Part("3 earlier turns (prompts and replies)", 6)
    assert [part.size for part in parts[1:]] == [*range(4, 24), 4]


def test_tokens_are_estimated_by_what_was_counted() -> None:
    """In proportion to the characters, whatever was counted for none."""
    assert TokenRate(100, 25).tokens_of(10) == 2
    assert TokenRate(0, 25).tokens_of(10) == 250
