"""Where a conversation's turns stand: in the places of their cells, in the page's order."""

from __future__ import annotations

import pytest
from talks import abc, ask, carries, layout, prompts

from chatmagic.conversation.conversation import Conversation


def test_a_loop_stays_together_until_a_new_execution() -> None:
    """Rule 3: later asks of an execution carry the earlier; the next one replaces all."""
    talk = abc()
    loop = [ask(talk, f"B{i}", "b", "2b") for i in range(3)]
    assert prompts(talk) == ["a", "B0", "B1", "B2", "c"]
    assert [turn.carried for turn in loop] == [(1,), (1, 4), (1, 4, 5)]
    assert prompts(talk.stale_turns()) == ["c"]
    ask(talk, "B", "b", "3b")
    assert prompts(talk) == ["a", "B", "c"]


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


def test_places_that_the_page_does_not_list_stay_behind_their_neighbour() -> None:
    """Rule 5: panel turns and cells of elsewhere go with the place that they stood behind."""
    talk = Conversation()
    ask(talk, "first")
    ask(talk, "a", "a", "1")
    ask(talk, "panel", entry="panel")
    ask(talk, "other", "other", "2")
    ask(talk, "b", "b", "3")
    talk.follow(layout("ba"))
    assert prompts(talk) == ["first", "b", "a", "panel", "other"]
    assert carries(talk, "n", order=["n", "b", "a"]) == ["first"]
    assert carries(talk, "n", order=["b", "a", "n"])[-3:] == ["a", "panel", "other"]
    assert carries(talk, "n", order=["a", "n", "b"]) == ["first", "a", "panel", "other"]
