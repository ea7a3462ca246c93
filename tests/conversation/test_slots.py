"""Slots of a conversation: in the places of their cells, in the page's order."""

from __future__ import annotations

import pytest
from talks import ask, prompts

from chatmagic.conversation.conversation import Conversation


def test_an_unknown_execution_is_one_of_its_own() -> None:
    """Rule 3: without an execution each ask replaces the one before."""
    talk = Conversation()
    ask(talk, "1", "a", None)
    ask(talk, "2", "a", None)
    assert prompts(talk) == ["2"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["n", "a", "b"], "nab"),
        (["a", "b", "n"], "abn"),
        (["a", "b"], "abn"),
        (["b", "n", "a"], "bna"),
        (["x", "b", "y", "n", "a", "z"], "bna"),
    ],
)
def test_a_new_cell_first_last_missing_and_on_another_order(
    order: list[str], expected: str
) -> None:
    """Rule 5: the page's order moves the other places too; who is not listed is appended."""
    talk = Conversation()
    ask(talk, "a", "a", "1")
    ask(talk, "b", "b", "2")
    ask(talk, "n", "n", "3", order=order)
    assert "".join(prompts(talk)) == expected
