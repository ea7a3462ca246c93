"""The time to ask again, in every form in which services write it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cases import each_case
from hypothesis import given
from hypothesis import strategies as st

from chatmagic.protocol import retry_time

NOW = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
RESET = datetime(2026, 1, 2, tzinfo=UTC)
DATE = "Thu, 01 Jan 2026 09:29:58 GMT"
WRITTEN = datetime(2026, 1, 1, 9, 29, 58, tzinfo=UTC)
TWO = "x-ratelimit-reset-requests: 2s\nx-ratelimit-reset-tokens: 9s"


def seconds(until: datetime | None) -> float | None:
    """Give the wait until a time."""
    return None if until is None else (until - NOW).total_seconds()


def pairs(lines: str) -> list[tuple[str, str]]:
    """Give headers from a line each."""
    found = [line.partition(": ") for line in lines.splitlines()]
    return [(name, value) for name, _, value in found]


@each_case(
    ("values", "when"),
    [
        (["0"], NOW),
        (["60"], NOW + timedelta(seconds=60)),
        (["5.289"], NOW + timedelta(seconds=6)),
        (["60", "60"], NOW + timedelta(seconds=60)),
        (["60, 60"], NOW + timedelta(seconds=60)),
        (["31536000"], NOW + timedelta(days=365)),
        (["Fri, 02 Jan 2026 00:00:00 GMT"], RESET),
        (["Thu, 01 Jan 2026 09:30:00 GMT"], NOW),
        (["Fri, 01 Jan 2027 09:30:00 GMT"], NOW + timedelta(days=365)),
        (["Thu, 01 Jan 2026 09:29:59 GMT"], None),
        (["Fri, 01 Jan 2027 09:30:01 GMT"], None),
        (["31536001"], None),
        (["60", "61"], None),
        (["-5"], None),
        (["1e3"], None),
        (["\u0661"], None),
        ([], None),
    ],
)
def test_retry_after(values: list[str], when: datetime | None) -> None:
    """Seconds, rounded up, or an HTTP date; nothing past, absurd or contradicting."""
    pairs = [("retry-after", value) for value in values]
    assert retry_time.retry_after([*pairs, ("date", "Thu, 01 Jan 2026 09:30:00 GMT")], NOW) == when


def test_retry_after_is_measured_by_the_clock_that_wrote_it() -> None:
    """A date is compared with the response's own, seconds count from when it came."""
    fast = NOW + timedelta(days=3)
    headers = {"Date": DATE, "Retry-After": "Fri, 02 Jan 2026 00:00:00 GMT"}
    assert retry_time.retry_after([*headers.items()], fast) == fast + (RESET - WRITTEN)
    assert retry_time.retry_after([("Retry-After", headers["Retry-After"])], NOW) == RESET
    later = {"Date": DATE, "Retry-After": "5"}
    assert retry_time.retry_after([*later.items()], fast) == fast + timedelta(seconds=5)


@each_case(
    ("header", "wait"),
    [
        ("retry-after-ms: 1500", 1.5),
        ("Retry-After: 2\nretry-after-ms: 1500", 1.5),
        ("Retry-After: 0\nretry-after-ms: 1500", 1.5),
        ("x-ms-retry-after-ms: 20", 0.02),
        ("X-Retry-After: 7s", 7),
        ("X-RateLimit-Reset-After: 1.5", 2),
        ("Retry-After: 2026-01-01T09:30:05Z", 5),
        ("Retry-After: 1767259805", 5),
        ('Retry-After: "5"', 5),
        ("Retry-After: 1m30s", 90),
        ("Retry-After: PT1M30S", 90),
        ("X-Retry-In: 1.5s", 1.5),
        ("Retry-After: soon", None),
        ("X-RateLimit-Reset: 5", None),
    ],
)
def test_other_headers_name_a_wait(header: str, wait: float | None) -> None:
    """Milliseconds count before seconds; the end of a window is no wait of a failure."""
    assert seconds(retry_time.retry_after(pairs(header), NOW)) == wait


