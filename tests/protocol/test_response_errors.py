"""What is made of answers that are no reply."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.errors import (
    AuthenticationError,
    ChatError,
    CutOffError,
    NotUnderstoodError,
    RateLimitError,
    RequestRejectedError,
    ServiceError,
    TooLongError,
)
from chatmagic.protocol.answer_text import EXCERPT_LENGTH, safe_excerpt
from chatmagic.protocol.api_key import Secret
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.response_errors import AnswerFacts, error_from_response, error_in_reply
from chatmagic.safe_text import one_line

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIMITED = "The service says that the limit is reached"
KEY = Secret("key-7d1f-throw-away")
FILTERED = "Content violates usage guidelines. API key ID: x"
LARGE = "Request too large on tokens per min: Limit 3, Requested 4. The tokens must be reduced."
SLOW = "rate limit exceeded"
LIMIT = {
    "error": "rate limit exceeded",
    "message": "daily credit limit reached",
    "limit": 1000,
    "used": 1000,
    "resetAt": "2026-03-02T00:00:00Z",
}


def told(
    status: int, body: object = b"", headers: list[tuple[str, str]] | None = None
) -> ChatError:
    """Give the error for an answer."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return error_from_response(AnswerFacts(status, headers or [], NOW, (KEY,)), raw)


@each_case("status", [200, 400, 401, 403, 404, 429, 500, 302])
def test_the_rate_limit_is_known_by_its_body(status: int) -> None:
    """Its status is not shown (fact 9), so any will do."""
    error = told(status, LIMIT)
    assert isinstance(error, RateLimitError)
    assert error.status == status
    assert error.credits is not None
    assert (error.credits.limit, error.credits.used, error.credits.remaining) == (1000, 1000, 0)
    assert error.credits.resets_at == datetime(2026, 3, 2, tzinfo=UTC)
    assert str(error) == (
        f"No credits left (HTTP {status}). 1,000 of 1,000 used, resets 2026-03-02 00:00 UTC. "
        "Ask again after the reset."
    )


@pytest.mark.parametrize(
    ("reset", "seconds", "hint"),
    [
        ("2026-03-01T12:00:01Z", 1, "Try again in 1 s."),
        ("2026-03-01T12:01:00Z", 60, "Try again in 60 s."),
        ("2026-03-01T12:01:01Z", 61, "Ask again after the reset."),
    ],
)
def test_a_burst_is_not_the_end_of_the_credits(reset: str, seconds: int, hint: str) -> None:
    """The limit is reached while credits are left; the wait is told, by the service's clock."""
    body = {**LIMIT, "limit": 1_000_000, "used": 16, "resetAt": reset}
    error = told(429, body, [("Date", "Sun, 01 Mar 2026 12:00:00 GMT")])
    assert isinstance(error, RateLimitError)
    assert error.message == (
        "The service says that the limit is reached: "
        '"daily credit limit reached (rate limit exceeded)" (HTTP 429).'
    )
    at = f"{reset[:10]} {reset[11:16]} UTC"
    assert error.hint == f"16 of 1,000,000 used, resets {at}. {hint}"
    assert error.retry_after == NOW + timedelta(seconds=seconds)
    assert told(429, {**body, "resetAt": None}).hint == (
        "16 of 1,000,000 used, reset unknown. "
        "Wait before you ask again, or look at the account's limits."
    )


