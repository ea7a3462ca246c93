"""Which recorded exchange answers, and where a new one belongs."""

from __future__ import annotations

from typing import Any

import pytest

from chatmagic.cassette.interaction import Recorded
from chatmagic.cassette.matching import Matcher, Query
from chatmagic.models import Message
from chatmagic.protocol.wire import Request


def one(prompt: str, text: str | None = None, owner: str | None = None, **known: Any) -> Recorded:
    """Give an exchange without history; without a text it is an error."""
    error = {"error": "no"} if text is None else None
    model = known.pop("asked_model", None)
    request = Request((Message("user", prompt),), extra={"model": model} if model else {})
    return Recorded.asked(request, text=text, error=error, owner=owner, **known)


def by(
    prompt: str,
    owner: str | None = None,
    execution: str | None = "1",
    order: tuple[str, ...] | None = None,
    typed: str | None = None,
) -> Query:
    """Ask something in a cell's execution."""
    return Query(one(prompt, owner=owner, typed=typed), execution, order)


def texts(reel: Matcher) -> list[str | None]:
    """Give the replies that it holds; of those that are superseded, in brackets."""
    return [f"({x.text})" if x.superseded else x.text for x in reel.exchanges]


def replayed(reel: Matcher, *questions: Query) -> list[str | None]:
    """Give the replies of these questions, in turn."""
    found = [reel.replay(question) for question in questions]
    return [None if exchange is None else exchange.text for exchange in found]


def recorded(reel: Matcher, question: Query, text: str | None) -> bool:
    """Ask as who records does; tell whether it had to be asked."""
    found, _ = reel.recall(question)
    if found is None:
        reel.put(one(question.asked.prompt, text, question.asked.owner), question)
    return found is None


def test_equal_requests_are_answered_in_their_order_and_then_again() -> None:
    """Nobody's asks follow the file, and begin anew at its end."""
    reel = Matcher([one("a", "1"), one("b", "2"), one("a", "3"), one("a", "4")])
    assert replayed(reel, *[by("a")] * 5, by("b"), by("c")) == ["1", "3", "4", "1", "3", "2", None]


def test_a_cell_gets_its_own_again() -> None:
    """The n-th equal ask of an execution is the cell's n-th, each time that it runs."""
    reel = Matcher([one("a", "1", "x"), one("a", "2", "y"), one("a", "3", "x")])
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
    reel = Matcher([one("a", "1", "old"), one("a", "2")])
    assert replayed(reel, by("a", "x"), by("a", "y")) == ["1", "2"]
    assert replayed(reel, by("a", "y", "2"), by("a", "x", "2")) == ["2", "1"]
    reel = Matcher([one("a", "1"), one("a", "2")])
    assert replayed(reel, *[by("a", "x")] * 3) == ["1", "2", "1"]
    assert replayed(reel, *[by("a", "x", "2")] * 2, by("a", "y")) == ["1", "2", "1"]


def test_by_order_a_request_that_differs_is_answered_by_its_place() -> None:
    """The cell's own first, then the same prompt as typed, then what comes next."""
    reel = Matcher([one("a", "1"), one("b", "2", "x"), one("v=1", "3", typed="v={{ v }}")])
    assert reel.by_order(by("other", "x")) == one("b", "2", "x")
    assert reel.by_order(by("new")) == one("v=1", "3", typed="v={{ v }}")
    assert reel.by_order(by("more")) == one("a", "1")
    found = reel.by_order(by("v=2", typed="v={{ v }}"))
    assert found is not None
    assert found.text == "3"
    assert Matcher([]).by_order(by("a")) is None


def test_a_cell_that_is_run_again_unchanged_is_not_asked() -> None:
    """What is recorded is answered from the reel."""
    reel = Matcher([])
    assert recorded(reel, by("a", "x"), "1")
    assert not recorded(reel, by("a", "x", "2"), "2")
    assert texts(reel) == ["1"]


def test_a_loop_of_equal_requests_records_each() -> None:
    """Three asks are three exchanges; run again, none is asked; a longer loop asks the rest."""
    reel = Matcher([])
    assert [recorded(reel, by("a", "x"), str(n)) for n in range(3)] == [True] * 3
    assert [recorded(reel, by("a", "x", "2"), "no") for _ in range(4)] == [False] * 3 + [True]
    assert texts(reel) == ["0", "1", "2", "no"]


