"""Which recorded exchange answers, and what is recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cassettes import exchange_of

from chatmagic.archive.interaction import Interaction
from chatmagic.cassette.item import Query
from chatmagic.cassette.match import Matcher
from chatmagic.models import Message
from chatmagic.protocol.request import Request


def one(
    prompt: str, text: str | None = None, owner: str | None = None, **known: Any
) -> Interaction:
    """Return an exchange without history; without a text it is an error."""
    error = {"error": "no"} if text is None else None
    model = known.pop("asked_model", None)
    request = Request((Message("user", prompt),), extra={"model": model} if model else {})
    return exchange_of(request, text=text, error=error, owner=owner, **known)


def by(
    prompt: str, owner: str | None = None, execution: str | None = "1", typed: str | None = None
) -> Query:
    """Return the question of a cell's execution."""
    return Query(one(prompt, owner=owner, typed=typed), execution)


def texts(matcher: Matcher) -> list[str | None]:
    """Return the replies that it holds, in their order."""
    return [item.text for item in matcher.interactions]


def replayed(matcher: Matcher, *questions: Query) -> list[str | None]:
    """Return the replies to these questions, in turn."""
    found = [matcher.answer(question) for question in questions]
    return [None if exchange is None else exchange.text for exchange in found]


def recorded(matcher: Matcher, question: Query, text: str | None) -> bool:
    """Ask as a mode ``record`` does; return whether it had to be sent."""
    found = matcher.answer(question, recording=True)
    if found is None:
        matcher.add(one(question.asked.prompt, text, question.asked.owner), question)
    return found is None


def renewed(matcher: Matcher, question: Query, text: str) -> None:
    """Ask as a mode ``refresh`` does."""
    reply = one(question.asked.prompt, text, question.asked.owner, typed=question.asked.typed)
    matcher.add(reply, question, refresh=True)


def pruned(matcher: Matcher) -> list[str | None]:
    """Remove what was not used; return its replies."""
    unused = matcher.unused()
    matcher.items = [item for item in matcher.items if item not in unused]
    return [item.recorded.text for item in unused]


def test_equal_requests_are_answered_in_their_order_and_then_again() -> None:
    """Without a cell, asks follow the file, and begin anew at its end."""
    matcher = Matcher([one("a", "1"), one("b", "2"), one("a", "3"), one("a", "4")])
    expected = ["1", "3", "4", "1", "3", "2", None]
    assert replayed(matcher, *[by("a")] * 5, by("b"), by("c")) == expected


def with_markdown(cell: str, text: str | None = None, **facts: Any) -> Interaction:
    """Return the exchange of the prompt ``a`` with a Markdown cell in front of it."""
    return one(f"{cell} a", text, request=one("a").request, **facts)


def test_other_markdown_cells_answer_a_replay_behind_the_same_ones() -> None:
    """Whether one of the two has none, or both have others; an exact match comes first."""
    plain, first, second = one("a", "1"), with_markdown("m", "2"), with_markdown("n", "3")
    for held, asked, text in (
        ([first], by("a"), "2"),
        ([plain], Query(with_markdown("m")), "1"),
        ([first], Query(with_markdown("edited")), "2"),
        ([plain, first, second], Query(with_markdown("n")), "3"),
        ([first, second, plain], by("a"), "1"),
        # A cell's own comes behind one that is the same.
        ([replace(first, owner="x"), second], Query(with_markdown("n", owner="x")), "3"),
        ([with_markdown("n"), first], Query(with_markdown("n")), "2"),
    ):
        found = Matcher(held).answer(Query(asked.asked))
        assert found is not None
        assert found.text == text
    twice = Matcher([with_markdown("n", "1"), with_markdown("n", "2")])
    assert replayed(twice, *[Query(with_markdown("n"))] * 3) == ["1", "2", "1"]


def test_other_markdown_cells_are_sent_while_recording() -> None:
    """In front of the prompt, and in a turn that the request carries."""
    asked = with_markdown("m", before=("0" * 16,))
    held = Matcher([with_markdown("m", "1", before=("0" * 16,))])
    for other in (with_markdown("n", before=asked.before), replace(asked, before=("1" * 16,))):
        assert held.answer(Query(other), recording=True) is None
    assert held.answer(Query(asked), recording=True) is held.interactions[0]


def test_unknown_turns_are_no_other_markdown_cells() -> None:
    """One name stands for all turns that the file does not tell."""
    held = with_markdown("m", "1", before=("unknown", "c"))
    assert held.has_markdown_of(with_markdown("m", before=("a", "b", "c")))
    assert not held.has_markdown_of(with_markdown("m", before=("a", "b", "d")))
    refused = with_markdown("m")
    assert refused.has_markdown_of(with_markdown("m"))
    assert not refused.has_markdown_of(with_markdown("n"))