@each_case(
    ("status", "body", "kind", "cause"),
    [
        (400, {"error": "bad"}, RequestRejectedError, "The service refused: "),
        (400, {"error": "API key not valid."}, AuthenticationError, "The service did not accept"),
        (400, {"error": "Incorrect API key: x"}, AuthenticationError, "The service did not accept"),
        (401, b"", AuthenticationError, "The service did not accept the key ("),
        (403, {"error": "invalid api key"}, AuthenticationError, "The service did not accept the"),
        (403, {"error": "flagged"}, RequestRejectedError, "The service refused: "),
        (
            403,
            {"message": "API rate limit exceeded for you. Authenticate."},
            RateLimitError,
            LIMITED,
        ),
        (403, {"message": "Out of call volume quota. Wait."}, RateLimitError, LIMITED),
        (403, {"error": FILTERED}, RequestRejectedError, "The service refused: "),
        (403, {"error": f"Key revoked. {FILTERED}"}, AuthenticationError, "The service did not"),
        (403, {"error": "Quota for group 'default' was exceeded"}, RateLimitError, LIMITED),
        (400, {"error": {"code": "rate_limit_exceeded"}}, RateLimitError, LIMITED),
        (400, {"code": "Throttling.RateQuota", "message": "no"}, RateLimitError, LIMITED),
        (498, {"error": {"code": "capacity_exceeded"}}, RateLimitError, LIMITED),
        (403, b"", RequestRejectedError, "The service, or a firewall in front of it, refused the"),
        (404, b"Not Found", NotUnderstoodError, "There is no chat service at this address: "),
        (404, {"error": "no model x"}, NotUnderstoodError, "The service does not know the model: "),
        (407, b"", ServiceError, "The proxy requires a name and a password ("),
        (408, b"", ServiceError, "The service, or a proxy in front of it, failed ("),
        (429, {"error": "slow down"}, RateLimitError, LIMITED),
        (429, {"error": LARGE}, TooLongError, "The conversation is too long for the service: "),
        (429, {"error": "see your billing"}, RateLimitError, "The account has too few credits"),
        (500, b"", ServiceError, "The service, or a proxy in front of it, failed ("),
        (502, {"error": "no"}, ServiceError, "A proxy got no answer from the service: "),
        (503, {"error": "busy"}, ServiceError, "The service is overloaded, or not ready: "),
        (599, b"\xff\xfe\0", ServiceError, "The service, or a proxy in front of it, failed"),
        (304, b"", NotUnderstoodError, "The answer has no content ("),
        (200, b"<title>Sign in</title>", NotUnderstoodError, "The server that answered is not the"),
        (200, {"choices": None}, ServiceError, "The answer holds no choice, so no reply ("),
        (200, {"object": "chat.completion"}, ServiceError, "The answer holds no choice, so no"),
        (200, {"base_resp": {"status_code": 1, "status_msg": SLOW}}, RateLimitError, LIMITED),
        (200, {"Response": {"Error": {"Code": "x", "Message": SLOW}}}, RateLimitError, LIMITED),
        (
            200,
            {"code": 11, "message": "a word"},
            ServiceError,
            "The service answered with an error",
        ),
        (200, {"code": 0, "message": SLOW}, NotUnderstoodError, "The answer holds no reply: "),
    ],
)
def test_the_others_are_known_by_their_status(
    status: int, body: object, kind: type[ChatError], cause: str
) -> None:
    """Each says in one line the likely cause, the service's own words, and then the status."""
    error = told(status, body)
    assert type(error) is kind
    assert error.status == status
    assert error.message.startswith(cause)
    assert error.message.endswith(f"(HTTP {status}).")
    assert "\n" not in str(error)


def test_a_key_that_was_not_sent_is_not_refused() -> None:
    """The service requires one, whatever its words are."""
    asked = AnswerFacts(401, (), NOW, is_keyless=True)
    line = error_from_response(asked, b'{"error": "no"}').message
    assert line == 'The service requires a key, and none was sent: "no" (HTTP 401).'


def test_a_status_of_another_page_says_that_no_chat_is_there() -> None:
    """These all say that the address takes no such request (RFC 9110)."""
    for status in (405, 406, 410, 414, 415, 421, 426):
        error = told(status, b"")
        assert type(error) is RequestRejectedError
        assert error.message == f"This address takes no questions (HTTP {status})."


def test_no_refusal_is_without_a_next_step() -> None:
    """Whatever the status, and whatever server answers."""
    for status in range(400, 600):
        for body in (b"", {"error": "no"}):
            hint = told(status, body).hint or ""
            assert hint.replace("Nothing was sent again.", "").strip(), status
    assert (told(503, b"", [("Retry-After", "9")]).hint or "").endswith("again. Try again in 9 s.")


