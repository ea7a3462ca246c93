"""Streams: both readings of them, however they are cut; and which bodies are one."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from cases import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from chatmagic.protocol import sse
from chatmagic.protocol.chunk_fast_path import Alike, alike
from chatmagic.protocol.sse import Decoder, Event, Malformed, Payload

PAIRS_UP_TO = 110
DONE = "the end mark"
"""What stands for the end of a stream among its events."""

WHOLE = 'data: {"choices":[1]}'
A_CHUNK = Payload({"choices": [1]})


def words(content: str) -> str:
    """Return a data line with a chunk."""
    return f'data: {{"choices":[{{"delta":{{"content":"{content}"}}}}]}}\n'


A_WORD = Payload({"choices": [{"delta": {"content": "a"}}]})

# What was sent, and the events that it is.
SAMPLES: dict[str, tuple[bytes, list[Event | str]]] = {
    "nothing": (b"", []),
    "one line an event": (
        b'data: {"a":1}\ndata: {"b":2}\n',
        [Payload({"a": 1}), Payload({"b": 2})],
    ),
    "blank lines between": (
        b'data: {"a":1}\n\ndata: {"b":2}\n\n',
        [Payload({"a": 1}), Payload({"b": 2})],
    ),
    "no space": (b'data:{"a":1}\n\ndata:[DONE]\n\n', [Payload({"a": 1}), DONE]),
    "many spaces": (b'data:   {"a":1}  \n\ndata:  [DONE]', [Payload({"a": 1}), DONE]),
    "CRLF": (b'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n', [Payload({"a": 1}), DONE]),
    "CR": (b'data: {"a":1}\r\rdata: {"b":2}\r', [Payload({"a": 1}), Payload({"b": 2})]),
    "all line ends": (
        b'data: {"a":1}\rdata: 2\r\ndata: 3\ndata: 4',
        [Payload({"a": 1}), Payload(2), Payload(3), Payload(4)],
    ),
    "byte order mark": (b'\xef\xbb\xbfdata: {"a":1}\n', [Payload({"a": 1})]),
    "byte order mark and done": (b"\xef\xbb\xbfdata: [DONE]", [DONE]),
    "a later mark is text": (b"\n\xef\xbb\xbfdata: [DONE]\ndata: 1\n", [Payload(1)]),
    "only a mark": (b"\xef\xbb\xbf", []),
    "other fields": (b": hello\nid: 7\nretry: 10\nevent\nfoo: bar\ndata: 1\n\n", [Payload(1)]),
    "keep-alives": (b"data:\n\ndata:   \n\ndata\n\ndata: null\n\ndata: {}\n\n", [Payload({})]),
    "nothing after done": (b"data: [DONE]\n\ndata: 1\n\n", [DONE]),
    "done in one piece with more": (b"data: [DONE]x", [DONE]),
    "done wants its field": (b"[DONE]\nxdata: [DONE]\ndata: 1\n", [Payload(1)]),
    "over several lines": (
        b'data: {\ndata:   "a": [\ndata: 1,\ndata: null\ndata:\ndata: ]}\n\n',
        [Payload({"a": [1, None]})],
    ),
    "over several, then done": (
        b'data: {"a":\ndata: 1}\ndata: [DONE]\n',
        [Payload({"a": 1}), DONE],
    ),
    "over several, then the end": (b'data: {"a":\ndata: 1}', [Payload({"a": 1})]),
    "over several, CRLF": (
        b'data: {"a":\r\ndata: 1}\r\n\r\ndata: 2',
        [Payload({"a": 1}), Payload(2)],
    ),
    "a string over two lines": (b'data: {"a": "x\ndata: y"}\n\n', [Payload({"a": "x\ny"})]),
    "a broken event": (b'data: {"a"\n\ndata: 1\n\n', [Malformed('{"a"'), Payload(1)]),
    "two values are broken": (b"data: 1 2\n\n", [Malformed("1 2")]),
    "broken, no blank lines": (
        f'data: {{"a"\n{WHOLE}\ndata: [DONE]\n'.encode(),
        [Malformed('{"a"'), A_CHUNK, DONE],
    ),
    "broken, then an error": (
        b'data: {"a"\ndata: {"error":"x"}\n',
        [Malformed('{"a"'), Payload({"error": "x"})],
    ),
    "broken, then done": (b"data: oops\ndata: [DONE]", [Malformed("oops"), DONE]),
    "broken, then the end": (b"data: oops\n", [Malformed("oops")]),
    "broken, then a last chunk": (f'data: {{"a"\n{WHOLE}'.encode(), [Malformed('{"a"'), A_CHUNK]),
    "broken, then a comment": (b"data: oops\n: cut", [Malformed("oops")]),
    "last line whole": (b'data: {"a":1}', [Payload({"a": 1})]),
    "last line null": (b"data: null", []),
    "last line cut": (b'data: 1\n\ndata: {"a', [Payload(1)]),
    "last lines cut": (b'data: {\ndata: "a', []),
    "a joined event, then a cut": (b'data: {"a":\ndata: 1}\nda', [Payload({"a": 1})]),
    "an array cut after a value": (b"data: [\ndata: 1", []),
    "done cut": (b"data: [DON", []),
    "empty data cut": (b"data:", []),
    "a name cut": (b"event: err", []),
    "a comment cut": (b": ke", []),
    "named": (b"event: error\ndata: 1\n\ndata: 2\n\n", [Payload(1, "error"), Payload(2)]),
    "named, no blank lines": (
        b"event: error\ndata: 1\ndata: 2\n",
        [Payload(1, "error"), Payload(2)],
    ),
    "named without data": (b"event: error\n\ndata: 2\n\n", [Payload(2)]),
    "named and empty": (b"event: ping\ndata:\ndata: 2\n\n", [Payload(2)]),
    "an empty name": (b"event: error\nevent:\ndata: 2\n\n", [Payload(2)]),
    "named over several": (
        b"event: error\ndata: [\ndata: 1]\n\ndata: 2\n",
        [Payload([1], "error"), Payload(2)],
    ),
    "broken, then named": (
        f"data: [\nevent: error\n{WHOLE}\n".encode(),
        [Malformed("["), Payload({"choices": [1]}, "error")],
    ),
    "no line ends in text": (
        'data: "a\u2028b\x85c\x0bd\x0ce\u2029"\n'.encode(),
        [Payload("a\u2028b\x85c\x0bd\x0ce\u2029")],
    ),
    "characters of many bytes": ('data: "é世😀"\n'.encode(), [Payload("é世😀")]),
    "broken UTF-8": (
        b'data: "caf\xe9 ok"\ndata: "\xf0\x9f\n\n',
        [Payload("caf\ufffd ok"), Malformed('"\ufffd')],
    ),
    "UTF-8 cut": (b'data: "\xf0\x9f', []),
    "chunks that are alike": (
        (words("a") + "\n" + words("b") + ": busy\n" + words(r"\n") + words("")).encode(),
        [A_WORD, "b", "\n", Payload({"choices": [{"delta": {"content": ""}}]})],
    ),
    "a name before a chunk": (
        (words("a") + "event: error\n" + words("a") + "data: 1\n").encode(),
        [A_WORD, "a", Payload(1)],
    ),
    "half a value between chunks": (
        (words("a") + "data: {\n" + words("a") + words("b")).encode(),
        [A_WORD, Malformed("{"), A_WORD, "b"],
    ),
    "an error between chunks": (
        (words("a") + 'error: {"a":1}\n' + words("a")).encode(),
        [A_WORD, Payload({"a": 1}, "error"), A_WORD],
    ),
    "not compact": (b'data: { "a" : [ 1 , 2 ] }\n', [Payload({"a": [1, 2]})]),
    "an error of words": (b"event: error\ndata: down\n\n", [Payload("down", "error")]),
    "an error of lines": (
        b"event: error\ndata: down\ndata: again\n\n",
        [Payload("down\nagain", "error")],
    ),
    "an error cut": (b"event: error\ndata: down", [Payload("down", "error")]),
    "an error's body": (b'{"error": "down"}', [Payload({"error": "down"}, "error")]),
    "an error's field": (b'error: {"a": 1}\n\n', [Payload({"a": 1}, "error")]),
    "an error's field in an event": (
        b'data: {\nerror: {"a": 1}',
        [Malformed("{"), Payload({"a": 1}, "error")],
    ),
    "lines that are no errors": (b'{"error": null}\n{"choices": []}\n{down}\nerror: down\n', []),
}


def read(*pieces: bytes) -> list[Event | str]:
    """Read a stream that comes in these pieces: its events, and its end."""
    decoder = Decoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [*events, *decoder.end(), *[DONE] * decoder.done]


def cut_at(body: bytes, *places: int) -> list[bytes]:
    """Cut a body at these places."""
    edges = [0, *sorted(places), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(edges)]


def test_a_stream_is_the_same_byte_by_byte() -> None:
    """As it is whole."""
    for name, (body, events) in SAMPLES.items():
        assert read(body) == events, name
        assert read(*(bytes([byte]) for byte in body)) == events, name


@pytest.mark.unmeasured
@each_case("name", SAMPLES)
def test_every_way_of_cutting_reads_the_same(name: str) -> None:
    """A stream is the same cut at every place, or pair of places."""
    body, events = SAMPLES[name]
    for places in itertools.combinations(
        range(len(body) + 1), 2 if len(body) <= PAIRS_UP_TO else 1
    ):
        assert read(*cut_at(body, *places)) == events, places


@pytest.mark.parametrize(
    ("pieces", "given"),
    [
        ([b'data: {"a":1}', b"\n"], [0, 1]),
        ([b'data: {"a":1}\r', b"\n", b"\r\n"], [1, 0, 0]),
        ([b"data: {\n", b"data: }\n", b"\n"], [0, 0, 1]),
        ([b"data: oops\n", b"\r"], [0, 1]),
        ([b"data: 1\n\ndata: 2\n\ndata: 3", b"\n"], [2, 1]),
    ],
)
def test_an_event_is_given_by_the_piece_that_completes_it(
    pieces: list[bytes], given: list[int]
) -> None:
    """Nothing is held back."""
    decoder = Decoder()
    assert [len(decoder.feed(piece)) for piece in pieces] == given


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: [", b"DONE]", b"\n"],
        [b"data:[DONE", b"]"],
        [b"\xef", b"\xbb\xbfdata: [DONE]"],
        [b"\xef\xbb\xbfdata: [DONE", b"]"],
    ],
)
def test_the_end_does_not_wait_for_its_line_end(pieces: list[bytes]) -> None:
    """The second piece completes it."""
    decoder = Decoder()
    done = [(decoder.feed(piece), decoder.done) for piece in pieces]
    assert done == [([], at > 0) for at in range(len(pieces))]


def test_where_lines_are_never_alike_none_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look for what they share costs time for nothing; a single use begins the count anew."""
    asked: list[str] = []

    def noted(line: str, value: object) -> Alike | None:
        asked.append(line)
        return alike(line, value)

    monkeypatch.setattr(sse, "alike", noted)
    lines = [words("a").replace("{", f'{{"n":{number},', 1).encode() for number in range(20)]
    decoder = Decoder()
    for line in lines:
        decoder.feed(line)
    assert len(asked) == sse.MOST_UNUSED
    asked.clear()
    decoder = Decoder()
    for line in lines:
        assert decoder.feed(line + line)[1] == "a"
    assert len(asked) == len(lines)


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "[" * 100_000, '{"a":' * 100_000, '{"a": 1} trailing'],
    ids=["long", "deep list", "deep object", "trailing"],
)
def test_a_hostile_event_is_malformed(text: str) -> None:
    """What the JSON reader chokes on is malformed, with a short excerpt."""
    assert read(f"data: {text}\n\n".encode()) == [Malformed(text[:200])]