@each_case(
    ("headers", "wait"),
    [
        ("x-ratelimit-reset-requests: 120ms", 0.12),
        ("x-ratelimit-reset-tokens: 6m0s", 360),
        ("x-ratelimit-reset-requests: 1h2m", 3720),
        ("x-ratelimit-reset-tokens-minute: 11.38", 12),
        ("x-ratelimit-reset: 5", 5),
        ("x-rate-limit-reset: 1767259805", 5),
        ("X-RateLimit-Reset: 1767259805000", 5),
        ("X-RateLimit-Reset: 1767259805000000", 5),
        ("X-RateLimit-Reset: 2026-01-01T09:30:05Z", 5),
        ("anthropic-ratelimit-input-tokens-reset: 2026-01-01T09:30:05Z", 5),
        ("anthropic-priority-input-tokens-reset: 2026-01-01T09:30:05Z", 5),
        ("X-Quota-Reset: 00:01:30", 90),
        ("RateLimit: limit=9, remaining=0, reset=1767259805", 5),
        ('RateLimit: "day";r=0;t=4.5', 5),
        ("RateLimit-Reset: 5", 5),
        ("RateLimit: limit=100, remaining=0, reset=5", 5),
        ('RateLimit: "burst";r=0;t=5, "day";r=90;t=9000', 5),
        ('RateLimit: "burst";r=1;t=9, "day";r=0;t=90', 90),
        ("RateLimit: limit=100;t=5", 5),
        ("RateLimit: limit=100", None),
        # Of several limits the exhausted ones count, and of the others the first to end.
        (TWO, 2),
        (f"{TWO}\nx-ratelimit-remaining-tokens: 0\nx-ratelimit-remaining-requests: 3", 9),
        (f"{TWO}\nx-ratelimit-remaining-tokens: 0\nx-ratelimit-remaining-requests: 0", 9),
        # A clock that differs: without a date the time is past; with one it is not.
        ("X-RateLimit-Reset: 2026-01-01T09:29:59Z", None),
        ("X-RateLimit-Reset: 2026-01-01T09:29:59Z\nDate: Thu, 01 Jan 2026 09:29:57 GMT", 2),
        ("X-RateLimit-Reset: 99999999999999999999", None),
        ("X-RateLimit-Reset: never", None),
        ("X-RateLimit-Reset: Thu Feb 31 2026 10:30:05 GMT+0100", None),
        ("X-RateLimit-Limit: 5", None),
        # The length of a window is no wait.
        ("X-RateLimit-Reset-Interval: 3600", None),
        ("X-RateLimit-Reset-Period: 3600", None),
        ("X-RateLimit-Window-Reset: 5", 5),
    ],
)
def test_a_limit_names_its_end(headers: str, wait: float | None) -> None:
    """In seconds, as a duration, or as a time."""
    assert seconds(retry_time.limit_reset(pairs(headers), NOW)) == wait


@each_case(
    ("words", "wait"),
    [
        ("Rate limit reached for m. Limit 3, used 3. Please try again in 1.2s. See the page.", 1.2),
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 6m0s.", 360),
        ("Please retry after 20 seconds.", 20),
        ("You must wait 12 seconds", 12),
        ("Please retry in 37.5s.", 37.5),
        ("Try again in 1 minute and 5 seconds.", 65),
        ("Try again in 2 hours, 1 min", 7260),
        ("Please wait for about 3 minutes.", 180),
        ("The limit resets at 2026-01-01 09:30:05 UTC.", 5),
        ("Try again after 2026-01-01T09:30:05+00:00", 5),
        ("Try again at 2026-01-01T09:31.5Z", 90),
        ("Try again in 1.5m", 90),
        ("Available again on Thu, 01 Jan 2026 09:30:05 GMT", 5),
        ("Retry-After: 7", 7),
        ("retry_after_seconds=7", 7),
        ("Rate limited, retry in 7", 7),
        ("retry_delay {\n  seconds: 34\n}", 34),
        ("Out of call volume quota. Quota will be replenished in 01:02:03.", 3723),
        ("Slow down: retry your requests after 20 seconds.", 20),
        ("Please try again in ~5s.", 5),
        ("Please retry in PT5S.", 5),
        ("The meeting is again at 01:02:03:04.", None),
        ("Try again later.", None),
        ("10 requests per 60 seconds are allowed.", None),
    ],
)
def test_a_sentence_names_a_wait(words: str, wait: float | None) -> None:
    """As services word it."""
    assert seconds(retry_time.retry_after([], NOW, (), words)) == wait