@each_case(
    ("body", "words"),
    [
        ({"error": "name", "message": "words"}, ': "words (name)" (HTTP 400)'),
        ({"error": "same", "message": "same"}, ': "same" (HTTP 400)'),
        ({"error": {"message": "nested", "type": "kind"}}, ': "nested (kind)" (HTTP 400)'),
        (b"\xef\xbb\xbf" + b'{"error": "marked"}', ': "marked" (HTTP 400)'),
        (b"<html><head><TITLE>Bad\n gateway</TITLE></head>x", ': "Bad gateway" (HTTP 400)'),
        (b"<html><p>no <b>title</b></html>", ': "no title" (HTTP 400)'),
        (b"<title> </title><style>a{}</style>so <script>b<c", ': "so" (HTTP 400)'),
        (b'{"half": "a docu', ': "{"half": "a docu" (HTTP 400)'),
        (b"", "refused the request (HTTP 400)."),
        (b"\x1b[31mred\x07\xff", ': "\u241b[31mred\u2407\N{REPLACEMENT CHARACTER}"'),
        (b"\xff\xd8\xff\xe0\0\x10JF", ", with bytes that are not text (HTTP 400)"),
        ({"error": "Stop."}, ': "Stop" (HTTP 400)'),
        ({"error": "Bad.", "message": "Stop."}, ': "Stop (Bad.)" (HTTP 400)'),
        ({"error": "busy", "message": "Too Busy"}, ': "Too Busy" (HTTP 400)'),
        (b"[" * 100_000, ': "[[['),
    ],
)
def test_whatever_the_body_is_its_words_are_shown(body: object, words: str) -> None:
    """Every shape gives a short excerpt on one line, without control characters."""
    error = told(400, body)
    assert words in str(error)
    assert len(error.message) < EXCERPT_LENGTH + 60


