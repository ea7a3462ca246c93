"""The parameters of a question, as a record keeps them and as they are read again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chatmagic.conversation.parameters import Parameters

from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"max_tokens": 9, "temperature": 0.5}, {"max_tokens": 9, "temperature": 0.5}),
        ({"temperature": 0, "last": 0}, {"temperature": 0, "last": 0}),
        ({"stream": True, "history": True}, {}),
        ({"stream": False, "history": False}, {"stream": False, "history": False}),
    ],
)
def test_what_was_set_is_kept_and_read_again(given: dict[str, Any], kept: dict[str, Any]) -> None:
    """A default leaves nothing in the record; a zero is no default."""
    made = Parameters(**given)
    assert made.parameters == kept
    assert Parameters(**Parameters.read(json.loads(json.dumps(kept)))) == made


def test_an_integer_that_a_page_would_round_comes_back_exactly() -> None:
    """Beyond the integers of a double it is a text in the file."""
    made = Parameters(max_tokens=2**53 + 1)
    saved = json.loads(json.dumps(made.parameters))
    assert Parameters.read(saved)["max_tokens"] == 2**53 + 1
    assert Parameters.read({"max_tokens": "9007199254740993"}) == {"max_tokens": 2**53 + 1}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "last",
        {"max_tokens": 1.5},
        {"max_tokens": True},
        {"max_tokens": "9"},
        {"temperature": "0.5"},
        {"temperature": float("inf")},
        {"last": -1},
        {"stream": 0},
        {"history": "yes"},
    ],
)
def test_what_makes_no_sense_is_refused(value: object) -> None:
    """Each parameter has its own kind of value."""
    with pytest.raises(ValueError, match=r"\w"):
        Parameters.read(value)


def test_a_prompt_is_told_as_typed() -> None:
    """With its braces where values were put in, else as it was sent."""
    assert Turn(prompt="Why 1?", typed="Why {{ x }}?", reply=Reply("")).as_typed == "Why {{ x }}?"
    assert Turn(prompt="Why?", reply=Reply("")).as_typed == "Why?"
