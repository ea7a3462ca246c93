"""A request in and a reply out: through a client, over real sockets."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import pytest
from loopback import (
    CHUNKS_END,
    DONE,
    EVENTS,
    PATIENCE,
    Peer,
    Server,
    answer,
    chunked,
    document,
    event,
    head,
    once,
    playing,
    stream,
    wait_for,
)

import chatmagic
from chatmagic import client as client_module
from chatmagic.accounting import Usage
from chatmagic.client import Client
from chatmagic.connection import Halt
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    ChatInterrupted,
    CutOffError,
    InputError,
    NotUnderstoodError,
    RateLimitError,
    RequestRejectedError,
    RequestTimeoutError,
    ServiceError,
)
from chatmagic.patience import Timeout
from chatmagic.refusal import BODY_BYTES
from chatmagic.transport import HttpExchange
from chatmagic.wire import Message, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chatmagic.wire import Origin

KEY = "key-7d1f-throw-away"
ASK = [Message("user", "Hello?")]
HELLO = [event("Hel"), event("lo", finish_reason="stop"), DONE]
WHOLE = {
    "model": "m-1",
    "choices": [
        {"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"},
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
LIMIT = {
    "error": "rate limit exceeded",
    "message": "daily credit limit reached",
    "limit": 100,
    "used": 100,
    "resetAt": "2026-03-02T00:00:00Z",
}


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the environment says of an address or a key."""
    for name in ("BASE_URL", "API_KEY", "API_KEY_FILE", "AUTH"):
        monkeypatch.delenv(f"CHATMAGIC_{name}", raising=False)


@contextlib.contextmanager
def served(
    script: bytes | Callable[[Peer], object], **options: Any
) -> Iterator[tuple[Client, Server]]:
    """Give a client and the server it asks."""
    play = playing(script) if isinstance(script, bytes) else script
    options.setdefault("timeout", Timeout(PATIENCE, PATIENCE, PATIENCE))
    with Server(play) as server, Client(server.origin, KEY, **options) as client:
        yield client, server


def ask(client: Client, *, streaming: bool) -> Reply:
    """Ask in one of the two ways."""
    if not streaming:
        return client.complete(ASK)
    with client.stream(ASK) as replying:
        pieces = list(replying)
    assert "".join(pieces) == replying.reply.text
    return replying.reply


def failure(script: bytes | Callable[[Peer], object], *, streaming: bool = True) -> ChatError:
    """Give the error that an answer makes."""
    with served(script) as (client, server):
        with pytest.raises(ChatError) as caught:
            ask(client, streaming=streaming)
        assert len(server.asked) == 1
    assert "\n" not in str(caught.value)
    return caught.value


# --- What is sent -------------------------------------------------------------------------


def test_the_body_has_the_interfaces_fields_and_no_other() -> None:
    """Fields that were not set are not sent; nothing is added (interface §2.2)."""
    message = {"role": "user", "content": "Hello?"}
    with served(document(WHOLE)) as (client, server):
        client.complete(ASK)
        client.complete([message], max_tokens=5, temperature=0.5)
        with client.stream(iter(ASK)) as replying:
            list(replying)
    bodies = [asked.body for asked in server.asked]
    assert bodies == [
        {"messages": [message], "stream": False},
        {"messages": [message], "stream": False, "max_tokens": 5, "temperature": 0.5},
        {"messages": [message], "stream": True},
    ]
    for asked in server.asked:
        assert asked.raw.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
        assert asked.headers["content-type"] == "application/json"
        assert asked.headers["user-agent"] == f"chatmagic/{chatmagic.__version__}"
    assert server.asked[2].headers["accept-encoding"] == "identity"


