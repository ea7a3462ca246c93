"""Numbers, times and texts of untrusted JSON; digests."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import MISSING, dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal

import pytest
from cases import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic import _json
from chatmagic.safe_text import without_lone_surrogates

NOW = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)


@each_case(
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


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("-inf"), 10**400])
def test_what_is_no_finite_number(value: object) -> None:
    """A float holds none of them as a number."""
    assert _json.finite_number(value) is None
    assert _json.finite_number(-(10**20)) == -(10**20)
    assert _json.finite_number(0.5) == 0.5


@each_case(
    ("value", "when"),
    [
        ("2026-01-01T09:30:00Z", NOW),
        ("2026-01-01T09:30:00.000Z", NOW),
        (" 2026-01-01T09:30:00 ", NOW),
        ("2026-01-01 10:30+01:00", NOW),
        ("0001-01-01T00:00:00+01:00", None),
        ("2026-01-01T09:29.5+00:00", NOW - timedelta(seconds=30)),
        ("2026-01-01 09:29,25Z", NOW - timedelta(seconds=45)),
        ("20260101T0929.75", NOW - timedelta(seconds=15)),
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
    assert without_lone_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", joined)


@pytest.mark.parametrize("value", [None, "", 5, ["a"], True])
def test_what_is_no_text(value: object) -> None:
    """Nothing but a text that says something is one."""
    assert _json.text_or_none(value) is _json.whole_text(value) is None


def test_a_word_comes_whole() -> None:
    """A text may wait for the other half of a pair; a word has none to wait for."""
    assert (_json.text_or_none("b\ud83d"), _json.whole_text("b\ud83d")) == ("b\ud83d", "b\ufffd")


def test_what_is_unknown_is_left_out() -> None:
    """Null is left out; what is false or nothing else is said."""
    assert _json.known_items(a=None, b=0, c="", d=False) == {"b": 0, "c": "", "d": False}


class TestDigests:
    """Digests are the same for the same value, here and in a year."""

    def test_of_a_text_and_of_json(self) -> None:
        """A text is hashed as it stands, JSON in its canonical form."""
        assert _json.digest("é") == hashlib.sha256("é".encode()).hexdigest()
        canonical = hashlib.sha256('{"a":"é","b":[1,2]}'.encode()).hexdigest()
        assert _json.digest({"b": [1, 2], "a": "é"}) == canonical

    def test_the_digest_of_a_long_text_is_that_of_its_whole(self) -> None:
        """It is hashed in pieces."""
        text = "é" * 250_000
        assert _json.digest(text) == hashlib.sha256(text.encode()).hexdigest()

    def test_a_lone_surrogate_can_be_hashed(self) -> None:
        """Text that cannot be UTF-8 has a digest of its own."""
        assert _json.digest("\ud800") != _json.digest("\ufffd")

    def test_of_a_turn(self) -> None:
        """Prompt and reply both count, and where one ends."""
        assert (
            len({_json.turn_digest(*pair) for pair in [("ab", "c"), ("a", "bc"), ("abc", "")]}) == 3
        )

    def test_of_a_chain(self) -> None:
        """Each turn's counts, and their order; one more turn needs only the last chain digest."""
        first = _json.chain_digest(None, "a")
        assert _json.chain_digest(first, "b") == _json.digest([first, "b"])
        assert _json.chain_of("ab") == _json.chain_digest(first, "b")
        assert _json.chain_of("b", first) == _json.chain_of("ab")
        assert _json.chain_of("") is None
        swapped = _json.chain_digest(_json.chain_digest(None, "b"), "a")
        assert len({first, _json.chain_digest(first, "b"), swapped}) == 3


@dataclass(frozen=True)
class Base:
    """A dataclass with a field that a file must have, and one that it need not have."""

    name: str = _json.json_field(_json.exact_text, default=MISSING, required=True)
    count: int | None = _json.json_field(_json.exact_count, lambda count: count or None)


@dataclass(frozen=True)
class Derived(Base):
    """With a field of its own, and one that no file has."""

    kind: str = _json.json_field(_json.word_of(Literal["a", "b"]), default="a")
    live: bool = False


def test_fields_that_files_keep() -> None:
    """What a file lacks has its default; what a writer gives no value for is left out."""
    told = {"name": "n", "kind": None, "live": True, "more": 1}
    assert _json.fields_from_json(Derived, told) == {"name": "n"}
    assert _json.dataclass_from_json(Derived, told) == Derived("n")
    value = Derived("n", 0, "b")
    assert _json.fields_to_json(value) == {"name": "n", "kind": "b"}
    assert _json.fields_to_json(value, Base) == {"name": "n"}
    assert Base(**_json.shared_fields(value, Base)) == Base("n", 0)
    assert _json.with_shared_fields(Derived("m", kind="a"), value, Base) == Derived("n", 0, "a")


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ({}, "name"),
        ({"name": None}, "name"),
        ({"name": 1}, "name"),
        ({"name": "n", "count": "many"}, "count"),
        ({"name": "n", "kind": "c"}, "kind"),
        ({"name": "n", "kind": ["a"]}, "kind"),
    ],
)
def test_a_field_that_makes_no_sense_is_named(told: dict[str, object], wrong: str) -> None:
    """A missing one, too, where a file must have it."""
    with pytest.raises(ValueError, match=f"its '{wrong}' cannot be read"):
        _json.fields_from_json(Derived, told)


