"""Errors of responses without a reply: the event, and the advice.

Pure: the input is the status, the headers and the beginning of the body; the output is an error.
The rate-limit error is known by its body, because its status is not shown (fact 9); the others by
their status (fact 8). For any body there is one clear line with a short excerpt of it, safe and
without the key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final, NamedTuple, Self
from urllib.parse import urljoin, urlsplit

from chatmagic import advice
from chatmagic.advice import Note, sentences
from chatmagic.errors import (
    COST_UNKNOWN,
    PROXY_NAMED,
    WHAT_CAME_IS_KEPT,
    AuthenticationError,
    ChatError,
    CutOffError,
    NotUnderstoodError,
    RateLimitError,
    RequestRejectedError,
    ServiceError,
    TooLongError,
)
from chatmagic.models import Credits
from chatmagic.protocol import credits as crediting
from chatmagic.protocol import retry_time
from chatmagic.protocol.answer_text import body_text, header, quoted_error, safe_excerpt
from chatmagic.protocol.api_key import Secret
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.json_decoder import JSON_DECODER
from chatmagic.protocol.refused_fields import refused_fields
from chatmagic.protocol.url import is_loopback, origin

_LONGEST_PATH: Final = 60
_SOON: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)
_AFTER: Final = "Ask again after the reset."
_WAIT: Final = "Wait before you ask again, or look at the account's limits."
_UNSENT: Final = "Nothing was sent again."
_REPLY: Final = "chat.completion"
"""Value of a reply's ``object`` at compatible servers."""
_LATER: Final = "Try again later."


class _Rule(NamedTuple):
    """Meaning of a status.

    Args:
        error: the class of the error.
        event: the event, as the beginning of its line.
        hint: the advice; ``None`` if the answer's figures give it.
        quoting: the event before the service's own words, if that is another.
    """

    error: type[ChatError]
    event: str
    hint: Note | None
    quoting: str | None = None


_REFUSED: Final = _Rule(
    RequestRejectedError,
    "The service refused the request",
    advice.REFUSED,
    quoting="The service refused",
)
_FAILED: Final = _Rule(ServiceError, "The service failed", _UNSENT)
_BAD_KEY: Final = _Rule(
    AuthenticationError, "The service did not accept the key", advice.KEY_REFUSED
)
_NO_KEY: Final = _BAD_KEY._replace(event="The service requires a key, and none was sent")
_LIMITED: Final = _Rule(RateLimitError, "The service says that the limit is reached", None)
_TOO_LONG: Final = _Rule(TooLongError, "The conversation is too long for the service", advice.LESS)
_NO_CHAT: Final = _Rule(RequestRejectedError, "This address takes no questions", advice.ADDRESS)
_FIREWALL: Final = _Rule(
    RequestRejectedError,
    "The service, or a firewall in front of it, refused the request",
    "Ask the firewall's operator, or try from another network.",
    quoting="The service, or a firewall in front of it, refused",
)
# RFC 9110, section 15; 423 and 424 are of RFC 4918, 425 of 8470, 429 of 6585.
_RULES: Final[Mapping[int, _Rule]] = {
    401: _BAD_KEY,
    402: _Rule(RateLimitError, "The account has too few credits", "Add credits to the account."),
    403: _REFUSED._replace(hint=advice.KEY_RIGHTS),
    404: _Rule(
        NotUnderstoodError,
        "There is no chat service at this address",
        "Is its path right? If it has another path, give all of it, up to /chat/completions. Or is "
        "the model unknown, if you set one?",
    ),
    407: _Rule(ServiceError, "The proxy requires a name and a password", PROXY_NAMED),
    413: _TOO_LONG,
    429: _LIMITED,
    **dict.fromkeys((405, 406, 410, 414, 415, 421, 426), _NO_CHAT),
    **dict.fromkeys((408, 409, 423, 424, 425), _FAILED),
    **dict.fromkeys((502, 504), _FAILED._replace(event="A proxy got no answer from the service")),
    **dict.fromkeys((503, 529), _FAILED._replace(event="The service is overloaded, or not ready")),
}
"""Rules by status; any other from 400 on is :data:`_REFUSED`, from 500 on :data:`_FAILED`."""