@pytest.mark.parametrize("size", [65536, 1024])
def test_a_long_line_in_pieces(size: int) -> None:
    """A line of 16 MB is one event; read in more than linear time it would not end today."""
    text = "é" * (8 << 20)
    body = sse.encode_event(text)
    assert read(*(body[at : at + size] for at in range(0, len(body), size))) == [Payload(text)]


LINES = st.sampled_from(
    [
        "",
        "data: 1",
        'data: {"choices": []}',
        "data: {",
        'data: "a": 1',
        "data: }",
        "data:",
        "data",
        "data: null",
        "data: [DONE]",
        "data:[DONE",
        "event: error",
        "event:",
        ": note",
        "id: 1",
        'data: "é\u2028"',
        "data: oops",
        "\ufeff",
        "\ufeffdata: 2",
        'data: {"error": "x"}',
    ]
).map(str.encode)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b""])
STREAMS = st.lists(st.tuples(LINES | st.binary(max_size=6), ENDS), max_size=14).map(
    lambda pairs: b"".join(itertools.chain.from_iterable(pairs))
)


@given(body=STREAMS, places=st.lists(st.integers(0, 200), max_size=8))
@example(body=b"data: [DONE]\r\n", places=[13])
def test_cutting_never_changes_a_stream(body: bytes, places: list[int]) -> None:
    """However a stream is cut, its events are the same, and nothing raises."""
    whole = read(body)
    assert read(*cut_at(body, *(min(place, len(body)) for place in places))) == whole
    assert read(*(bytes([byte]) for byte in body)) == whole