@pytest.mark.parametrize("owner", ["x", None])
def test_without_an_owner_a_loop_is_recorded_too(owner: str | None) -> None:
    """And answered by the next kernel, in the same order."""
    reel = Matcher([])
    assert [recorded(reel, by("a", owner), str(n)) for n in range(3)] == [True] * 3
    again = Matcher(reel.exchanges)
    assert [recorded(again, by("a", owner), "no") for _ in range(3)] == [False] * 3


def test_a_changed_cell_adds_and_supersedes() -> None:
    """Three times changed, it holds all of them, the last one in front and alone in force."""
    reel = Matcher([])
    for owner, prompt in (("x", "a"), ("y", "b"), ("z", "c")):
        recorded(reel, by(prompt, owner), prompt)
    for execution, prompt in enumerate(("b2", "b3"), 2):
        assert reel.leaves_behind(by(prompt, "y", str(execution)), renewing=False)
        assert recorded(reel, by(prompt, "y", str(execution)), prompt)
    assert texts(reel) == ["a", "b3", "(b2)", "(b)", "c"]
    assert [one.text for one in reel.standing] == ["a", "b3", "c"]
    again = Matcher(reel.exchanges)
    assert replayed(again, by("b", "y"), by("b2", "w"), by("b3")) == ["b", "b2", "b3"]
    assert not reel.leaves_behind(by("q"), renewing=False)
    assert not reel.leaves_behind(by("b3", "y", "3"), renewing=False)


def test_what_is_superseded_is_found_by_its_request_alone() -> None:
    """Neither by its place nor before another one that answers the same."""
    old = one("a", "old", "x", superseded=True)
    reel = Matcher([old, one("a", "new", "y"), one("b", "b", "x")])
    assert reel.by_order(by("c", "x")) == one("b", "b", "x")
    assert reel.by_order(by("a", "w", typed="other")) == one("a", "new", "y")
    assert Matcher([old]).by_order(by("c", "x")) is None
    assert replayed(Matcher(reel.exchanges), by("a"), by("a")) == ["new", "old"]
    assert replayed(Matcher([old]), by("a")) == ["old"]
    failed = one("a", None, superseded=True)
    assert replayed(Matcher([failed, one("a", "new")]), *[by("a")] * 2) == ["new", "new"]
    assert replayed(Matcher([failed]), by("a")) == [None]


def test_a_cell_that_is_changed_back_is_in_force_again() -> None:
    """It is not asked, and what it was in between is superseded."""
    reel = Matcher([])
    assert recorded(reel, by("a", "x", "1"), "a")
    assert recorded(reel, by("b", "x", "2"), "b")
    assert reel.recall(by("a", "x", "3")) == (one("a", "a", "x"), True)
    assert texts(reel) == ["(b)", "a"]
    again = Matcher(reel.exchanges)
    assert again.recall(by("b", "y")) == (one("b", "b", "x", superseded=True), False)


def test_of_a_changed_loop_the_rest_comes_back() -> None:
    """What was superseded when the first ask was another one still answers, and is in force."""
    reel = Matcher([one("a", "1", "x"), one("b", "2", "x"), one("c", "3", "x"), one("z", "4")])
    assert recorded(reel, by("a2", "x"), "1a")
    assert texts(reel) == ["1a", "(1)", "(2)", "(3)", "4"]
    assert reel.recall(by("c", "x")) == (one("c", "3", "x"), True)
    assert texts(reel) == ["1a", "(1)", "(2)", "3", "4"]
    assert recorded(reel, by("d", "x"), "new")
    assert texts(reel) == ["1a", "(1)", "(2)", "3", "new", "4"]
    assert not recorded(reel, by("b", "x", "2"), "no")


def test_a_new_cell_stands_where_the_page_has_it() -> None:
    """Else behind what answered last."""
    reel = Matcher([one("a", "1", "x"), one("c", "3", "z")])
    recorded(reel, by("b", "y", order=("x", "y", "z")), "2")
    recorded(reel, by("d", "w", order=("x", "y", "z", "w")), "4")
    assert texts(reel) == ["1", "2", "3", "4"]
    assert not recorded(reel, by("a", "x"), "")
    recorded(reel, by("n", "new"), "new")
    assert texts(reel) == ["1", "new", "2", "3", "4"]


def test_what_is_nobodys_becomes_the_cells_that_asks_it() -> None:
    """So what a machine recorded is tidied when a person changes a cell; others keep theirs."""
    reel = Matcher([one("a", "1"), one("b", "2", "gone"), one("c", "3", "other")])
    for prompt, owner in (("a", "x"), ("b", "y"), ("c", "z")):
        assert not recorded(reel, by(prompt, owner, order=("x", "y", "z", "other")), "")
    assert [exchange.owner for exchange in reel.exchanges] == ["x", "gone", "other"]
    assert recorded(reel, by("a2", "x", "2"), "1a")
    assert texts(reel) == ["1a", "(1)", "2", "3"]