TOO_LONG = [
    {"error": {"message": "No", "type": "bad", "code": "context_length_exceeded"}},
    {"error": {"message": "No", "type": "exceed_context_size_error", "code": 400}},
    {"error": {"message": "This model's maximum context length is 4097 tokens.", "code": 400}},
    {"error": {"message": "prompt is too long: 208310 tokens > 200000 maximum"}},
    {"error": {"message": "Requested tokens (9000) exceed context window of 2048"}},
    {"error": {"message": f"{'x' * 400} The input token count (9) exceeds the maximum (8)"}},
    {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048"},
    {"error": {"message": "Please reduce the length of the messages or completion."}},
    {"message": "too many tokens: the total in the prompt cannot exceed 4081"},
    {"error": {"message": "This model's maximum prompt length is 131072 tokens"}},
    b"litellm.ContextWindowExceededError",
]


@each_case("body", TOO_LONG)
@each_case("status", [400, 413, 422])
def test_a_conversation_that_is_too_long_is_told_to_be(status: int, body: object) -> None:
    """However a server says it: by its status, by a code, or in its words."""
    error = told(status, body)
    assert type(error) is TooLongError
    assert error.message.startswith("The conversation is too long for the service: ")
    assert error.hint_at("notebook") == "Send less of it: --last N, or %chat_reset."


def test_what_is_refused_for_another_reason_is_not_too_long() -> None:
    """The advice is only for those that it helps."""
    others = (
        "max_tokens is too large: 9",
        "Unknown field 'context'",
        "The service token is too long",
    )
    refusals = [(400, {"error": {"message": words}}) for words in others]
    for status, body in [*refusals, *((status, TOO_LONG[0]) for status in (404, 429, 500))]:
        assert "too long for the service" not in str(told(status, body))


@pytest.mark.unmeasured
@pytest.mark.parametrize("part", [b"<title>", b"<title", b"<script>", b"<", b"<!--", b"&lt;"])
def test_a_page_is_read_once(part: bytes) -> None:
    """A page that is made to be read again and again takes no longer than another."""
    # Where each part was looked at from each other one, this took minutes.
    started = time.thread_time()
    assert "(HTTP 400)" in str(told(400, part * 100_000))
    assert time.thread_time() - started < 10


def test_the_key_is_taken_out_of_what_is_shown() -> None:
    """A service that repeats the key does not put it into a notebook."""
    key = KEY.reveal()
    for body in ({"error": key, "message": f"bad {key}!"}, key.encode(), f"<p>{key}".encode()):
        for status in (200, 400, 401, 403, 404, 413, 429, 500):
            assert "7d1f" not in str(told(status, body))
    assert "bad [key removed]!" in str(told(400, {"error": f"bad {key}!"}))
    assert safe_excerpt(f"bad {key[:-1]}", [KEY]) == "bad [key removed]"  # at a cut
    moved = [("Location", f"https://{key}.example.org/?api_key={key}")]
    assert "7d1f" not in str(told(302, b"", moved))


@each_case("status", [301, 302, 303, 307, 308])
@each_case(
    ("location", "words"),
    [
        ("https://new.example.org:8443/v1/chat?x=secret#f", "to https://new.example.org:8443 ("),
        ("HTTP://new.example.org", "to http://new.example.org:80 ("),
        ("https://a@trusted.org@new.example.org/", "to https://new.example.org:443 ("),
        ("https://new.example.org\\@trusted.org/", "redirects elsewhere ("),
        ("http://chat.example.org/login", "to http://chat.example.org:80 ("),
        ("https://chat.example.org:login/", "redirects elsewhere ("),
        ("https://[new.example.org", "redirects elsewhere ("),
        ("", "redirects elsewhere ("),
    ],
)
def test_a_redirect_names_the_new_origin_alone(status: int, location: str, words: str) -> None:
    """Where it points is named without path, query or user name; nothing was followed."""
    for keys in ((KEY,), ()):
        error = redirected(status, location, keys)
        assert words in str(error)
        assert "login page" not in str(error)
        assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("base_url", "location", "is_downgrade"),
    [
        ("https://chat.example.org/v1", "http://chat.example.org/v1/", True),
        ("HTTPS://chat.example.org/v1", "HTTP://new.example.org/", True),
        ("https://chat.example.org/v1", "https://new.example.org/", False),
        ("http://chat.example.org/v1", "http://new.example.org/", False),
        ("https://127.0.0.1:1/v1", "http://127.0.0.1:2/", False),
    ],
)
def test_a_redirect_that_leaves_tls_is_no_address_to_connect_to(
    base_url: str, location: str, *, is_downgrade: bool
) -> None:
    """The address is in doubt instead, as where something answers without TLS."""
    answer = AnswerFacts(302, [("location", location)], NOW, (KEY,), base_url)
    hint = str(error_from_response(answer, b"").hint)
    assert ("That address is not encrypted. Is the base address right?" in hint) is is_downgrade
    assert ("If that is the service" in hint) is not is_downgrade


@each_case(
    ("location", "path"),
    [
        ("/login?next=secret#f", "/login"),
        ("login", "/login"),
        ("https://chat.example.org/sso/login?next=secret", "/sso/login"),
        ("HTTPS://Chat.Example.org:443/login", "/login"),
        ("//who@chat.example.org/login", "/login"),
        ("https://chat.example.org", "/"),
        ("/" + 99 * "x", "/" + 58 * "x" + "…"),
        (f"/as/{KEY.reveal()}/login", "/as/[key removed]/login"),
    ],
)
def test_a_redirect_to_a_page_of_the_same_server_says_its_path(location: str, path: str) -> None:
    """And asks whether that is a login page; without what stands behind the path."""
    error = redirected(302, location)
    assert error.message.startswith(
        f"The service redirects to its own path {path} (HTTP 302): a login page?"
    )
    assert "secret" not in str(error)
    assert "sign in" in str(error.hint)


TLS_WANTED = [
    b"<html><head><title>400 The plain HTTP request was sent to HTTPS port</title></head></html>",
    b"Client sent an HTTP request to an HTTPS server.\n",
    (
        b"<title>400 Bad Request</title><p>Reason: You're speaking plain HTTP to an"
        b" SSL-enabled server port.<br /> Instead use the HTTPS scheme, please.</p>"
    ),
    b"Bad Request\r\nThis combination of host and port requires TLS.\r\n",
]


