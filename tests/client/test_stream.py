"""One ask as a stream: what it hands on, and how it ends, whatever ends it."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from loopback import (
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
from served import ASK, HELLO, KEY, LIMIT, WHOLE, Played, ask, ask_played, failure, left, served
from shells import Shell

from chatmagic.client import stream as stream_module
from chatmagic.client.client import Client
from chatmagic.client.endpoint import Timeout
from chatmagic.client.halt import Halt
from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    ChatInterrupted,
    CutOffError,
    InputError,
    RateLimitError,
    RequestRejectedError,
    RequestTimeoutError,
)
from chatmagic.models import Message, Usage
from chatmagic.protocol.api_key import Auth
from chatmagic.protocol.request import Request
from chatmagic.protocol.response_errors import BODY_BYTES


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
    """A person who waits for the reply is told at once, with what came."""
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


@pytest.mark.parametrize(
    ("exchange", "end"),
    [
        (Played(200, *HELLO), "ended"),
        (Played(200, json.dumps(WHOLE).encode()), "ended"),
        (Played(200, b'{"error": "whole"}'), "ended"),
        (Played(500, b'{"error": "whole"}'), "ended"),
        (Played(500, b"x" * BODY_BYTES, b"x"), "cut off"),
        (Played(500, b'{"error": "whole"}', CutOffError("It broke.")), "cut off"),
        (Played(200, *HELLO[:1]), "cut off"),
        (Played(200, *HELLO[:1], b'data: {"error": "broken"}\n'), "cut off"),
        (Played(200), "cut off"),
    ],
)
def test_only_an_answer_read_to_its_end_is_finished(exchange: Played, end: str) -> None:
    """What any transport is told first: a recording one keeps what was finished alone."""
    with Client(transport=exchange) as client, contextlib.suppress(ChatError):
        ask(client, streaming=True)
    assert exchange.ends[0] == end


def test_a_stream_is_sent_once() -> None:
    """Entering it again would be paid for again, so it is refused."""
    with served(document({"choices": [{"message": {"content": "hi"}}]})) as (client, server):
        stream = client.stream([Message("user", "hello")])
        with stream:
            assert list(stream) == ["hi"]
        with pytest.raises(InputError, match="used already"), stream:
            pass
        assert len(server.asked) == 1


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


HELD = {
    "chunked": {"Transfer-Encoding": "chunked"},
    "until it closes": {"Connection": "close"},
    "of a length": {"Content-Length": "5000"},
}


@pytest.mark.parametrize("framing", HELD)
@pytest.mark.parametrize("patience", [PATIENCE, None])
def test_after_a_finish_reason_a_stream_is_not_waited_for_without_end(
    framing: str, patience: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else comes in time is taken; comments are no sign that more will come."""
    monkeypatch.setattr(stream_module, "GRACE_SECONDS", 0.1)
    gone = threading.Event()
    usage = b'data: {"choices":[],"usage":{"total_tokens":9}}\n\n'

    def script(peer: Peer) -> None:
        framed = chunked if framing == "chunked" else bytes
        peer.request()
        peer.send(head(headers={**EVENTS, **HELD[framing]}))
        peer.send(framed(event("Hello", finish_reason="stop")), framed(b": on\n\n"), framed(usage))
        peer.repeat(framed(b": still here\n\n"), 0.01)
        gone.set()

    with served(script, timeout=Timeout(PATIENCE, PATIENCE, patience)) as (client, _):
        reply = ask(client, streaming=True)
        wait_for(gone)
    assert (reply.text, reply.state, reply.finish_reason) == ("Hello", "complete", "stop")
    assert reply.usage == Usage(total_tokens=9)