@pytest.mark.parametrize("owner", ["x", None])
def test_an_error_is_asked_again_and_superseded(owner: str | None) -> None:
    """It is replayed, but nobody who records is kept from asking again."""
    reel = Matcher([one("a", "1", "w"), one("b", None, "x"), one("c", "3", "y")])
    assert replayed(Matcher(reel.exchanges), by("b", owner)) == [None]
    assert recorded(reel, by("b", owner), "2")
    assert texts(reel) == ["1", "2", "(None)", "3"]
    assert reel.exchanges[1].owner == "x"


@pytest.mark.parametrize("owner", ["x", None])
def test_an_error_takes_no_replys_place(owner: str | None) -> None:
    """In a refresh, or with another talk above; where nothing stands it is recorded, once."""
    held = [one("a", "1", owner, typed="t")]
    for request in ("a", "a with another value"):
        asked = by(request, owner, typed="t")
        failed = one(request, None, owner, typed="t")
        for reel in (Matcher(held), Matcher(held)):
            keep = reel.put if reel is not None and request != "a" else reel.renew
            assert keep(failed, asked) is None
            assert list(reel.exchanges) == held
            assert reel.fates() == {"failed": 1}
            assert reel.renew(one("a", "2", owner, typed="t"), by("a", owner, "2", typed="t"))
            assert [x.text for x in reel.exchanges] == ["2"]
            assert reel.fates() == {"changed": 1}
    reel = Matcher(held)
    assert reel.put(one("b", None, owner), by("b", owner, "1")) is not None
    assert Matcher(reel.exchanges).put(one("b", None, owner), by("b", owner, "2")) is None
    assert texts(reel) == (["1", None])
    other = Recorded.asked(Request((Message("user", "b"),)), error={"error": "more"}, owner=owner)
    again = Matcher(reel.exchanges)
    assert again.renew(other, by("b", owner, "3")) is not None
    assert sorted(map(str, texts(again))) == ["(None)", "1", "None"]


def test_replies_of_the_emulator_do_not_mix_with_a_services() -> None:
    """They are recorded into what is empty, or all the emulator's."""
    ours = one("a", "1", origin="emulator")
    assert Matcher([]).put(ours, by("a")) == ours
    assert Matcher([ours]).put(one("b", "2", origin="emulator"), by("b")) is not None
    for keep in (Matcher([one("z", "9")]).put, Matcher([one("a", "9")]).renew):
        assert keep(ours, by("a")) is None
    reel = Matcher([one("z", "9")])
    assert reel.take([ours, one("b", "2"), one("b", "2")]) == [ours]
    assert reel.take([one("b", "2")]) == []
    assert texts(reel) == ["9", "2", "2"]
    assert reel.beyond((one("z", "9"), one("b", "2"))) == (one("b", "2"),)


def renewed(reel: Matcher, question: Query, text: str) -> None:
    """Ask again."""
    reel.renew(one(question.asked.prompt, text, question.asked.owner), question)


def test_a_refresh_counts_what_became_of_each() -> None:
    """Kept word for word, changed, new, not asked; in the places that they had."""
    before = [one("a", "1", "x"), one("b", "2", "y"), one("c", "3"), one("d", "4", "z")]
    reel = Matcher([*before, one("e", None, "w")])
    renewed(reel, by("a", "x"), "1")
    assert not reel.leaves_behind(by("b", "y"), renewing=True)
    renewed(reel, by("b", "y"), "2b")
    renewed(reel, by("b", "y", "2"), "2c")
    renewed(reel, by("n", "new"), "n")
    renewed(reel, by("c"), "3")
    assert reel.put(one("e", None, "w"), by("e", "w")) is None
    assert reel.fates() == {"kept": 3, "changed": 1, "new": 1, "not asked": 1}
    assert texts(reel) == ["1", "2c", "n", "3", "4", None]


def test_a_refresh_of_a_changed_prompt_adds() -> None:
    """The reply to another prompt is another one's; what its cell asked before is superseded."""
    reel = Matcher([one("a", "1", "x"), one("b", "2", "y")])
    assert reel.leaves_behind(by("a2", "x"), renewing=True)
    renewed(reel, by("a2", "x"), "1a")
    assert texts(reel) == ["1a", "(1)", "2"]
    renewed(reel, by("a", "x", "2"), "new")
    assert texts(reel) == ["1a", "new", "2"], "what is superseded is refreshed where it stands"