def test_a_refresh_replaces_the_exchange_with_the_same_markdown_cells() -> None:
    """Of two at the same place the one that is the same request."""
    matcher = Matcher([with_markdown(cell, cell, typed="a") for cell in "mn"])
    asked = Query(with_markdown("n", typed="a"))
    matcher.add(with_markdown("n", "new", typed="a"), asked, refresh=True)
    assert texts(matcher) == ["m", "new"]


def test_a_cell_gets_its_own_again() -> None:
    """The n-th equal ask of an execution is the cell's n-th, each time that it runs."""
    matcher = Matcher([one("a", "1", "x"), one("a", "2", "y"), one("a", "3", "x")])
    assert replayed(matcher, by("a", "x"), by("a", "x"), by("a", "y")) == ["1", "3", "2"]
    again = by("a", "x", "2"), by("a", "y", "2"), by("a", "x", "2")
    assert replayed(matcher, *again) == ["1", "2", "3"]
    assert replayed(matcher, *[by("a", "x", "3")] * 5) == ["1", "3", "1", "3", "1"]


def test_a_cell_that_is_not_known_keeps_what_it_was_given() -> None:
    """Cells whose identity changed are answered in order, and each its own again."""
    matcher = Matcher([one("a", "1", "old"), one("a", "2")])
    assert replayed(matcher, by("a", "x"), by("a", "y")) == ["1", "2"]
    assert replayed(matcher, by("a", "y", "2"), by("a", "x", "2")) == ["2", "1"]
    assert replayed(matcher, by("a", "y", None), by("a", "y", None)) == ["2", "2"]
    matcher = Matcher([one("a", "1"), one("a", "2")])
    assert replayed(matcher, *[by("a", "x")] * 3) == ["1", "2", "1"]
    assert replayed(matcher, *[by("a", "x", "2")] * 2) == ["1", "2"]


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


def test_by_order_a_cells_own_prompt_comes_before_what_it_asked_earlier() -> None:
    """And a reply before an error in the same place."""
    old, new = one("old", "1", "x"), one("v=1", "2", "x", typed="v={{ v }}")
    assert Matcher([old, new]).by_order(by("v=2", "x", typed="v={{ v }}")) == new
    assert Matcher([one("t", "3", "y"), old]).by_order(by("t", "x")) == old
    assert Matcher([one("b"), one("b", "2")]).by_order(by("b", typed="b")) == one("b", "2")


def test_a_cell_that_is_run_again_unchanged_is_not_asked() -> None:
    """Nor after it was changed and changed back."""
    matcher = Matcher([])
    assert recorded(matcher, by("a", "x"), "1")
    assert not recorded(matcher, by("a", "x", "2"), "no")
    assert recorded(matcher, by("b", "x", "3"), "2")
    assert not recorded(matcher, by("a", "x", "4"), "no")
    assert texts(matcher) == ["1", "2"]


def test_a_loop_of_equal_requests_records_each() -> None:
    """Three asks are three exchanges; run again, none is asked; a longer loop asks the rest."""
    matcher = Matcher([])
    assert [recorded(matcher, by("a", "x"), str(n)) for n in range(3)] == [True] * 3
    assert [recorded(matcher, by("a", "x", "2"), "no") for _ in range(4)] == [False] * 3 + [True]
    assert texts(matcher) == ["0", "1", "2", "no"]


def test_a_changed_cell_adds() -> None:
    """At the end; each prompt still answers its request. The first ask of a run says so."""
    matcher = Matcher([one("a", "1", "x"), one("b", "2", "y")])
    assert matcher.is_changed_cell(by("b2", "y"))
    assert recorded(matcher, by("b2", "y"), "2b")
    assert not matcher.is_changed_cell(by("b3", "y"))
    assert recorded(matcher, by("b3", "y"), "2c")
    assert texts(matcher) == ["1", "2", "2b", "2c"]
    assert not matcher.is_changed_cell(by("q"))
    assert not matcher.is_changed_cell(by("q", "new"))
    again = Matcher(matcher.interactions)
    assert replayed(again, by("b", "y"), by("b2", "w"), by("b3")) == ["2", "2b", "2c"]


@pytest.mark.parametrize("owner", ["x", None])
def test_an_error_is_replayed_until_a_reply_is_recorded(owner: str | None) -> None:
    """In a mode ``record`` it is asked again."""
    matcher = Matcher([one("a", "1", "w"), one("b", None, "x")])
    assert Matcher(matcher.interactions).answer(by("b", owner)) == one("b", None, "x")
    assert recorded(matcher, by("b", owner), "2")
    assert texts(matcher) == ["1", None, "2"]
    assert replayed(Matcher(matcher.interactions), *[by("b", owner)] * 2) == ["2", "2"]


