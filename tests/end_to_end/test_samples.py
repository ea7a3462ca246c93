"""What servers send, kind by kind: each sample is read however it is cut and framed.

``tests/samples/`` holds them, with what a reader should make of each.
"""

from __future__ import annotations

import itertools
import threading
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import pytest
from cases import each_case
from loopback import CHUNKS_END, PATIENCE, Peer, Server, chunked, head, wait_for
from project import ROOT

from chatmagic import errors
from chatmagic._json import iso
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.errors import ChatError
from chatmagic.models import Message, Origin, Reply
from chatmagic.protocol.request import Request

KEY: Final = "key-7d1f-throw-away"
ASK: Final = [Message("user", "Hello?")]
FOLDER: Final = ROOT / "tests" / "samples"
MOST_PAIRS: Final = 60
PLACES: Final = 700
"""A body with more places than this is cut at some twenty of them, and at no pairs."""
STARTED: Final = datetime.now(UTC)
STRIDE: Final = 7
"""A document, which is put together before it is read, is cut in two at each such place."""
TYPES: Final = {
    "streams": "text/event-stream",
    "cut_streams": "text/event-stream",
    "plain": "application/json",
    "errors": "application/json",
}


class Sample:
    """One answer, and what a reader should make of it."""

    def __repr__(self) -> str:
        """Name it."""
        return f"<Sample {self.name}>"

    def __init__(self, kind: str, fields: dict[str, Any]) -> None:
        """Read it from its table."""
        self.name = f"{kind}: {fields['name']}"
        self.says = fields
        self.streamed = kind != "plain"
        self.is_document = kind in {"plain", "errors"}
        text = fields.get("body", "").replace("\n", fields.get("line_end", "\n"))
        self.body = text.encode(fields.get("encoding", "utf-8")) * fields.get("repeat", 1)
        self.status = fields.get("status", "200 OK")
        lines = fields.get("headers", [f"Content-Type: {TYPES[kind]}"])
        self.headers = [tuple(line.split(": ", 1)) for line in lines]

    def check(self, reply: Reply, error: ChatError | None) -> None:
        """Compare what came of it with what should.

        Args:
            reply: as far as it came.
            error: what was raised, if anything.
        """
        says = self.says
        assert type(error).__name__ == says.get("outcome", "NoneType"), error
        assert reply.text == says.get("text", "")
        if error is None:
            self._check_reply(reply)
        else:
            self._check_error(error)
        credits = reply.credits if error is None else error.credits
        figures = None if credits is None else [credits.limit, credits.remaining, credits.used]
        assert figures == says.get("credits")
        times = (None, None) if credits is None else (credits.resets_at, credits.lapsed_at)
        assert tuple(map(iso, times)) == (says.get("reset"), says.get("lapsed"))

    def _check_reply(self, reply: Reply) -> None:
        says = self.says
        assert reply.state == "complete"
        assert reply.finish_reason == says.get("finish")
        assert reply.refusal == says.get("refusal")
        assert reply.reasoning == says.get("reasoning")
        assert reply.model in (says.get("model"), "m-1")
        if "id" in says:
            named = reply.response_id, reply.system_fingerprint
            assert named == (says["id"], says["fingerprint"])
        usage = reply.usage
        counts = usage and [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]
        # TOML has no null: -1 stands for a count that is not known.
        assert (counts and [-1 if count is None else count for count in counts]) == says.get(
            "usage"
        )

    def _check_error(self, error: ChatError) -> None:
        says = self.says
        line = str(error)
        assert says["match"] in line
        assert "hint" not in says or (error.hint or "").endswith(says["hint"])
        assert "hint" not in says or says["hint"] or error.retry_after is None
        if "wait" in says:  # by the clock here, from when the answer came
            assert error.retry_after is not None
            came = error.retry_after - timedelta(seconds=says["wait"])
            assert STARTED <= came <= datetime.now(UTC)
        assert (error.reply.text if error.reply else "") == says.get("text", "")
        assert error.reply is None or error.reply.state == "cut off"
        assert error.status == int(self.status[:3])
        assert len(line.splitlines()) == 1
        assert "7d1f" not in line
        assert len(line) < 500


def samples(*kinds: str) -> list[Sample]:
    """Give the samples of some files."""
    return [Sample(kind, fields) for kind in kinds for fields in tables(kind)]