def test_extra_fields_are_merged() -> None:
    """A compatible server gets what it wants beside the interface's fields."""
    with served(document(WHOLE), extra_body={"model": "m-1"}) as (client, server):
        client.complete(ASK)
    assert server.asked[0].body["model"] == "m-1"
    assert set(server.asked[0].body) == {"messages", "stream", "model"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"messages": [{"role": "user"}]},
        {"messages": "Hello?"},
        {"messages": ASK, "max_tokens": "5"},
        {"messages": ASK, "temperature": float("nan")},
    ],
)
def test_what_cannot_be_sent_is_refused(arguments: dict[str, Any]) -> None:
    """Bad input is one line, and nothing is sent."""
    with served(document(WHOLE)) as (client, server):
        with pytest.raises(InputError, match="Nothing was sent"):
            client.complete(**arguments)
        with pytest.raises(InputError, match="Nothing was sent"):
            client.stream(**arguments)
        assert server.accepted == 0


def test_extra_fields_that_are_no_json_are_refused() -> None:
    """What JSON has no word for is found before anything is sent."""
    with served(document(WHOLE), extra_body={"x": {1, 2}}) as (client, server):
        with pytest.raises(InputError, match="Nothing was sent"):
            client.complete(ASK)
        assert server.accepted == 0


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, or one that belongs to another address, is one line that says so."""
    with Server(playing(document(WHOLE))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", "https://chat.example.org")
        for key in (None, KEY):
            if key is not None:
                monkeypatch.setenv("CHATMAGIC_API_KEY", key)
            client = Client(server.origin)
            with pytest.raises(AuthenticationError, match=r"no API key.*Nothing was sent"):
                client.complete(ASK)
        assert server.accepted == 0
        with Client(server.origin, auth="none") as open_client:
            assert open_client.complete(ASK).text == "Hello"
    assert "authorization" not in server.asked[0].headers


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without arguments a client asks whom the environment names."""
    with Server(playing(document(WHOLE))) as server:
        monkeypatch.setenv("CHATMAGIC_BASE_URL", f"{server.origin}/v1")
        monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
        monkeypatch.setenv("CHATMAGIC_AUTH", "x-api-key")
        with Client() as client:
            client.complete(ASK)
    assert server.asked[0].headers["x-api-key"] == KEY
    assert server.asked[0].target == "/v1/chat/completions"


