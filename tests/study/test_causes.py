"""Causes of another answer: what differs between a question and its earlier self."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from studies import ONE

from chatmagic.study.causes import Change, answer_of, changes_of

OLD = replace(ONE, request="1", model="m")
TAPE = replace(OLD, kind="cassette", prompt="QUESTION")


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, ["same answer"]),
        ({"text": "OTHER"}, ["asked again"]),
        ({"response_id": "2"}, ["asked again"]),
        ({"request": "2"}, ["not recorded"]),
        ({"request": "2", "typed": "WHY"}, ["prompt"]),
        ({"request": "2", "context": ("a",)}, ["context"]),
        ({"request": "2", "instructions": "a"}, ["context"]),
        ({"request": "2", "settings": {"temperature": 1}}, ["settings"]),
        ({"model": "n"}, ["model"]),
        ({"request": "2", "typed": "WHY", "model": "n"}, ["prompt", "model"]),
        (
            {"request": "2", "settings": {"stream": False}, "context": ("a",)},
            ["context", "settings"],
        ),
    ],
)
def test_causes_are_in_their_order(changes: dict[str, Any], causes: list[str]) -> None:
    """The cause before the effect."""
    assert [change.cause for change in changes_of(OLD, replace(OLD, **changes))] == causes


def test_a_value_in_a_recorded_prompt() -> None:
    """A template whose prompt as sent differs has another value."""
    old, new = (
        replace(TAPE, request=value, typed="Label {{ it }}", prompt=f"Label {value}")
        for value in ("a", "b")
    )
    assert [*changes_of(old, new)] == [Change("value")]


def test_an_error_stands_in_place_of_an_answer() -> None:
    """It is no text of a model."""
    assert answer_of(replace(ONE, text=None, error="HTTP 500")) == "[HTTP 500]"
    assert (str(Change("value")), str(Change("model", "a -> b"))) == ("value", "model: a -> b")
