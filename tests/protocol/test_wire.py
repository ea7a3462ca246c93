"""The values of the wire: JSON both ways, and what is made of untrusted JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic import _json
from chatmagic._json import digest
from chatmagic.models import Credits, Message, Usage
from chatmagic.protocol import wire
from chatmagic.protocol.api_key import REMOVED, Secret
from chatmagic.protocol.wire import (
    NOT_IN_DIGEST,
    Chunk,
    ErrorBody,
    ReplyBuilder,
    Request,
    json_is_cut,
    plain_content,
)
from chatmagic.safe_text import without_lone_surrogates

HELLO = Message("user", "Hello")
FULL = Chunk("Hi", finish_reason="stop", model="m", usage=Usage(1, 2, 3))

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


def deep(levels: int) -> list[Any]:
    """Return lists within lists."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


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
            ({"x": deep(100_000)}, "cannot be written"),
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
            (
                choice(delta={"content": "Hi"}, finish_reason="stop"),
                Chunk("Hi", finish_reason="stop"),
            ),
            (choice(delta={"content": 5}, finish_reason=5), Chunk()),
            (choice(delta={"content": "Hi"}, finish_reason="null"), Chunk("Hi")),
            (choice(finish_reason="x" * 5_000), Chunk(finish_reason="x" * 100)),
            ({"usage": {"total_tokens": 10**300, "prompt_tokens": 9}}, Chunk(usage=Usage(9))),
            ({"usage": {"total_tokens": 10**300}}, Chunk()),
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
            (choice(delta={"reasoning_content": "Hm", "reasoning": "Hm"}), Chunk(reasoning="Hm")),
            ({"model": "m", **choice(delta={"content": ""})}, Chunk(model="m")),
            ({"choices": [], "usage": {"total_tokens": 3}}, Chunk(usage=Usage(total_tokens=3))),
            (
                {"choices": [{"usage": {"total_tokens": 3}}], "usage": {"tokens": "many"}},
                Chunk(usage=Usage(total_tokens=3)),
            ),
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
            ([{"type": "thinking", "text": "x"}, {"type": "image_url"}, None, 1], ""),
            (["a", {"type": "text", "text": "b"}, "c"], "abc"),
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
            ([1, 2], ""),
            (["1", "0"], "1"),
            ([2.0, 0.0], "1"),
            ([None, None], "0"),
        ],
    )
    def test_of_several_choices_the_first_counts(self, indexes: list[Any], text: str) -> None:
        """The choice with index 0 counts, or one without an index."""
        choices = [
            {"index": index, "delta": {"content": str(place)}}
            for place, index in enumerate(indexes)
        ]
        assert Chunk.from_json({"choices": choices}).content == text

    @pytest.mark.parametrize("value", [None, [], "x", 1, [choice()]])
    def test_a_chunk_is_an_object(self, value: object) -> None:
        """Anything but an object is refused."""
        with pytest.raises(ValueError, match="not a JSON object"):
            Chunk.from_json(value)

    @pytest.mark.parametrize("chunk", [Chunk(), Chunk("Hi"), FULL])
    def test_both_ways(self, chunk: Chunk) -> None:
        """A chunk is read as it is written."""
        assert Chunk.from_json(json.loads(json.dumps(chunk.to_json()))) == chunk
        assert None not in chunk.to_json().values()
        assert "finish_reason" not in Chunk().to_json()["choices"][0]

    def test_names_hold_no_lone_surrogates(self) -> None:
        """A model's name and a finish reason come whole, and an output must hold them."""
        choice = {"delta": {"content": "a\ud83d"}, "finish_reason": "b\ud83d"}
        chunk = Chunk.from_json({"model": "c\udc00", "choices": [choice]})
        assert (chunk.content, chunk.finish_reason, chunk.model) == (
            "a\ud83d",
            "b\ufffd",
            "c\ufffd",
        )


