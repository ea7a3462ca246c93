"""The pace of a map: by whose word, and how long, its requests wait."""

from __future__ import annotations

import math

import pytest
from cases import each_case

from chatmagic.errors import (
    AuthenticationError,
    BudgetError,
    ChatError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    InputError,
    NotConnectedError,
    NotRecordedError,
    NotUnderstoodError,
    RateLimitError,
    ReplyFormatError,
    RequestRejectedError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.models import Reply
from chatmagic.session.map.pace import (
    Pace,
    ends_all,
    is_of_its_row,
    is_of_the_service,
    is_refusal,
    may_be_paid,
)


def pauses(pace: Pace, wait: float | None, times: int) -> list[float | None]:
    """Give the lengths of the pauses of refusals in succession; ``None`` where the map ends."""
    now, found = 100.0, list[float | None]()
    for _ in range(times):
        begun = pace.begin()
        pace.under_way -= 1
        if not pace.refused(begun, wait, now):
            return [*found, None]
        found.append(round(pace.wait(now), 6))
        now += pace.wait(now)
    return found


def test_without_a_time_the_pauses_double_for_a_minute() -> None:
    """The last one is cut to the end of it; a map that waits goes on, a minute at a time."""
    assert pauses(Pace(4), None, 9) == [1, 2, 4, 8, 16, 29, None]
    assert pauses(Pace(4), -3, 9) == [1, 2, 4, 8, 16, 29, None]
    assert pauses(Pace(4, waits=True), None, 8) == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_time_that_is_named_counts() -> None:
    """If it does not help, the pauses double, too."""
    assert pauses(Pace(4), 0.12, 4) == [0.12, 1, 2, 4]
    assert pauses(Pace(4), 20, 9) == [20, 20, 20, None]
    assert pauses(Pace(4), 61, 1) == [None]
    assert pauses(Pace(4, waits=True), 3_600, 3) == [3_600] * 3


def test_milliseconds_are_tried_first_where_a_time_has_no_unit() -> None:
    """If they do not help, the time was one of seconds, for all that are sent after the pause."""
    for waits in (False, True):
        pace = Pace(4, waits=waits)
        begun = [pace.begin() for _ in range(2)]
        assert pace.refused(begun[0], 19_100, 0.0, 19.1)
        assert pace.refused(begun[1], 19_100, 0.5, 19.1)
        assert pace.paused_until == 19.6
        again = pace.begin()
        assert pace.refused(again, 19_080, 20.0, 19.08) is waits
        assert not waits or pace.paused_until == 19_100
    pace.answered()
    assert pace.refused(pace.begin(), 19_100, 30_000.0, 19.1)
    assert pace.paused_until == 30_019.1


def test_an_answer_begins_the_count_anew() -> None:
    """However many waves of refusals come in all."""
    pace = Pace(1)
    for _ in range(100):
        assert pauses(pace, None, 2) == [1, 2]
        pace.answered()


def test_refusals_of_requests_that_were_sent_together_are_one() -> None:
    """Only a later time makes the pause longer."""
    pace = Pace(4)
    begun = [pace.begin() for _ in range(3)]
    assert pace.refused(begun[0], None, 0.0)
    assert pace.refused(begun[1], None, 0.5)
    assert pace.paused_until == 1.0
    assert pace.refused(begun[2], 5.0, 0.5)
    assert pace.paused_until == 5.5


def test_requests_under_way_are_halved_and_added_one_by_one() -> None:
    """Without a time a single one tries first."""
    pace = Pace(8)

    def may_begin(now: float) -> int:
        pace.under_way = 0
        while pace.wait(now) == 0:
            pace.begin()
        assert pace.wait(now) == math.inf
        return pace.under_way

    assert may_begin(0.0) == 8
    assert pace.refused(pace.begin(), 1.0, 0.0)
    assert may_begin(1.0) == 4
    pace.answered()
    assert may_begin(1.0) == 5
    assert pace.refused(pace.begin(), None, 1.0)
    assert may_begin(10.0) == 1
    for _ in range(20):
        pace.answered()
    assert may_begin(10.0) == 8


CUT = Reply("half")


@each_case(
    ("problem", "meaning"),
    [
        (None, ""),
        (RateLimitError("x", status=429), "refusal service end"),
        (RateLimitError("x", status=402), "service end"),
        (ServiceError("x", status=503), "refusal paid service"),
        (ServiceError("x", status=529), "refusal paid service"),
        (ServiceError("x", status=500), "paid service"),
        (ServiceError("x", status=504), "paid service"),
        (ServiceError("x", status=407), "service"),
        (ServiceError("x", status=408), "paid service"),
        (ServiceError("x", status=409), "paid service"),
        (ServiceError("x", status=424), "paid service"),
        (ServiceError("x", status=425), "refusal service"),
        (ServiceError("x", status=200), ""),
        (ServiceError("x"), "paid service"),
        (ConnectError("x"), "refusal service"),
        (NotConnectedError("x"), "service end"),
        (RequestTimeoutError("x", which="connect"), "refusal paid service"),
        (RequestTimeoutError("x", which="silence"), "paid service"),
        (RequestTimeoutError("x", which="connect", reply=CUT), "paid service"),
        (CutOffError("x"), "paid service"),
        (CutOffError("x", reply=CUT), "paid"),
        (NotUnderstoodError("x", status=404), "service"),
        (AuthenticationError("x", status=401), "service end"),
        (AuthenticationError("x", status=403), "service"),
        (AuthenticationError("x"), "service end"),
        (BudgetError("x"), "end"),
        (NotRecordedError("x"), "end"),
        (RequestRejectedError("x", status=400), ""),
        (ReplyFormatError("x", reply=CUT), ""),
        (InputError("x"), ""),
        (ChatInterrupted("x"), ""),
    ],
)
def test_the_meaning_of_an_error(problem: ChatError | ChatInterrupted | None, meaning: str) -> None:
    """Whether nothing was done, or it may have been paid; whether others would have it, too."""
    assert meaning_of(problem) == meaning


def meaning_of(problem: ChatError | ChatInterrupted | None) -> str:
    """Return a word for all that holds of a row's error."""
    found = {
        "refusal": is_refusal(problem),
        "paid": may_be_paid(problem),
        "service": is_of_the_service(problem),
        "end": ends_all(problem),
    }
    return " ".join(name for name, holds in found.items() if holds)


@pytest.mark.parametrize(
    ("problem", "body_status", "meaning"),
    [
        (ServiceError("x", status=200), 503, "refusal paid service"),
        (ServiceError("x", status=200), 529, "refusal paid service"),
        (ServiceError("x", status=200), 500, "paid service"),
        (ServiceError("x", status=502), 503, "paid service"),
        (RateLimitError("x", status=200), 429, "refusal service end"),
        (RateLimitError("x", status=200), 402, "service end"),
    ],
)
def test_an_error_in_a_reply_has_a_status_of_its_own(
    problem: ChatError, body_status: int, meaning: str
) -> None:
    """A service that answers 200, and then says that it is overloaded, has done nothing."""
    problem.body_status = body_status
    assert meaning_of(problem) == meaning


@pytest.mark.parametrize(
    ("problem", "is_json", "is_of_row"),
    [
        (NotUnderstoodError("x", status=200), True, True),
        (NotUnderstoodError("x", status=200), False, False),
        (NotUnderstoodError("x", status=404), True, False),
        (NotUnderstoodError("x"), True, False),
        (ServiceError("x", status=200), True, False),
    ],
)
def test_json_without_a_reply_may_be_about_its_row(
    problem: ChatError, is_json: bool, is_of_row: bool
) -> None:
    """A page of a proxy in front of the service is not."""
    problem.holds_json = is_json
    assert is_of_its_row(problem) is is_of_row
