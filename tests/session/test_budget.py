"""Budgets: how they are written, what they reserve, and when they refuse."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.errors import BudgetError, InputError
from chatmagic.session.budget import Budget, Tally

SETTING = "%config ChatMagics.budget"


@pytest.mark.parametrize(
    ("text", "words", "unit", "daily"),
    [
        ("50", "50 credits", "credits", False),
        (" 1 credit ", "1 credit", "credits", False),
        ("20 turns", "20 turns", "turns", False),
        ("1,500 a day", "1,500 credits a day", "credits", True),
        ("20 turns a day", "20 turns a day", "turns", True),
        ("5 Turns per day", "5 turns a day", "turns", True),
    ],
)
def test_a_budget_is_read(text: str, words: str, unit: str, daily: bool) -> None:
    """In each way of writing it."""
    budget = Budget.parse(text, SETTING)
    assert (str(budget), budget.unit, budget.daily) == (words, unit, daily)


@pytest.mark.parametrize("text", ["", "-5", "fifty", "5 euros", "50 a week", "1e3", "turns", "٣"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    """Nothing is sent while it is not known how much may be."""
    with pytest.raises(InputError, match=r"is \"50\" \(credits\).*Nothing was sent\."):
        Budget.parse(text, SETTING)


@given(most=st.integers(0, 500), cost=st.integers(1, 60))
def test_a_constant_cost_never_passes_it(most: int, cost: int) -> None:
    """As many requests go as go into it."""
    budget, tally, sent = Budget(most, "credits", daily=False, setting=SETTING), Tally(), 0
    with contextlib.suppress(BudgetError):
        while need := budget.reserve(tally, cost):
            tally = tally.plus(need, 1).plus(cost - need, 0)
            sent += 1
    assert sent == most // cost


def test_the_first_request_reserves_the_rest() -> None:
    """While no cost is known, a second one does not begin."""
    budget = Budget.parse("50", SETTING)
    assert budget.reserve(Tally(10, 1), None) == 40
    with pytest.raises(BudgetError):
        budget.reserve(Tally(50, 1), None)


def test_a_refusal_says_what_happened_and_what_to_do() -> None:
    """In one line, and a hint that goes with what set the budget."""
    with pytest.raises(BudgetError) as caught:
        Budget.parse("50", SETTING).reserve(Tally(48, 9), 3)
    assert caught.value.message == (
        "The budget of 50 credits is not enough: 48 used or reserved, and this may take 3 credits; "
        "others may share the quota. Nothing was sent."
    )
    assert caught.value.hint == (
        "%chat_credits --usage shows what was used. %config ChatMagics.budget sets another budget."
    )
    with pytest.raises(BudgetError) as caught:
        Budget.parse("20 turns a day", "CHATMAGIC_BUDGET").reserve(Tally(48, 20), None)
    assert "20 used or reserved, and this may take 1 turn." in caught.value.message
    assert "counts as it was when chatmagic was first imported" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "other"), [("50", '"20 turns"'), ("50 a day", '"20 turns a day"')]
)
def test_credits_that_nobody_tells_have_no_budget(text: str, other: str) -> None:
    """The one in turns is named, which goes on."""
    Budget.parse("20 turns", SETTING).refuse_blind(tells=False)
    with pytest.raises(BudgetError, match="The answers tell no credits") as caught:
        Budget.parse(text, SETTING).refuse_blind(tells=False)
    assert caught.value.hint == f"Set one in turns: {SETTING} = {other}."
    with pytest.raises(BudgetError, match="as their reset moves with each, or they rise, so a bud"):
        Budget.parse(text, SETTING).refuse_blind(tells=True)


def test_a_notice_comes_at_80_percent() -> None:
    """Not before."""
    budget = Budget.parse("50", SETTING)
    assert budget.notice(Tally(39, 1)) is None
    assert (
        budget.notice(Tally(40, 1))
        == "40 of the budget of 50 credits are used; others may share the quota."
    )


def test_a_tally_does_not_fall_below_0() -> None:
    """Also where more is taken back than was reserved."""
    assert Tally(1, 1).plus(-2, -3) == Tally()
