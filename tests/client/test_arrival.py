"""When the events of a stream came: as they were made, or all at once."""

from __future__ import annotations

import pytest

from chatmagic.client.arrival import Arrival


@pytest.mark.parametrize(
    ("waited", "took", "events", "at_once"),
    [
        (10.0, 0.0, 21, True),
        (10.0, 0.1, 21, True),
        (10.0, 0.11, 21, False),
        (10.0, 0.0, 20, False),
        (2.01, 0.02, 500, True),
        (2.0, 0.0, 500, False),
        (0.1, 0.0, 500, False),
        (5.0, 40.0, 500, False),
    ],
)
def test_what_comes_at_once_after_a_wait_was_held_back(
    waited: float, took: float, events: int, *, at_once: bool
) -> None:
    """More than 20 events within 1 % of more than two seconds that were waited."""
    now = 0.0
    arrival = Arrival(lambda: now)
    now = waited
    arrival.came(events - 1)
    now = waited + took
    arrival.came(1)
    assert arrival.at_once is at_once
    assert arrival.events == events


def test_pieces_without_an_event_count_for_nothing() -> None:
    """A comment neither ends the wait nor lengthens what came."""
    now = 0.0
    arrival = Arrival(lambda: now)
    now = 1.0
    arrival.came(0)
    now = 5.0
    arrival.came(30)
    now = 50.0
    arrival.came(0)
    assert arrival.at_once


def test_a_stream_without_events_is_held_back_by_nobody() -> None:
    """Nothing came, so nothing came at once."""
    assert not Arrival(lambda: 0.0).at_once


def test_what_the_reader_does_between_two_events_is_no_time_of_theirs() -> None:
    """The first fragment of a kernel takes long to show; those behind it came with it."""
    now = 0.0
    arrival = Arrival(lambda: now)
    now = 3.0
    arrival.came(1)
    now = 3.5
    arrival.wait_again()
    arrival.came(29)
    assert arrival.at_once
    now = 3.6
    arrival.wait_again()
    now = 3.7
    arrival.came(1)
    assert not arrival.at_once
