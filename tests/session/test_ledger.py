"""The ledger: what requests took, one after the other and several at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given as examples
from hypothesis import strategies as st

from chatmagic.models import Credits
from chatmagic.session.ledger import KEPT, Figures, Ledger, LedgerRow, Meter

if TYPE_CHECKING:
    import pytest

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
RESET = datetime(2026, 1, 2, tzinfo=UTC)


def seen(remaining: int | None, resets_at: datetime = RESET) -> Figures:
    """Return an answer's figures."""
    return Figures(Credits(1_000, remaining, None, resets_at, NOW), NOW)


def row(number: int, **facts: object) -> LedgerRow:
    """Return a row of the ledger."""
    known = {"time": NOW, "service": "https://a.example", "entry": "cell", "cell": None}
    return LedgerRow(**{**known, "number": number, "request": "0" * 64, **facts})  # type: ignore[arg-type]


def run(
    meter: Meter, *figures: Figures | None, dearest: int | None = None
) -> list[tuple[int | None, str, int]]:
    """End a request for each figure, one after the other; return what each took."""
    costs: list[tuple[int | None, str, int]] = []
    for figure in figures:
        meter.begin(alone=True)
        cost = meter.end(figure, dearest)
        costs.append((cost.took, cost.sure, cost.charge + cost.late))
    return costs


def test_a_request_took_what_the_figures_fell() -> None:
    """The first has nothing to compare with, and is charged when a cost is known."""
    assert run(Meter(), seen(97), seen(94), seen(90)) == [
        (None, "unknown", 1),
        (3, "alone", 3 + 2),
        (4, "alone", 4),
    ]


def test_a_reset_or_a_rise_begins_anew() -> None:
    """What was taken across it is not known; the estimate is charged."""
    later = datetime(2026, 1, 3, tzinfo=UTC)
    costs = run(Meter(), seen(97), seen(999, later), seen(996, later), dearest=3)
    assert costs == [(None, "unknown", 3), (None, "unknown", 3), (3, "alone", 3)]
    assert run(Meter(), seen(97), seen(500), dearest=2)[1] == (None, "unknown", 2)


def test_an_answer_without_figures_is_charged_once() -> None:
    """The next answer's fall holds it, too, and is nobody's alone."""
    costs = run(Meter(), seen(97), None, seen(91), dearest=3)
    assert costs[1:] == [(None, "unknown", 3), (6, "several", 3)]
    assert run(Meter(), None, seen(None)) == [(None, "unknown", 1)] * 2


def test_each_account_has_figures_of_its_own() -> None:
    """Those of another one are not compared; what a request takes is known of both."""
    meter, later = Meter(), replace(seen(40), came_at=NOW + timedelta(1))
    assert meter.credits is None
    for account, figures, cost in [
        ("a", seen(97), (None, "unknown", 1)),
        ("b", seen(43), (None, "unknown", 1)),
        ("a", seen(94), (3, "alone", 3 + 2 * 2)),
        ("b", later, (3, "alone", 3)),
    ]:
        meter.begin(alone=True)
        told = meter.end(figures, None, account)
        assert (told.took, told.sure, told.charge + told.late) == cost
    assert meter.credits == later.credits


def test_the_latest_figures_are_the_lowest_until_the_reset() -> None:
    """An answer that others have overtaken adds no credits."""
    meter, reset = Meter(), seen(50, RESET + timedelta(1))
    for alone, figures in [(True, seen(9)), (True, seen(3)), (False, seen(6)), (False, reset)]:
        meter.begin(alone=alone)
        meter.end(figures, 3)
        assert meter.latest[None] == (seen(3) if figures == seen(6) else figures)


def test_blind_is_who_is_told_no_cost() -> None:
    """After one answer without figures, or three that tell no cost."""
    meter = Meter()
    assert not meter.is_blind(None)
    meter.answers = 1
    assert meter.is_blind(None)
    meter.latest[None] = seen(97)
    assert not meter.is_blind(None)
    meter.answers = 3
    assert meter.is_blind(None)
    assert not meter.is_blind(3)


@examples(
    cost=st.integers(1, 9),
    workers=st.integers(2, 32),
    seed=st.integers(0, 10_000),
    requests=st.integers(2, 120),
)
def test_several_at_once_are_summed_and_never_too_cheap(
    cost: int, workers: int, seed: int, requests: int
) -> None:
    """In whatever order answers come: the sum is the account's, each at least the cost."""
    luck = Random(seed)  # noqa: S311 - a seeded run
    meter, left = Meter(), 10**6
    run(meter, seen(left))
    first = meter.unpriced
    under_way: list[int] = []
    took = charged = 0
    while requests or under_way:
        if requests and len(under_way) < workers and luck.random() < 0.6:
            requests -= 1
            left -= cost
            meter.begin(alone=not under_way)
            under_way.append(left)
        elif under_way:
            answer = meter.end(seen(under_way.pop(luck.randrange(len(under_way)))), cost)
            took, charged = took + (answer.took or 0), charged + answer.charge + answer.late
            assert (answer.each or 0) >= cost or answer.sure == "alone"
    assert took == 10**6 - left
    assert charged >= took
    assert first == 1


def test_a_list_of_models_is_no_question() -> None:
    """What it took is in its row, and moves no estimate."""
    ledger = Ledger()
    ledger.add(row(1, each=3, took=3, sure="alone"))
    ledger.add(row(2, each=0, took=0, sure="alone", entry="models"))
    assert ledger.estimate("https://a.example").costs == (3,)
    assert len(ledger) == 2


def test_an_estimate_is_of_one_service() -> None:
    """By its last ten rows whose cost is known."""
    ledger = Ledger()
    for number in range(20):
        ledger.add(row(number, each=number))
    ledger.add(row(20))
    ledger.add(row(21, each=99, service="emulator"))
    assert ledger.estimate("https://a.example").costs == tuple(range(10, 20))
    assert ledger.estimate("https://b.example").costs == ()
    assert [each.number for each in ledger.of("emulator")] == [21]


def test_the_latest_rows_are_kept() -> None:
    """A table of a million prompts does not fill the memory."""
    assert Ledger().rows.maxlen == KEPT


def test_the_means_of_several_at_once_become_nearer() -> None:
    """An earlier one counts no more than the latest."""
    ledger = Ledger()
    for number, each in enumerate([9, 4, 3]):
        ledger.add(row(number, each=each, sure="several"))
    ledger.add(row(3, each=2, sure="alone"))
    assert ledger.estimate("https://a.example").costs == (3, 3, 3, 2)


def test_the_rows_as_a_dataframe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column for each fact."""
    given: list[object] = []
    monkeypatch.setattr("chatmagic.session.ledger.dataframe", lambda *args: given.append(args))
    ledger = Ledger()
    ledger.add(row(1, took=3))
    ledger.to_dataframe()
    assert given == [(LedgerRow, ledger)]
    assert ([each.took for each in ledger], len(ledger)) == ([3], 1)
    assert repr(ledger) == "<Ledger of 1 request>"