FIELDS = re.findall(
    r"\w+",
    "messages role content stream max_tokens temperature choices delta message index finish_reason "
    "usage prompt_tokens error errors detail title type text msg object limit used resetAt seen_at",
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["error", "text", "2026-01-01T00:00:00Z", 10**400]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(value=JSON)
def test_untrusted_json_raises_nothing_but_a_value_error(value: object) -> None:
    """Every reader gives a value, ``None`` or a ValueError, whatever the JSON."""
    for reader in (Message, Request, Usage, Credits, ErrorBody, Chunk):
        try:
            read: Any = reader.from_json(value)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - not raising is fine too
        else:
            assert read is None or isinstance(read, reader)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"choices": [{"index": 0, "delta": {"content": "a"}}], "model": "m"}, "a"),
        ({"choices": [{"delta": {"content": "a", "role": "assistant"}}], "id": 1}, "a"),
        ({"choices": [{"delta": {"content": "a"}}, {"index": 1, "error": "b"}]}, "a"),
        ({"choices": [{"delta": {"content": "a"}}], "id": "i", "system_fingerprint": ""}, "a"),
        ({"choices": [{"delta": {"content": "a"}}], "model": "n"}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "id": "j"}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "system_fingerprint": "f"}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "usage": {"total_tokens": 1}}, ""),
        ({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}, ""),
        ({"choices": [{"delta": {"content": "a", "refusal": "b"}}]}, ""),
        ({"choices": [{"delta": {"content": ["a"]}}]}, ""),
        ({"choices": [{"index": 1, "delta": {"content": "a"}}]}, ""),
        ({"choices": [{"delta": {"content": "a"}, "message": {"content": "b"}}]}, ""),
        ({"choices": [{"delta": {"content": "a"}, "error": "b"}]}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "object": "error"}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "errors": ["b"]}, ""),
        ({"choices": [{"delta": "a"}]}, ""),
        ({"choices": ["a"]}, ""),
    ],
)
def test_a_plain_content_is_all_that_a_chunk_tells(value: dict[str, Any], content: str) -> None:
    """Whatever else may count, the chunk is read in full."""
    names = {"id": "i", "model": "m", "system_fingerprint": None}
    assert plain_content(value, names) == content


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


DEEP = deep(900)


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
        assert not replace(body, limit=None).is_rate_limit
        assert not replace(body, used=None).is_rate_limit

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
            ({"detail": [{"msg": "required", "loc": ["body", 1]}]}, None, "required"),
            ({"detail": [{"msg": "required", "loc": ["body", "n"]}]}, None, "n: required"),
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
        assert replace(body, status=None, code=None) == ErrorBody(error, message)

    @pytest.mark.parametrize(
        ("fields", "status", "code"),
        [
            ({"code": 402}, 402, None),
            ({"code": "429"}, 429, "429"),
            ({"code": "busy", "status": 503}, 503, "busy"),
            ({"code": 200}, None, None),
            ({"code": 600}, None, None),
            ({"code": True}, None, None),
            ({"type": "bad", "code": "too_long"}, None, "too_long"),
        ],
    )
    def test_its_own_status(
        self, fields: dict[str, Any], status: int | None, code: str | None
    ) -> None:
        """A body may name a status that HTTP knows as an error; its code is kept as a word."""
        body = ErrorBody.from_json({"error": {"message": "No", **fields}})
        assert body is not None
        assert (body.status, body.code) == (status, code)
        assert body.error == fields.get("type", code)
        assert ErrorBody.from_json({"errors": deep(100_000)}) == ErrorBody("error")

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
        """Figures and times of another type are left out; what a number counts others judge."""
        odd = ErrorBody.from_json({**LIMITED, "limit": -1, "used": "100", "resetAt": [5]})
        assert odd == ErrorBody("Rate limit exceeded", "Limit reached", None, 100)
        body = ErrorBody.from_json({**LIMITED, "resetAt": 1767312000})
        assert body is not None
        assert body.reset_at == "1767312000"


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
    """Fields that are not shown may be called anything (fact 6)."""
    assert ErrorBody.in_reply(value) is None


def cut(text: str) -> bool:
    """Return whether a text that is no JSON is known as one that was cut."""
    with pytest.raises((ValueError, RecursionError)) as caught:
        wire.JSON_DECODER.decode(text)
    return json_is_cut(caught.value)


def test_json_that_ends_anywhere_is_known_to_be_cut() -> None:
    """In the middle of an escape, a word and a number too; unlike what never was JSON."""
    whole = (
        r'{"a": "x\u00fc\n\ud83d\ude00 y", "b": [true, false, null, -1.5e+3, 0, NaN, -Infinity,'
        r' {"c": {}}], "d": "\\"}'
    )
    assert all(cut(whole[:end]) for end in range(1, len(whole)))
    for text in ('{a: oops, "b": 1}', f"{whole} and much behind", "[" * 100_000):
        assert not cut(text), text


@pytest.mark.parametrize("digits", ["9" * 4_301, "-" + "9" * 5_000])
def test_a_number_of_any_length_is_read(digits: str) -> None:
    """Python reads no more than 4,300 digits; a longer figure is unknown, and the text is kept."""
    body = (
        f'{{"choices": [{{"delta": {{"content": "x"}}}}], "usage": {{"prompt_tokens": {digits}}}}}'
    )
    chunk = Chunk.from_json(wire.JSON_DECODER.decode(body))
    assert chunk.content == "x"
    assert chunk.usage is None or chunk.usage.prompt_tokens is None


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def built(*chunks: Chunk) -> ReplyBuilder:
    """Return a builder that has taken some chunks in."""
    builder = ReplyBuilder()
    for chunk in chunks:
        builder.add(chunk)
    return builder


