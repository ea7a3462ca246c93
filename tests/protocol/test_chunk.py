"""Chunks and whole replies as values: JSON both ways, and what is made of untrusted JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.models import Credits, Message, Usage
from chatmagic.protocol.chunk import Chunk, plain_content, unknown_texts
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.request import Request

FULL = Chunk("Hi", finish_reason="stop", model="m", usage=Usage(1, 2, 3))


def choice(**fields: Any) -> dict[str, Any]:
    """Give a chunk with one choice."""
    return {"choices": [fields]}


class TestChunk:
    """Chunks of a stream, and whole replies read as one."""

    @each_case(
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

    @each_case(
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


@each_case(
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
    assert unknown_texts({"choices": [{"delta": delta}]}) == texts
    assert unknown_texts({"delta": delta}) == ""
