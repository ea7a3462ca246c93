"""A conversation that follows the cells of its pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talks import abc, ask, carries, layout, prompts, saved

from chatmagic.conversation.cell_order import Layout


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        # A cell that no page ever had is not missed; a record of nobody here changes nothing.
        ([layout("ca")], "cab"),
        ([layout("abcx", x="other")], "abc"),
        # A cell is known by the record in its outputs, then and later; pasted later, too.
        ([layout("axc", gone="b", x="b", a="a"), layout("ayc", gone="bx", y="b")], "abc"),
        ([layout("ac", gone="b"), layout("acx", gone="b", x="b")], "acb"),
        ([layout("ac", gone="b")], "ac"),
    ],
)
def test_turns_follow_the_cells_of_the_page(pages: list[Layout], expected: str) -> None:
    """Rules 12 and 13; where nothing was set aside, nothing changed and nothing is stale."""
    talk = abc()
    changes = [talk.follow(page) for page in pages]
    assert "".join(prompts(talk)) == expected
    assert (changes[-1] is None) == (len(expected) == 3)
    assert talk.follow(pages[-1]) is None
    for change in filter(None, changes):
        assert (change.kind, prompts(change.went)) == ("removal", ["b"])
    if changes[-1] is not None:
        talk.undo()
        # Undone, they stay, though the page still lacks the cell.
        assert talk.follow(pages[-1]) is None
        assert (prompts(talk), talk.stale_turns()) == (["a", "b", "c"], ())


def test_what_can_be_redone_can_be_so_after_a_cell_came_back() -> None:
    """Rule 12: coming back is not a change."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    ask(talk, "d", "d", "1d")
    talk.undo()
    talk.follow(layout("abc"))
    talk.redo()
    assert prompts(talk) == ["a", "b", "c", "d"]
    assert (talk.redo(), repr(talk)) == (None, "<Conversation: turns: 4, stale: 1>")


def test_what_stayed_after_an_undo_is_not_brought_back_again() -> None:
    """Rule 12: a loaded conversation has no changes but the one that was undone."""
    talk = saved(abc())
    talk.follow(layout("ac", gone="b"))
    talk.undo()
    assert talk.follow(layout("abc")) is None
    assert (prompts(talk), talk.undo_depth, talk.redo_depth) == (["a", "b", "c"], 0, 1)


def test_what_was_asked_or_reset_in_between_stays_so() -> None:
    """Rule 12: coming back brings back what was set aside, and nothing older or newer."""
    talk = abc()
    talk.follow(layout("ac", gone="b"))
    ask(talk, "new", "b", "2b", order="abc")
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "new", "c"]
    talk.follow(layout("ac", gone="b"))
    talk.reset()
    talk.follow(layout("abc"))
    assert prompts(talk) == []
    talk.undo()
    talk.follow(layout("abc"))
    assert prompts(talk) == ["a", "c"]


def test_a_copied_cell_is_a_new_one() -> None:
    """Rule 13: the record's own cell is on a page, or the copy has turns, or comes second."""
    talk = abc()
    talk.follow(layout("abxc", x="b"))
    assert carries(talk, "x", order="abxc") == ["a", "b"]
    assert prompts(talk) == ["a", "b", "c"]
    ask(talk, "copy", "x", "1", order="abxc")
    talk.follow(layout("axyzc", gone="b", x="b", y="b", z="b"))
    assert prompts(talk) == ["a", "copy", "b", "c"]
    assert carries(talk, "y", order="axyzc") == ["a", "copy"]
    assert carries(talk, "z", order="axyzc") == ["a", "copy", "b"]


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=6))
def test_whatever_goes_and_comes_back_is_as_before(gone: list[set[str]]) -> None:
    """Rule 12: a page that has all its cells again has all their turns, and nothing to undo."""
    talk = abc()
    before = talk.turns
    for some in gone:
        order = "".join(name for name in "abc" if name not in some)
        talk.follow(layout(order, gone="".join(some)))
        assert prompts(talk) == list(order)
    talk.follow(layout("abc"))
    assert talk.turns == before
    assert talk.undo_depth == 3
