"""Which recorded exchange answers, and where a new one belongs."""

from __future__ import annotations

from typing import Any

import pytest

from chatmagic.cassette.interaction import Interaction
from chatmagic.cassette.items import Query
from chatmagic.cassette.matching import Matcher
from chatmagic.models import Message
from chatmagic.protocol.wire import Request


def one(
    prompt: str, text: str | None = None, owner: str | None = None, **known: Any
) -> Interaction:
    """Give an exchange without history; without a text it is an error."""
    error = {"error": "no"} if text is None else None
    model = known.pop("asked_model", None)
    request = Request((Message("user", prompt),), extra={"model": model} if model else {})
    return Interaction.asked(request, text=text, error=error, owner=owner, **known)


def by(
    prompt: str,
    owner: str | None = None,
    execution: str | None = "1",
    order: tuple[str, ...] | None = None,
    typed: str | None = None,
) -> Query:
    """Ask something in a cell's execution."""
    return Query(one(prompt, owner=owner, typed=typed), execution, order)


def texts(matcher: Matcher) -> list[str | None]:
    """Give the replies that it holds; of those that are superseded, in brackets."""
    return [f"({x.text})" if x.superseded else x.text for x in matcher.interactions]


def replayed(matcher: Matcher, *questions: Query) -> list[str | None]:
    """Give the replies of these questions, in turn."""
    found = [matcher.replay(question) for question in questions]
    return [None if exchange is None else exchange.text for exchange in found]


def recorded(matcher: Matcher, question: Query, text: str | None) -> bool:
    """Ask as who records does; tell whether it had to be asked."""
    found, _ = matcher.recall(question)
    if found is None:
        matcher.add(one(question.asked.prompt, text, question.asked.owner), question)
    return found is None


def test_equal_requests_are_answered_in_their_order_and_then_again() -> None:
    """Nobody's asks follow the file, and begin anew at its end."""
    matcher = Matcher([one("a", "1"), one("b", "2"), one("a", "3"), one("a", "4")])
    assert replayed(matcher, *[by("a")] * 5, by("b"), by("c")) == [
        "1",
        "3",
        "4",
        "1",
        "3",
        "2",
        None,
    ]


def test_a_cell_gets_its_own_again() -> None:
    """The n-th equal ask of an execution is the cell's n-th, each time that it runs."""
    matcher = Matcher([one("a", "1", "x"), one("a", "2", "y"), one("a", "3", "x")])
    assert replayed(matcher, by("a", "x"), by("a", "x"), by("a", "y")) == ["1", "3", "2"]
    assert replayed(matcher, by("a", "x", "2"), by("a", "y", "2"), by("a", "x", "2")) == [
        "1",
        "2",
        "3",
    ]
    assert replayed(matcher, *[by("a", "x", "3")] * 5) == ["1", "3", "1", "3", "1"]
    assert replayed(matcher, by("a", "x", None), by("a", "x", None)) == ["1", "1"]


def test_a_cell_that_is_not_known_keeps_what_it_was_given() -> None:
    """Cells whose identity changed are answered in order, and each its own again."""
    matcher = Matcher([one("a", "1", "old"), one("a", "2")])
    assert replayed(matcher, by("a", "x"), by("a", "y")) == ["1", "2"]
    assert replayed(matcher, by("a", "y", "2"), by("a", "x", "2")) == ["2", "1"]
    matcher = Matcher([one("a", "1"), one("a", "2")])
    assert replayed(matcher, *[by("a", "x")] * 3) == ["1", "2", "1"]
    assert replayed(matcher, *[by("a", "x", "2")] * 2, by("a", "y")) == ["1", "2", "1"]


