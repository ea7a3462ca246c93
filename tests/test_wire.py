"""The values of the wire: JSON both ways, and what is made of a stranger's JSON."""

from __future__ import annotations

import base64
import copy
import hashlib
import html
import json
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic import wire
from chatmagic.wire import (
    Chunk,
    Credits,
    ErrorBody,
    Message,
    Reply,
    Request,
    Secret,
    Usage,
)

KEY = "talk-7Hq/x+e=9"
NOW = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
HELLO = Message("user", "Hello")
DEEP = json.loads("[" * 900 + "]" * 900)


class TestSecret:
    """A key shows itself to nobody by accident."""

    def test_it_is_shown_nowhere(self) -> None:
        """Neither text nor formatting nor debugging gives the key away."""
        secret = Secret(KEY)
        shown = [repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", "%s" % secret]  # noqa: UP031 - old formatting too
        shown += [repr([secret]), repr({"key": secret}), repr(dir(secret))]
        assert not any(KEY in text for text in shown)
        assert not hasattr(secret, "__dict__")
        with pytest.raises(TypeError):
            vars(secret)
        with pytest.raises(TypeError):
            json.dumps(secret)

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_it_is_not_pickled(self, protocol: int) -> None:
        """A key does not get into a file along with what holds it."""
        with pytest.raises(TypeError, match="not pickled") as caught:
            pickle.dumps([Secret(KEY)], protocol)
        assert KEY not in str(caught.value)
        with pytest.raises(TypeError, match="not pickled"):
            copy.deepcopy(Secret(KEY))

    def test_it_is_given_when_asked_for(self) -> None:
        """The one who puts it on the wire gets it; a text can be cleared of it."""
        secret = Secret(KEY)
        assert secret.reveal() == KEY
        assert secret.redact(f"a{KEY}b{KEY}") == "a[key removed]b[key removed]"
        assert secret.redact(f"a{KEY[:-1]}") == "a[key removed]"
        assert secret.redact(f"a{KEY[:-1]} b") == f"a{KEY[:-1]} b"

    def test_it_is_found_in_a_text(self) -> None:
        """A text that holds the key is told; a key as short as a word is no secret."""
        assert Secret(KEY).is_in(f"?api_key={KEY}&x")
        assert not Secret(KEY).is_in(KEY[1:])
        assert Secret("8letters").is_in("8letters")
        assert not Secret("7letter").is_in("7letter")

    def test_equal_keys_are_equal(self) -> None:
        """Secrets compare by key, and with nothing else."""
        assert Secret(KEY) == Secret(KEY)
        assert Secret(KEY) != Secret("other")
        assert Secret(KEY) != KEY
        assert len({Secret(KEY), Secret(KEY)}) == 1

    @pytest.mark.parametrize(
        "text", ["", " ", f"{KEY} ", f"{KEY}\n", f"{KEY}\r\nX: y", "clé", "\x7f"]
    )
    def test_what_no_header_carries_is_no_key(self, text: str) -> None:
        """A key that a header cannot carry is refused, and the refusal does not quote it."""
        with pytest.raises(ValueError, match="one word") as caught:
            Secret(text)
        assert KEY not in str(caught.value)


class TestMessage:
    """One message, both ways."""

    def test_both_ways(self) -> None:
        """A message is read as it is written; other fields are ignored."""
        assert Message.from_json({**HELLO.to_json(), "name": "x"}) == HELLO
        assert HELLO.to_json() == {"role": "user", "content": "Hello"}

    @pytest.mark.parametrize(
        "value",
        [
            None,
            [],
            "x",
            {},
            {"role": "user"},
            {"role": 1, "content": "x"},
            {"role": "user", "content": None},
        ],
    )
    def test_anything_else_is_refused(self, value: object) -> None:
        """A message without its two strings is none."""
        with pytest.raises(ValueError, match="'role' and 'content'"):
            Message.from_json(value)


class TestRequest:
    """The body of an ask."""

    def test_it_has_the_interfaces_fields_and_no_others(self) -> None:
        """Two fields always, two where they were set, and what ``extra`` adds."""
        body = {"messages": [HELLO.to_json()], "stream": True}
        assert Request((HELLO,)).to_json() == body
        full = Request((HELLO,), stream=False, max_tokens=5, temperature=0, extra={"model": "m"})
        assert full.to_json() == {
            **body, "stream": False, "max_tokens": 5, "temperature": 0, "model": "m",
        }  # fmt: skip
        assert Request.from_json(full.to_json()) == full

    @pytest.mark.parametrize("name", ["messages", "stream", "max_tokens", "temperature"])
    def test_extra_fields_replace_none_of_the_interfaces(self, name: str) -> None:
        """What has an argument of its own is said by it."""
        with pytest.raises(ValueError, match=f"extra_body cannot say {name}"):
            Request((HELLO,), extra={name: None})

    def test_a_missing_field_is_the_same_as_null(self) -> None:
        """Nulls say nothing; ``stream`` is then off, as the interface has it."""
        nulls = {
            "messages": [HELLO.to_json()],
            "stream": None,
            "max_tokens": None,
            "temperature": None,
        }
        assert Request.from_json(nulls) == Request((HELLO,), stream=False)
        assert Request.from_json({"messages": [HELLO.to_json()]}) == Request((HELLO,), stream=False)

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"messages": None}, "'messages'"),
            ({"messages": []}, "'messages'"),
            ({"messages": {"role": "user"}}, "'messages'"),
            ({"messages": ["Hello"]}, "'role' and 'content'"),
            ({"stream": "yes"}, "'stream'"),
            ({"stream": 1}, "'stream'"),
            ({"max_tokens": True}, "max_tokens"),
            ({"max_tokens": 1.5}, "max_tokens"),
            ({"max_tokens": "5"}, "max_tokens"),
            ({"temperature": False}, "temperature"),
            ({"temperature": "hot"}, "temperature"),
            ({"temperature": float("nan")}, "temperature"),
            ({"temperature": float("inf")}, "temperature"),
            ({"temperature": 10**400}, "temperature"),
        ],
    )
    def test_a_wrong_type_is_named(self, change: dict[str, Any], match: str) -> None:
        """A field of the wrong type is refused, by its name."""
        with pytest.raises(ValueError, match=match):
            Request.from_json({"messages": [HELLO.to_json()], **change})

    @pytest.mark.parametrize("value", [None, [], "x", 1])
    def test_a_body_is_an_object(self, value: object) -> None:
        """Anything but an object is refused."""
        with pytest.raises(ValueError, match="not a JSON object"):
            Request.from_json(value)

    def test_it_is_sent_as_utf8(self) -> None:
        """Text goes as it is; a pair of surrogates is a character, a lone one is marked."""
        body = Request((Message("user", "é\u2028 \ud83d\ude00 \ud83d"),)).encode()
        content = json.loads(body.decode("utf-8"))["messages"][0]["content"]
        assert content == "é\u2028 😀 \ufffd"
        assert "é\u2028 😀 \ufffd".encode() in body

    @pytest.mark.parametrize(
        "extra", [{"x": {1, 2}}, {"x": float("nan")}, {"x": b""}, {("a",): 1}, {"x": 10**5000}]
    )
    def test_what_json_cannot_say_is_refused(self, extra: dict[Any, Any]) -> None:
        """Only a ValueError comes of an ``extra`` that cannot be sent."""
        with pytest.raises(ValueError, match=r".+"):
            Request((HELLO,), extra=extra).encode()

    def test_what_nests_without_end_is_refused(self) -> None:
        """Neither a circle nor a bottomless list gets through."""
        circle: dict[str, Any] = {}
        circle["x"] = circle
        with pytest.raises(ValueError, match=r"[Cc]ircular"):
            Request((HELLO,), extra=circle).encode()
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]
        try:
            with pytest.raises(ValueError, match="cannot be written"):
                Request((HELLO,), extra={"x": deep}).encode()
        finally:
            while deep:
                deep = deep.pop()

    def test_its_digest_is_that_of_the_canonical_body(self) -> None:
        """The order of the fields does not count; each value does."""
        one, two = (
            Request((HELLO,), extra=extra) for extra in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
        )
        assert one.digest() == two.digest() == wire.digest(two.to_json())
        assert one.digest() != Request((HELLO,), extra={"a": 1, "b": 3}).digest()
        assert Request((HELLO,)).digest() != Request((HELLO,), stream=False).digest()