def test_loopback_goes_past_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client finds out by itself that an address on this machine needs no proxy."""
    with Server(playing(document(WHOLE))) as proxy, served(document(WHOLE)) as (client, server):
        monkeypatch.setenv("http_proxy", proxy.origin)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        client.complete(ASK)
        assert (proxy.accepted, len(server.asked)) == (0, 1)


# --- What is read -------------------------------------------------------------------------


def typed(kind: str | None) -> dict[str, str]:
    """Give the header for a media type, or none."""
    return {} if kind is None else {"Content-Type": kind}


BODIES = {"stream": b"".join(HELLO), "document": json.dumps(WHOLE).encode()}


@pytest.mark.parametrize("streaming", [False, True], ids=["asked JSON", "asked stream"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\r\n \n"], ids=["", "BOM", "blank"])
@pytest.mark.parametrize(
    "kind",
    ["text/event-stream; charset=utf-8", "Application/JSON", "text/plain", None],
)
@pytest.mark.parametrize("body", BODIES)
def test_a_reply_is_read_for_what_it_is(
    body: str, kind: str | None, mark: bytes, *, streaming: bool
) -> None:
    """A stream and a document are both read, whichever was asked for and however labelled."""
    with served(answer(mark + BODIES[body], headers=typed(kind))) as (client, server):
        for _ in range(2):
            reply = ask(client, streaming=streaming)
            assert reply.text == "Hello"
            assert reply.state == "complete"
            assert reply.finish_reason == "stop"
            assert reply.usage == (Usage(1, 2, 3) if body == "document" else None)
            assert reply.model == ("m-1" if body == "document" else None)
        assert server.accepted == 1


def test_fragments_are_handed_on_one_by_one() -> None:
    """The next fragment is sent only after the one before has been handed on."""
    arrived = threading.Semaphore(0)
    words = [f"word {n}, " for n in range(5)]

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Connection": "close"}))
        for word in words:
            peer.send(event(word, "\n"))
            assert arrived.acquire(timeout=PATIENCE)
        peer.send(DONE)

    with served(script) as (client, _), client.stream(ASK) as replying:
        for word, fragment in zip(words, replying, strict=False):
            assert fragment == word
            assert replying.reply.state == "interrupted"
            arrived.release()
        assert list(replying) == []
        assert replying.reply.text == "".join(words)
        assert replying.reply.state == "complete"


def test_a_loop_that_was_left_can_go_on() -> None:
    """A second loop over the same stream goes on where the first one stopped."""
    with served(stream(*HELLO)) as (client, _), client.stream(ASK) as replying:
        assert next(iter(replying)) == "Hel"
        assert list(replying) == ["lo"]
        assert list(replying) == []
    assert replying.reply.state == "complete"


def test_a_stream_that_was_not_entered_says_so() -> None:
    """Iterating sends nothing by itself."""
    with served(stream(*HELLO)) as (client, server):
        with pytest.raises(InputError, match="Enter the stream first"):
            list(client.stream(ASK))
        assert server.accepted == 0


def test_gzip_that_nobody_asked_for_is_read() -> None:
    """A compressed stream and a compressed document are unpacked."""
    for body in BODIES.values():
        fields = {"Content-Encoding": "gzip"}
        with served(answer(gzip.compress(body), headers=fields)) as (client, _):
            assert ask(client, streaming=True).text == "Hello"


@pytest.mark.parametrize("status", ["201 Created", "200 OK"])
def test_any_success_counts(status: str) -> None:
    """Success is told by standard status codes (interface §7)."""
    with served(document(WHOLE, status)) as (client, _):
        assert client.complete(ASK).text == "Hello"


def test_a_document_in_a_list_is_read() -> None:
    """The first element of a list is taken for the reply."""
    with served(document([WHOLE])) as (client, _):
        assert client.complete(ASK).text == "Hello"


def test_a_surrogate_pair_over_two_chunks_is_joined() -> None:
    """Half a pair waits for the other half; one that stays alone is replaced."""
    pieces = [b'data: {"choices":[{"delta":{"content":"%s"}}]}\n' % half for half in HALVES]
    with served(stream(*pieces, DONE)) as (client, _), client.stream(ASK) as replying:
        assert list(replying) == ["a", "\N{PARTY POPPER}", "b", "\N{REPLACEMENT CHARACTER}"]
    assert replying.reply.text == "a\N{PARTY POPPER}b\N{REPLACEMENT CHARACTER}"


HALVES = [rb"a\ud83c", rb"\udf89", rb"b\ud83c"]


def test_finish_reason_model_and_usage_may_come_anywhere() -> None:
    """What any chunk says counts, and a later chunk without it takes nothing back."""
    pieces = [
        event("Hi", finish_reason="length"),
        b'data: {"model":"m-2","choices":[],"usage":{"total_tokens":9}}\n\n',
        b'data: {"choices":[{"delta":{}}],"usage":null}\n\n',
        DONE,
    ]
    with served(stream(*pieces)) as (client, _):
        reply = ask(client, streaming=True)
    assert (reply.finish_reason, reply.model) == ("length", "m-2")
    assert reply.usage == Usage(total_tokens=9)


def test_a_refusal_is_kept_apart() -> None:
    """What a model says instead of answering is not its answer."""
    value = {"choices": [{"message": {"content": None, "refusal": "I can't."}}]}
    with served(document(value)) as (client, _):
        reply = client.complete(ASK)
    assert (reply.text, reply.refusal) == ("", "I can't.")


def test_the_answers_own_date_and_origin() -> None:
    """A reply says when it was written, and whether it came from the emulator."""
    fields = {"Date": "Sun, 01 Mar 2026 12:00:00 GMT"}
    with served(playing(document(WHOLE, headers=fields))) as (client, _):
        reply = client.complete(ASK)
    assert (reply.date, reply.origin) == (datetime(2026, 3, 1, 12, tzinfo=UTC), "live")
    with served(document(WHOLE, headers={"Server": "chatmagic-emulator/1"})) as (client, _):
        assert client.complete(ASK).origin == "emulator"


# --- The end ------------------------------------------------------------------------------


def test_the_end_mark_ends_the_reply_at_once() -> None:
    """The reply is complete at the mark, without a line end and while the server stays."""
    gone: list[bool] = []

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}))
        peer.send(chunked(event("Hello"), b"data: [DONE]"))
        gone.append(peer.gone())

    with served(script) as (client, _):
        assert ask(client, streaming=True).state == "complete"
    assert gone == [True]


@pytest.mark.parametrize("ended", [True, False])
def test_without_an_end_mark_a_finish_reason_counts(*, ended: bool) -> None:
    """A clean end after a finish reason is an end; without one the reply is cut off."""
    body = event("Hello", finish_reason="stop") if ended else event("Hello")
    if ended:
        for script in (stream(body), once(head(headers=EVENTS), body)):
            with served(script) as (client, _):
                assert ask(client, streaming=True).state == "complete"
        return
    error = failure(stream(body))
    assert isinstance(error, CutOffError)
    assert error.reply is not None
    assert (error.reply.text, error.reply.state) == ("Hello", "cut off")


def test_half_an_event_at_the_end_is_a_cut() -> None:
    """After a finish reason too: something was lost, and nobody knows what."""
    body = event("Hello", finish_reason="stop"), b'data: {"choices": [{"del'
    error = failure(once(head(headers=EVENTS), *body))
    assert isinstance(error, CutOffError)
    assert error.reply is not None
    assert error.reply.text == "Hello"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (b'data: {"error": "CUDA out of memory"}\n\n', "CUDA out of memory"),
        (b'data: {"error": {"message": "not completed", "code": "500"}}\n\n', "not completed"),
        (b'event: error\ndata: {"message": "overloaded"}\n\n', "overloaded"),
        (b'data: {"choices": [], "error": {"message": "half way"}}\n\n', "half way"),
        (f"data: {json.dumps(LIMIT)}\n\n".encode(), "daily credit limit reached"),
        (b'data: {"choices": [{"delta": {"con\n\n', "could not be read"),
        (f'data: {{"error": "{KEY}"}}\n\n'.encode(), "[key removed]"),
        (f'data: {{"half": "{KEY}\n\n'.encode(), "[key removed]"),
        (b'data: [{"error": {"message": "in a list"}}]\n\n', "in a list"),
    ],
)
def test_an_error_inside_a_stream_cuts_the_reply_off(last: bytes, words: str) -> None:
    """What came is kept with the error, which says what the service said."""
    error = failure(stream(event("Hel"), event("lo"), last, DONE, headers=left(7)))
    assert isinstance(error, CutOffError)
    assert error.credits is not None
    assert error.credits.remaining == (0 if b"resetAt" in last else 7)
    assert words in str(error)
    assert "7d1f" not in str(error)
    assert error.status == 200
    assert error.reply is not None
    assert (error.reply.text, error.reply.state) == ("Hello", "cut off")


def test_an_error_before_any_text_is_the_services() -> None:
    """Without a fragment there is no reply to be cut off."""
    error = failure(stream(b'data: {"error": {"message": "no worker"}}\n\n', DONE))
    assert type(error) is ServiceError
    assert "no worker" in str(error)
    assert error.reply is None


@pytest.mark.parametrize("cut", [b"", b"5\r\nda", chunked(b"data: {"), b"zz\r\n"])
def test_a_connection_that_breaks_cuts_the_reply_off(cut: bytes) -> None:
    """A body that ends inside its framing is never a clean end, whatever came before."""
    fields = {**EVENTS, "Transfer-Encoding": "chunked"}
    error = failure(once(head(headers=fields), chunked(event("Hi", finish_reason="stop")), cut))
    assert isinstance(error, CutOffError)
    assert error.reply is not None
    assert error.reply.text == "Hi"


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (answer(b"<html><title>Sign in</title>", headers=typed("text/html")), NotUnderstoodError),
        (answer(b"", headers=EVENTS), ServiceError),
        (answer(b" \n\r\n", headers=EVENTS), ServiceError),
        (answer(b""), ServiceError),
        (head("204 No Content"), NotUnderstoodError),
        (answer(b'{"choices": [{"mess', headers=typed("application/json")), CutOffError),
        (document([]), NotUnderstoodError),
        (document({"ok": True}), NotUnderstoodError),
        (document({"error": "broken"}), ServiceError),
        (answer(b"Hello there"), NotUnderstoodError),
    ],
    ids=["HTML", "empty stream", "blank", "empty", "204", "half", "[]", "other", "error", "text"],
)
def test_a_success_that_is_no_reply(
    given: bytes, kind: type[ChatError], *, streaming: bool
) -> None:
    """Status 200 alone makes no reply; each kind of nonsense is told in one line."""
    error = failure(given, streaming=streaming)
    assert type(error) is kind
    assert error.reply is None
    assert error.status in (200, 204)


def test_the_title_of_a_page_is_found_wherever_it_comes() -> None:
    """A page that comes in pieces is read on for its title, not judged by the first one."""
    arrived = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**typed("text/html"), "Connection": "close"}), b"<!doctype html>")
        arrived.wait(0.02)
        peer.send(b"<title>Sign in</title>")

    assert 'service: "Sign in" (HTTP 200)' in str(failure(script))


# --- Errors by status ---------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("status", [200, 400, 403, 429, 500])
@pytest.mark.parametrize("framed", [False, True], ids=["document", "stream"])
def test_the_rate_limit_is_known_by_its_body(status: int, *, framed: bool, streaming: bool) -> None:
    """At any status, and as an event of a stream, its figures are the credits."""
    given = document(LIMIT, f"{status} Whatever")
    if framed:
        given = answer(f"data: {json.dumps(LIMIT)}\n\n".encode(), headers=EVENTS)
    with served(given) as (client, server):
        for _ in range(2):
            with pytest.raises(RateLimitError, match="No credits left: 100 of 100") as caught:
                ask(client, streaming=streaming)
            assert caught.value.credits == client.credits
            assert client.credits is not None
            assert client.credits.remaining == 0
        assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "bad", "message": "very"}', '"bad: very"'),
        (b'{"error": {"message": "nested"}}', '"nested"'),
        (b"<html><title>Oops</title></html>", '"Oops"'),
        (gzip.compress(b'{"error": "packed"}'), '"packed"'),
        (b"", "failed (HTTP 500)"),
        (b"\xff\0", "(HTTP 500)"),
    ],
)
def test_an_error_body_of_any_kind_is_one_line(body: bytes, words: str) -> None:
    """Whatever the body is, the status and a short excerpt are told; the connection is kept."""
    fields = {"Content-Encoding": "gzip"} if body.startswith(b"\x1f") else {}
    with served(answer(body, "500 Oops", fields)) as (client, server):
        for _ in range(3):
            with pytest.raises(ServiceError) as caught:
                client.complete(ASK)
            assert words in str(caught.value)
            assert caught.value.status == 500
        assert server.accepted == 1


def test_an_error_body_that_breaks_off_is_told_by_its_status() -> None:
    """How an error's body ended matters less than the error."""
    fields = {"Content-Length": "99"}
    error = failure(once(head("400 Bad", fields), b'{"error": "bad", "message": "so"}'))
    assert isinstance(error, RequestRejectedError)
    assert '"bad: so"' in str(error)