def test_by_order_a_request_that_differs_is_answered_by_its_place() -> None:
    """The cell's own first, then the same prompt as typed, then what comes next."""
    matcher = Matcher([one("a", "1"), one("b", "2", "x"), one("v=1", "3", typed="v={{ v }}")])
    assert matcher.by_order(by("other", "x")) == one("b", "2", "x")
    assert matcher.by_order(by("new")) == one("v=1", "3", typed="v={{ v }}")
    assert matcher.by_order(by("more")) == one("a", "1")
    found = matcher.by_order(by("v=2", typed="v={{ v }}"))
    assert found is not None
    assert found.text == "3"
    assert Matcher([]).by_order(by("a")) is None


def test_a_cell_that_is_run_again_unchanged_is_not_asked() -> None:
    """What is recorded is answered from the matcher."""
    matcher = Matcher([])
    assert recorded(matcher, by("a", "x"), "1")
    assert not recorded(matcher, by("a", "x", "2"), "2")
    assert texts(matcher) == ["1"]


def test_a_loop_of_equal_requests_records_each() -> None:
    """Three asks are three exchanges; run again, none is asked; a longer loop asks the rest."""
    matcher = Matcher([])
    assert [recorded(matcher, by("a", "x"), str(n)) for n in range(3)] == [True] * 3
    assert [recorded(matcher, by("a", "x", "2"), "no") for _ in range(4)] == [False] * 3 + [True]
    assert texts(matcher) == ["0", "1", "2", "no"]


@pytest.mark.parametrize("owner", ["x", None])
def test_without_an_owner_a_loop_is_recorded_too(owner: str | None) -> None:
    """And answered by the next kernel, in the same order."""
    matcher = Matcher([])
    assert [recorded(matcher, by("a", owner), str(n)) for n in range(3)] == [True] * 3
    again = Matcher(matcher.interactions)
    assert [recorded(again, by("a", owner), "no") for _ in range(3)] == [False] * 3


def test_a_changed_cell_adds_and_supersedes() -> None:
    """Three times changed, it holds all of them, the last one in front and alone in force."""
    matcher = Matcher([])
    for owner, prompt in (("x", "a"), ("y", "b"), ("z", "c")):
        recorded(matcher, by(prompt, owner), prompt)
    for execution, prompt in enumerate(("b2", "b3"), 2):
        assert matcher.supersedes(by(prompt, "y", str(execution)), refresh=False)
        assert recorded(matcher, by(prompt, "y", str(execution)), prompt)
    assert texts(matcher) == ["a", "b3", "(b2)", "(b)", "c"]
    assert [one.text for one in matcher.standing] == ["a", "b3", "c"]
    again = Matcher(matcher.interactions)
    assert replayed(again, by("b", "y"), by("b2", "w"), by("b3")) == ["b", "b2", "b3"]
    assert not matcher.supersedes(by("q"), refresh=False)
    assert not matcher.supersedes(by("b3", "y", "3"), refresh=False)


def test_what_is_superseded_is_found_by_its_request_alone() -> None:
    """Neither by its place nor before another one that answers the same."""
    old = one("a", "old", "x", superseded=True)
    matcher = Matcher([old, one("a", "new", "y"), one("b", "b", "x")])
    assert matcher.by_order(by("c", "x")) == one("b", "b", "x")
    assert matcher.by_order(by("a", "w", typed="other")) == one("a", "new", "y")
    assert Matcher([old]).by_order(by("c", "x")) is None
    assert replayed(Matcher(matcher.interactions), by("a"), by("a")) == ["new", "old"]
    assert replayed(Matcher([old]), by("a")) == ["old"]
    failed = one("a", None, superseded=True)
    assert replayed(Matcher([failed, one("a", "new")]), *[by("a")] * 2) == ["new", "new"]
    assert replayed(Matcher([failed]), by("a")) == [None]


def test_a_cell_that_is_changed_back_is_in_force_again() -> None:
    """It is not asked, and what it was in between is superseded."""
    matcher = Matcher([])
    assert recorded(matcher, by("a", "x", "1"), "a")
    assert recorded(matcher, by("b", "x", "2"), "b")
    assert matcher.recall(by("a", "x", "3")) == (one("a", "a", "x"), True)
    assert texts(matcher) == ["(b)", "a"]
    again = Matcher(matcher.interactions)
    assert again.recall(by("b", "y")) == (one("b", "b", "x", superseded=True), False)