class TestUsage:
    """Token counts."""

    @pytest.mark.parametrize(
        ("value", "usage"),
        [
            ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}, Usage(9, 4, 13)),
            ({"prompt_tokens": "9", "completion_tokens": 4.0, "total_tokens": None}, Usage(9, 4)),
            ({"prompt_tokens": 0, "cost": 0.1}, Usage(0)),
            ({"prompt_tokens": -1}, None),
            ({}, None),
            (None, None),
            ([1], None),
        ],
    )
    def test_counts_are_read(self, value: object, usage: Usage | None) -> None:
        """Whole numbers count, also as text or with a point; nothing told is ``None``."""
        assert Usage.from_json(value) == usage

    def test_what_is_known_is_written(self) -> None:
        """Unknown counts are left out."""
        assert Usage(9, None, 0).to_json() == {"prompt_tokens": 9, "total_tokens": 0}
        assert Usage.from_json(Usage(1, 2, 3).to_json()) == Usage(1, 2, 3)


class TestCredits:
    """Credits in a record."""

    @pytest.mark.parametrize(
        "credits",
        [
            Credits(100, 87, 13, NOW, NOW),
            Credits(None, None, None, None, NOW),
            Credits(0, 0, 0, None, NOW),
        ],
    )
    def test_both_ways(self, credits: Credits) -> None:
        """Credits are read as they are written; unknown figures are left out."""
        written = credits.to_json()
        assert Credits.from_json(json.loads(json.dumps(written))) == credits
        assert None not in written.values()

    @pytest.mark.parametrize("value", [None, [], {}, {"limit": 1}, {"seen_at": "soon"}])
    def test_without_their_time_they_are_none(self, value: object) -> None:
        """Figures of an unknown time are refused."""
        with pytest.raises(ValueError, match="credits"):
            Credits.from_json(value)