@pytest.mark.parametrize(
    ("status", "words"), [("500 Oops", "xxx…"), ("302 Moved", "points to https://new.example.org")]
)
def test_an_error_body_is_not_read_beyond_a_bound(status: str, words: str) -> None:
    """An error that goes on for long is left, and its connection closed."""
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(status, {"Connection": "close", "Location": "https://new.example.org/"}))
        with contextlib.suppress(ConnectionError):
            for _ in range(1_000):
                peer.send(b"x" * BODY_BYTES)
            pytest.fail("all of it was taken")
        gone.set()

    with served(script) as (client, _):
        with pytest.raises(ChatError, match=words):
            client.complete(ASK)
        wait_for(gone)


@pytest.mark.parametrize("status", ["401 No", "200 OK"])
def test_an_error_body_that_drips_is_left(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes a byte at a time, for ever, is cut when its time is up."""
    monkeypatch.setattr(client_module, "BODY_SECONDS", 0.05)
    drip = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(status, {"Content-Type": "text/html", "Connection": "close"}), b"<p>no")
        peer.repeat(b".", 0.01)
        drip.set()

    with served(script) as (client, _):
        with pytest.raises(ChatError, match="no") as caught:
            client.complete(ASK)
        assert caught.value.status == int(status[:3])
        wait_for(drip)


def test_an_error_body_that_stops_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not go on is cut when its time is up, whatever silence the user allows."""
    monkeypatch.setattr(client_module, "BODY_SECONDS", 0.05)
    gone = threading.Event()

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head("401 No", {"Content-Length": "99"}), b'{"error": "no", "message": "so"}')
        if peer.gone():
            gone.set()

    with served(script, timeout=Timeout(PATIENCE, None, None)) as (client, _):
        with pytest.raises(AuthenticationError, match='"no: so"'):
            client.complete(ASK)
        wait_for(gone)