def test_of_a_changed_loop_the_rest_comes_back() -> None:
    """What was superseded when the first ask was another one still answers, and is in force."""
    matcher = Matcher([one("a", "1", "x"), one("b", "2", "x"), one("c", "3", "x"), one("z", "4")])
    assert recorded(matcher, by("a2", "x"), "1a")
    assert texts(matcher) == ["1a", "(1)", "(2)", "(3)", "4"]
    assert matcher.recall(by("c", "x")) == (one("c", "3", "x"), True)
    assert texts(matcher) == ["1a", "(1)", "(2)", "3", "4"]
    assert recorded(matcher, by("d", "x"), "new")
    assert texts(matcher) == ["1a", "(1)", "(2)", "3", "new", "4"]
    assert not recorded(matcher, by("b", "x", "2"), "no")


def test_a_new_cell_stands_where_the_page_has_it() -> None:
    """Else behind what answered last."""
    matcher = Matcher([one("a", "1", "x"), one("c", "3", "z")])
    recorded(matcher, by("b", "y", order=("x", "y", "z")), "2")
    recorded(matcher, by("d", "w", order=("x", "y", "z", "w")), "4")
    assert texts(matcher) == ["1", "2", "3", "4"]
    assert not recorded(matcher, by("a", "x"), "")
    recorded(matcher, by("n", "new"), "new")
    assert texts(matcher) == ["1", "new", "2", "3", "4"]


def test_what_is_nobodys_becomes_the_cells_that_asks_it() -> None:
    """So what a machine recorded is tidied when a person changes a cell; others keep theirs."""
    matcher = Matcher([one("a", "1"), one("b", "2", "gone"), one("c", "3", "other")])
    for prompt, owner in (("a", "x"), ("b", "y"), ("c", "z")):
        assert not recorded(matcher, by(prompt, owner, order=("x", "y", "z", "other")), "")
    assert [exchange.owner for exchange in matcher.interactions] == ["x", "gone", "other"]
    assert recorded(matcher, by("a2", "x", "2"), "1a")
    assert texts(matcher) == ["1a", "(1)", "2", "3"]


@pytest.mark.parametrize("owner", ["x", None])
def test_an_error_is_asked_again_and_superseded(owner: str | None) -> None:
    """It is replayed, but nobody who records is kept from asking again."""
    matcher = Matcher([one("a", "1", "w"), one("b", None, "x"), one("c", "3", "y")])
    assert replayed(Matcher(matcher.interactions), by("b", owner)) == [None]
    assert recorded(matcher, by("b", owner), "2")
    assert texts(matcher) == ["1", "2", "(None)", "3"]
    assert matcher.interactions[1].owner == "x"


@pytest.mark.parametrize("owner", ["x", None])
def test_an_error_takes_no_replys_place(owner: str | None) -> None:
    """In a refresh, or with another talk above; where nothing stands it is recorded, once."""
    held = [one("a", "1", owner, typed="t")]
    for request in ("a", "a with another value"):
        asked = by(request, owner, typed="t")
        failed = one(request, None, owner, typed="t")
        for matcher in (Matcher(held), Matcher(held)):
            assert matcher.add(failed, asked, refresh=request == "a") is None
            assert list(matcher.interactions) == held
            assert matcher.outcomes() == {"failed": 1}
            reply = one("a", "2", owner, typed="t")
            assert matcher.add(reply, by("a", owner, "2", typed="t"), refresh=True)
            assert [x.text for x in matcher.interactions] == ["2"]
            assert matcher.outcomes() == {"changed": 1}
    matcher = Matcher(held)
    assert matcher.add(one("b", None, owner), by("b", owner, "1")) is not None
    assert Matcher(matcher.interactions).add(one("b", None, owner), by("b", owner, "2")) is None
    assert texts(matcher) == (["1", None])
    other = Interaction.asked(
        Request((Message("user", "b"),)), error={"error": "more"}, owner=owner
    )
    again = Matcher(matcher.interactions)
    assert again.add(other, by("b", owner, "3"), refresh=True) is not None
    assert sorted(map(str, texts(again))) == ["(None)", "1", "None"]