def test_a_reply_is_its_fragments_and_the_latest_facts() -> None:
    """Each fact may come in any chunk, and once more."""
    builder = built(
        Chunk("one ", model="first", refusal="I "),
        Chunk("two", model="second", usage=Usage(1), refusal="won't."),
        Chunk(finish_reason="stop", usage=Usage(1, 2, 3)),
    )
    assert (built().finish_reason, builder.finish_reason) == (None, "stop")
    credits = Credits(100, 99, 1, None, NOON)
    reply = builder.reply("complete", "replay", {"credits": credits, "date": NOON})
    assert (reply.text, reply.model, reply.finish_reason) == ("one two", "second", "stop")
    assert (reply.usage, reply.refusal, reply.state) == (Usage(1, 2, 3), "I won't.", "complete")
    assert (reply.credits, reply.date, reply.origin) == (credits, NOON, "replay")


def test_what_only_a_reply_holds_has_begun_one() -> None:
    """A model alone may stand in an error, too."""
    telling = [Chunk("a"), Chunk(finish_reason="a"), Chunk(usage=Usage(1)), Chunk(refusal="a")]
    assert [built(chunk).begun for chunk in (Chunk(model="m"), *telling)] == [False, *[True] * 4]


def test_a_last_message_adds_only_what_is_new() -> None:
    """Some servers say the whole reply once more at the end."""
    builder = built(Chunk("one "), Chunk("two"))
    assert builder.add(Chunk("one two, three", whole=True)) == ", three"
    assert built(Chunk("one", whole=True), Chunk("one", whole=True)).text == "oneone"


def test_a_delta_may_come_by_its_content_alone() -> None:
    """Then it adds what a chunk adds that tells nothing new beside it."""
    builder = built(Chunk("", model="m", response_id="i"))
    assert builder.append("\ud83d") == ""
    assert builder.append("\ude00 a") == "\N{GRINNING FACE} a"
    assert builder.add(Chunk("\N{GRINNING FACE} a b", whole=True)) == " b"
    assert builder.names == {"id": "i", "model": "m", "system_fingerprint": None}


def test_many_fragments_are_one_text() -> None:
    """Also where they are joined before the end."""
    words = [f"{number} " for number in range(200)]
    assert built(*map(Chunk, words)).text == "".join(words)


def test_half_of_a_pair_waits_for_the_other() -> None:
    """A character that is cut in two is whole again; one that stays half is no text."""
    builder = ReplyBuilder()
    assert [builder.add(Chunk(part)) for part in ("a\ud83d", "\ude42b\ud83d")] == ["a", "🙂b"]
    assert builder.rest() == "\ufffd"
    assert builder.rest() == ""
    assert builder.text == "a🙂b\ufffd"


def test_thoughts_come_in_fragments_beside_the_text_or_in_front_of_it() -> None:
    """They are told as they come; a message that says them again at the end adds none."""
    builder, told = ReplyBuilder(), list[str]()
    builder.on_thoughts = told.append
    texts = [builder.add(Chunk(reasoning="Let "))]
    texts += [builder.append(text) for text in ("<thi", "nk>me</thi", "nk> \n", "Yes")]
    texts += [builder.add(Chunk("Yes, all.", reasoning="Let me", whole=True)), builder.rest()]
    assert texts == ["", "", "", "", "Yes", ", all.", ""]
    assert told == ["Let ", "me"]
    assert (builder.text, builder.facts.reasoning) == ("Yes, all.", "Let me")
    unended = built(Chunk("<think>Hm </th"))
    # Also where nothing more comes, and nobody asks for the rest.
    assert (unended.text, unended.facts.reasoning) == ("", "Hm </th")
    assert unended.rest() == ""
    assert (unended.text, unended.facts.reasoning) == ("", "Hm </th")
    assert [built(Chunk(text)).text for text in (" ", "<thi")] == [" ", "<thi"]