LIMITED: dict[str, Any] = {
    "error": "Rate limit exceeded",
    "message": "Limit reached",
    "limit": 100,
    "used": 100,
    "resetAt": "2026-01-02T00:00:00Z",
}


class TestErrorBody:
    """Error bodies, in the documented shape and in the shapes that are about."""

    def test_the_documented_shape(self) -> None:
        """The rate-limit error is known by its body, and written as it was read."""
        body = ErrorBody.from_json(LIMITED)
        assert body == ErrorBody(
            "Rate limit exceeded", "Limit reached", 100, 100, LIMITED["resetAt"]
        )
        assert body.is_rate_limit
        assert body.to_json() == LIMITED

    @pytest.mark.parametrize("missing", ["limit", "used"])
    def test_without_its_figures_it_is_another_error(self, missing: str) -> None:
        """Both figures make the rate-limit error."""
        body = ErrorBody.from_json({name: LIMITED[name] for name in LIMITED if name != missing})
        assert body is not None
        assert not body.is_rate_limit

    @pytest.mark.parametrize(
        ("value", "error", "message"),
        [
            ({"error": "unauthorized", "message": "Bad key"}, "unauthorized", "Bad key"),
            ({"error": "Unauthorized"}, "Unauthorized", None),
            ({"error": {"message": "No", "type": "bad", "code": "c"}}, "bad", "No"),
            ({"error": {"message": "No", "code": "c"}, "user_id": "u"}, "c", "No"),
            ({"error": {"message": "No", "code": 402}}, None, "No"),
            ({"error": {"code": 500}, "message": "Outer"}, None, "Outer"),
            ({"error": {"code": 500}}, '{"code": 500}', None),
            ({"error": ["No"]}, "No", None),
            ({"error": [{"message": "No"}]}, None, "No"),
            ({"error": [1]}, "[1]", None),
            ({"error": True}, "error", None),
            ({"error": {}, "detail": "No"}, None, "No"),
            ({"errors": [{"code": 1, "message": "No"}], "success": False}, None, "No"),
            ({"errors": {"name": ["wrong"]}}, '{"name": ["wrong"]}', None),
            ({"errors": DEEP}, json.dumps(DEEP), None),
            ({"detail": "No"}, None, "No"),
            ({"detail": [{"msg": "field required", "loc": ["body"]}]}, None, "field required"),
            ({"detail": [{"message": "No"}]}, None, "No"),
            ({"detail": ["No", "nor this"]}, None, "No"),
            ({"detail": {"error": "No", "code": 3}}, None, "No"),
            ({"object": "error", "message": {"detail": [{"msg": "No"}]}}, None, "No"),
            ({"error": "e", "error_description": "No"}, "e", "No"),
            ({"error": "e", "detail": "No"}, "e", "No"),
            ({"type": "about:blank", "title": "No", "status": 400}, "about:blank", "No"),
            ({"title": "Short", "detail": "Long"}, None, "Long"),
            ({"message": "No", "status": "failure"}, None, "No"),
            ({"object": "error", "message": "No", "type": "T"}, "T", "No"),
            ({"object": "error", "choices": [], "message": "No"}, None, "No"),
            ({"choices": [], "error": {"message": "No"}}, None, "No"),
            ([{"error": {"message": "No"}}], None, "No"),
            ([1, None, {}, {"message": "No"}], None, "No"),
        ],
    )
    def test_other_shapes(self, value: object, error: str | None, message: str | None) -> None:
        """An error is found in any of the usual shapes."""
        body = ErrorBody.from_json(value)
        assert body is not None
        assert replace(body, status=None) == ErrorBody(error, message)

    def test_one_without_words_may_be_of_any_depth(self) -> None:
        """What cannot be written is an error all the same."""
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        assert ErrorBody.from_json({"errors": deep}) == ErrorBody("error")

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ({"code": 402}, 402),
            ({"code": "429"}, 429),
            ({"code": "busy", "status": 503}, 503),
            ({"code": 200}, None),
            ({"code": 600}, None),
            ({"code": True}, None),
            ({}, None),
        ],
    )
    def test_its_own_status(self, fields: dict[str, Any], status: int | None) -> None:
        """A body may name a status that HTTP knows as an error."""
        body = ErrorBody.from_json({"error": {"message": "No", **fields}})
        assert body is not None
        assert body.status == status

    def test_a_choice_may_hold_it(self) -> None:
        """An error of the choice is one of the reply; one of the body goes first."""
        within = {"choices": [{"error": {"message": "Inner"}}]}
        assert ErrorBody.in_reply(within) == ErrorBody(None, "Inner")
        assert ErrorBody.in_reply({**within, "error": "Outer"}) == ErrorBody("Outer")
        assert ErrorBody.in_reply({"choices": [{"error": None}]}) is None

    @pytest.mark.parametrize(
        "value",
        [
            None,
            "error",
            1,
            [],
            [[{"error": "x"}]],
            DEEP,
            {},
            {"error": None},
            {"error": "", "errors": []},
            {"object": "error"},
            {"choices": [], "error": None, "message": "x"},
            {"choices": [{"delta": {}}], "detail": "x"},
            {"message": {"role": "assistant"}},
            {"detail": []},
            {"detail": [["x"]]},
            {"detail": [{"loc": 1}]},
            {"tool": "search", "status": "running"},
        ],
    )
    def test_what_is_no_error(self, value: object) -> None:
        """Replies, keep-alives, other events and nulls are not errors."""
        assert ErrorBody.from_json(value) is None

    def test_odd_figures_are_unknown(self) -> None:
        """Figures and times of another type are left out."""
        odd = {**LIMITED, "limit": -1, "used": "100", "resetAt": [5]}
        assert ErrorBody.from_json(odd) == ErrorBody(
            "Rate limit exceeded", "Limit reached", None, 100
        )

    def test_a_reset_may_be_a_number(self) -> None:
        """What it counts is for others to judge."""
        body = ErrorBody.from_json({**LIMITED, "resetAt": 1767312000})
        assert body is not None
        assert body.reset_at == "1767312000"