@each_case(
    ("body", "wait", "reset"),
    [
        ({"retry_after": 1.2}, 2, None),
        ({"retryAfterMs": 1500}, 1.5, None),
        ({"retry_after_minutes": 2}, 120, None),
        ({"error": {"details": [{"@type": "RetryInfo", "retryDelay": "3s"}]}}, 3, None),
        ([{"parameters": {"retry_after": "3"}}], 3, None),
        ({"retry_delay": {"seconds": 3, "nanos": 0}}, 3, None),
        ({"backoff_ms": 100, "next_retry_at": "2026-01-01T09:30:05Z"}, 0.1, None),
        ({"next_retry_at": "2026-01-01T09:30:05Z"}, 5, None),
        ({"estimated_time": 20.5}, 21, None),
        ({"resets_in_seconds": 9}, 9, None),
        ({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1767259805000"}}}}, None, 5),
        ({"resetAt": "2026-01-01T09:30:05Z"}, None, 5),
        ({"resets_at": 1767259805}, None, 5),
        ({"retry_after": True, "reset": None, "retry": "yes"}, None, None),
        ({"retryable": 1, "presets": 5, "quota_reset_window": 3600}, None, None),
        ("retry_after", None, None),
        # A gateway has the answer of another service as a text.
        ({"error": {"metadata": {"raw": '{"details": [{"retryDelay": "17s"}]}'}}}, 17, None),
        ({"error": {"message": 'Upstream - {"retry_after": 3}\n'}}, 3, None),
        ({"error": {"message": "Upstream - {retry_after: 3}"}}, None, None),
    ],
)
def test_a_body_names_a_wait(body: object, wait: float | None, reset: float | None) -> None:
    """In a field of any depth; the end of a window counts for a limit alone."""
    fields = retry_time.time_fields(body)
    assert seconds(retry_time.retry_after([], NOW, fields)) == wait
    assert seconds(retry_time.limit_reset([], NOW, fields)) == reset


def test_a_body_of_any_size_is_searched_to_a_limit() -> None:
    """A wait behind the limit is not found."""
    many: list[object] = [[] for _ in range(retry_time.MOST_VALUES)]
    assert retry_time.time_fields([*many, {"retry_after": 3}]) == ()


@given(st.text("0123456789.:-TZ smhdInrty=;,\u0661", max_size=60), st.datetimes())
def test_nothing_raises(text: str, when: datetime) -> None:
    """Whatever a value holds, there is a time in the next year, or none."""
    now = when.replace(year=min(when.year, 9_000), tzinfo=UTC)
    headers = [
        (name, text) for name in ("Retry-After", "retry-after-ms", "RateLimit", "X-RateLimit-Reset")
    ]
    fields = (("retrydelay", text), ("resetat", text))
    words = f"try again in {text}"
    for until in (
        retry_time.retry_after(headers, now),
        retry_time.retry_after([], now, fields, words),
        retry_time.limit_reset(headers, now, fields),
    ):
        assert until is None or now <= until <= now + timedelta(days=365)


FORMS_OF_FIVE_SECONDS = (
    ("X-RateLimit-Reset: 5, 7", None, ""),
    ("Retry-After: +5s", None, ""),
    ("Retry-After: in 5 seconds", None, ""),
    ("Retry-After: 00:05", None, ""),
    ("Retry-After: 5 sec", None, ""),
    ("X-Backoff: 5", None, ""),
    ("Backoff: 5", None, ""),
    ("X-Throttle-Wait-Seconds: 5", None, ""),
    ("X-Wait: 5", None, ""),
    ("X-Retry-After-Seconds: 5", None, ""),
    ("x-amzn-retry-after: 5", None, ""),
    ("X-RateLimit-Resets-At: 1767259805", None, ""),
    ("X-Reset: 5", None, ""),
    ("X-Rate-Limit-Retry-After-Seconds: 5", None, ""),
    ("X-RateLimit-Reset-Ms: 5000", None, ""),
    ("x-goog-retry-delay: 5s", None, ""),
    ("X-RateLimit-Time-Remaining: 5", None, ""),
    ("X-Cooldown: 5", None, ""),
    ("X-Try-Again-In: 5", None, ""),
    ("Retry-After: PT5S", None, ""),
    ("X-RateLimit-Retry-After: 5", None, ""),
    ("X-Usage-Reset: 5", None, ""),
    ("Retry-After: ~5s", None, ""),
    ("X-Limit-Expires-In: 5", None, ""),
    ("Retry-After: Thursday, 01-Jan-26 09:30:05 GMT", None, ""),
    ("Retry-After: Thu Jan  1 09:30:05 2026", None, ""),
    ("X-Blocked-Until: 2026-01-01T09:30:05Z", None, ""),
    ("x-ratelimit-reset: 2026-01-01 09:30:05 UTC", None, ""),
    ("X-Retry-Delay-Ms: 5000", None, ""),
    ("Retry-After: 5000ms", None, ""),
    ("Retry-After: 5.0", None, ""),
    ("Retry-After: P0DT5S", None, ""),
    ("RateLimit-Reset: 5, 60", None, ""),
    ("", {"retry": {"after": 5}}, ""),
    ("", {"ttl": 5}, ""),
    ("", {"retry": 5}, ""),
    ("", {"retry": {"in": "5s"}}, ""),
    ("", {"backoff": {"seconds": 5}}, ""),
    ("", {"wait": {"ms": 5000}}, ""),
    ("", {"retry_after": {"secs": 5, "nanos": 0}}, ""),
    ("", {"retry_after": {"value": 5, "unit": "seconds"}}, ""),
    ("", {"msBeforeNext": 5000}, ""),
    ("", {"seconds_to_wait": 5}, ""),
    ("", {"time_to_wait_ms": 5000}, ""),
    ("", {"secondsRemaining": 5}, ""),
    ("", {"blocked_until": "2026-01-01T09:30:05Z"}, ""),
    ("", {"next_available_at": 1767259805}, ""),
    ("", {"delay": 5}, ""),
    ("", {"delayMs": 5000}, ""),
    ("", {"try_after": 5}, ""),
    ("", {"expires_in": 5}, ""),
    ("", {"cooldown": "+5s"}, ""),
    ("", {"rate_limit": {"reset": 5}}, ""),
    ("", {"error": {"retryAfterSeconds": 5}}, ""),
    ("", {"unblock_at": "2026-01-01T09:30:05Z"}, ""),
    ("", {"timeLeft": 5}, ""),
    ("", {"nextRetryAt": 1767259805000}, ""),
    ("", {"throttled_for": "5s"}, ""),
    ("", {"limits": [{"remaining": 0, "resetIn": 5}]}, ""),
    ("", {"retry-after": "0:05"}, ""),
    ("", {"retry_in_ms": 5000}, ""),
    ("", {"time_until_reset": 5}, ""),
    ("", {"wait_until": 1767259805}, ""),
    ("", {"errors": [{"extensions": {"retry": {"after": "5s"}}}]}, ""),
    ("", {"retry_after": {"seconds": 5}}, ""),
    ("", {"metadata": {"retry_after_ms": "5000"}}, ""),
    ("", {"window_ends_at": 1767259805}, ""),
    ("", {"refill_in": "5s"}, ""),
    ("", {"renewsIn": 5}, ""),
    ("", {"unlockAt": 1767259805}, ""),
    ("", {"nextAttempt": 1767259805}, ""),
    ("", {"eta_seconds": 5}, ""),
    ("", {"until": "2026-01-01T09:30:05Z"}, ""),
    ("X-RateLimit-Window-End: 1767259805", None, ""),
    ("X-Next-Request-At: 1767259805", None, ""),
    ("grpc-retry-pushback-ms: 5000", None, ""),
    ("", None, "Cooldown: 5s"),
    ("", None, "Please back off for 5 seconds"),
    ("", None, "Next request allowed in 5s"),
    ("", None, "You are blocked for 5 seconds"),
    ("", None, "5 seconds remaining"),
    ("", None, "Wait 5s and retry"),
    ("", None, "请在5秒后重试"),
    ("", None, "Throttled. Expected available in 5 seconds."),
    ("", None, "Retry your request in five seconds"),
    ("", None, "Sleep for 5 seconds"),
    ("", None, "Delay of 5 seconds"),
    ("", None, "limit will be lifted in 5s"),
    ("", None, "Too many requests: in 5s retry"),
    ("", None, "Hold off for 5 seconds"),
    ("", None, "The window closes in about 5 seconds"),
    ("", None, "After 5 seconds, ask once more"),
    ("", None, "5 requests were enough. Resume in 5s"),
    ("", None, "Refills 5s from now"),
    ("", None, "5 second cooldown"),
    ("", None, "cool-down of 5 seconds"),
    ("", None, "retry=5s"),
    ("", None, "Retry: 5"),
    ("X-RateLimit-Next: 2026-01-01T09:30:05Z", None, ""),
    ("X-RateLimit-Reset: Thu Jan 01 2026 10:30:05 GMT+0100 (Central European Time)", None, ""),
    ("X-RateLimit-Reset: 9, 5\nX-RateLimit-Remaining: 3, 0", None, ""),
    ("X-RateLimit-Reset: 3, 5\nX-RateLimit-Remaining: 0", None, ""),
    ("Retry-After: 5;jitter=2", None, ""),
    ("Retry-After: Thu, 01 Jan 2026 09:30:05 +0000", None, ""),
    ("Retry-After: Thu, 01 Jan 2026 10:30:05 +0100", None, ""),
    ("Retry-After: Wed, 01 Jan 2026 09:30:05 GMT", None, ""),
    ("X-RateLimit-Reset: 5;w=60", None, ""),
    ("X-Retry-In: 5000000us", None, ""),
    ("", {"penalty": "5s"}, ""),
    ("", {"next": {"at": 1767259805}}, ""),
    ("", {"nextAccessTime": "2026-Jan-01 09:30:05+0000 UTC"}, ""),
    ("", None, "Bitte versuchen Sie es in 5 Sekunden erneut."),
    ("", None, "Warten Sie 5 Sek."),
    ("", None, "Veuillez réessayer dans environ 5 secondes"),
    ("", None, "Inténtalo de nuevo en 5 segundos."),
    ("", None, "Espere 5 segundos"),
    ("", None, "Tente novamente em 5 segundos"),
    ("", None, "Riprova tra 5 secondi"),
    ("", None, "5秒後に再試行してください"),
    ("", None, "5초 후에 다시 시도하세요"),
    ("", None, "请等待 5 秒"),
    ("", None, "Rate limited, 5s"),
    ("", None, "penalty: 5s"),
    ("", None, "Slow down (5s)."),
    ("", None, "Claude AI usage limit reached|1767259805"),
    ("", None, "The limit resets at 1767259805."),
    ("", None, "Your limit will reset at 2026-01-01 09:30:05"),
    ("", None, "max rate reached: retry-in 5s"),
)


@each_case(("header", "body", "words"), FORMS_OF_FIVE_SECONDS)
def test_a_refusal_names_a_wait_in_any_form(header: str, body: object, words: str) -> None:
    """As services, gateways and libraries for limits write it: five seconds in each."""
    headers = pairs(header) if header else []
    fields = retry_time.time_fields(body)
    until = retry_time.retry_after(headers, NOW, fields, words)
    until = until or retry_time.limit_reset(headers, NOW, fields)
    assert seconds(until) == 5


@each_case(
    ("words", "wait"),
    [
        ("Please try again in 7.66s.", 7.66),
        ("Please try again in 8.5s.", 7),
        ("Please try again in 6.5s.", 7),
        ("Please try again.", 7),
    ],
)
def test_the_fraction_of_a_second_stands_in_the_sentence(words: str, wait: float) -> None:
    """A request before it has passed would be refused again."""
    assert seconds(retry_time.retry_after([("Retry-After", "7")], NOW, (), words)) == wait
    fields = retry_time.time_fields({"retryDelay": "7s"})
    assert seconds(retry_time.retry_after([], NOW, fields, words)) == wait


@each_case(
    ("words", "wait"),
    [
        ("Try again in a minute.", 60),
        ("Come back in one hour.", 3600),
        ("请 2 分钟后重试", 120),
        ("A second request failed.", None),
        ("You sent 50 chat requests to this model in 10s", None),
        ("Limit: 20 calls, counted in 60 s", None),
        ("The daily quota for 1 hour", None),
        ("Timed out after 30s", None),
        ("Over the limit in 7 days", None),
        ("3 tokens in 1s are allowed, so hold off for 4s", None),
        ("3 tokens in 1s are allowed. Hold off for 4s", 4),
        ("Versuchen Sie es in 1 Minute und 5 Sekunden erneut", 65),
        ("Réessayez dans 2 minutes et 3 secondes", 123),
        ("Warten Sie 1 Stunde", 3600),
        ("Attendez 1 heure", 3600),
        ("Espere 1 hora", 3600),
        ("Riprova tra 1 ora", 3600),
        ("1시간 후에 다시 시도하세요", 3600),
        ("请2小时后重试", 7200),
        ("请1天后重试", 86_400),
        ("Erlaubt sind 3 Anfragen in 60 Sekunden", None),
        ("Límite: 10 solicitudes en 60 segundos", None),
        ("Limite de 5 requêtes dans 60 secondes", None),
        ("一分钟 3 次, 等待 9 秒", None),
        ("Zeitüberschreitung nach 30 Sekunden", None),
        ("Quota window: 60s", None),
        ("Request timeout (30s)", None),
        ("Rate limit of 10 per 60s exceeded", None),
        ("Slow down, 5 days", None),
        ("model llama:7d", None),
        # A time of day without a zone, eight hours before the service's own.
        ("Your limit will reset at 2026-01-01 17:30:05", None),
        ("Your limit will reset at 2026-01-01 17:30:05 UTC", 28_805),
        ("Retry at 9767259805", None),
        # A time of day is no duration, and one of minutes and seconds no number.
        ("The limit resets at 10:00:00 UTC", None),
        ("Wait until 10:00:00.", None),
        ("Try again in 01:02:03", 3_723),
        ("Retry after 00:00:30", 30),
        ("Try again in 10:30", None),
        ("Try again in 1,500 ms", None),
    ],
)
def test_numbers_may_be_words(words: str, wait: float | None) -> None:
    """And the language may be another one."""
    assert seconds(retry_time.retry_after([], NOW, (), words)) == wait


@pytest.mark.parametrize(
    ("header", "body", "wait", "in_milliseconds"),
    [
        ("x-ratelimit-reset: 19100", None, 19_100, 19.1),
        ("X-Rate-Limit-Reset: 850", None, 850, 0.85),
        ("x-ratelimit-reset: 60", None, 60, 60),
        ("", {"details": {"tryAgainIn": 9000}}, 9_000, 9),
        ("", {"resets_at": 1767259805}, 5, 5),
        # These have a unit.
        ("Retry-After: 3600", None, 3_600, 3_600),
        ("RateLimit-Reset: 3600", None, 3_600, 3_600),
        ('RateLimit: "day";r=0;t=3600', None, 3_600, 3_600),
        ("x-ratelimit-reset-requests-day: 33011.38", None, 33_012, 33_012),
        ("x-ratelimit-reset: 1h", None, 3_600, 3_600),
        ("", {"retry_after": 3_600}, 3_600, 3_600),
        ("", {"resets_in_seconds": 3_600}, 3_600, 3_600),
        ("", {"retry_after_minutes": 90}, 5_400, 5_400),
        ("", {"message": "Retry-After: 3600"}, 3_600, 3_600),
    ],
)
def test_a_long_time_without_a_unit_may_be_milliseconds(
    header: str, body: dict[str, str] | None, wait: float, in_milliseconds: float
) -> None:
    """As MuleSoft has it; a short one is waited for in any case."""
    headers = pairs(header) if header else []
    fields = retry_time.time_fields(body)
    words = "" if body is None else str(body.get("message", ""))
    for reads_milliseconds, seconds_read in ((False, wait), (True, in_milliseconds)):
        until = retry_time.retry_after(
            headers, NOW, fields, words, in_milliseconds=reads_milliseconds
        ) or retry_time.limit_reset(headers, NOW, fields, in_milliseconds=reads_milliseconds)
        assert seconds(until) == seconds_read


APISIX = "X-AI-RateLimit-Remaining-a: 0\nX-AI-RateLimit-Reset-a: 5"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        (APISIX, 5),
        (APISIX.replace("0\n", "7\n"), None),
        ("X-RateLimit-Reset: 5", None),
        ('RateLimit: "burst";r=0;t=5', 5),
    ],
)
def test_a_failure_waits_only_for_an_exhausted_limit(headers: str, wait: float | None) -> None:
    """As of gateways that refuse for a limit with 503."""
    until = retry_time.limit_reset(pairs(headers), NOW, [("resetat", "9")], is_failure=True)
    assert seconds(until) == wait