def test_thoughts_that_end_without_a_beginning_are_no_part_of_the_reply() -> None:
    """They come as its text, and the whole reply has them apart; not where others came apart."""
    whole = built(Chunk("I add.\n</think>\n\n4")).reply("complete", "live", {})
    assert (whole.text, whole.reasoning) == ("4", "I add.")
    apart = built(Chunk("a</think>b", reasoning="Hm")).reply("complete", "live", {})
    assert (apart.text, apart.reasoning) == ("a</think>b", "Hm")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('{"choices": [{"message": {"content": "one tw', "one tw"),
        ('{"content" : "one\\', "one"),
        ('{"content": "one\\u00', "one"),
        ('{"content": "one", "more": "', "one"),
        ('{"content": "a\\q bcdefghijk', ""),
        ('{"content', ""),
    ],
)
def test_the_beginning_of_a_content_that_is_cut(text: str, content: str) -> None:
    """Exactly, also where the cut is within an escape."""
    assert wire.content_begun(text) == content


def test_a_text_is_cut_at_its_limit() -> None:
    """By its bytes, and never within a letter; what follows is left out."""
    builder = wire.ReplyBuilder(most=4)
    assert builder.append("aé") == "aé"
    assert not builder.is_full
    assert builder.append("é") == ""
    assert builder.append("more") == ""
    assert builder.is_full


def test_progress_is_what_is_new() -> None:
    """A text, a thought, a refusal, and the first reason and usage; no model, and nothing again."""
    steps = [
        Chunk(content="Hel"),
        Chunk(reasoning="x"),
        Chunk(reasoning="x"),
        Chunk(refusal="no"),
        Chunk(finish_reason="stop"),
        Chunk(usage=Usage(1, 2, 3)),
    ]
    builder = ReplyBuilder()
    for step in steps:
        before = builder.progress
        builder.add(step)
        assert builder.progress != before, step
    old = [
        Chunk(),
        Chunk(model="m"),
        Chunk(finish_reason="length"),
        Chunk(usage=Usage(4, 5, 9)),
        Chunk(content="Hel", whole=True),
    ]
    for step in old:
        before = builder.progress
        builder.add(step)
        assert builder.progress == before, step


@pytest.mark.parametrize(
    ("delta", "texts"),
    [
        ({"role": "assistant", "content": "a", "reasoning": "b", "refusal": "c"}, ""),
        ({"thinking": "a", "signature": "b", "index": 1, "list": ["c"], "none": None}, "ab"),
        ({}, ""),
        (["a"], ""),
        (None, ""),
    ],
)
def test_texts_of_a_delta_that_are_not_read(delta: object, texts: str) -> None:
    """The interface does not show what else a delta holds."""
    assert wire.unknown_texts({"choices": [{"delta": delta}]}) == texts
    assert wire.unknown_texts({"delta": delta}) == ""


PRIVATE = "sk-private-0123"
WITH_KEY = f"one {PRIVATE} two"
WITHOUT = f"one {REMOVED} two"


@pytest.mark.parametrize("size", [1, 4, 99])
def test_a_key_is_removed_from_every_text_of_a_reply(size: int) -> None:
    """From its text, thoughts, refusal and the names of its facts, however they are divided."""
    pieces = [WITH_KEY[at : at + size] for at in range(0, len(WITH_KEY), size)]
    builder = ReplyBuilder([Secret(PRIVATE)])
    shown: list[str] = []
    thought: list[str] = []
    builder.on_thoughts = thought.append
    shown += [builder.add(Chunk(piece, reasoning=piece, refusal=piece)) for piece in pieces]
    assert PRIVATE[: len(PRIVATE) // 2 + 1] not in builder.text
    builder.add(Chunk(model=WITH_KEY, finish_reason=WITH_KEY))
    shown.append(builder.rest())
    facts = builder.facts
    assert ("".join(shown), builder.text, "".join(thought)) == (WITHOUT, WITHOUT, WITHOUT)
    assert (facts.reasoning, facts.refusal) == (WITHOUT, WITHOUT)
    assert (facts.model, facts.finish_reason) == (WITHOUT, WITHOUT)
    assert builder.has_removed_key


def test_a_key_of_the_facts_alone_is_removed_too() -> None:
    """And noticed, though no text held it."""
    builder = ReplyBuilder([Secret(PRIVATE)])
    builder.add(Chunk("one", model=PRIVATE))
    assert (builder.facts.model, builder.text) == (REMOVED, "one")
    assert builder.has_removed_key


def test_a_whole_reply_adds_only_its_end_also_where_it_holds_a_key() -> None:
    """The fragments before it are compared as they are kept, without the key."""
    builder = ReplyBuilder([Secret(PRIVATE)])
    shown = [builder.append(f"one {PRIVATE[:4]}")]
    shown.append(builder.add(Chunk(WITH_KEY, whole=True)))
    shown.append(builder.add(Chunk("one", whole=True)))
    shown.append(builder.add(Chunk(f"other {PRIVATE} text, which is longer", whole=True)))
    assert shown == ["one ", f"{REMOVED} two", "one", f"other {REMOVED} text, which is longer"]
