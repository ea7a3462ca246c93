"""The values of the wire: JSON both ways, and what is made of untrusted JSON."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatmagic import _json
from chatmagic.models import Credits, Message, Reply, Usage
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.wire import BodyWriter, Chunk, Request, plain_content

if TYPE_CHECKING:
    from collections.abc import Mapping

HELLO = Message("user", "Hello")
FULL = Chunk("Hi", finish_reason="stop", model="m", usage=Usage(1, 2, 3))

TEXTS = st.text(st.characters() | st.sampled_from('"\\\ud800\udc00é\n'), max_size=8)
EXTRA = st.sampled_from([{}, {"a": 1.5, "model": "m"}, {"top_p": [None, "é"], "zeta": {"b": 1}}])
SIZES = st.lists(st.tuples(st.integers(1, 6), EXTRA, st.booleans()), min_size=1, max_size=5)


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

    def test_how_to_stream_is_said_of_a_stream_alone(self) -> None:
        """Servers refuse it where no stream is asked for."""
        extra = {"stream_options": {"include_usage": True}, "model": "m"}
        for stream in (True, False):
            body = Request((Message("user", "hi"),), stream=stream, extra=extra).to_json()
            assert ("stream_options" in body) is stream
            assert body["model"] == "m"

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
        assert one.digest() == two.digest() == _json.digest(two.to_json())
        assert one.digest() != Request((HELLO,), extra={"a": 1, "b": 3}).digest()
        assert Request((HELLO,)).digest() != Request((HELLO,), stream=False).digest()


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
        ],
    )
    def test_of_several_choices_the_first_counts(self, indexes: list[Any], text: str) -> None:
        """The choice with index 0 counts, or one without an index."""
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
        "chunk",
        [Chunk(), Chunk("Hi"), FULL],
    )
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


class TestReply:
    """A reply."""

    def test_it_reads_as_its_text(self) -> None:
        """A reply in a string is its text."""
        assert f"{Reply('Hi')}" == "Hi"

    def test_it_does_not_change(self) -> None:
        """What was stored stays what it was."""
        with pytest.raises(FrozenInstanceError):
            Reply("Hi").text = "Ho"  # type: ignore[misc]


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
def test_untrusted_json_raises_nothing_but_a_value_error(value: object) -> None:
    """Every reader gives a value, ``None`` or a ValueError, whatever the JSON."""
    for reader in (Message, Request, Usage, Credits, ErrorBody, Chunk):
        try:
            read: Any = reader.from_json(value)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - not raising is fine too
        else:
            assert read is None or isinstance(read, reader)


@pytest.mark.parametrize("extra", [{"x": {1, 2}}, {"x": float("nan")}])
def test_a_digest_is_refused_before_anything_is_spent(extra: dict[Any, Any]) -> None:
    """What has no canonical form has no digest."""
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        Request((HELLO,), extra=extra).digest()


def test_a_digest_is_of_what_is_sent() -> None:
    """Half a surrogate pair and a number as a name are digested as they go out."""
    request = Request((Message("user", "\ud800!"),), extra=cast("dict[str, Any]", {1: "x"}))
    assert request.digest() == Request.from_json(json.loads(request.encode())).digest()


@given(st.lists(TEXTS, min_size=6, max_size=6), SIZES)
def test_a_body_is_the_requests_own(
    texts: list[str], asked: list[tuple[int, Mapping[str, object], bool]]
) -> None:
    """So is the digest, whatever the requests before it carried, and with which fields."""
    writer = BodyWriter()
    roles = ("user", "assistant") * 3
    messages = tuple(map(Message, roles, texts))
    for count, extra, stream in asked:
        request = Request(messages[:count], stream=stream, max_tokens=count, extra=extra)
        written, digest = writer.written(request)
        assert written == request
        assert written.encode() == request.encode()
        assert digest == request.digest()


def test_other_messages_are_written_anew() -> None:
    """A request that begins otherwise than the last one, and one that is shorter."""
    writer = BodyWriter()
    for words in ("ab", "axb", "c", "axbd", "a"):
        request = Request(tuple(Message("user", word) for word in words))
        assert writer.written(request)[0].encode() == request.encode()


class Greeting(str, Enum):  # noqa: UP042 - a StrEnum is its value to str(), too
    """Texts with names, as a program may have its prompts."""

    SHORT = "Hello"


@pytest.mark.parametrize(
    "other",
    [
        Message("user", 'a\tb\r\n\\ "c" \x7f\u2028\U0001f600'),
        Message("user", "a\x00b\x1b[1m\f"),
        Message("user", "\ud83d\ude00 \ud83d"),
        Message('a "role"', "b"),
        Message("user", Greeting.SHORT),
    ],
    ids=["escapes", "controls", "surrogates", "role", "member"],
)
def test_a_message_is_written_as_json_writes_it(other: Message) -> None:
    """Also where the short way does not hold, at each place and in the request after it."""
    writer, hello = BodyWriter(), Message("user", "a\nb")
    for messages in ((other,), (hello, other), (hello, other, other, hello)):
        request = Request(messages)
        written, digest = writer.written(request)
        assert (
            written.encode()
            == json.dumps(written.to_json(), ensure_ascii=False)
            .encode("utf-16-le", "surrogatepass")
            .decode("utf-16-le", "replace")
            .encode()
        )
        assert written.encode() == request.encode()
        assert digest == request.digest()


def test_what_json_has_no_word_for_is_refused() -> None:
    """As the request itself refuses it."""
    request = Request((Message("user", "a"),), extra={"x": object()})
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        BodyWriter().written(request)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"choices": [{"index": 0, "delta": {"content": "a"}}], "model": "m"}, "a"),
        ({"choices": [{"delta": {"content": "a", "role": "assistant"}}], "id": 1}, "a"),
        ({"choices": [{"delta": {"content": "a"}}], "model": "n"}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "usage": {"total_tokens": 1}}, "a"),
        ({"choices": [{"delta": {"content": "a"}}, {"index": 1, "error": "b"}]}, "a"),
        ({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}, ""),
        ({"choices": [{"delta": {"content": "a", "refusal": "b"}}]}, ""),
        ({"choices": [{"delta": {"content": ["a"]}}]}, ""),
        ({"choices": [{"index": 1, "delta": {"content": "a"}}]}, ""),
        ({"choices": [{"index": 1}, {"index": 0, "delta": {"content": "a"}}]}, ""),
        ({"choices": [{"delta": {"content": "a"}, "message": {"content": "b"}}]}, ""),
        ({"choices": [{"delta": {"content": "a"}, "error": "b"}]}, ""),
        ({"choices": [{"delta": {"content": "a"}, "usage": {"total_tokens": 1}}]}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "object": "error"}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "error": "b"}, ""),
        ({"choices": [{"delta": {"content": "a"}}], "errors": ["b"]}, ""),
        ({"choices": [{"delta": "a"}]}, ""),
        ({"choices": ["a"]}, ""),
        ({"choices": []}, ""),
        ({"choices": None}, ""),
    ],
)
def test_a_plain_content_is_all_that_a_chunk_tells(value: dict[str, Any], content: str) -> None:
    """But for its usage; whatever else may count, the chunk is read in full."""
    assert plain_content(value, "m") == content