def test_a_refresh_takes_the_place_of_what_was_typed_the_same() -> None:
    """A machine's ask whose value changed replaces the one with the same prompt as typed."""
    reel = Matcher([one("v=1", "1", "x", typed="v={{ v }}"), one("b", "2", "y")])
    question = by("v=2", typed="v={{ v }}")
    reel.renew(one("v=2", "1b", typed="v={{ v }}"), question)
    assert texts(reel) == ["1b", "2"]
    assert reel.exchanges[0].owner == "x"


def test_a_refresh_takes_no_place_of_another_cell() -> None:
    """Neither of one that is gone from the page, nor, for the panel, of any that is on it."""
    reel = Matcher([one("a", "1", "elsewhere")])
    renewed(reel, by("a", "x", order=("x",)), "2")
    assert texts(reel) == ["1", "2"]
    reel = Matcher([one("a", "1", "x")])
    renewed(reel, by("a", order=("x",)), "2")
    assert sorted(map(str, texts(reel))) == ["1", "2"]


def test_what_is_pruned_answers_no_more() -> None:
    """Also the cell that it answered; of two equal ones only as many as are meant."""
    reel = Matcher([one("a", "1", "x"), one("a", "1", "x", superseded=True), one("b", "2")])
    assert replayed(reel, by("a", "x")) == ["1"]
    assert reel.remove([one("a", "1", "x", superseded=True), one("gone", "9")]) == 1
    assert texts(reel) == ["1", "2"]
    assert reel.remove([one("a", "1", "x")]) == 1
    assert replayed(reel, by("a", "x"), by("a", "x", "2"), by("b")) == [None, None, "2"]
    reel = Matcher([one("a", "1")])
    replayed(reel, by("a"))
    reel.remove(reel.exchanges)
    recorded(reel, by("n"), "new")
    assert texts(reel) == ["new"]


def test_two_kernels_keep_each_others() -> None:
    """What somebody else saved meanwhile is taken in, and what they pruned is out here too."""
    base = (one("a", "1", "x"), one("b", "2", "y"))
    reel = Matcher(base)
    recorded(reel, by("a2", "x"), "1a")
    first = one("f", "first")
    reel.join(base, (first, base[0], one("n", "new", "z"), base[1], one("m", "more")))
    assert texts(reel) == ["first", "1a", "(1)", "new", "2", "more"]
    held = reel.exchanges
    reel.join(held, (one("b2", "2b", "y"), *held[:-1]))
    assert texts(reel) == ["2b", "first", "1a", "(1)", "new", "2"]


def test_what_is_pruned_here_does_not_come_back_from_another_kernel() -> None:
    """It has not pruned it, and saves its file as ever."""
    base = (one("a", "1"), one("b", "2"))
    reel = Matcher(base)
    reel.remove(base[:1])
    reel.join(base, (*base, one("c", "3")))
    assert texts(reel) == ["2", "3"]


def test_two_kernels_tell_each_other_what_is_superseded() -> None:
    """Whoever has changed a mark since both were the same says what it is."""
    base = (one("a", "1"), one("b", "2", "y"), one("b", "2", "y"))
    theirs = (one("a", "1", "x"), one("b", "2", "y"), one("b", "2", "y", superseded=True))
    reel = Matcher(base)
    reel.join(base, theirs)
    assert reel.exchanges == theirs
    reel = Matcher(base)
    recorded(reel, by("c", "y"), "3")
    reel.join(base, theirs)
    assert texts(reel) == ["1", "3", "(2)", "(2)"]


@pytest.mark.parametrize(
    ("now", "then", "is_answer"),
    [(None, "m", True), ("m", "m", True), ("n", "m", False), ("m", None, False)],
)
def test_another_model_is_another_request(
    now: str | None, then: str | None, is_answer: bool
) -> None:
    """Where one is set now; it is no other place, so that a refresh takes it."""
    reel = Matcher([one("a", "1", asked_model=then)])
    asked = Query(one("a", asked_model=now))
    assert (reel.replay(asked) is not None) is is_answer
    assert (Matcher(reel.exchanges).recall(asked)[0] is not None) is is_answer
    again = Matcher(reel.exchanges)
    again.renew(one("a", "2", asked_model=now), asked)
    assert texts(again) == ["2"]