@pytest.mark.parametrize("body", TLS_WANTED)
def test_a_port_that_wants_https_is_told(body: bytes) -> None:
    """As nginx, Go, Apache and Tomcat say it; where http was asked, and nothing else is wrong."""
    error = error_from_response(AnswerFacts(400, [], NOW, (KEY,), "http://chat.example.org"), body)
    assert error.message.startswith("That port requires https: ")
    assert "with https" in str(error.hint)
    for status, base_url in ((500, "http://chat.example.org"), (400, "https://chat.example.org")):
        other = error_from_response(AnswerFacts(status, [], NOW, (KEY,), base_url), body)
        assert "requires https" not in str(other)


def redirected(status: int, location: str, keys: tuple[Secret, ...] = (KEY,)) -> ChatError:
    """Return the error for a redirect by the service."""
    answer = AnswerFacts(status, [("location", location)], NOW, keys, "https://chat.example.org/v1")
    error = error_from_response(answer, b"moved")
    assert isinstance(error, NotUnderstoodError)
    assert "was not followed" in str(error)
    return error


@each_case(
    ("value", "words"),
    [
        ("0", "Try again in 0 s."),
        ("0.2", "Try again in 1 s."),
        ("120", "Try again in 120 s."),
        ("121", "Try again in 3 min."),
        ("7200", "Try again in 120 min."),
        ("7201", "Try again after 2026-03-01 14:00 UTC."),
        ("Sun, 01 Mar 2026 12:00:20 GMT", "Try again in 20 s."),
    ],
)
@each_case("status", [301, 401, 404, 429, 503])
def test_any_error_says_how_long_to_wait(value: str, words: str, status: int) -> None:
    """``Retry-After`` is shown where it comes, by the clock that wrote it."""
    error = told(status, b"", [("Retry-After", value), ("Date", "Sun, 01 Mar 2026 12:00:00 GMT")])
    assert error.hint is not None
    assert error.hint.endswith(words)
    assert error.retry_after is not None


@each_case(
    ("status", "body", "headers", "wait"),
    [
        (429, {"error": {"message": "Please try again in 1.2s."}}, [], 1.2),
        (429, {"error": {"message": "no", "details": [{"retryDelay": "3s"}]}}, [], 3),
        (429, {"retry_after": 3}, [], 3),
        (429, "Please retry after 20 seconds", [], 20),
        (429, {"error": "slow down"}, [("x-ratelimit-reset-requests", "120ms")], 0.12),
        (503, {"error": "loading", "estimated_time": 20.0}, [], 20),
        (503, {"error": "busy"}, [("retry-after-ms", "1500")], 1.5),
        (503, {"error": "busy"}, [("x-ratelimit-reset-requests", "120ms")], None),
        (503, b"", [("x-ratelimit-reset", "34"), ("x-ratelimit-remaining", "0")], 34),
        (500, b"", [("x-ratelimit-reset", "34"), ("x-ratelimit-remaining", "0")], None),
    ],
)
def test_a_wait_is_read_from_headers_and_bodies(
    status: int, body: object, headers: list[tuple[str, str]], wait: float | None
) -> None:
    """The end of a window counts only for a limit, and of an exhausted one for an overload."""
    error = told(status, body.encode() if isinstance(body, str) else body, headers)
    assert error.retry_after == (None if wait is None else NOW + timedelta(seconds=wait))