_OVERLOADED: Final = {503, 529}
"""Statuses of an overload, with which gateways such as APISIX refuse for a limit, too."""
_REDIRECTS: Final = {301, 302, 303, 307, 308}
ABOUT_A_MODEL: Final = (
    r"(?i)(?<!loading )\bmodels?\b(?! (?:\S+ )?is (?:\w+ )?(?:loading|overloaded|busy))"
)
"""Pattern of an answer that speaks of the model, and not of its loading."""
# Words of servers that get plain HTTP on a port for TLS.
_HTTPS: Final = r"(?i)\bplain HTTP\b|HTTP request to an HTTPS server|host and port requires TLS"
# Phrases of servers for a conversation that is longer than the model's context.
_TOO_LONG_WORDS: Final = (
    r"(?i)context[ _-]?(?:length|window|size|limit|overflow)"
    r"|(?:maximum|max) (?:model|prompt|input|sequence) length"
    r"|(?:prompt|input|request|conversation|messages?) (?:is|are|was) too (?:long|large)"
    r"|too many (?:[a-z]+ )?tokens"
    r"|token count\b.{0,40}\bexceeds"
    r"|\btokens`? \+ `?max_new_tokens"
    r"|reduce the length of"
)
# Words of servers that answer a wrong path with 200 and an error.
_NO_SUCH_PATH: Final = (
    r"(?i)\b(?:unexpected|unknown|unsupported|invalid|wrong|no such) (?:endpoint|path|route|url)\b"
    r"|\b(?:endpoint|path|route|url|page|resource)\b.{0,40}\bnot (?:found|exist|supported)\b"
    r"|^not found\b|\bno route\b|\bcannot (?:post|get) /"
)
# Words of services that answer a wrong key with a status of another complaint.
_KEY_WORDS: Final = (
    r"(?i)\bapi[ _-]?key\b.{0,40}\b(?:not valid|invalid|incorrect|expired|missing)\b"
    r"|\b(?:incorrect|invalid|expired|missing|no)\b.{0,20}\bapi[ _-]?key\b"
)
# Words of gateways that refuse for a limit with 403: Azure API Management, Google, GitHub.
_LIMIT_WORDS: Final = (
    r"(?i)\brate[ _-]?limit|\bquota\b.{0,80}\b(?:exceeded|replenished|reached)"
    r"|\b(?:out of|exceeded)\b.{0,40}\bquota\b|\btoo many requests\b|\bthrottl"
)
# Words of services that refuse a request for its size with the status of a limit: OpenAI.
_TOO_LARGE_WORDS: Final = r"(?i)\brequest too large\b|\btokens must be reduced\b"
# Words of services that refuse a content with 403, and name the key beside it: xAI.
_CONTENT_WORDS: Final = (
    r"(?is)\A(?!.*\b(?:disabled|suspended|deactivated|terminated|revoked|banned)\b)"
    r".*(?:\bcontent\b.{0,60}(?:violat|filter|polic|moderat|block|flag|inappropriate|sensitive)"
    r"|\bmoderation\b|\bflagged\b|\bguardrails?\b|\busage guidelines\b)"
)
_BY_WORDS: Final[Sequence[tuple[int, str, _Rule]]] = (
    (400, _KEY_WORDS, _BAD_KEY),
    (400, _TOO_LONG_WORDS, _TOO_LONG),
    (403, _LIMIT_WORDS, _LIMITED),
    (403, _CONTENT_WORDS, _RULES[403]),
    (403, r"(?i)key|token|auth|credential", _BAD_KEY),
    (404, ABOUT_A_MODEL, _RULES[404]._replace(event="The service does not know the model")),
    (422, _TOO_LONG_WORDS, _TOO_LONG),
    (429, _TOO_LARGE_WORDS, _TOO_LONG),
    (429, r"(?i)insufficient_quota|billing|balance|credits", _RULES[402]),
)
"""Status, pattern of the answer's words, and the rule for both; the first that fits counts."""
_IN_REPLY: Final[Sequence[tuple[str, _Rule]]] = (
    (_TOO_LONG_WORDS, _TOO_LONG),
    (_TOO_LARGE_WORDS, _TOO_LONG),
    (_KEY_WORDS, _BAD_KEY),
    (r"(?i)\b(?:unauthori[sz]ed|not authori[sz]ed|login fail|authentication fail)", _BAD_KEY),
    (r"(?i)\binsufficient[ _](?:balance|quota|credits?|funds)\b", _RULES[402]),
    (_LIMIT_WORDS, _LIMITED),
)
"""Patterns of an error without a status, in place of a reply, and their rules."""


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """Facts of a response from which its error is made, beside the body.

    Args:
        status: the HTTP status.
        headers: the response's headers.
        now: the time here, aware, for a response that has no ``Date``.
        keys: the known keys, which are removed from messages.
        base_url: the address of the request, to recognize a redirect to the same origin.
        is_keyless: whether the request was sent, and without a key.
    """

    status: int
    headers: Sequence[tuple[str, str]]
    now: datetime
    keys: tuple[Secret, ...] = ()
    base_url: str = ""
    is_keyless: bool = False