def test_white_space_before_a_reply_is_a_sign_of_life() -> None:
    """There may be any amount of it, and it is not kept."""
    spaces = [b" \n" * 20_000] * 20
    assert ask_played(Played(200, *spaces, BODIES["document"])).text == "Hello"
    assert ask_played(Played(200, *spaces, *HELLO)).text == "Hello"


def test_a_redirect_names_the_new_origin() -> None:
    """The new origin is told, and gets nothing."""
    with Server(playing(document(WHOLE))) as other:
        error = failure(answer(b"", "307 Moved", {"Location": other.url}))
        assert isinstance(error, NotUnderstoodError)
        assert f"points to {other.origin} (HTTP 307)" in str(error)
        assert other.accepted == 0


@pytest.mark.parametrize(
    "location", ["https://new.example.org\x1b[31m/x", "http://[new.example.org/", "\xff\xfe"]
)
def test_a_redirect_to_no_address_is_a_redirect(location: str) -> None:
    """What no library can read as a URL is told like any other place."""
    error = failure(answer(b"", "307 Moved", {"Location": location}))
    assert isinstance(error, NotUnderstoodError)
    assert "(HTTP 307); that was not followed" in str(error)
    assert "\x1b" not in str(error)


# --- Credits ------------------------------------------------------------------------------