def tables(kind: str) -> list[dict[str, Any]]:
    """Give the tables of a file."""
    text = (FOLDER / f"{kind}.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["sample"]
    return found


class Played:
    """Exchanges without a wire, one after the other, and the transport that they come by."""

    def __init__(self, sample: Sample, *answers: Iterable[bytes]) -> None:
        """Have an answer ready for each request."""
        self.origin: Origin = "live"
        self.status = int(sample.status[:3])
        self.headers = sample.headers
        self._answers = iter(answers)

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
        """Take any request."""
        del body, stream, halt
        self._pieces = iter(next(self._answers))
        return self

    def close(self, *, ended: bool = False) -> None:
        """Have nothing open."""

    def read(self) -> bytes:
        """Give the next piece; the end comes again."""
        return next(self._pieces, b"")


def read(
    client: Client, *, streamed: bool, seen: Callable[[str], object] = str
) -> tuple[Reply, ChatError | None]:
    """Ask, and give the reply as far as it came, and the error."""
    stream = client.send(Request(tuple(ASK), stream=streamed))
    pieces = []
    try:
        with stream:
            for piece in stream:
                pieces.append(piece)
                seen(piece)
    except ChatError as error:
        return stream.reply, error
    assert "".join(pieces) == stream.reply.text
    return stream.reply, None


def cuts(sample: Sample, share: int) -> Iterator[list[bytes]]:
    """Give a body whole, byte by byte, and cut at a share of the places and pairs of places."""
    body = sample.body
    yield [body]
    yield [body[at : at + 1] for at in range(len(body))]
    yield from itertools.islice(in_pieces(sample), 0, None, share)


def in_pieces(sample: Sample) -> Iterator[list[bytes]]:
    """Give a body cut at places, and at as many pairs of them as we can pay."""
    body = sample.body
    every = STRIDE if sample.is_document else 1
    places = range(1, len(body), every if len(body) <= PLACES else len(body) // 20)
    for place in places:
        yield [body[:place], body[place:]]
    pairs = list(itertools.combinations(places, 2)) if len(body) <= PLACES else []
    # A stride that is prime to most lengths, so that both places move.
    for first, second in pairs[:: max(1, len(pairs) // MOST_PAIRS) | 1]:
        yield [body[:first], body[first:second], body[second:]]


def playing(sample: Sample, *answers: Iterable[bytes]) -> Client:
    """Give a client whose requests are answered with these, each in its pieces."""
    return Client("http://127.0.0.1:9", KEY, transport=Played(sample, *answers))


@pytest.mark.parametrize("share", [23, pytest.param(1, marks=pytest.mark.release)])
@each_case("sample", samples("streams", "cut_streams", "plain", "errors"))
def test_a_sample_is_read_however_it_is_cut(sample: Sample, share: int) -> None:
    """Where the pieces begin and end never changes what is read."""
    answers = list(cuts(sample, share))
    client = playing(sample, *answers)
    for _ in answers:
        sample.check(*read(client, streamed=sample.streamed))


@each_case("sample", samples("errors"))
def test_an_error_is_the_same_for_a_reply_in_one_piece(sample: Sample) -> None:
    """What was asked for does not change what a failure is."""
    sample.check(*read(playing(sample, [sample.body]), streamed=False))


# --- Over a wire --------------------------------------------------------------------------


def close_delimited(parts: list[bytes]) -> Iterator[bytes]:
    """The end of the connection ends the body."""
    yield from parts


def with_length(parts: list[bytes]) -> Iterator[bytes]:
    """The length is known before."""
    yield from parts


def in_chunks(parts: list[bytes]) -> Iterator[bytes]:
    """A chunk a part."""
    yield from map(chunked, parts[:-1])
    yield chunked(*filter(None, parts[-1:])) + CHUNKS_END


def in_odd_chunks(parts: list[bytes]) -> Iterator[bytes]:
    """Chunks of three bytes, wherever they end."""
    for part in parts[:-1]:
        yield chunked(*(part[at : at + 3] for at in range(0, len(part), 3)))
    last = parts[-1]
    yield chunked(*(last[at : at + 3] for at in range(0, len(last), 3))) + CHUNKS_END


def in_a_trickling_chunk(parts: list[bytes]) -> Iterator[bytes]:
    """One chunk that is announced at once and comes part by part."""
    size = sum(map(len, parts))
    first = f"{size:x}\r\n".encode() if size else b""
    for part in parts[:-1]:
        yield first + part
        first = b""
    yield first + parts[-1] + (b"\r\n" if size else b"") + CHUNKS_END


def packed(parts: list[bytes]) -> Iterator[bytes]:
    """Gzip that is flushed after each part, though nobody asked for it."""
    packer = zlib.compressobj(wbits=31)
    for part in parts[:-1]:
        yield packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.compress(parts[-1]) + packer.flush()


FRAMINGS: Final[dict[str, tuple[Callable[[list[bytes]], Iterator[bytes]], dict[str, str]]]] = {
    "close": (close_delimited, {"Connection": "close"}),
    "length": (with_length, {"Content-Length": "{size}"}),
    "chunks": (in_chunks, {"Transfer-Encoding": "chunked"}),
    "odd chunks": (in_odd_chunks, {"Transfer-Encoding": "chunked"}),
    "a trickling chunk": (in_a_trickling_chunk, {"Transfer-Encoding": "chunked"}),
    "gzip": (packed, {"Content-Encoding": "gzip", "Connection": "close"}),
}


@cache
def parts_of(sample: Sample) -> list[bytes]:
    """Cut a body behind each byte that completes a fragment; what is left is the last part."""
    ends: list[int | None] = []
    taken: int | None = 0

    def counted() -> Iterator[bytes]:
        nonlocal taken
        for at in range(len(sample.body)):
            taken = at + 1
            yield sample.body[at : at + 1]
        taken = None

    client = playing(sample, counted())
    read(client, streamed=sample.streamed, seen=lambda _: ends.append(taken))
    # What only the end of the body completes has no place of its own.
    edges = [0, *(end for end in ends if end is not None), len(sample.body)]
    return [sample.body[start:end] for start, end in itertools.pairwise(edges)]


@pytest.mark.parametrize("in_all", [False, pytest.param(True, marks=pytest.mark.release)])
@each_case("sample", samples("streams", "cut_streams", "plain", "errors"))
def test_a_sample_is_read_however_it_is_framed(sample: Sample, *, in_all: bool) -> None:
    """No fragment is held back: the next part is sent only when the last one's has come.

    Each run tries a sample in one framing, by its length; a release tries it in all.
    """
    framings = ["close"] if sample.status[:3] in ("204", "304") else list(FRAMINGS)
    for framing in framings if in_all else [framings[len(sample.body) % len(framings)]]:
        check_framed(sample, framing)


def check_framed(sample: Sample, framing: str) -> None:
    """Check that a sample is read in a framing."""
    frame, fields = FRAMINGS[framing]
    parts = parts_of(sample)
    came = threading.Semaphore(0)

    def script(peer: Peer) -> None:
        peer.request()
        size = str(len(sample.body))
        lines = {name: value.format(size=size) for name, value in fields.items()}
        peer.send(head(sample.status, {**lines, "X-Framing": framing}).removesuffix(b"\r\n"))
        peer.send(*(f"{name}: {value}\r\n".encode() for name, value in sample.headers), b"\r\n")
        *before, last = frame(parts)
        for piece in before:
            peer.send(piece)
            assert came.acquire(timeout=PATIENCE), "a fragment was held back"
        peer.send(last)

    limits = Timeout(PATIENCE, PATIENCE, PATIENCE)
    with Server(script) as server, Client(server.origin, KEY, timeout=limits) as asking:
        sample.check(*read(asking, streamed=sample.streamed, seen=lambda _: came.release()))
        assert len(server.asked) == 1


@pytest.mark.parametrize("fields", [pytest.param(it, id=it["name"]) for it in tables("wire")])
def test_an_answer_is_read_with_its_head(fields: dict[str, Any]) -> None:
    """What is odd about the protocol itself is read as far as it can be."""
    text = bool(fields.get("text"))
    came = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(fields["raw"].replace("\n", "\r\n").encode("latin-1"))
        if fields.get("end") == "reset":
            wait_for(came)
            peer.reset()

    limits = Timeout(PATIENCE, PATIENCE, PATIENCE)
    with Server(script) as server, Client(server.origin, KEY, timeout=limits) as asking:
        reply, error = read(asking, streamed=True, seen=lambda _: came.set())
        assert len(server.asked) == 1
    assert type(error).__name__ == fields.get("outcome", "NoneType"), error
    assert reply.text == fields.get("text", "")
    assert came.is_set() == text
    if error is not None:
        assert fields["match"] in str(error)
        assert isinstance(error, getattr(errors, fields["outcome"]))
