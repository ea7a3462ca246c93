"""Whatever bytes a server answers, in whatever pieces: a reply or an error of ours."""

from __future__ import annotations

import itertools
import json
import pickle
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from unittest import mock
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from served import Played

from chatmagic.client import service_call
from chatmagic.client.client import Client
from chatmagic.errors import (
    ChatError,
    ChatInterrupted,
    ConnectError,
    CutOffError,
    RequestTimeoutError,
)
from chatmagic.models import Message, Reply, Usage
from chatmagic.protocol import sse
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.chunk import Chunk
from chatmagic.protocol.request import Request
from chatmagic.safe_text import one_line, without_lone_surrogates

KEY = 'sk/fuzz+throw="away'
FORMS = (KEY, quote(KEY, safe=""), json.dumps(KEY)[1:-1])
ASK = Request((Message("user", "Hello?"),))
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class StandingClock(datetime):
    """A clock that stands still, so that two runs of one answer say the same."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        """Give the one time there is."""
        return NOW.astimezone(tz)


@pytest.fixture(autouse=True, scope="module")
def clock() -> Iterator[None]:
    """Let the client's clock stand still."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service_call, "datetime", StandingClock)
        yield


@dataclass(frozen=True)
class Answer:
    """What a server answers."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class Outcome:
    """What came of an answer."""

    fragments: list[str]
    reply: Reply
    error: str = ""
    kept: Reply | None = None

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(self.fragments)


def outcome(answer: Answer, pieces: list[bytes], fault: BaseException | None = None) -> Outcome:
    """Play an answer to a client, and check what holds for every answer."""
    stage = Played(answer.status, *filter(None, pieces), *filter(None, [fault]))
    stage.headers = list(answer.headers)
    client = Client("http://127.0.0.1:9", KEY, transport=stage)
    stream = client.send(ASK)
    fragments: list[str] = []
    caught: ChatError | ChatInterrupted | None = None
    try:
        # As fast each time.
        with mock.patch("chatmagic.client.service_call.monotonic", return_value=1.0), stream:
            for fragment in stream:
                assert fragment
                fragments.append(fragment)
    except (ChatError, ChatInterrupted) as error:
        caught = error
    text, reply = "".join(fragments), stream.reply
    assert stage.sent == 1
    assert len(stage.ends) == 1
    assert reply.text == text
    assert not any("\ud800" <= char <= "\udfff" for char in text)
    if caught is None:
        assert reply.state == "complete"
        return Outcome(fragments, reply)
    assert reply.state != "complete"
    _check(caught, text)
    return Outcome(fragments, reply, f"{type(caught).__name__}: {caught}", caught.reply)


def _check(error: ChatError | ChatInterrupted, text: str) -> None:
    """Check what holds for every error: one line, the text so far, no key, and it pickles."""
    line = str(error)
    assert line
    assert one_line(line, len(line)) == line
    assert (error.reply.text if error.reply else "") == text
    shown = [str(error), repr(error), *traceback.format_exception(error)]
    assert not any(form in line for form in FORMS for line in shown)
    restored = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    assert (str(restored), restored.reply) == (str(error), error.reply)
    assert restored.status == error.status


def pieces_of(body: bytes, places: list[int]) -> list[bytes]:
    """Cut a body at these places."""
    cuts = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    return [body[start:end] for start, end in itertools.pairwise(cuts)]


TEXTS = st.text(st.characters(exclude_categories=()), max_size=8) | st.sampled_from(
    [
        KEY,
        f"Bearer {KEY}",
        f"{KEY} is no key",
        "é\u2028\x00\x1b[2J",
        "\ud83d",
        "\ude00",
        " " * 150 + KEY,
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
NAMES = st.sampled_from(
    """choices delta message content index finish_reason usage model refusal error errors
    detail type text title object limit used resetAt total_tokens""".split()  # noqa: SIM905 - a word a line would be a page
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
CHUNKS = st.builds(
    lambda text, more, rest: {"choices": [{"delta": {"content": text}, **more}], **rest},
    TEXTS,
    st.fixed_dictionaries({}, optional={"finish_reason": LEAVES, "index": st.integers(0, 2)}),
    st.fixed_dictionaries({}, optional={"usage": VALUES, "model": LEAVES, "error": VALUES}),
)
ENDS = st.sampled_from(["\n\n", "\n\n", "\n", "\r\n\r\n", "\r", ""])
LINES = st.one_of(
    st.builds(lambda value, end: f"data: {json.dumps(value)}{end}".encode(), CHUNKS, ENDS),
    st.builds(lambda value, end: f"data: {json.dumps(value)}{end}".encode(), VALUES, ENDS),
    st.builds(lambda text, end: f"data: {text}{end}".encode("utf-8", "surrogatepass"), TEXTS, ENDS),
    TEXTS.map(lambda text: b"data: " + json.dumps({"error": {"message": text}}).encode() + b"\n\n"),
    st.sampled_from([b"data: [DONE]\n\n", b": busy\n\n", b"event: error\n", b"\r", b"data:"]),
    st.binary(max_size=4),
)
BODIES = st.one_of(
    st.lists(LINES, max_size=8).map(b"".join),
    st.one_of(VALUES, CHUNKS).map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda text, ok: f"<html><title>{text}</title>{ok}".encode("utf-8", "surrogatepass"),
        TEXTS,
        TEXTS,
    ),
    st.binary(max_size=40),
)
WILD = st.text(st.characters(max_codepoint=255), max_size=12) | st.sampled_from(
    ["100", "-1", "1767268800", "2026-01-02T00:00:00Z", "1e9", KEY, f"https://{KEY}/v1"]
)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            ["X-RateLimit-Limit", "x-ratelimit-remaining", "X-RateLimit-Reset", "Retry-After"]
        )
        | st.sampled_from(["Date", "Location", "Server"]),
        WILD,
    ),
    max_size=4,
).map(tuple)
TYPES = st.sampled_from(
    ["text/event-stream", "application/json", "text/html; charset=utf-8", "text/plain", "x", None]
)
STATUSES = st.sampled_from([200] * 6) | st.sampled_from(
    [201, 204, 302, 400, 401, 402, 403, 404, 407, 408, 413, 422, 429, 500, 502, 599]
)
ANSWERS = st.builds(
    lambda status, kind, headers, body: Answer(
        status, (*headers, *([("Content-Type", kind)] if kind is not None else [])), body
    ),
    STATUSES,
    TYPES,
    HEADERS,
    BODIES,
)
PLACES = st.lists(st.integers(0, 400), max_size=6)
FAULTS = st.sampled_from(
    [
        lambda: CutOffError("The connection broke."),
        lambda: ConnectError("The connection broke."),
        lambda: RequestTimeoutError("The reply fell silent.", which="silence"),
        lambda: ChatInterrupted("Interrupted."),
    ]
)


@given(answer=ANSWERS, places=PLACES)
def test_any_answer_is_a_reply_or_an_error(answer: Answer, places: list[int]) -> None:
    """Nothing else leaves, in any pieces; pieces change neither the text nor the error."""
    whole = outcome(answer, [answer.body])
    assert outcome(answer, pieces_of(answer.body, places)) == whole
    assert outcome(answer, [bytes([byte]) for byte in answer.body]) == whole


@given(answer=ANSWERS, places=PLACES, fault=FAULTS)
def test_what_came_before_a_fault_is_kept(answer: Answer, places: list[int], fault: Any) -> None:
    """Wherever the connection breaks, the text so far is the beginning of the whole text."""
    whole = outcome(answer, [answer.body]).text
    pieces = pieces_of(answer.body, places)
    for count in range(len(pieces) + 1):
        found = outcome(answer, pieces[:count], fault())
        # Half a pair that waits for its other half is given up to the end that came.
        assert whole.startswith(found.text)


# One chunk's JSON, with a place for the content, which is not always what the reply takes.
PLAIN = '{"choices":[{"delta":{"content":%s}}]}'
MESSAGE = '{"choices":[{"message":{"content":%s}}]}'
FORMS_OF_CHUNK = st.sampled_from(
    [
        PLAIN,
        MESSAGE,
        '{"model":"m","choices":[{"index":0,"delta":{"content": %s },"finish_reason":null}]}',
        '{"choices":[{"delta":{"content":%s},"finish_reason":"stop"}],"usage":{"total_tokens":3}}',
        '{"choices":[{"delta":{"content":%s},"message":{"content":"whole"}}]}',
        '{"choices":[{"delta":{"content":"a","content":%s}}]}',
        '{"choices":[{"delta":{"content":%s,"cont\\u0065nt":"b"}}]}',
        '{"choices":[{"index":1,"delta":{"content":%s}},{"index":0,"delta":{"role":"r"}}]}',
        '{"choices":[{"delta":{"content":%s}}],"choices":[{"delta":{"refusal":"no"}}]}',
        '{"content":%s,"choices":[{"delta":{}}]}',
        '[{"choices":[{"delta":{"content":%s}}]}]',
        '{"choices":[{"delta":{"content":%s}}],"error":null,"message":"m"}',
        '{"choices":[{"delta":{"content":[{"text":%s}]}}]}',
        '{"choices":[{"delta":{"content":%s},"usage":{"total_tokens":1}}],"limit":1,"used":2}',
        '{"choices":[{"delta":{"content":%s}},{"index":0,"delta":{"content":"b"}}]}',
        '{"choices":[{"delta":{"content":%s,"refusal":"no"}}],"model":"n"}',
        '{"choices":[{"delta":{"content":%s},"error":{"message":"m"}}]}',
        '{"object":"error","message":"m","choices":[{"delta":{"content":%s}}]}',
    ]
)
CONTENTS = st.sampled_from(
    [
        '" word"',
        '" and"',
        '"é"',
        '"a"',
        r'"\n\n"',
        r'"a \"b\" c"',
        r'"\ud83d"',
        r'"\ude00"',
        '""',
        "null",
        '"a" , "b"',
        r'"\"',
        r'"\x"',
        '"\t"',
        '"a","content":"b"',
        '"a"}}],"x":[{"y":{"z":"b"',
    ]
)
NAME, HALF = b"event: error\n", b"data: {\n"
USAGE, NO_USAGE = (
    b'data: {"choices":[{"delta":{"content":"u"}}],"usage":{"total_tokens":%b}}\n' % total
    for total in (b"7", b'"n"')
)
ODD = LINES | st.sampled_from([NAME, b"event: ping\n", HALF, b'error: {"a":1}\n', USAGE, NO_USAGE])
WORDS = [(0, '"a"'), (0, '"b"')]


def _odd(*odd: tuple[int, bytes], contents: list[tuple[int, str]] = WORDS) -> example:
    """Return an example of few chunks, with lines between them."""
    how: dict[str, Any] = {"end": "\n", "odd": list(odd), "wrong": [], "places": []}
    return example(forms=(PLAIN, MESSAGE), contents=contents, **how)


@_odd((1, NAME), (3, HALF))
@_odd((1, HALF))
@_odd((1, USAGE), (2, NO_USAGE))
@_odd(contents=[(0, '"a"'), (0, '"a","content":"b"')])
@_odd(contents=[(0, r'"\ud83d"'), (0, '"a" , "b"')])
@_odd(contents=[(1, '"a"'), *WORDS, (1, '"aabc"')])
@given(
    forms=st.tuples(FORMS_OF_CHUNK, FORMS_OF_CHUNK),
    contents=st.lists(st.tuples(st.integers(0, 1), CONTENTS), min_size=2, max_size=12),
    end=st.sampled_from(["\n\n", "\n", "\r\n\r\n"]),
    odd=st.lists(st.tuples(st.integers(0, 12), ODD), max_size=2),
    wrong=st.lists(st.tuples(st.integers(0, 2_000), st.binary(max_size=2)), max_size=1),
    places=PLACES,
)
def test_the_short_ways_of_plain_chunks_read_the_same(
    *,
    forms: tuple[str, str],
    contents: list[tuple[int, str]],
    end: str,
    odd: list[tuple[int, bytes]],
    wrong: list[tuple[int, bytes]],
    places: list[int],
) -> None:
    """Whatever a stream holds, and wherever it is cut, as if each chunk were read in full."""
    lines = [f"data: {forms[form] % content}{end}".encode() for form, content in contents]
    for place, line in odd:
        lines.insert(place, line)
    body = b"".join(lines)
    for place, extra in wrong:
        at = place % (len(body) + 1)
        body = body[:at] + extra + body[at:]
    answer = Answer(200, (("Content-Type", "text/event-stream"),), body)
    short = outcome(answer, pieces_of(body, places))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "alike", lambda *_: None)
        assert outcome(answer, [body]) == short


COUNTS = st.none() | st.integers(0, 10**6)
FULL = st.builds(
    Reply,
    text=st.just(""),
    model=st.none() | st.text(min_size=1, max_size=4),
    finish_reason=st.sampled_from(["stop", "length"]),
    usage=st.builds(Usage, COUNTS, COUNTS, COUNTS).map(
        lambda usage: None if usage == Usage() else usage
    ),
)


@given(
    parts=st.lists(TEXTS, max_size=6),
    told=FULL,
    form=st.fixed_dictionaries(
        {"line_end": st.sampled_from([b"\n", b"\r\n", b"\r"]), "blank_line": st.booleans()}
    ),
    noise=st.sampled_from([b"", b": busy\n", b"id: 1\n", b"retry: 5\n", b"data: null\n\n"]),
    places=PLACES,
)
@example(
    parts=["\ud83d", "\ude00", "x\ud83d"],
    told=Reply("", finish_reason="stop"),
    form={"line_end": b"\r\n", "blank_line": False},
    noise=b": busy\n",
    places=[9],
)
def test_what_the_interface_writes_is_read(
    parts: list[str], told: Reply, form: Any, noise: bytes, places: list[int]
) -> None:
    """A stream and a document of the same reply give that reply, whole, if it tells no key."""
    text = without_lone_surrogates("".join(parts))
    assume(redacted(text, [Secret(KEY)]) == text)
    chunks = [Chunk(content=part) for part in parts]
    chunks.append(Chunk(finish_reason=told.finish_reason, model=told.model, usage=told.usage))
    events = [*(sse.encode_event(chunk.to_json()) for chunk in chunks), sse.encode_done()]
    if not form["blank_line"]:
        events = [event.removesuffix(b"\n") for event in events]
    streamed = noise.join([b"", *(event.replace(b"\n", form["line_end"]) for event in events)])
    document = Chunk(**{**_fields(told), "content": "".join(parts), "whole": True})
    whole = json.dumps(document.to_json()).encode()
    for kind, body in (("text/event-stream", streamed), ("application/json", whole)):
        answer = Answer(200, (("Content-Type", kind),), body)
        found = outcome(answer, pieces_of(body, places))
        assert found.error == ""
        assert found.text == text
        assert _fields(found.reply) == _fields(told)


def _fields(reply: Reply) -> dict[str, Any]:
    return {name: getattr(reply, name) for name in ("model", "finish_reason", "usage")}
