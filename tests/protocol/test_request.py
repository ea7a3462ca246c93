"""The body of a request, its JSON and its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, cast

import pytest
from cases import each_case
from forged_json import nested_lists
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic import _json
from chatmagic._json import digest
from chatmagic.models import Message
from chatmagic.protocol.request import NOT_IN_DIGEST, Request
from chatmagic.safe_text import without_lone_surrogates

HELLO = Message("user", "Hello")


TEXTS = st.text(st.characters() | st.sampled_from('"\\\ud800\udc00é\n'), max_size=8)


EXTRA = st.sampled_from([{}, {"a": 1.5, "model": "m"}, {"top_p": [None, "é"], "zeta": {"b": 1}}])


SIZES = st.lists(st.tuples(st.integers(1, 6), EXTRA, st.booleans()), min_size=1, max_size=5)


@pytest.mark.parametrize(
    "wrong", [None, [], "x", {}, {"role": "user"}, {"role": 1, "content": "x"}]
)
def test_a_message_is_its_two_strings(wrong: object) -> None:
    """It is read as it is written; other fields are ignored, and anything else is refused."""
    assert Message.from_json({**HELLO.to_json(), "name": "x"}) == HELLO
    assert HELLO.to_json() == {"role": "user", "content": "Hello"}
    with pytest.raises(ValueError, match="'role' and 'content'"):
        Message.from_json(wrong)


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
        with pytest.raises(ValueError, match=f"extra_body cannot set {name}"):
            Request((HELLO,), extra={name: None})

    def test_how_to_stream_is_said_of_a_stream_alone(self) -> None:
        """Servers refuse it where no stream is asked for."""
        extra = {"stream_options": {"include_usage": True}, "model": "m"}
        for stream in (True, False):
            body = Request((Message("user", "hi"),), stream=stream, extra=extra).to_json()
            assert ("stream_options" in body) is stream
            assert body["model"] == "m"

    def test_a_missing_field_is_the_same_as_null(self) -> None:
        """Nulls say nothing; ``stream`` is then off, as the interface has it."""
        said = {"messages": [HELLO.to_json()]}
        nulls = dict.fromkeys(["stream", "max_tokens", "temperature"])
        for body in (said, {**said, **nulls}):
            assert Request.from_json(body) == Request((HELLO,), stream=False)

    @each_case(
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
        with pytest.raises(ValueError, match="not a JSON object"):
            Request.from_json([change])

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
        for endless, words in (
            (circle, r"[Cc]ircular"),
            ({"x": nested_lists(100_000)}, "cannot be written"),
        ):
            with pytest.raises(ValueError, match=words):
                Request((HELLO,), extra=endless).encode()

    def test_its_digest_is_that_of_the_canonical_body(self) -> None:
        """The order of the fields does not count; each value does."""
        one, two = (
            Request((HELLO,), extra=extra) for extra in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
        )
        assert one.digest() == two.digest() == _json.digest(two.to_json())
        assert one.digest() != Request((HELLO,), extra={"a": 1, "b": 3}).digest()
        assert Request((HELLO,)).digest() != Request((HELLO,), stream=False).digest()
        half = Request((Message("user", "half \ud800"),))
        assert half.digest() == Request((Message("user", "half \ufffd"),)).digest()


class Greeting(str, Enum):  # noqa: UP042 - a StrEnum is its value to str(), too
    """Texts with names, as a program may have its prompts."""

    SHORT = "Hello"


@given(st.lists(TEXTS, min_size=6, max_size=6), SIZES)
@example(["\ud800!", "\ud83d\ude00", "a\x00b", Greeting.SHORT, "", "a"], [(6, {}, True)])
@example(["a"] * 6, [(1, cast("dict[str, Any]", {10: "x", 9: {10: 1, 9: 2}}), False)])
def test_a_digest_is_of_what_is_sent(
    texts: list[str], asked: list[tuple[int, Mapping[str, object], bool]]
) -> None:
    """It is that of the body in its canonical form, without the model."""
    messages = tuple(map(Message, ("user", "assistant") * 3, texts))
    for count, extra, stream in asked:
        request = Request(messages[:count], stream=stream, max_tokens=count, extra=extra)
        sent = json.loads(request.encode())
        assert sent["messages"][0]["content"] == without_lone_surrogates(texts[0])
        assert request.digest() == digest(
            {name: value for name, value in sent.items() if name not in NOT_IN_DIGEST}
        )