def choice(**fields: Any) -> dict[str, Any]:
    """Give a chunk with one choice."""
    return {"choices": [fields]}


class TestChunk:
    """Chunks of a stream, and whole replies read as one."""

    @pytest.mark.parametrize(
        ("value", "chunk"),
        [
            ({}, Chunk()),
            ({"choices": None, "usage": None, "model": None}, Chunk()),
            ({"choices": []}, Chunk()),
            ({"choices": {}}, Chunk()),
            ({"choices": [None, 1, []]}, Chunk()),
            (choice(), Chunk()),
            (choice(delta=None), Chunk()),
            (choice(delta={"role": "assistant"}), Chunk()),
            (choice(delta={"role": None, "content": None}), Chunk()),
            (choice(delta={"content": "Hi"}), Chunk("Hi")),
            (choice(delta={"content": "Hi"}, finish_reason="stop"), Chunk("Hi", "stop")),
            (choice(delta={"content": 5}, finish_reason=5), Chunk()),
            (choice(delta={"content": "Hi"}, finish_reason="null"), Chunk("Hi")),
            (choice(text="Hi"), Chunk("Hi")),
            (
                choice(delta={}, text="Hi", usage={"total_tokens": 3}),
                Chunk(usage=Usage(None, None, 3)),
            ),
            (choice(message={"role": "assistant", "content": "Hi"}), Chunk("Hi")),
            (choice(delta=None, message={"content": "Hi"}), Chunk("Hi")),
            (
                choice(message={"content": None, "refusal": "I will not."}),
                Chunk(refusal="I will not."),
            ),
            (choice(delta={"reasoning_content": "Hm", "reasoning": "Hm"}), Chunk()),
            ({"model": "m", **choice(delta={"content": ""})}, Chunk(model="m")),
            ({"choices": [], "usage": {"total_tokens": 3}}, Chunk(usage=Usage(total_tokens=3))),
        ],
    )
    def test_what_is_there_is_read(self, value: object, chunk: Chunk) -> None:
        """Every field may be missing, null or odd; what is there counts."""
        assert Chunk.from_json(value) == chunk

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (
                [
                    {"type": "text", "text": "a"},
                    {"type": "output_text", "text": "b"},
                    {"text": "c"},
                ],
                "abc",
            ),
            ([{"type": "thinking", "text": "x"}, {"type": "image_url"}, None, "x", 1], ""),
            (
                [{"type": "text"}, {"type": "text", "text": None}, {"type": "text", "text": ["x"]}],
                "",
            ),
            ([], ""),
            ({"type": "text", "text": "x"}, "x"),
            ({"type": "thinking", "text": "x"}, ""),
        ],
    )
    def test_content_in_parts(self, content: object, text: str) -> None:
        """Of a part, or a list of them, the text counts; thoughts and images do not."""
        assert Chunk.from_json(choice(delta={"content": content})).content == text

    @pytest.mark.parametrize(
        ("indexes", "text"),
        [
            ([0, 1], "0"),
            ([1, 0], "1"),
            ([None, 0], "0"),
            ([1, None], "1"),
            ([1, 2], "0"),
            (["0", "1"], "0"),
            ([[], 0.0], "1"),
        ],
    )
    def test_of_several_choices_the_first_counts(self, indexes: list[Any], text: str) -> None:
        """The choice with index 0 counts, or one without an index, else the first."""
        choices = [
            {"index": index, "delta": {"content": str(place)}}
            for place, index in enumerate(indexes)
        ]
        assert Chunk.from_json({"choices": choices}).content == text

    def test_a_choice_without_an_index(self) -> None:
        """Where no index is told, the first choice counts."""
        choices = [{"delta": {"content": text}} for text in "ab"]
        assert Chunk.from_json({"choices": choices}).content == "a"

    @pytest.mark.parametrize("value", [None, [], "x", 1, [choice()]])
    def test_a_chunk_is_an_object(self, value: object) -> None:
        """Anything but an object is refused."""
        with pytest.raises(ValueError, match="not a JSON object"):
            Chunk.from_json(value)

    @pytest.mark.parametrize(
        "chunk", [Chunk(), Chunk("Hi"), Chunk("Hi", "stop", "m", Usage(1, 2, 3))]
    )
    def test_both_ways(self, chunk: Chunk) -> None:
        """A chunk is read as it is written."""
        assert Chunk.from_json(json.loads(json.dumps(chunk.to_json()))) == chunk
        assert None not in chunk.to_json().values()
        assert "finish_reason" not in Chunk().to_json()["choices"][0]