@pytest.mark.parametrize("owner", ["x", None])
@pytest.mark.parametrize("request_", ["a", "a with another value"])
def test_an_error_takes_no_replys_place(owner: str | None, request_: str) -> None:
    """In a refresh, or with other turns above; a reply takes it then."""
    held = [one("a", "1", owner, typed="t")]
    matcher = Matcher(held)
    failed = one(request_, None, owner, typed="t")
    assert not matcher.add(failed, by(request_, owner, typed="t"), refresh=request_ == "a")
    assert list(matcher.interactions) == held
    assert matcher.items[0].outcome == "not asked again"
    renewed(matcher, by("a", owner, "2", typed="t"), "2")
    assert (texts(matcher), matcher.items[0].outcome) == (["2"], "changed")


@pytest.mark.parametrize("owner", ["x", None])
def test_an_error_is_recorded_once(owner: str | None) -> None:
    """Another error is another exchange."""
    matcher = Matcher([])
    assert matcher.add(one("b", None, owner), by("b", owner))
    again = Matcher(matcher.interactions)
    assert not again.add(one("b", None, owner), by("b", owner, "2"))
    other = replace(one("b", None, owner), error={"error": "more"})
    assert again.add(other, by("b", owner, "3"), refresh=True)
    assert [item.error for item in again.interactions] == [{"error": "no"}, {"error": "more"}]


def test_replies_of_the_emulator_do_not_mix_with_a_services() -> None:
    """They are recorded into what is empty, or all the emulator's."""
    ours = one("a", "1", origin="emulator")
    assert Matcher([]).add(ours, by("a"))
    assert Matcher([ours]).add(one("b", "2", origin="emulator"), by("b"))
    for prompt in "za":
        assert not Matcher([one(prompt, "9")]).add(ours, by("a"), refresh=prompt == "a")
    matcher = Matcher([one("z", "9")])
    assert matcher.take([ours, one("b", "2"), one("b", "2")]) == [ours]
    assert texts(matcher) == ["9", "2", "2"]


VALUE = "v={{ v }}"


@pytest.mark.parametrize(
    ("held", "questions", "replies"),
    [
        # An exchange of no cell is replaced in its place, once.
        ([one("a", "1")], [by("a", "x"), by("a", "x")], ["r1", "r2"]),
        # Of two, a cell keeps to the first.
        ([one("a", "1"), one("a", "2")], [by("a", "y"), by("a", "y", "2")], ["r2", "2"]),
        # The reply to another prompt has another place, and a cell that is gone keeps its own.
        ([one("a", "1", "x")], [by("a2", "x"), by("a", "x", "2")], ["r2", "r1"]),
        ([one("a", "1", "elsewhere")], [by("a", "x")], ["1", "r1"]),
        # A headless ask whose value changed replaces the one with the same prompt as typed,
        ([one("v=1", "1", "x", typed=VALUE)], [by("v=2", typed=VALUE)], ["r1"]),
        # but none of a cell that has asked: no page tells the order.
        ([one("a", "1", "x"), one("b", "2", "x")], [by("b", "x"), by("a")], ["1", "r1", "r2"]),
    ],
)
def test_a_refresh_replaces_what_stands_in_the_same_place(
    held: list[Interaction], questions: list[Query], replies: list[str]
) -> None:
    """And adds any other reply at the end."""
    matcher = Matcher(held)
    for number, question in enumerate(questions, 1):
        renewed(matcher, question, f"r{number}")
    assert texts(matcher) == replies
    assert matcher.interactions[0].owner in {held[0].owner, questions[0].owner}


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
    assert (matcher.answer(asked) is not None) is is_answer
    again = Matcher(matcher.interactions)
    assert (again.answer(asked, recording=True) is not None) is is_answer
    again = Matcher(matcher.interactions)
    again.add(one("a", "2", asked_model=now), asked, refresh=True)
    assert texts(again) == ["2"]


def test_what_the_cells_did_not_ask_last_is_unused() -> None:
    """A changed cell's earlier prompt is; what answers without a cell is used."""
    matcher = Matcher([one("a", "1", "x"), one("b", "2", "y"), one("c", "3"), one("d", "4")])
    assert len(matcher.unused()) == 4
    replayed(matcher, by("a", "x"), by("b", "y"), by("c"))
    recorded(matcher, by("b2", "y", "2"), "2b")
    assert pruned(matcher) == ["2", "4"]
    assert texts(matcher) == ["1", "3", "2b"]


def test_what_is_removed_answers_no_more() -> None:
    """Also the cell that it answered."""
    matcher = Matcher([one("a", "1", "x"), one("b", "2")])
    assert replayed(matcher, by("a", "x"), by("z", "x", "2"), by("b")) == ["1", None, "2"]
    assert pruned(matcher) == [], "the cell got nothing in its place"
    replayed(matcher, by("b", "x", "3"))
    assert pruned(matcher) == ["1"]
    assert replayed(matcher, by("a", "x", "4"), by("b")) == [None, "2"]
