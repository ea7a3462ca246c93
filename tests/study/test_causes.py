"""Causes of another answer: what differs between a question and its earlier self."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cases import each_case
from studies import ONE

from chatmagic.conversation.question import Value
from chatmagic.conversation.template import PROSE_AGAIN
from chatmagic.study.causes import AnswerChange, answer_of, changes_of

OLD = replace(ONE, request="1", model="m")
TAPE = replace(OLD, kind="cassette", prompt="QUESTION")


@each_case(
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


@pytest.mark.parametrize(
    ("typed", "values", "causes"),
    [
        ("Label {{ it }}", ("Label a", "Label b"), ["value: {{ it }}"]),
        ("A {{ x }} and {{ y }}.", ("A 1 and 2.", "A 1 and 3."), ["value: {{ y }}"]),
        ("A {{ x }} and {{ y }}.", ("A 1 and 2.", "A 2 and 3."), ["value: {{ x }}, {{ y }}"]),
        ("A {{ x }}", ("Cells above.\n\nA 1", "Cells above.\n\nA 2"), ["value: {{ x }}"]),
        ("{{ x }}: why?", ("1: why?", "2: why?"), ["value"]),  # what stands in front is unknown
        ("A {{ x }}", ("A 1", None), ["not recorded"]),
    ],
)
def test_a_value_in_a_recorded_prompt(
    typed: str, values: tuple[str | None, ...], causes: list[str]
) -> None:
    """It is named by its expression, as far as the prompt as sent tells it."""
    old, new = (
        replace(TAPE, request=str(at), typed=typed, prompt=sent) for at, sent in enumerate(values)
    )
    assert [str(change).partition(": the request")[0] for change in changes_of(old, new)] == causes


def test_two_changes_of_a_prompt_are_two_causes() -> None:
    """Its words, and a value that both have; a notebook and a cassette tell it alike."""
    notebook = {
        side: replace(
            OLD, request=side, typed=f"{word} {{{{ x }}}}", values=(Value.of_text("x", side),)
        )
        for side, word in (("1", "Name"), ("2", "Label"))
    }
    tape = {
        side: replace(TAPE, request=side, typed=asked.typed, prompt=asked.typed[:-7] + side)
        for side, asked in notebook.items()
    }
    for old in (notebook["1"], tape["1"]):
        for new in (notebook["2"], tape["2"]):
            assert [change.cause for change in changes_of(old, new)] == ["prompt", "value"]


def test_words_that_end_an_earlier_form_are_no_setting() -> None:
    """They follow from the turns above; those of the question's own form are one."""
    plain = replace(TAPE, request="1", context=("a",), prompt="QUESTION")
    after = replace(plain, request="2", context=("b",), prompt=f"{PROSE_AGAIN}\n\nQUESTION")
    assert [change.cause for change in changes_of(plain, after)] == ["context"]
    text = replace(after, prompt="Reply in plain text, without Markdown.\n\nQUESTION")
    assert [change.cause for change in changes_of(plain, text)] == ["context", "settings"]


def test_an_error_stands_in_place_of_an_answer() -> None:
    """It is no text of a model."""
    assert answer_of(replace(ONE, text=None, error="HTTP 500")) == "[HTTP 500]"
    assert (str(AnswerChange("value")), str(AnswerChange("model", "a -> b"))) == (
        "value",
        "model: a -> b",
    )
