"""Numbers, times and texts in a stranger's JSON."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic import _json

NOW = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        (0, 0),
        (5.0, 5),
        ("5", 5),
        (" 05 ", 5),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        (-1, None),
        (-1.0, None),
        ("-1", None),
        (5.5, None),
        ("5.0", None),
        (True, None),
        ("", None),
        (float("nan"), None),
        (float("inf"), None),
        ("²", None),
        ("\u0665", None),
        (None, None),
        ([5], None),
    ],
)
def test_whole_numbers(value: object, number: int | None) -> None:
    """A count is a whole number that is not negative, also as text."""
    assert _json.whole_number(value) == number


@pytest.mark.parametrize(
    ("value", "when"),
    [
        ("2026-01-01T09:30:00Z", NOW),
        ("2026-01-01T09:30:00.000Z", NOW),
        (" 2026-01-01T09:30:00 ", NOW),
        ("2026-01-01 10:30+01:00", NOW),
        ("0001-01-01T00:00:00+01:00", None),
        ("2026-01-01", None),
        ("20260101T093000Z", NOW),
        ("2026-01-01t09:30:00z", NOW),
        ("20260101", None),
        ("2026-02-30T00:00:00Z", None),
        ("2026-01-01T09:30:00 UTC", None),
        ("2026-01-01T09:30\ud800", None),
        ("next week", None),
        (1767259800, None),
        (None, None),
    ],
)
def test_timestamps(value: object, when: datetime | None) -> None:
    """ISO 8601 in UTC, or in another zone that it names."""
    read = _json.timestamp(value)
    assert read == when
    assert read is None or read.utcoffset() == timedelta()


ZONES = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(when=st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=ZONES))  # noqa: DTZ001 - hypothesis adds the zone
def test_times_both_ways(when: datetime) -> None:
    """A time is read as it is written, with a Z."""
    written = _json.iso(when)
    assert written is not None
    assert written.endswith("Z")
    assert _json.timestamp(written) == when
    assert _json.iso(None) is None


@given(text=st.text(st.characters() | st.characters(categories=["Cs"])))
@example(text="a\ud83d\ude00\ud83d\ud83d\ude00\ude00")
def test_no_lone_surrogates_are_left(text: str) -> None:
    """Pairs become the character that they are, lone ones become one U+FFFD each."""
    pairs = re.compile("[\ud800-\udbff][\udc00-\udfff]")
    joined = pairs.sub(
        lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text
    )
    assert text.without_lone_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", joined)


@pytest.mark.parametrize("value", [None, "", 5, ["a"], True])
def test_what_is_no_text(value: object) -> None:
    """Nothing but a text that says something is one."""
    assert _json.text(value) is _json.word(value) is None


def test_a_word_comes_whole() -> None:
    """A text may wait for the other half of a pair; a word has none to wait for."""
    assert (_json.text("b\ud83d"), _json.word("b\ud83d")) == ("b\ud83d", "b\ufffd")


def test_what_is_unknown_is_left_out() -> None:
    """Null is left out; what is false or nothing else is said."""
    assert _json.known(a=None, b=0, c="", d=False) == {"b": 0, "c": "", "d": False}