@given(body=STREAMS)
def test_line_ends_make_no_difference(body: bytes) -> None:
    """A stream reads the same with every line end."""
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert read(body) == read(lines)
    assert read(lines.replace(b"\n", b"\r\n")) == read(lines)
    assert read(lines.replace(b"\n", b"\r")) == read(lines)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def without_pairs(value: Any) -> Any:
    """Give a JSON value as any JSON reader gives it back: a surrogate pair is a character."""
    return json.loads(json.dumps(value))


@given(values=st.lists(JSON, max_size=5), line_end=st.sampled_from([b"\n", b"\r\n", b"\r"]))
@example(values=["\ud83d", "\ude00\ud83d", {"\udc80": "\U0001f600"}], line_end=b"\n")
def test_what_is_encoded_is_decoded(values: list[Any], line_end: bytes) -> None:
    """Encoding and decoding agree, with every line end and with or without blank lines."""
    body = b"".join([*map(sse.encode_event, values), sse.encode_done()])
    expected = [Payload(without_pairs(value)) for value in values if value is not None]
    for lines in (body, body.replace(b"\n\n", b"\n")):
        assert read(lines.replace(b"\n", line_end)) == [*expected, DONE]


def test_what_is_encoded_is_compact() -> None:
    """An event is one line of compact JSON in UTF-8; only lone surrogates are escaped."""
    assert sse.encode_event({"a": ["é\n", 1]}) == 'data: {"a":["é\\n",1]}\n\n'.encode()
    assert sse.encode_event("\ud800x") == b'data: "\\ud800x"\n\n'
    assert sse.encode_done() == b"data: [DONE]\n\n"