@pytest.mark.parametrize("value", [None, 1, "a" * 63, "A" * 64, "a" * 64 + "\n"])
def test_what_is_no_digest(value: object) -> None:
    """A digest is 64 hexadecimal digits in lower case."""
    with pytest.raises(ValueError, match="not such a value"):
        _json.exact_digest(value)
    assert _json.exact_digest("a" * 64) == "a" * 64


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("[1, 2, 3]", 3),
        ('{"a": {}, "b": []}', 4),
        ('["a, [b", "c\\", {", "d"]', 3),
        ('["\\\\", "\\\\\\"", ","]', 3),
        ('["a,', 1),
        ('["\n,\n", 1]', 2),
    ],
)
def test_values_are_counted_without_the_signs_in_strings(text: str, count: int) -> None:
    """Each value has a comma or a bracket before it; a large text is one value."""
    assert not _json.has_many_values(text, count)
    assert _json.has_many_values(text, count - 1)


def test_a_file_of_many_values_is_not_parsed() -> None:
    """Each takes up to 200 bytes; a large text with as many signs is parsed."""
    inside = b"{}," * (_json.MOST_IN_FILE // 2 - 1)
    assert len(_json.json_of_file(b"[" + inside + b"{}]")) == _json.MOST_IN_FILE // 2
    with pytest.raises(_json.TooManyValuesError, match=r"^it holds more than 1,000,000 values$"):
        _json.json_of_file(b"[" + inside + b"{},{}]")
    assert _json.json_of_file(b'["' + inside + b'{},{}"]') == [inside.decode() + "{},{}"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \r\n", "it is empty"),
        (b'{"a":\n sk-private', "it is not JSON (line 2, column 2)"),
        (b"\xff", "it is not text in UTF-8"),
        (b"[" * 100_000, "its values are nested too deeply"),
        (b"[" + b"9" * 4301 + b"]", "a number in it has more than 4,300 digits"),
    ],
)
def test_what_is_no_json_in_a_file_is_an_error(content: bytes, reason: str) -> None:
    """Of one kind, with the reason, and without a quotation."""
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        _json.json_of_file(content)


def test_the_fault_of_json() -> None:
    """In our words, whatever Python's are."""
    assert _json.json_fault(json.JSONDecodeError("Expecting value", "", 0)) == "it is not JSON"
    assert "4,300 digits" in _json.json_fault(ValueError("sys.set_int_max_str_digits"))


def test_a_file_has_any_encoding_of_json() -> None:
    """As RFC 4627 has them, with a reader of numbers of the caller's."""
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        assert _json.json_of_file('["ü", 1.0]'.encode(encoding), lambda _: 5.0) == ["ü", 5]


@pytest.mark.parametrize("owls", [0, 1, 3, _json.MOST_ESCAPED + 1])
def test_a_large_text_takes_one_byte_a_character(owls: int) -> None:
    """Few characters beyond 16 bits are escaped, so that the others take no more for them."""
    value = ["x" * 10_000 + "é", "🦉" * owls, "\U0010ffff" * (owls > 0)]
    content = json.dumps(value, ensure_ascii=False).encode()
    text = _json.json_text(content, "utf-8")
    is_narrow = owls <= _json.MOST_ESCAPED
    assert (max(text) < "\U00010000") is is_narrow
    assert json.loads(text) == _json.json_of_file(content) == value
    wide = content.decode().encode("utf-16")
    assert json.loads(_json.json_text(wide, "utf-16")) == _json.json_of_file(wide) == value


def test_damaged_characters_are_no_text() -> None:
    """They are not escaped, and refused as without any."""
    for content in (b'"\xf4\xbf\xbf\xbf"', b'"\xf0\x80\x80\x80"', b'"\xf0\x9f"'):
        with pytest.raises(UnicodeDecodeError):
            _json.json_text(content, "utf-8")


def test_a_number_of_a_file_is_not_too_long() -> None:
    """The error does not give Python's advice on an option of the interpreter."""
    assert _json.json_of_file(b"[" + b"9" * 4_300 + b"]") == [int("9" * 4_300)]
    with pytest.raises(ValueError, match=r"^a number in it has more than 4,300 digits$"):
        _json.json_of_file(b"[" + b"9" * 4_301 + b"]")
