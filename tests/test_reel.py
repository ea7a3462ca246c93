"""Which recorded exchange answers, and where a new one belongs."""

from __future__ import annotations

from typing import Any

import pytest

from chatmagic.reel import Question, Reel
from chatmagic.tape import Recorded
from chatmagic.wire import Message, Request


def one(prompt: str, text: str | None = None, owner: str | None = None, **known: Any) -> Recorded:
    """Give an exchange without history; without a text it is an error."""
    error = {"error": "no"} if text is None else None
    request = Request((Message("user", prompt),))
    return Recorded.asked(request, text=text, error=error, owner=owner, **known)


def by(
    prompt: str,
    owner: str | None = None,
    execution: str | None = "1",
    order: tuple[str, ...] | None = None,
    typed: str | None = None,
) -> Question:
    """Ask something in a cell's execution."""
    return Question(one(prompt, owner=owner, typed=typed), execution, order)


def texts(reel: Reel) -> list[str | None]:
    """Give the replies that it holds."""
    return [exchange.text for exchange in reel.exchanges]


def replayed(reel: Reel, *questions: Question) -> list[str | None]:
    """Give the replies of these questions, in turn."""
    found = [reel.replay(question) for question in questions]
    return [None if exchange is None else exchange.text for exchange in found]


def recorded(reel: Reel, question: Question, text: str | None) -> bool:
    """Ask as who records does; tell whether it had to be asked."""
    found, _ = reel.recall(question)
    if found is None:
        reel.put(one(question.asked.prompt, text, question.asked.owner), question)
    return found is None


def test_equal_requests_are_answered_in_their_order_and_then_again() -> None:
    """Nobody's asks follow the file, and begin anew at its end."""
    reel = Reel([one("a", "1"), one("b", "2"), one("a", "3"), one("a", "4")])
    assert replayed(reel, *[by("a")] * 5, by("b"), by("c")) == ["1", "3", "4", "1", "3", "2", None]


def test_a_cell_gets_its_own_again() -> None:
    """The n-th equal ask of an execution is the cell's n-th, each time that it runs."""
    reel = Reel([one("a", "1", "x"), one("a", "2", "y"), one("a", "3", "x")])
    assert replayed(reel, by("a", "x"), by("a", "x"), by("a", "y")) == ["1", "3", "2"]
    assert replayed(reel, by("a", "x", "2"), by("a", "y", "2"), by("a", "x", "2")) == [
        "1",
        "2",
        "3",
    ]
    assert replayed(reel, *[by("a", "x", "3")] * 5) == ["1", "3", "1", "3", "1"]
    assert replayed(reel, by("a", "x", None), by("a", "x", None)) == ["1", "1"]


def test_a_cell_that_is_not_known_keeps_what_it_was_given() -> None:
    """Cells whose identity changed are answered in order, and each its own again."""
    reel = Reel([one("a", "1", "old"), one("a", "2")])
    assert replayed(reel, by("a", "x"), by("a", "y")) == ["1", "2"]
    assert replayed(reel, by("a", "y", "2"), by("a", "x", "2")) == ["2", "1"]
    reel = Reel([one("a", "1"), one("a", "2")])
    assert replayed(reel, *[by("a", "x")] * 3) == ["1", "2", "1"]
    assert replayed(reel, *[by("a", "x", "2")] * 2, by("a", "y")) == ["1", "2", "1"]


def test_by_order_a_request_that_differs_is_answered_by_its_place() -> None:
    """The cell's own first, then the same prompt as typed, then what comes next."""
    reel = Reel([one("a", "1"), one("b", "2", "x"), one("v=1", "3", typed="v={{ v }}")])
    assert reel.by_order(by("other", "x")) == one("b", "2", "x")
    assert reel.by_order(by("new")) == one("v=1", "3", typed="v={{ v }}")
    assert reel.by_order(by("more")) == one("a", "1")
    found = reel.by_order(by("v=2", typed="v={{ v }}"))
    assert found is not None
    assert found.text == "3"
    assert Reel([]).by_order(by("a")) is None


def test_a_cell_that_is_run_again_unchanged_is_not_asked() -> None:
    """What is recorded is answered from the reel."""
    reel = Reel([])
    assert recorded(reel, by("a", "x"), "1")
    assert not recorded(reel, by("a", "x", "2"), "2")
    assert texts(reel) == ["1"]


def test_a_loop_of_equal_requests_records_each() -> None:
    """Three asks are three exchanges; run again, none is asked; a longer loop asks the rest."""
    reel = Reel([])
    assert [recorded(reel, by("a", "x"), str(n)) for n in range(3)] == [True] * 3
    assert [recorded(reel, by("a", "x", "2"), "no") for _ in range(4)] == [False] * 3 + [True]
    assert texts(reel) == ["0", "1", "2", "no"]


@pytest.mark.parametrize("owner", ["x", None])
def test_without_an_owner_a_loop_is_recorded_too(owner: str | None) -> None:
    """And answered by the next kernel, in the same order."""
    reel = Reel([])
    assert [recorded(reel, by("a", owner), str(n)) for n in range(3)] == [True] * 3
    again = Reel(reel.exchanges)
    assert [recorded(again, by("a", owner), "no") for _ in range(3)] == [False] * 3