class TestReply:
    """A reply."""

    def test_it_reads_as_its_text(self) -> None:
        """A reply in a string is its text."""
        assert f"{Reply('Hi')}" == "Hi"

    def test_its_json_is_the_interfaces(self) -> None:
        """The body has the documented fields, and is read back as one chunk."""
        reply = Reply("Hi", "m", "stop", Usage(1, 2, 3))
        assert reply.to_json() == {
            "model": "m",
            "choices": [
                {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        }
        assert Chunk.from_json(reply.to_json()) == Chunk("Hi", "stop", "m", Usage(1, 2, 3))
        assert Chunk.from_json(Reply("").to_json()) == Chunk()

    def test_it_does_not_change(self) -> None:
        """What was stored stays what it was."""
        with pytest.raises(FrozenInstanceError):
            Reply("Hi").text = "Ho"  # type: ignore[misc]


class TestDigests:
    """Digests are the same for the same value, here and in a year."""

    def test_of_a_text_and_of_json(self) -> None:
        """A text is hashed as it stands, JSON in its canonical form."""
        assert wire.digest("é") == hashlib.sha256("é".encode()).hexdigest()
        canonical = hashlib.sha256('{"a":"é","b":[1,2]}'.encode()).hexdigest()
        assert wire.digest({"b": [1, 2], "a": "é"}) == canonical

    def test_names_hold_no_lone_surrogates(self) -> None:
        """A model's name and a finish reason come whole, and an output must hold them."""
        choice = {"delta": {"content": "a\ud83d"}, "finish_reason": "b\ud83d"}
        chunk = Chunk.from_json({"model": "c\udc00", "choices": [choice]})
        assert (chunk.content, chunk.finish_reason, chunk.model) == (
            "a\ud83d",
            "b\ufffd",
            "c\ufffd",
        )

    def test_a_lone_surrogate_can_be_hashed(self) -> None:
        """Text that cannot be UTF-8 has a digest of its own."""
        assert wire.digest("\ud800") != wire.digest("\ufffd")

    def test_of_a_turn(self) -> None:
        """Prompt and reply both count, and where one ends."""
        assert (
            len({wire.turn_digest(*pair) for pair in [("ab", "c"), ("a", "bc"), ("abc", "")]}) == 3
        )

    @pytest.mark.parametrize("text", ["", '"\\\n\x00é', "\ud83d\ude00" * 100_000, "a\ud800"])
    def test_of_a_turn_is_that_of_its_json(self, text: str) -> None:
        """Worked out in parts, it is the digest of the whole all the same."""
        assert wire.turn_digest(text, text * 2) == wire.digest([text, text * 2])


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
    assert wire.whole_number(value) == number


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
    read = wire.timestamp(value)
    assert read == when
    assert read is None or read.utcoffset() == timedelta()


ZONES = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(when=st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=ZONES))  # noqa: DTZ001 - hypothesis adds the zone
def test_times_both_ways(when: datetime) -> None:
    """A time is read as it is written, with a Z."""
    written = wire.iso(when)
    assert written is not None
    assert written.endswith("Z")
    assert wire.timestamp(written) == when
    assert wire.iso(None) is None


@given(text=st.text(st.characters() | st.characters(categories=["Cs"])))
@example(text="a\ud83d\ude00\ud83d\ud83d\ude00\ude00")
def test_no_lone_surrogates_are_left(text: str) -> None:
    """Pairs become the character that they are, lone ones become one U+FFFD each."""
    pairs = re.compile("[\ud800-\udbff][\udc00-\udfff]")
    joined = pairs.sub(
        lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text
    )
    assert wire.without_lone_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", joined)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["error", "text", "2026-01-01T00:00:00Z", 10**400]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "messages",
                    "role",
                    "content",
                    "stream",
                    "max_tokens",
                    "temperature",
                    "choices",
                    "delta",
                    "message",
                    "index",
                    "finish_reason",
                    "usage",
                    "prompt_tokens",
                    "error",
                    "errors",
                    "detail",
                    "title",
                    "type",
                    "text",
                    "msg",
                    "object",
                    "limit",
                    "used",
                    "resetAt",
                    "seen_at",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(value=JSON)
def test_a_strangers_json_raises_nothing_but_a_value_error(value: object) -> None:
    """Every reader gives a value, ``None`` or a ValueError, whatever the JSON."""
    for reader in (Message, Request, Usage, Credits, ErrorBody, Chunk):
        try:
            read: Any = reader.from_json(value)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - not raising is fine too
        else:
            assert read is None or isinstance(read, reader)


@pytest.mark.parametrize(
    "value",
    [
        {"title": "Statistics"},
        {"message": "queued", "position": 3},
        {"id": "1", "detail": "note"},
        {"usage": {"total_tokens": 1}, "message": "bye"},
        {"choices": [{"delta": {"content": "x"}}], "errors": ["w"]},
        {"choices": [], "error": None},
        [],
        [1],
        "text",
    ],
)
def test_a_chunks_unknown_fields_are_no_error(value: object) -> None:
    """Fields that are not shown may be called anything (interface §4.1)."""
    assert ErrorBody.in_reply(value) is None


@pytest.mark.parametrize(
    "value",
    [
        {"error": "gone"},
        {"error": {"message": "gone"}, "choices": []},
        [{"error": {"message": "gone"}}],
        {"object": "error", "message": "gone"},
        {"message": "gone", "limit": 5, "used": 5},
    ],
)
def test_an_error_in_a_reply_is_told(value: object) -> None:
    """The ``error`` field tells it, or the figures of the rate-limit error."""
    told = ErrorBody.in_reply(value)
    assert told is not None
    assert "gone" in (told.error, told.message)


def test_a_key_is_taken_out_in_any_writing() -> None:
    """As it is, and as URLs, JSON and HTML write it."""
    key = Secret('sk-a/b+c=="<dd')
    forms = (
        key.reveal(),
        "sk-a%2Fb%2Bc%3D%3D%22%3Cdd",
        "sk-a/b+c==&quot;&lt;dd",
        'sk-a/b+c==\\"<dd',
    )
    assert key.redact(" ".join(forms)) == " ".join(["[key removed]"] * 4)


@pytest.mark.parametrize("extra", [{"x": {1, 2}}, {"x": float("nan")}])
def test_a_digest_is_refused_before_anything_is_spent(extra: dict[Any, Any]) -> None:
    """What has no canonical form has no digest."""
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        Request((HELLO,), extra=extra).digest()


def test_a_digest_is_of_what_is_sent() -> None:
    """Half a surrogate pair and a number as a name are digested as they go out."""
    request = Request((Message("user", "\ud800!"),), extra=cast("dict[str, Any]", {1: "x"}))
    assert request.digest() == Request.from_json(json.loads(request.encode())).digest()


@pytest.mark.parametrize("value", ['sk-a/b+c=="<dd', "sk-4f9c\\1e77'%41&lt;"])
def test_a_key_is_found_however_it_is_written(value: str) -> None:
    """What is found in a prompt is what is taken out of an answer."""
    key = Secret(value)
    pads = [base64.b64encode(b"u:p"[:n] + value.encode() + b"tail").decode() for n in range(3)]
    twice = json.dumps(json.dumps(value))
    forms = [value, quote(value), quote(value, safe=""), html.escape(value), repr(value), twice]
    for form in (*forms, *pads, *(pad.replace("+", "-").replace("/", "_") for pad in pads)):
        assert key.is_in(f"<{form}>")
        assert len(key.redact(f"<{form}>")) <= len("<'\\\\\"[key removed]\\\\\"'>")
    assert key.redact("\\" * 65_536) == "\\" * 65_536
    assert Secret.of(value) == key
    assert Secret.of(5) is Secret.of("two words") is None


def test_a_short_key_is_taken_out_as_a_word() -> None:
    """Else a text would be full of holes where nothing was."""
    assert Secret("a").redact("a banana") == "[key removed] banana"