@dataclass(frozen=True, slots=True)
class _Failure:
    """An answer without a reply, as far as its error is made from it.

    Args:
        answer: its status and headers.
        body: the error in its body; an empty one if it has none.
        text: its body as text; ``None`` for an error in place of a reply.
        quote: its message, quoted, as the middle of a sentence; empty without words.
        credits: the credits that it names; ``None`` is unknown.
    """

    answer: AnswerFacts
    body: ErrorBody
    text: str | None
    quote: str
    credits: Credits | None

    @classmethod
    def read(cls, answer: AnswerFacts, body: ErrorBody, text: str | None) -> Self:
        """Return the failure of an answer."""
        quote = quoted_error(body, text or "", answer.keys)
        credits = crediting.from_headers(answer.headers, answer.now, body)
        return cls(answer, body, text, quote, credits)

    @property
    def status_words(self) -> str:
        """The status, as the end of a sentence; in place of a reply, that of the body, too."""
        if self.text is None and self.body.status is not None:
            return f"(error {self.body.status}, HTTP {self.answer.status})"
        return f"(HTTP {self.answer.status})"

    @property
    def words(self) -> str:
        """All words of the error; the beginning of a body without such words."""
        words = (self.body.code, self.body.error, self.body.message)
        return " ".join(filter(None, words)) or self.quote

    @property
    def has_no_error(self) -> bool:
        """Whether the body holds no error."""
        return self.body == ErrorBody()


def error_from_response(answer: AnswerFacts, body: bytes) -> ChatError:
    """Return the error for a response that holds no reply.

    Args:
        answer: the response.
        body: its body, or the beginning of it.
    """
    text = body_text(body, answer.headers)
    try:
        value = JSON_DECODER.decode(text)
        error_body = ErrorBody.from_json(value) or ErrorBody(source=value)
    except (ValueError, RecursionError):
        error_body = ErrorBody()
    failure = _Failure.read(answer, error_body, text)
    if _wants_https(failure):
        error: ChatError = NotUnderstoodError(
            f"That port requires https{failure.quote} {failure.status_words}.",
            hint=sentences("Connect to it with https.", advice.SETTINGS),
        )
    elif error_body.is_rate_limit or answer.status >= HTTPStatus.BAD_REQUEST:
        rule = _rule(answer.status, failure)
        if rule is _BAD_KEY and answer.is_keyless and answer.status == HTTPStatus.UNAUTHORIZED:
            rule = _NO_KEY
        error = _by_rule(rule, failure)
    elif answer.status in _REDIRECTS:
        error = _redirect(failure)
    elif (coded := ErrorBody.with_code(error_body.source)) is not None:
        return error_in_reply(answer, coded, begun=False)
    else:
        error = _no_service(failure)
    return _completed(error, failure)


def _wants_https(failure: _Failure) -> bool:
    """Return whether a server says that its port takes no plain HTTP."""
    answer = failure.answer
    is_plain = answer.base_url[:5].lower() == "http:"
    is_bad_request = answer.status == HTTPStatus.BAD_REQUEST
    return is_bad_request and is_plain and re.search(_HTTPS, failure.text or "") is not None


def error_in_reply(answer: AnswerFacts, error_body: ErrorBody, *, begun: bool) -> ChatError:
    """Return the exception for an error that the service sent in place of a reply.

    Args:
        answer: the response, whose status promised a reply.
        error_body: the error that the service sent.
        begun: whether a part of the reply came before it.
    """
    failure = _Failure.read(answer, error_body, text=None)
    quote = failure.quote
    at = failure.status_words
    if begun:
        error: ChatError = CutOffError(
            f"The service ended the reply with an error{quote}.", hint=WHAT_CAME_IS_KEPT
        )
    elif error_body.is_rate_limit or error_body.status is not None:
        error = _by_rule(_rule(error_body.status or answer.status, failure), failure)
    elif re.search(_NO_SUCH_PATH, failure.words):
        error = _by_rule(_rule(HTTPStatus.NOT_FOUND, failure), failure)
    elif (rule := _rule_in_reply(failure)) is not None:
        error = _by_rule(rule, failure)
    else:
        error = ServiceError(f"The service answered with an error{quote} {at}.", hint=_UNSENT)
    return _completed(error, failure)