def left(remaining: int) -> dict[str, str]:
    """Give the headers of the credits (interface §8)."""
    return {
        "X-RateLimit-Limit": "100",
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": "2026-03-02T00:00:00Z",
        "Date": "Sun, 01 Mar 2026 12:00:00 GMT",
    }


def test_credits_come_with_every_answer() -> None:
    """Headers count on success and on errors; an answer without them changes nothing."""
    script = playing(
        document(WHOLE, headers=left(90)),
        document({"error": "bad"}, "400 Bad", headers=left(80)),
        document(WHOLE),
        stream(*HELLO, headers=left(70)),
        document(LIMIT),
    )
    with served(script) as (client, _):
        assert (client.credits, client.took) == (None, None)
        reply = client.complete(ASK)
        assert reply.credits is client.credits
        assert reply.credits is not None
        assert (reply.credits.remaining, reply.credits.used, client.took) == (90, 10, None)
        assert reply.credits.seen_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
        with pytest.raises(RequestRejectedError) as caught:
            client.complete(ASK)
        assert caught.value.credits is client.credits
        assert client.credits is not None
        assert (client.credits.remaining, client.took) == (80, 10)
        assert client.complete(ASK).credits is None
        assert (client.credits.remaining, client.took) == (80, None)
        with client.stream(ASK) as replying:
            assert client.credits.remaining == 70
            list(replying)
        assert client.took is None


def test_a_rate_limit_as_a_success_is_counted_once() -> None:
    """Figures in the body take the place of the same answer's headers in the ledger."""
    script = playing(document(WHOLE, headers=left(30)), document(LIMIT, headers=left(10)))
    with served(script) as (client, _):
        client.complete(ASK)
        with pytest.raises(RateLimitError):
            client.complete(ASK)
        assert client.credits is not None
        assert (client.credits.remaining, client.took) == (0, 30)


