"""Budgets: how they are written, what they reserve, and when they refuse."""

from __future__ import annotations

import contextlib

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.errors import BudgetError, InputError
from chatmagic.session.budget import Budget

SETTING = "%config ChatMagics.budget"


@pytest.mark.parametrize(
    ("text", "words", "unit"),
    [
        ("50", "50 credits", "credits"),
        (" 1 credit ", "1 credit", "credits"),
        ("1,500", "1,500 credits", "credits"),
        ("20 turns", "20 turns", "turns"),
        ("5 Turns", "5 turns", "turns"),
    ],
)
def test_a_budget_is_read(text: str, words: str, unit: str) -> None:
    """In each way of writing it."""
    budget = Budget.parse(text, SETTING)
    assert (str(budget), budget.unit) == (words, unit)


@each_case("text", ["", "-5", "fifty", "5 euros", "50 a day", "1e3", "turns", "٣"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    """Nothing is sent while it is not known how much may be."""
    with pytest.raises(InputError, match=r"must be \"50\" \(credits\).*Nothing was sent\."):
        Budget.parse(text, SETTING)


@given(most=st.integers(0, 500), cost=st.integers(1, 60))
def test_a_constant_cost_never_passes_it(most: int, cost: int) -> None:
    """As many requests go as go into it."""
    budget, used, sent = Budget(most, "credits", SETTING), 0, 0
    with contextlib.suppress(BudgetError):
        while True:
            used, sent = used + budget.reserve(used, cost), sent + 1
    assert sent == most // cost


def test_the_first_request_reserves_the_rest() -> None:
    """While no cost is known, a second one does not begin."""
    budget = Budget.parse("50", SETTING)
    assert budget.reserve(10, None) == 40
    with pytest.raises(BudgetError):
        budget.reserve(50, None)


def test_a_refusal_says_what_happened_and_what_to_do() -> None:
    """In one line, and a hint that goes with what set the budget."""
    with pytest.raises(BudgetError) as caught:
        Budget.parse("50", SETTING).reserve(48, 3)
    assert caught.value.message == (
        "The budget of 50 credits is not enough: 48 used or reserved, and this may take 3 credits; "
        "others may share the credits. Nothing was sent."
    )
    assert caught.value.hint_at("notebook") == (
        "%chat_credits --usage shows what was used. %config ChatMagics.budget sets another budget."
    )
    with pytest.raises(BudgetError) as caught:
        Budget.parse("20 turns", "CHATMAGIC_BUDGET").reserve(20, None)
    assert "20 used or reserved, and this may take 1 turn." in caught.value.message
    assert "counts as it was when chatmagic was first imported" in str(caught.value.hint)


def test_credits_that_nobody_tells_have_no_budget() -> None:
    """The one in turns is named, which goes on."""
    Budget.parse("20 turns", SETTING).refuse_unknown_costs()
    with pytest.raises(BudgetError, match="the answers report no credits, or credits") as caught:
        Budget.parse("50", SETTING).refuse_unknown_costs()
    hints = (caught.value.hint_at("notebook"), caught.value.hint_at("shell"))
    assert hints == (
        f'Set one in turns: {SETTING} = "20 turns".',
        'Set one in turns: c.ChatMagics.budget = "20 turns" in ipython_config.py.',
    )


def test_a_notice_comes_at_80_percent() -> None:
    """Not before."""
    budget = Budget.parse("50", SETTING)
    assert budget.notice(39) is None
    assert budget.notice(40) == (
        "40 of the budget of 50 credits are used; others may share the credits."
    )