@pytest.mark.parametrize(
    ("status", "headers", "soonest"),
    [
        (429, [("X-RateLimit-Reset", "19100")], 19.1),
        (503, [("X-RateLimit-Reset", "19100"), ("X-RateLimit-Remaining", "0")], 19.1),
        (500, [("X-Retry-In", "19100")], 19.1),
        (429, [("X-RateLimit-Reset", "60")], None),
        (429, [("X-RateLimit-Reset", "5h")], None),
        (429, [("Retry-After", "3600"), ("X-RateLimit-Reset", "19100")], None),
        (429, [], None),
    ],
)
def test_a_number_without_a_unit_names_two_times(
    status: int, headers: list[tuple[str, str]], soonest: float | None
) -> None:
    """The later one is shown."""
    error = told(status, b"{}", headers)
    when = None if soonest is None else NOW + timedelta(seconds=soonest)
    assert error.retry_soonest == when


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ("Unexpected endpoint or method. (POST /api/chat)", "There is no chat service at this"),
        ("Not Found", "There is no chat service at this address"),
        ("Cannot POST /api/chat", "There is no chat service at this address"),
        ("The requested path was not found", "There is no chat service at this address"),
        ("Unknown path: no such model", "The service does not know the model"),
    ],
)
def test_an_error_in_a_reply_of_a_wrong_path_says_so(message: str, event: str) -> None:
    """Some servers answer it with 200; to try again later would not help."""
    error_body = ErrorBody.from_json({"error": message})
    assert error_body is not None
    error = error_in_reply(AnswerFacts(200, [], NOW, (KEY,)), error_body, begun=False)
    assert type(error) is NotUnderstoodError
    assert str(error).startswith(event)
    assert "later" not in str(error)


def test_an_error_in_a_reply_names_its_wait_in_its_body() -> None:
    """Beside the code that makes it a limit."""
    inside = {"error": {"code": 429, "message": "no", "metadata": {"retry_after": 3}}}
    error_body = ErrorBody.from_json(inside)
    assert error_body is not None
    error = error_in_reply(AnswerFacts(200, [], NOW, (KEY,)), error_body, begun=False)
    assert error.retry_after == NOW + timedelta(seconds=3)


@each_case(
    ("body", "kind", "words"),
    [
        ({"error": {"message": "no", "code": 401}}, AuthenticationError, "(error 401, HTTP 200)"),
        ({"error": {"message": "slow", "code": "429"}}, RateLimitError, "the limit is reached"),
        ({"error": {"message": "no", "code": 400}}, RequestRejectedError, "The service refused: "),
        ({"error": {"message": "busy", "code": 503}}, ServiceError, "overloaded, or not ready: "),
        ({"error": {"message": "busy", "code": "server_error"}}, ServiceError, "server_error"),
        ({"error": {"message": "busy", "type": "overloaded_error"}}, ServiceError, "(error 529, "),
        ({"error": {"message": "busy", "status": "UNAVAILABLE"}}, ServiceError, "(error 503, "),
        ({"error": {"message": "slow", "type": "rate_limit_error"}}, RateLimitError, "is reached"),
        (
            {"error": {"message": "x", "code": "insufficient_quota"}},
            RateLimitError,
            "too few credits",
        ),
        (TOO_LONG[0], TooLongError, "too long for the service"),
        ({"error": LARGE}, TooLongError, "too long for the service"),
        ({"error": SLOW}, RateLimitError, "the limit is reached"),
        ({"error": "Invalid API key"}, AuthenticationError, "did not accept the key"),
        ({"error": "login fail"}, AuthenticationError, "did not accept the key"),
        ({"error": "insufficient balance"}, RateLimitError, "too few credits"),
        (LIMIT, RateLimitError, "No credits left"),
    ],
)
def test_an_error_in_place_of_a_reply_says_its_own_status(
    body: object, kind: type[ChatError], words: str
) -> None:
    """What the status line promised is overruled by what the error names; a begun reply is cut."""
    error_body = ErrorBody.from_json(body)
    assert error_body is not None
    fields = [("Retry-After", "20")]
    error = error_in_reply(AnswerFacts(200, fields, NOW, (KEY,)), error_body, begun=False)
    assert type(error) is kind
    assert words in str(error)
    assert str(error).endswith("Try again in 20 s.")
    assert error.status == 200
    assert error.body_status == error_body.status
    begun = error_in_reply(AnswerFacts(200, fields, NOW, (KEY,)), error_body, begun=True)
    assert type(begun) is CutOffError
    assert begun.credits == error.credits


@given(
    status=st.integers(200, 599),
    body=st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda items: st.lists(items) | st.dictionaries(st.sampled_from([*LIMIT, "x"]), items),
        max_leaves=8,
    ),
)
def test_no_body_makes_it_fail(status: int, body: object) -> None:
    """Whatever came, documented fields of any type too, there is one line."""
    line = str(told(status, body))
    assert line == one_line(line, len(line))