def test_replies_of_the_emulator_do_not_mix_with_a_services() -> None:
    """They are recorded into what is empty, or all the emulator's."""
    ours = one("a", "1", origin="emulator")
    assert Matcher([]).add(ours, by("a")) == ours
    assert Matcher([ours]).add(one("b", "2", origin="emulator"), by("b")) is not None
    for prompt in "za":
        assert Matcher([one(prompt, "9")]).add(ours, by("a"), refresh=prompt == "a") is None
    matcher = Matcher([one("z", "9")])
    assert matcher.take([ours, one("b", "2"), one("b", "2")]) == [ours]
    assert matcher.take([one("b", "2")]) == []
    assert texts(matcher) == ["9", "2", "2"]


def renewed(matcher: Matcher, question: Query, text: str) -> None:
    """Ask again."""
    recorded = one(question.asked.prompt, text, question.asked.owner)
    matcher.add(recorded, question, refresh=True)


def test_a_refresh_counts_what_became_of_each() -> None:
    """Kept word for word, changed, new, not asked; in the places that they had."""
    before = [one("a", "1", "x"), one("b", "2", "y"), one("c", "3"), one("d", "4", "z")]
    matcher = Matcher([*before, one("e", None, "w")])
    renewed(matcher, by("a", "x"), "1")
    assert not matcher.supersedes(by("b", "y"), refresh=True)
    renewed(matcher, by("b", "y"), "2b")
    renewed(matcher, by("b", "y", "2"), "2c")
    renewed(matcher, by("n", "new"), "n")
    renewed(matcher, by("n", "new", "2"), "n2")
    renewed(matcher, by("c"), "3")
    assert matcher.add(one("e", None, "w"), by("e", "w")) is None
    assert matcher.outcomes() == {"kept": 3, "changed": 1, "new": 1, "not asked": 1}
    assert texts(matcher) == ["1", "2c", "n2", "3", "4", None]


def test_a_refresh_of_a_changed_prompt_adds() -> None:
    """The reply to another prompt is another one's; what its cell asked before is superseded."""
    matcher = Matcher([one("a", "1", "x"), one("b", "2", "y")])
    assert matcher.supersedes(by("a2", "x"), refresh=True)
    renewed(matcher, by("a2", "x"), "1a")
    assert texts(matcher) == ["1a", "(1)", "2"]
    renewed(matcher, by("a", "x", "2"), "new")
    assert texts(matcher) == ["1a", "new", "2"], "what is superseded is refreshed where it stands"


def test_a_refresh_takes_the_place_of_what_was_typed_the_same() -> None:
    """A machine's ask whose value changed replaces the one with the same prompt as typed."""
    matcher = Matcher([one("v=1", "1", "x", typed="v={{ v }}"), one("b", "2", "y")])
    question = by("v=2", typed="v={{ v }}")
    matcher.add(one("v=2", "1b", typed="v={{ v }}"), question, refresh=True)
    assert texts(matcher) == ["1b", "2"]
    assert matcher.interactions[0].owner == "x"


def test_a_refresh_takes_no_place_of_another_cell() -> None:
    """Neither of one that is gone from the page, nor, for the panel, of any that is on it."""
    matcher = Matcher([one("a", "1", "elsewhere")])
    renewed(matcher, by("a", "x", order=("x",)), "2")
    assert texts(matcher) == ["1", "2"]
    matcher = Matcher([one("a", "1", "x")])
    renewed(matcher, by("a", order=("x",)), "2")
    assert sorted(map(str, texts(matcher))) == ["1", "2"]