def test_a_changed_cell_replaces_its_own_in_their_place() -> None:
    """Three times changed, it holds the last one, where the first one was."""
    reel = Reel([])
    for owner, prompt in (("x", "a"), ("y", "b"), ("z", "c")):
        recorded(reel, by(prompt, owner), prompt)
    for execution, prompt in enumerate(("b2", "b3", "b4"), 2):
        assert recorded(reel, by(prompt, "y", str(execution)), prompt)
    assert texts(reel) == ["a", "b4", "c"]


def test_of_a_changed_loop_the_rest_comes_back() -> None:
    """What left the reel when the first ask was replaced still answers, and returns."""
    reel = Reel([one("a", "1", "x"), one("b", "2", "x"), one("c", "3", "x"), one("z", "4")])
    assert recorded(reel, by("a2", "x"), "1a")
    assert texts(reel) == ["1a", "4"]
    assert reel.recall(by("c", "x")) == (one("c", "3", "x"), True)
    assert texts(reel) == ["1a", "3", "4"]
    assert recorded(reel, by("b", "x", "2"), "new")


def test_a_new_cell_stands_where_the_page_has_it() -> None:
    """Else behind what answered last."""
    reel = Reel([one("a", "1", "x"), one("c", "3", "z")])
    recorded(reel, by("b", "y", order=("x", "y", "z")), "2")
    recorded(reel, by("d", "w", order=("x", "y", "z", "w")), "4")
    assert texts(reel) == ["1", "2", "3", "4"]
    assert not recorded(reel, by("a", "x"), "")
    recorded(reel, by("n", "new"), "new")
    assert texts(reel) == ["1", "new", "2", "3", "4"]


def test_what_is_nobodys_becomes_the_cells_that_asks_it() -> None:
    """So a notebook recorded by a machine is tidied when a person changes a cell."""
    reel = Reel([one("a", "1"), one("b", "2", "gone"), one("c", "3", "other")])
    for prompt, owner in (("a", "x"), ("b", "y"), ("c", "z")):
        assert not recorded(reel, by(prompt, owner, order=("x", "y", "z", "other")), "")
    assert [exchange.owner for exchange in reel.exchanges] == ["x", "y", "other"]
    assert recorded(reel, by("a2", "x", "2"), "1a")
    assert texts(reel) == ["1a", "2", "3"]


@pytest.mark.parametrize("owner", ["x", None])
def test_an_error_is_asked_again_and_replaced(owner: str | None) -> None:
    """It is replayed, but nobody who records is kept from asking again."""
    reel = Reel([one("a", "1", "w"), one("b", None, "x"), one("c", "3", "y")])
    assert replayed(Reel(reel.exchanges), by("b", owner)) == [None]
    assert recorded(reel, by("b", owner), "2")
    assert texts(reel) == ["1", "2", "3"]
    assert reel.exchanges[1].owner == "x"


def renewed(reel: Reel, question: Question, text: str) -> None:
    """Ask again."""
    reel.renew(one(question.asked.prompt, text, question.asked.owner), question)


def test_a_refresh_counts_what_became_of_each() -> None:
    """Kept word for word, changed, new, dropped; in the places that they had."""
    before = [one("a", "1", "x"), one("b", "2", "y"), one("c", "3"), one("d", "4", "z")]
    reel = Reel([*before, one("e", None, "w")])
    renewed(reel, by("a", "x"), "1")
    renewed(reel, by("b2", "y"), "2b")
    renewed(reel, by("b3", "y", "2"), "2c")
    renewed(reel, by("n", "new"), "n")
    renewed(reel, by("c"), "3")
    assert reel.unasked == 2
    reel.drop_the_rest()
    assert dict(reel.fates()) == {"kept": 2, "changed": 1, "new": 1, "dropped": 2}
    assert texts(reel) == ["1", "2c", "n", "3"]
    assert reel.unasked == 0


def test_a_refresh_takes_the_place_of_what_was_typed_the_same() -> None:
    """A machine's ask whose value changed replaces the one with the same prompt as typed."""
    reel = Reel([one("v=1", "1", "x", typed="v={{ v }}"), one("b", "2", "y")])
    question = by("v=2", typed="v={{ v }}")
    reel.renew(one("v=2", "1b", typed="v={{ v }}"), question)
    assert texts(reel) == ["1b", "2"]
    assert reel.exchanges[0].owner == "x"


def test_two_kernels_keep_each_others() -> None:
    """What somebody else saved meanwhile is taken in, what was replaced here stays so."""
    base = (one("a", "1", "x"), one("b", "2", "y"))
    reel = Reel(base)
    recorded(reel, by("a2", "x"), "1a")
    reel.join(base, (base[0], one("n", "new", "z"), base[1], one("m", "more")))
    assert sorted(map(str, texts(reel))) == ["1a", "2", "more", "new"]
    reel.join(reel.exchanges, (one("b2", "2b", "y"), *reel.exchanges[:-1]))
    assert "more" not in texts(reel)
    reel.join(reel.exchanges, ())
    assert texts(reel) == ["1a"]