def _completed(error: ChatError, failure: _Failure) -> ChatError:
    """Return an error with the status, the credits and the wait that its response names."""
    body = failure.body
    error.status = failure.answer.status
    error.body_status = body.status
    error.holds_json = body.source is not None
    error.credits = failure.credits
    if type(error) is RequestRejectedError and _is_refusal(body.status or error.status):
        error.refused_fields = refused_fields(body.source)
    if isinstance(error, RateLimitError):
        wait = _wait_for_limit(failure)
        figures = crediting.used_words(failure.credits)
        error.advice = sentences(figures, wait.words or error.advice or _WAIT)
    else:
        wait = _wait_after_failure(failure)
        if wait.words or error.advice == sentences(_UNSENT):
            error.advice = sentences(error.advice, wait.words or _LATER)
    error.retry_after = wait.until
    error.retry_soonest = _soonest(failure, wait.until, is_limit=isinstance(error, RateLimitError))
    return error


def _soonest(failure: _Failure, until: datetime | None, *, is_limit: bool) -> datetime | None:
    """Return the time to ask again if a number without a unit is milliseconds, and not seconds.

    Args:
        failure: the answer.
        until: the time if it is seconds; ``None`` if the answer names none.
        is_limit: whether the answer refused for a limit.
    """
    if until is None or until - failure.answer.now <= _SOON:
        return None
    wait = _wait_for_limit if is_limit else _wait_after_failure
    soonest = wait(failure, in_milliseconds=True).until
    return soonest if soonest is not None and soonest < until else None


class _Wait(NamedTuple):
    """Wait that an answer names.

    Args:
        until: its end; ``None`` if it names none.
        words: the advice to wait; ``None`` without a wait.
    """

    until: datetime | None
    words: str | None

    @classmethod
    def of(cls, until: datetime | None, answer: AnswerFacts) -> Self:
        """Return the wait until a time, in words that depend on its length."""
        return cls(until, None if until is None else _wait_words(until, answer.now))


def _wait_for_limit(failure: _Failure, *, in_milliseconds: bool = False) -> _Wait:
    """Return the wait of an answer that refused for a limit."""
    answer = failure.answer
    named = _named_wait(failure, in_milliseconds=in_milliseconds)
    left = _until_reset(failure.credits)
    # The explanation may say the time of the reset, too.
    if left is not None and (named is None or abs(named - answer.now - left) < _SECOND):
        reset = answer.now + left
        is_soon = timedelta() <= left <= _SOON
        return _Wait.of(reset, answer) if is_soon else _Wait(reset, _AFTER)
    if named is None:
        fields = retry_time.time_fields(failure.body.source)
        named = retry_time.limit_reset(
            answer.headers, answer.now, fields, in_milliseconds=in_milliseconds
        )
    return _Wait.of(named, answer)


def _wait_after_failure(failure: _Failure, *, in_milliseconds: bool = False) -> _Wait:
    """Return the wait of any other answer, such as one of an overload."""
    answer = failure.answer
    named = _named_wait(failure, in_milliseconds=in_milliseconds)
    if named is None and answer.status in _OVERLOADED:
        named = retry_time.limit_reset(
            answer.headers, answer.now, is_failure=True, in_milliseconds=in_milliseconds
        )
    return _Wait.of(named, answer)


def _named_wait(failure: _Failure, *, in_milliseconds: bool) -> datetime | None:
    """Return the time at which an answer says to ask again; ``None`` if it says none."""
    answer = failure.answer
    body = failure.body
    fields = retry_time.time_fields(body.source)
    words = body.message or body.error or failure.text or ""
    return retry_time.retry_after(
        answer.headers, answer.now, fields, words, in_milliseconds=in_milliseconds
    )


def _until_reset(credits: Credits | None) -> timedelta | None:
    """Return the time from an answer to the reset of the credits; ``None`` if it is unknown."""
    if credits is None or credits.resets_at is None:
        return None
    return credits.resets_at - credits.seen_at


def _is_refusal(status: int) -> bool:
    """Return whether a status says that nothing was done because of the request itself."""
    return status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)