KINDS: list[tuple[str | None, bytes, sse.BodyKind]] = [
    ("text/event-stream", b'{"choices": []}', "json"),
    ("text/event-stream", b" \r\n\t[", "json"),
    ("application/json", b'data: {"a"', "sse"),
    ("application/json", b"data:", "sse"),
    (None, b"\n\nevent: x", "sse"),
    (None, b"id: 1", "sse"),
    (None, b"retry: 1", "sse"),
    (None, b": processing", "sse"),
    ("text/plain", b"\xef\xbb\xbfdata: 1", "sse"),
    (None, b"\xef\xbb\xbf \n{", "json"),
    ("application/json", b"<html>", "other"),
    (None, b" <!DOCTYPE", "other"),
    ("TEXT/Event-Stream; charset=utf-8", b"foo: bar", "sse"),
    ("application/json", b"nothing", "json"),
    ("application/problem+json ; x=y", b"nothing", "json"),
    ("text/html", b"Sorry", "other"),
    ("application/xhtml+xml", b"Sorry", "other"),
    ("text/plain", b"Sorry", "other"),
    (None, b"date: 1", "other"),
    ("", b"\xef\xbb x", "other"),
]


@each_case(("content_type", "body", "expected"), KINDS)
def test_what_a_body_is(content_type: str | None, body: bytes, expected: sse.BodyKind) -> None:
    """How a body begins decides, then its Content-Type; a longer head never says otherwise."""
    assert sse.body_kind(content_type, body) == expected
    assert sse.body_kind(content_type, body, ended=True) == expected
    told = [sse.body_kind(content_type, body[:length]) for length in range(len(body) + 1)]
    assert set(told) == {None, expected}
    assert told.index(expected) == told.count(None)


@pytest.mark.parametrize(
    ("head", "in_the_end"),
    [
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"\xef", "json"),
        (b"\xef\xbb\xbf \n", "empty"),
        (b"d", "json"),
        (b"\ndata", "json"),
        (b"retry", "json"),
    ],
)
def test_some_heads_tell_nothing_yet(head: bytes, in_the_end: sse.BodyKind) -> None:
    """White space, half a mark and half a field name are told by what comes, or does not."""
    assert sse.body_kind("application/json", head) is None
    assert sse.body_kind("application/json", head, ended=True) == in_the_end


def test_a_line_that_has_not_ended_is_there() -> None:
    """As far as it came, also within a letter."""
    decoder = Decoder()
    assert decoder.feed('data: "é'.encode()[:-1]) == []
    assert decoder.beginning() == 'data: "\ufffd'


def test_a_line_of_very_many_values_is_not_read() -> None:
    """It is no JSON: what it would take in memory is many times its size."""
    events = Decoder().feed(b"data: [" + b"1," * 500_001 + b"1]\n\n")
    assert [type(event) for event in events] == [Malformed]


def test_what_waits_for_the_end_of_its_event() -> None:
    """A comment is nothing of an event; the size of what waits is about right."""
    decoder = Decoder()
    states = []
    for piece in (b": comment", b"\ndata: 1", b"\n\n"):
        events = [*decoder.feed(piece)]
        states.append((decoder.is_idle, decoder.waiting, len(events)))
    assert states == [(True, len(b": comment"), 0), (False, len(b"data: 1"), 0), (True, 0, 1)]