def test_before_a_finish_reason_a_stream_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments keep it alive, however long the next event takes."""
    monkeypatch.setattr(stream_module, "GRACE_SECONDS", 0.0)
    comments = [b": on\n\n"] * 3
    pieces = [event("Hel"), *comments, event("lo"), *comments, event("", finish_reason="stop")]
    assert ask_played(Played(200, *pieces, DONE)).text == "Hello"


def test_silence_after_a_finish_reason_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits no longer than a moment gets no error for a reply that is there."""
    monkeypatch.setattr(stream_module, "GRACE_SECONDS", 0.1)

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Connection": "close"}))
        peer.send(event("Hello", finish_reason="stop"))
        assert peer.gone()

    with served(script, timeout=Timeout(PATIENCE, PATIENCE, 0.05)) as (client, _):
        assert ask(client, streaming=True).state == "complete"


EMPTY = {
    "nothing": answer(b"", headers=EVENTS),
    "blanks": answer(b"\n\n", headers=EVENTS),
    "an end mark": stream(DONE),
    "comments": stream(b": on\n\n"),
    "a cut": head(headers={**EVENTS, "Transfer-Encoding": "chunked"}),
    "no JSON": answer(b""),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_an_empty_answer_names_a_full_context_as_a_cause(kind: str) -> None:
    """Some servers say no more when a long conversation fills the model's context."""
    hint = str(failure(once(EMPTY[kind])).hint)
    assert "Ask again to try once more" in hint
    assert "may fill the model's context: send less of it: last=N, or a new Session." in hint


@pytest.mark.parametrize(
    ("status", "words"),
    [("500 Oops", "xxx…"), ("302 Moved", "redirects to https://new.example.org")],
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
    monkeypatch.setattr(stream_module, "BODY_SECONDS", 0.05)
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


def test_white_space_before_a_reply_is_a_sign_of_life() -> None:
    """There may be any amount of it, and it is not kept."""
    spaces = [b" \n" * 20_000] * 20
    assert ask_played(Played(200, *spaces, json.dumps(WHOLE).encode())).text == "Hello"
    assert ask_played(Played(200, *spaces, *HELLO)).text == "Hello"


def told(
    raw: bytes, *, path: str = "", auth: Auth = "bearer", model: str | None = None
) -> ChatError:
    """Return the error of an answer."""
    extra = None if model is None else {"model": model}
    with (
        Server(playing(raw)) as server,
        Client(server.origin + path, KEY, auth=auth, extra_body=extra) as client,
        pytest.raises(ChatError) as caught,
    ):
        client.complete(ASK)
    assert KEY not in f"{caught.value!r}{caught.value}"
    return caught.value


def refused(status: int, words: str = "refused") -> bytes:
    """Return an answer that refuses."""
    return document({"error": {"message": words}}, f"{status} No")


@pytest.mark.parametrize(
    ("path", "posted_to"),
    [
        ("", "/v1/chat/completions"),
        ("/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("/x/chat/completions?api-version=1", "/x/chat/completions?api-version=1"),
        ("/4f9c1e774f9c1e774f9c1e77/v1", "/…/v1/chat/completions"),
    ],
)
@pytest.mark.parametrize("auth", ["bearer", "query"])
def test_a_404_names_what_was_posted_to(path: str, posted_to: str, auth: Auth) -> None:
    """The whole address, without the key wherever it stands."""
    hint = told(refused(404), path=path, auth=auth).hint or ""
    assert re.search(rf"It was posted to http://127.0.0.1:\d+{re.escape(posted_to)}\. ", hint)
    assert "Another one is given whole, ending in /chat/completions" in hint


@pytest.mark.parametrize(
    ("raw", "model", "names_one"),
    [
        (refused(400), None, False),
        (refused(404, "no such model"), "small", True),
        (refused(400, "No such model"), "small", True),
        (refused(401, "no access to this model"), "small", True),
        (refused(500, "Model not given"), None, True),
        (refused(503, "Loading model: the model is loading"), None, False),
        (answer(b"<title>Model required</title>", "400 Bad"), "small", True),
        (refused(400, "remodelling"), None, False),
        (refused(403, "this model requires moderation"), "small", False),
        (refused(429, "too many for this model"), "small", False),
        (refused(413, "longer than the model's context"), "small", False),
        (answer(b"<title>A model page</title>"), "small", False),
        (answer(b"The plain HTTP request was sent to HTTPS port", "400 Bad"), None, False),
        (document({"error": "the model is missing"}), None, True),
    ],
)
def test_how_to_set_a_model(raw: bytes, model: str | None, *, names_one: bool) -> None:
    """Where none was set and one may be wanted, and where the answer speaks of it."""
    error = told(raw, model=model)
    assert ('Client(model="NAME")' in str(error)) is names_one
    if names_one:
        begun = "No model was named" if model is None else "The model was small"
        assert begun in str(error)


@pytest.mark.parametrize(
    ("auth", "other"), [("bearer", "x-api-key"), ("x-api-key", "bearer"), ("query", "x-api-key")]
)
def test_a_refused_key_may_be_sent_another_way(auth: Auth, other: str) -> None:
    """The line says how, in Python; in a kernel ``%config`` or ``%env``."""
    error = told(refused(401), auth=auth)
    assert isinstance(error, AuthenticationError)
    assert error.hint == (
        "Is it this service's key, and not revoked? Client(api_key=…) takes another one. "
        f'To send the key in another way: Client(auth="{other}")'
    )


def test_a_missing_key_is_no_wrong_one() -> None:
    """Without a key the message does not speak of one that was not accepted."""
    error = told(refused(401), auth="none")
    assert error.message == 'The service requires a key, and none was sent: "refused" (HTTP 401).'
    assert error.args == (error.message,)
    assert error.hint == 'Client(auth="bearer") sends one; Client(api_key=…) takes one.'


@pytest.fixture
def picky() -> Iterator[Server]:
    """Give a server that wants the key in X-API-Key."""

    def script(peer: Peer) -> None:
        while asked := peer.request():
            good = asked.headers.get("x-api-key") == KEY
            peer.send(document(WHOLE) if good else refused(401))

    with Server(script) as server:
        yield server


def line(lines: str) -> str:
    """Return the line to type of a message, which ends in it."""
    return lines[lines.rindex("%") :]


@pytest.mark.parametrize("environment", ["", "bearer"])
def test_the_line_for_another_way_works_when_typed(
    bare: Shell, picky: Server, monkeypatch: pytest.MonkeyPatch, environment: str
) -> None:
    """Also where the environment has said how, which beats the setting."""
    monkeypatch.setenv("CHATMAGIC_BASE_URL", picky.origin)
    monkeypatch.setenv("CHATMAGIC_API_KEY", KEY)
    monkeypatch.setenv("CHATMAGIC_AUTH", environment)
    ran = bare.fails("%chat hello")
    bare.do(line(ran.traceback[1]))
    assert bare.machine("%chat hello").texts == ["Hello"]


@pytest.mark.parametrize("environment", ["", "bearer"])
def test_the_line_for_no_key_works_when_typed(
    bare: Shell, monkeypatch: pytest.MonkeyPatch, environment: str
) -> None:
    """It is in what ``%chat_connect`` prints, in ``%chat``, and in the error."""
    monkeypatch.setenv("CHATMAGIC_AUTH", environment)
    monkeypatch.setattr("chatmagic.client.endpoint.is_loopback", lambda _: False)
    with Server(playing(document(WHOLE))) as server:
        said = bare.do(f"%chat_connect {server.origin}").texts[0].splitlines()[2]
        lines = said.rpartition(": ")[2]
        assert bare.do("%chat").texts[0].splitlines()[2].endswith(lines)
        assert bare.fails("%chat hello").traceback[1].endswith(lines)
        bare.do(line(lines))
        assert bare.machine("%chat hello").texts == ["Hello"]
        assert "authorization" not in server.asked[0].headers


def test_the_line_for_a_model_works_when_typed(bare: Shell) -> None:
    """With a name in place of NAME."""

    def script(peer: Peer) -> None:
        while asked := peer.request():
            good = asked.body.get("model") == "small"
            peer.send(document(WHOLE) if good else refused(400, "model is required"))

    with Server(script) as server:
        bare.do("%config ChatMagics.auth = 'none'")
        bare.do(f"%chat_connect {server.origin}")
        hint = bare.fails("%chat hello").traceback[1]
        (config,) = re.findall(r"(%\w+ [^,]*NAME\"?)", hint)
        bare.do(config.replace("NAME", "small"))
        assert bare.machine("%chat hello").texts == ["Hello"]


REQUESTS = {"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "93"}


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
        assert (client.credits, client.credit_tracker.received_at) == (None, None)
        began = datetime.now(UTC)
        reply = client.complete(ASK)
        first = client.credit_tracker.received_at
        assert first is not None
        assert began <= first <= datetime.now(UTC)
        assert reply.credits is client.credits
        assert reply.credits is not None
        assert (reply.credits.remaining, reply.credits.used) == (90, 10)
        assert reply.credits.seen_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
        with pytest.raises(RequestRejectedError) as caught:
            client.complete(ASK)
        assert caught.value.credits is client.credits
        assert client.credits is not None
        assert client.credits.remaining == 80
        assert client.complete(ASK).credits is None
        assert client.credits.remaining == 80
        with client.stream(ASK) as replying:
            assert client.credits.remaining == 70
            list(replying)


def test_requests_left_come_with_every_answer_and_are_no_credits() -> None:
    """As the latest answer that told has them, errors too."""
    script = playing(
        document(WHOLE),
        document(WHOLE, headers=REQUESTS),
        document(WHOLE),
        document({"error": "bad"}, "429 Slow", headers={"x-ratelimit-remaining-requests": "0"}),
    )
    seen = []
    with served(script) as (client, _):
        for _ in range(4):
            with contextlib.suppress(RateLimitError):
                client.complete(ASK)
            told = client.credit_tracker.requests
            seen.append(told and (told.limit, told.remaining))
        assert client.credits is None
    assert seen == [None, (100, 93), (100, 93), (None, 0)]


# --- The largest reply --------------------------------------------------------------------


def pouring(raw: bytes) -> Callable[[Peer], None]:
    """Make the script that answers as far as the client reads."""

    def script(peer: Peer) -> None:
        peer.request()
        with contextlib.suppress(OSError):
            peer.send(raw)

    return script


ENDLESS = json.dumps({"choices": [{"message": {"content": "x" * 200_000}}]}).encode()[:-40]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (event("x" * 700) * 2 + DONE, EVENTS),
        (event("x" * 700, finish_reason="stop") * 2, EVENTS),
        (b'data: {"choices":[{"delta":{"content":"' + b"x" * 200_000, EVENTS),
        (b"data: " + ENDLESS + b"\n", EVENTS),
        (ENDLESS, {"Content-Type": "application/json"}),
        (ENDLESS + b'"}}]}', {"Content-Type": "application/json"}),
        (b'{"choices": [{"message": {"content": "' + b"x" * 1_025 + b'"}}]}', {}),
    ],
    ids=["events", "after its end", "a line", "whole", "cut JSON", "large JSON", "JSON"],
)
def test_a_reply_ends_at_the_largest_text(body: bytes, fields: dict[str, str]) -> None:
    """Its text up to there is kept, marked as cut off, and one line says how to read more."""
    fields = {**fields, "Connection": "close"}
    with (
        Server(pouring(head(headers=fields) + body)) as server,
        Client(server.url, KEY, limits={"text": 1_000}) as client,
        pytest.raises(CutOffError, match="1,000 bytes, the largest text") as caught,
        client.stream(ASK) as fragments,
    ):
        for _ in fragments:
            pass
    assert caught.value.reply is not None
    assert caught.value.reply.state == "cut off"
    assert caught.value.reply.text == "x" * 1_000
    assert caught.value.hint is not None
    assert "kept" in caught.value.hint
    assert 'Client(limits={"text": 2000})' in caught.value.hint


@pytest.mark.parametrize("field", ["reasoning", "refusal", "content"])
def test_each_text_of_a_reply_counts(field: str) -> None:
    """In bytes of UTF-8."""
    one = f'data: {{"choices": [{{"delta": {{"{field}": "éé"}}}}]}}\n'.encode()
    with (
        Server(playing(stream(one * 9))) as server,
        Client(server.url, KEY, limits={"text": 10}) as client,
        client.stream(ASK) as fragments,
    ):
        with pytest.raises(CutOffError, match="10 bytes"):
            list(fragments)
        reply = fragments.reply
    assert reply.text + (reply.reasoning or "") + (reply.refusal or "") == "é" * 5


@pytest.mark.parametrize("body", [b": c\n" * 3_000, b"data: {}\n" * 3_000, b"data:ab\n" * 3_000])
def test_a_body_ends_at_the_largest_size(body: bytes) -> None:
    """Whatever it holds: comments, events that say nothing, or lines of no event."""
    with (
        Server(pouring(stream(b"event: a\n", body, body))) as server,
        Client(server.url, KEY, limits={"text": 10**6, "body": 20_000}) as client,
        pytest.raises(CutOffError, match="20,000 bytes, the largest body"),
        client.stream(ASK) as fragments,
    ):
        for _ in fragments:
            pass


class Slow(Played):
    """An exchange in which each piece takes a second of a clock of its own."""

    now = 0.0

    def read(self) -> bytes:
        """Give the next piece, a second later."""
        self.now += 1.0
        return super().read()


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Slow]:
    """Give a maker of slow exchanges, whose clock is the stream's."""

    def make(*pieces: bytes) -> Slow:
        made = Slow(200, *pieces)
        monkeypatch.setattr(stream_module, "monotonic", lambda: made.now)
        return made

    return make


def chunk(**choice: object) -> bytes:
    """Return an event with one choice."""
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


NOTHING_NEW = {
    "an empty object": b"data: {}\n\n",
    "null": b"data: null\n\n",
    "no choice": b'data: {"choices": []}\n\n',
    "an empty delta": chunk(delta={}),
    "an empty text": chunk(delta={"content": ""}),
    "a role": chunk(delta={"role": "assistant", "content": None}),
    "another choice": chunk(index=1, delta={"content": "no"}),
    "the whole reply": chunk(message={"content": "Hel"}),
    "an unknown text again": chunk(delta={"signature": "abc"}),
    "a model": b'data: {"model": "m", "choices": []}\n\n',
    "a number": b"data: 5\n\n",
    "a ping": b'event: ping\ndata: {"type": "ping"}\n\n',
    "no JSON": b"event: ping\ndata: ping\n\n",
    "a part of an event": b"data: {",
    "a byte of text": b"x",
    "a comment": b": c\n",
}


@pytest.mark.parametrize("kind", NOTHING_NEW)
def test_what_brings_nothing_new_ends_no_silence(slowly: Callable[..., Slow], kind: str) -> None:
    """However often it comes: after a minute the text so far is kept, marked."""
    exchange = slowly(event("Hel"), *[NOTHING_NEW[kind]] * 200, event("lo"), DONE)
    with pytest.raises(RequestTimeoutError, match="fell silent: nothing of it came for 60") as end:
        ask_played(exchange)
    assert end.value.reply is not None
    assert end.value.reply.text == "Hel"
    assert end.value.reply.state == "cut off"
    assert 60 <= exchange.now <= 64


@pytest.mark.parametrize("reasons", ["ab", "aa"])
def test_facts_that_change_end_no_silence(slowly: Callable[..., Slow], reasons: str) -> None:
    """The first token counts and the first reason are new, and no other."""
    for field in ("usage", "finish_reason"):
        pieces = []
        for number in range(200):
            usage = {"prompt_tokens": 1, "completion_tokens": number, "total_tokens": number}
            facts = {"usage": usage, "finish_reason": reasons[number % 2]}
            pieces.append(chunk(delta={}, **{field: facts[field]}))
        exchange = slowly(event("Hel"), *pieces)
        if field == "usage":
            with pytest.raises(RequestTimeoutError, match="fell silent"):
                ask_played(exchange)
            assert exchange.now < 65
        else:
            assert ask_played(exchange).text == "Hel"  # a finish reason may be the end
            assert exchange.now < 6


@pytest.mark.parametrize(
    "piece",
    [
        lambda _: event("x"),
        lambda _: chunk(delta={"reasoning": "x"}),
        lambda _: chunk(delta={"refusal": "x"}),
        lambda number: chunk(delta={"thinking": f"{number}"}),
        lambda number: b"data: {}\n\n" if number % 50 else event("x"),
        lambda number: b": c\n\n" if number % 50 else chunk(delta={"reasoning": "x"}),
    ],
    ids=["text", "thoughts", "refusal", "unknown thoughts", "text at times", "thoughts at times"],
)
def test_a_slow_reply_is_whole(slowly: Callable[..., Slow], piece: Callable[[int], bytes]) -> None:
    """Whatever comes of it, and in a field that is not known, too."""
    exchange = slowly(*map(piece, range(200)), event("end"), DONE)
    assert ask_played(exchange).text.endswith("end")
    assert exchange.now > 200


def test_a_large_event_may_come_slowly(slowly: Callable[..., Slow]) -> None:
    """In pieces that are large enough; a comment as large is none."""
    text = b"x" * 3_000
    begin, end = event("").split(b'""')
    assert len(ask_played(slowly(begin + b'"', *[text] * 200, b'"' + end, DONE)).text) == 600_000
    with pytest.raises(RequestTimeoutError, match="fell silent"):
        ask_played(slowly(event("Hel"), b": c", *[text] * 200, b"\n", DONE))


@pytest.mark.parametrize("byte", [b":", b"\n", b" "])
def test_each_piece_has_a_least_size(byte: bytes) -> None:
    """It has its work, so that bytes that come one by one end earlier."""
    with (
        Client(transport=Played(200, *[byte] * 9_000), limits={"body": 20_000}) as client,
        pytest.raises(CutOffError, match="20,000 bytes, the largest body"),
    ):
        ask(client, streaming=True)


def test_the_line_names_the_limit_that_was_reached() -> None:
    """Of an event, or of a whole answer in JSON, whose text is not the largest one."""
    padded = json.dumps({"choices": [{"message": {"content": "Hi"}}], "x": "x" * 90_000}).encode()
    for body, words in (
        (b"data: " + padded, "71,536 bytes, the largest event of a stream"),
        (padded, "77,536 bytes, the largest whole answer in JSON"),
    ):
        with (
            Client(transport=Played(200, body), limits={"text": 8_000}) as client,
            pytest.raises(CutOffError, match=words) as caught,
        ):
            ask(client, streaming=True)
        assert 'Client(limits={"text": 16000})' in str(caught.value.hint)
        assert caught.value.reply is not None
        assert caught.value.reply.text == "Hi"


@pytest.mark.parametrize("blank", [b": c\n", b"\n", b"event: ping\n", b"data: {}\n\n"])
def test_comments_do_not_end_a_silence(blank: bytes) -> None:
    """Nor do blank lines, or names of events that do not come."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.send(head(headers={**EVENTS, "Connection": "close"}), event("Hel"))
        peer.repeat(blank, every=0.01)

    waits = Timeout(PATIENCE, PATIENCE, 0.15)
    with (
        Server(script) as server,
        Client(server.url, KEY, timeout=waits) as client,
        pytest.raises(RequestTimeoutError, match="fell silent") as caught,
        client.stream(ASK) as fragments,
    ):
        for _ in fragments:
            pass
    assert caught.value.which == "silence"
    assert caught.value.reply is not None
    assert caught.value.reply.text == "Hel"


@pytest.mark.parametrize("kind", ["json", "sse"])
def test_json_of_very_many_values_is_not_parsed(kind: str) -> None:
    """A few bytes each would take a hundred each."""
    value = b'{"choices": [' + b"{}," * 600_000 + b"{}]}"
    raw = stream(b"data: ", value, b"\n\n") if kind == "sse" else answer(value)
    assert "could not be read" in str(failure(raw))