def _wait_words(until: datetime, now: datetime) -> str:
    """Return the wait in words, rounded up; a long wait as a time."""
    seconds = math.ceil((until - now).total_seconds())
    if seconds <= 2 * 60:
        return f"Try again in {seconds} s."
    if seconds <= 2 * 3600:
        return f"Try again in {-(-seconds // 60)} min."
    return f"Try again after {until.astimezone(UTC):%Y-%m-%d %H:%M} UTC."


def _rule(status: int, failure: _Failure) -> _Rule:
    """Return the meaning of a status of failure, to which the answer's words may add."""
    rule = _RULES.get(status, _FAILED if status >= HTTPStatus.INTERNAL_SERVER_ERROR else _REFUSED)
    is_limit = failure.body.status == HTTPStatus.TOO_MANY_REQUESTS
    if rule.error is RequestRejectedError and is_limit:
        return _LIMITED
    words = failure.words
    for of_status, pattern, rule_by_words in _BY_WORDS:
        if of_status == status and re.search(pattern, words):
            return rule_by_words
    if status == HTTPStatus.FORBIDDEN and failure.has_no_error:
        return _FIREWALL
    return rule


def _rule_in_reply(failure: _Failure) -> _Rule | None:
    """Return the meaning of an error without a status, by its words; ``None`` if they say none."""
    rules = (rule for pattern, rule in _IN_REPLY if re.search(pattern, failure.words))
    return next(rules, None)


def _by_rule(rule: _Rule, failure: _Failure) -> ChatError:
    """Return the error for the meaning of a status, or for the documented rate limit."""
    quote = failure.quote
    if failure.body.is_rate_limit:
        is_used_up = crediting.level(failure.credits) == "empty"
        event = "No credits left" if is_used_up else f"{_LIMITED.event}{quote}"
        return RateLimitError(f"{event} {failure.status_words}.")
    event = rule.quoting if quote and rule.quoting is not None else rule.event
    if event == _FAILED.event and failure.has_no_error:
        event = "The service, or a proxy in front of it, failed"
    return rule.error(f"{event}{quote} {failure.status_words}.", hint=rule.hint)


def _redirect(failure: _Failure) -> NotUnderstoodError:
    """Return the error for a redirect, which names its target without path and user."""
    answer = failure.answer
    at = failure.status_words
    followed = "was not followed, so the key was sent nowhere else."
    location = header(answer.headers, "location")
    try:
        target = urlsplit(urljoin(answer.base_url, location) if location else "")
        here = origin(answer.base_url)
        place = origin(f"{target.scheme}://{target.netloc}")
    except ValueError:  # it is no address, or an ambiguous one
        return NotUnderstoodError(
            f"The service redirects elsewhere {at}; that {followed}", hint=advice.REDIRECTED
        )
    if place == here:
        path = safe_excerpt(target.path or "/", answer.keys, _LONGEST_PATH)
        return NotUnderstoodError(
            f"The service redirects to its own path {path} {at}: a login page? That {followed}",
            hint=sentences(
                "A proxy in front of the service may require you to sign in.", advice.ADDRESS
            ),
        )
    if _is_downgrade(here, place):
        hint = sentences("That address is not encrypted.", advice.ADDRESS)
    else:
        hint = sentences(advice.REDIRECTED)
    shown = safe_excerpt(place, answer.keys)
    return NotUnderstoodError(f"The service redirects to {shown} {at}; that {followed}", hint=hint)


def _is_downgrade(before: str, after: str) -> bool:
    """Return whether a redirect leads from an encrypted address to one that is not."""
    return before.startswith("https:") and after.startswith("http:") and not is_loopback(after)


def _no_service(failure: _Failure) -> ChatError:
    """Return the error for a response that neither refuses nor replies."""
    at = failure.status_words
    value = failure.body.source
    if isinstance(value, Mapping) and ("choices" in value or value.get("object") == _REPLY):
        return ServiceError(f"The answer holds no choice, so no reply {at}.", hint=COST_UNKNOWN)
    if not failure.quote:
        return NotUnderstoodError(
            f"The answer has no content {at}.", hint=sentences(_UNSENT, advice.ADDRESS)
        )
    if failure.has_no_error:
        event = "The server that answered is not the chat service"
    else:
        event = "The answer holds no reply"
    return NotUnderstoodError(f"{event}{failure.quote} {at}.", hint=advice.ADDRESS)