def test_what_is_pruned_answers_no_more() -> None:
    """Also the cell that it answered; put back, it answers again."""
    matcher = Matcher([one("a", "1", "x"), one("a", "1", "x", superseded=True), one("b", "2")])
    assert replayed(matcher, by("a", "x")) == ["1"]
    matcher.remove({1})
    assert texts(matcher) == ["1", "2"]
    removed = matcher.remove({0})
    assert replayed(matcher, by("a", "x"), by("a", "x", "2"), by("b")) == [None, None, "2"]
    matcher.put_back(removed)
    assert texts(matcher) == ["1", "2"]
    assert replayed(matcher, by("a", "x", "3")) == ["1"]
    matcher.put_back(matcher.remove({0, 1}))
    assert texts(matcher) == ["1", "2"]
    matcher = Matcher([one("a", "1")])
    replayed(matcher, by("a"))
    matcher.remove({0})
    recorded(matcher, by("n"), "new")
    assert texts(matcher) == ["new"]


def test_two_kernels_keep_each_others() -> None:
    """What somebody else saved meanwhile is taken in, and what they pruned is out here too."""
    base = (one("a", "1", "x"), one("b", "2", "y"))
    matcher = Matcher(base)
    recorded(matcher, by("a2", "x"), "1a")
    first = one("f", "first")
    matcher.merge(base, (first, base[0], one("n", "new", "z"), base[1], one("m", "more")))
    assert texts(matcher) == ["1a", "(1)", "2", "first", "new", "more"]
    held = matcher.interactions
    matcher.merge(held, (one("b2", "2b", "y"), *held[:-1]))
    assert texts(matcher) == ["1a", "(1)", "2", "first", "new", "2b"]


def test_what_both_kernels_hold_is_held_once() -> None:
    """As where the file was gone, and came back; of two equal ones both."""
    matcher = Matcher([one("a", "1")])
    matcher.merge([], [one("a", "1"), one("a", "1")])
    assert texts(matcher) == ["1", "1"]
    matcher.merge([one("a", "1"), one("a", "1")], [one("a", "1")])
    assert texts(matcher) == ["1"]


def test_what_is_pruned_here_does_not_come_back_from_another_kernel() -> None:
    """It has not pruned it, and saves its file as ever."""
    base = (one("a", "1"), one("b", "2"))
    matcher = Matcher(base)
    matcher.remove({0})
    matcher.merge(base, (*base, one("c", "3")))
    assert texts(matcher) == ["2", "3"]


def test_two_kernels_tell_each_other_what_is_superseded() -> None:
    """The kernel that has changed a mark since both were the same says what it is."""
    base = (one("a", "1"), one("b", "2", "y"), one("b", "2", "y"))
    theirs = (one("a", "1", "x"), one("b", "2", "y"), one("b", "2", "y", superseded=True))
    matcher = Matcher(base)
    matcher.merge(base, theirs)
    assert matcher.interactions == theirs
    matcher = Matcher(base)
    recorded(matcher, by("c", "y"), "3")
    matcher.merge(base, theirs)
    assert texts(matcher) == ["1", "3", "(2)", "(2)"]


@pytest.mark.parametrize(
    ("now", "then", "is_answer"),
    [(None, "m", True), ("m", "m", True), ("n", "m", False), ("m", None, False)],
)
def test_another_model_is_another_request(
    now: str | None, then: str | None, is_answer: bool
) -> None:
    """Where one is set now; it is no other place, so that a refresh takes it."""
    matcher = Matcher([one("a", "1", asked_model=then)])
    asked = Query(one("a", asked_model=now))
    assert (matcher.replay(asked) is not None) is is_answer
    assert (Matcher(matcher.interactions).recall(asked)[0] is not None) is is_answer
    again = Matcher(matcher.interactions)
    again.add(one("a", "2", asked_model=now), asked, refresh=True)
    assert texts(again) == ["2"]