def test_after_an_ask_without_an_answer_nobody_knows_what_the_next_one_took() -> None:
    """A request that was sent may have cost something, so the next fall is not one turn's."""
    answers = iter((90, None, 70))

    def script(peer: Peer) -> None:
        remaining = next(answers)
        if peer.request() and remaining is not None:
            peer.send(document(WHOLE, headers=left(remaining)))

    with served(script) as (client, server):
        client.complete(ASK)
        server.wait_closed()
        with pytest.raises(ServiceError, match="without an answer"):
            client.complete(ASK)
        client.complete(ASK)
        assert client.credits is not None
        assert (client.credits.remaining, client.took) == (70, None)


# --- Leaving and stopping -----------------------------------------------------------------


def endless(gone: threading.Event) -> Callable[[Peer], None]:
    """Make the script that begins a reply and waits until the client goes."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Transfer-Encoding": "chunked"}), chunked(event("Hel")))
        if peer.gone():
            gone.set()

    return script


@pytest.mark.parametrize("leave", [None, KeyboardInterrupt, RuntimeError])
def test_leaving_early_closes_the_connection(leave: type[BaseException] | None) -> None:
    """The server sees the close at once; what came is there, marked."""
    gone = threading.Event()
    with served(endless(gone)) as (client, _):
        replying = client.stream(ASK)
        try:
            with replying:
                for _ in replying:
                    if leave is not None:
                        raise leave
                    break
        except (KeyboardInterrupt, RuntimeError) as error:
            assert type(error) is leave  # noqa: PT017 - the same test without an exception
        wait_for(gone)
    assert (replying.reply.text, replying.reply.state) == ("Hel", "interrupted")


def test_a_stop_from_another_thread_is_an_interrupt_with_the_partial_reply() -> None:
    """Whoever waits for the reply is told at once, with what came."""
    gone = threading.Event()
    halt = Halt()

    def ask(client: Client) -> None:
        with client.send(Request(tuple(ASK)), halt) as replying:
            for _ in replying:
                threading.Thread(target=halt.stop).start()

    with served(endless(gone)) as (client, _), pytest.raises(ChatInterrupted) as caught:
        ask(client)
    wait_for(gone)
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("Hel", "interrupted")
    assert not isinstance(caught.value, Exception)


def test_silence_carries_the_partial_reply() -> None:
    """A time-out of ours names itself and brings what came."""
    gone = threading.Event()
    with served(endless(gone), timeout=Timeout(silence=0.1)) as (client, _):
        with pytest.raises(RequestTimeoutError, match="silence") as caught:
            ask(client, streaming=True)
        wait_for(gone)
    assert caught.value.which == "silence"
    assert caught.value.reply is not None
    assert (caught.value.reply.text, caught.value.reply.state) == ("Hel", "cut off")


def test_many_turns_use_one_connection() -> None:
    """Streams, documents and errors take turns on one connection."""
    script = playing(
        stream(*HELLO),
        document({"error": "no"}, "400 Bad"),
        document(WHOLE),
        document({"error": "no"}),
        head(headers={**EVENTS, "Transfer-Encoding": "chunked"}) + chunked(*HELLO) + CHUNKS_END,
    )
    with served(script) as (client, server):
        for turn in range(5):
            if turn in (1, 3):
                with pytest.raises(ChatError):
                    ask(client, streaming=True)
            else:
                assert ask(client, streaming=True).text == "Hello"
        assert server.accepted == 1
        assert len(server.asked) == 5


class Played:
    """An exchange without a wire, which takes note of how it ended."""

    def __init__(self, status: int, *pieces: bytes) -> None:
        """Have an answer ready."""
        self.status = status
        self.headers: list[tuple[str, str]] = []
        self.origin: Origin = "live"
        self.ends: list[str] = []
        self._pieces = [*pieces, b""]

    def send(self, body: bytes, *, stream: bool, halt: Halt) -> Played:
        """Be the transport too."""
        del body, stream, halt
        return self

    def close(self) -> None:
        """Have nothing open."""

    def read(self) -> bytes:
        """Give the next piece; the last one is empty, and comes again."""
        return self._pieces.pop(0) if len(self._pieces) > 1 else self._pieces[0]

    def finish(self) -> None:
        """Take note."""
        self.ends.append("finish")

    def abort(self) -> None:
        """Take note."""
        self.ends.append("abort")


def ask_played(exchange: Played) -> Reply:
    """Give the reply that an exchange makes."""
    with Client("http://127.0.0.1:9", KEY) as client:
        client._transport = exchange
        return ask(client, streaming=True)


@pytest.mark.parametrize(
    ("where", "origin", "hours"),
    [
        ("https://chat.example.org", "live", 2),
        ("http://127.0.0.1:9", "live", None),
        ("https://chat.example.org", "replay", None),
        ("https://chat.example.org", "emulator", None),
    ],
)
def test_a_clock_that_is_wrong_here_is_known(where: str, origin: Origin, hours: int | None) -> None:
    """A live answer from another machine tells it; loopback, replay and emulator do not."""
    exchange = Played(200, *HELLO)
    exchange.origin = origin
    written = datetime.now(UTC) - timedelta(hours=2, minutes=5)
    exchange.headers = [("Date", format_datetime(written, usegmt=True))]
    with Client(where, KEY) as client:
        client._transport = exchange
        ask(client, streaming=True)
        off = client.clock_off
        assert (off and off.seconds // 3600) == hours
        right = Played(200, *HELLO)
        right.headers = [("Date", format_datetime(datetime.now(UTC), usegmt=True))]
        client._transport = right
        ask(client, streaming=True)
        assert client.clock_off is None


@pytest.mark.parametrize(
    ("exchange", "end"),
    [
        (Played(200, *HELLO), "finish"),
        (Played(200, BODIES["document"]), "finish"),
        (Played(200, b'{"error": "whole"}'), "finish"),
        (Played(500, b'{"error": "whole"}'), "finish"),
        (Played(500, b"x" * BODY_BYTES, b"x"), "abort"),
        (Played(200, *HELLO[:1]), "abort"),
        (Played(200, *HELLO[:1], b'data: {"error": "broken"}\n'), "abort"),
        (Played(200), "abort"),
    ],
)
def test_only_an_answer_read_to_its_end_is_finished(exchange: Played, end: str) -> None:
    """What any transport is told first: a recording one keeps what was finished alone."""
    with Client("http://127.0.0.1:9", KEY) as client:
        client._transport = exchange
        with contextlib.suppress(ChatError):
            ask(client, streaming=True)
    assert exchange.ends[0] == end


def test_a_stream_is_sent_once() -> None:
    """Entering it again would be paid for again, so it is refused."""
    with served(document({"choices": [{"message": {"content": "hi"}}]})) as (client, server):
        stream = client.stream([Message("user", "hello")])
        with stream:
            assert list(stream) == ["hi"]
        with pytest.raises(InputError, match="sent already"), stream:
            pass
        assert len(server.asked) == 1


@pytest.mark.parametrize("order", ["01", "10"])
def test_of_choices_in_turn_one_is_the_reply(order: str) -> None:
    """Chunks of another choice are left out, whichever speaks first."""
    turns = [(index, word) for word in ("one ", "two") for index in order]
    chunks = [event(f"{index}:{word}", index=int(index)) for index, word in turns]
    with served(stream(*chunks, DONE)) as (client, _):
        assert ask(client, streaming=True).text == f"{order[0]}:one {order[0]}:two"


def test_errors_and_replies_share_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that was read to its end is finished, and leaves the connection to the next ask."""
    finished: list[HttpExchange] = []
    finish = HttpExchange.finish

    def counted(exchange: HttpExchange) -> None:
        finished.append(exchange)
        finish(exchange)

    monkeypatch.setattr(HttpExchange, "finish", counted)
    errors = [document({"error": "e", "message": "m"}, status) for status in ("500 A", "429 B")]
    answers = [*errors, document({}, "404 C"), stream(event("hi"), DONE)]
    with served(playing(*answers)) as (client, server):
        for _ in answers[:-1]:
            with pytest.raises(ChatError):
                ask(client, streaming=True)
        assert ask(client, streaming=True).text == "hi"
        assert (len(server.asked), server.accepted) == (len(answers), 1)
    assert len(finished) == len(answers)
