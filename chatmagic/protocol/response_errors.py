"""Errors of responses without a reply: the event, and the advice.

Pure: the input is the status, the headers and the beginning of the body; the output is an error.
The rate-limit error is known by its body, because its status is not shown (fact 9); the others by
their status (fact 8). For any body there is one clear line with a short excerpt of it, safe and
without the key.
"""

from __future__ import annotations

import codecs
import html
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from chatmagic import advice
from chatmagic.advice import Note, sentences
from chatmagic.errors import (
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
from chatmagic.protocol.api_key import Secret, redacted
from chatmagic.protocol.error_body import ErrorBody
from chatmagic.protocol.json_decoder import JSON_DECODER
from chatmagic.protocol.refused_fields import refused_fields
from chatmagic.protocol.url import is_loopback, origin
from chatmagic.safe_text import one_line

BODY_BYTES: Final = 65_536
"""Largest size of a body that is read for its error."""
_LONGEST_PATH: Final = 60
_SOON: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)
_AFTER: Final = "Ask again after the reset."
_WAIT: Final = "Wait before you ask again, or look at the account's limits."
_UNSENT: Final = "Nothing was sent again."
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
_BY_WORDS: Final[Sequence[tuple[int, str, _Rule]]] = (
    (400, _KEY_WORDS, _BAD_KEY),
    (400, _TOO_LONG_WORDS, _TOO_LONG),
    (403, _LIMIT_WORDS, _LIMITED),
    (403, r"(?i)key|token|auth|credential", _BAD_KEY),
    (404, ABOUT_A_MODEL, _RULES[404]._replace(event="The service does not know the model")),
    (422, _TOO_LONG_WORDS, _TOO_LONG),
    (429, r"(?i)insufficient_quota|billing|balance|credits", _RULES[402]),
)
"""Status, pattern of the answer's words, and the rule for both; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class Answer:
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


def error_from_response(answer: Answer, body: bytes) -> ChatError:
    """Return the error for a response that holds no reply.

    Args:
        answer: the response.
        body: its body, or the beginning of it.
    """
    status = answer.status
    text = body_text(body, answer.headers)
    try:
        value = JSON_DECODER.decode(text)
        error_body = ErrorBody.from_json(value) or ErrorBody(source=value)
    except (ValueError, RecursionError):
        error_body = ErrorBody()
    quote = quoted_error(error_body, text, answer.keys)
    credits = crediting.from_headers(answer.headers, answer.now, error_body)
    at = f"(HTTP {status})"
    is_plain = answer.base_url[:5].lower() == "http:"
    if status == HTTPStatus.BAD_REQUEST and is_plain and re.search(_HTTPS, text):
        error: ChatError = NotUnderstoodError(
            f"That port requires https{quote} {at}.",
            hint=sentences("Connect to it with https.", advice.SETTINGS),
        )
    elif error_body.is_rate_limit or status >= HTTPStatus.BAD_REQUEST:
        rule = _rule(status, error_body, quote)
        if rule is _BAD_KEY and answer.is_keyless and status == HTTPStatus.UNAUTHORIZED:
            rule = _NO_KEY
        error = _by_rule(rule, error_body, quote, at, credits)
    elif status in _REDIRECTS:
        error = _redirect(answer, at)
    else:
        error = _no_service(error_body, quote, at)
    return _completed(error, answer, credits, error_body, text)


def error_in_reply(answer: Answer, error_body: ErrorBody, *, begun: bool) -> ChatError:
    """Return the exception for an error that the service sent in place of a reply.

    Args:
        answer: the response, whose status promised a reply.
        error_body: the error that the service sent.
        begun: whether a part of the reply came before it.
    """
    quote = quoted_error(error_body, "", answer.keys)
    credits = crediting.from_headers(answer.headers, answer.now, error_body)
    own = "" if error_body.status is None else f"error {error_body.status}, "
    at = f"({own}HTTP {answer.status})"
    if begun:
        error: ChatError = CutOffError(
            f"The service ended the reply with an error{quote}.", hint=WHAT_CAME_IS_KEPT
        )
    elif error_body.is_rate_limit or error_body.status is not None:
        rule = _rule(error_body.status or answer.status, error_body, quote)
        error = _by_rule(rule, error_body, quote, at, credits)
    elif re.search(_NO_SUCH_PATH, _all_words(error_body, quote)):
        error = _by_rule(
            _rule(HTTPStatus.NOT_FOUND, error_body, quote), error_body, quote, at, credits
        )
    elif re.search(_TOO_LONG_WORDS, _all_words(error_body, quote)):
        error = _TOO_LONG.error(f"{_TOO_LONG.event}{quote} {at}.", hint=advice.LESS)
    else:
        error = ServiceError(f"The service answered with an error{quote} {at}.", hint=_UNSENT)
    return _completed(error, answer, credits, error_body)


def _completed(
    error: ChatError,
    answer: Answer,
    credits: Credits | None,
    error_body: ErrorBody,
    text: str = "",
) -> ChatError:
    """Return an error with the status, the credits and the wait that its response names."""
    error.status = answer.status
    error.body_status = error_body.status
    error.credits = credits
    if type(error) is RequestRejectedError and _is_refusal(error_body.status or answer.status):
        error.refused_fields = refused_fields(error_body.source)
    fields = retry_time.time_fields(error_body.source)
    words = error_body.message or error_body.error or text
    until = retry_time.retry_after(answer.headers, answer.now, fields, words)
    when = None if until is None else _wait_words(until, answer.now)
    if isinstance(error, RateLimitError):
        left = _until_reset(credits)
        # The explanation may say the time of the reset, too.
        if left is not None and (until is None or abs(until - answer.now - left) < _SECOND):
            until = answer.now + left
            when = _wait_words(until, answer.now) if timedelta() <= left <= _SOON else _AFTER
        elif until is None:
            until = retry_time.limit_reset(answer.headers, answer.now, fields)
            when = None if until is None else _wait_words(until, answer.now)
        figures = crediting.used_words(credits)
        error.advice = sentences(figures, when or error.advice or _WAIT)
    else:
        if until is None and error.status in _OVERLOADED:
            until = retry_time.limit_reset(answer.headers, answer.now, is_failure=True)
            when = None if until is None else _wait_words(until, answer.now)
        if when or error.advice == sentences(_UNSENT):
            error.advice = sentences(error.advice, when or _LATER)
    error.retry_after = until
    return error


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


def _rule(status: int, error_body: ErrorBody, quote: str) -> _Rule:
    """Return the meaning of a status of failure, to which the answer's words may add."""
    rule = _RULES.get(status, _FAILED if status >= HTTPStatus.INTERNAL_SERVER_ERROR else _REFUSED)
    if rule.error is RequestRejectedError and error_body.status == HTTPStatus.TOO_MANY_REQUESTS:
        return _LIMITED
    words_of_body = _all_words(error_body, quote)
    for of_status, words, named in _BY_WORDS:
        if of_status == status and re.search(words, words_of_body):
            return named
    if status == HTTPStatus.FORBIDDEN and error_body == ErrorBody():
        return _FIREWALL
    return rule


def _by_rule(
    rule: _Rule, error_body: ErrorBody, quote: str, at: str, credits: Credits | None
) -> ChatError:
    """Return the error for the meaning of a status, or for the documented rate limit."""
    if error_body.is_rate_limit:
        is_used_up = crediting.level(credits) == "empty"
        event = "No credits left" if is_used_up else f"{_LIMITED.event}{quote}"
        return RateLimitError(f"{event} {at}.")
    event = rule.quoting if quote and rule.quoting is not None else rule.event
    if event == _FAILED.event and error_body == ErrorBody():
        event = "The service, or a proxy in front of it, failed"
    return rule.error(f"{event}{quote} {at}.", hint=rule.hint)


def _all_words(error_body: ErrorBody, quote: str) -> str:
    """Return all words of an error's body; the beginning of a body without such words."""
    words = (error_body.code, error_body.error, error_body.message)
    return " ".join(filter(None, words)) or quote


def _redirect(answer: Answer, at: str) -> NotUnderstoodError:
    """Return the error for a redirect, which names its target without path and user."""
    location = header(answer.headers, "location")
    followed = "was not followed, so the key was sent nowhere else."
    try:
        target = urlsplit(urljoin(answer.base_url, location) if location else "")
        place = origin(f"{target.scheme}://{target.netloc}")
        if place == origin(answer.base_url):
            path = safe_excerpt(target.path or "/", answer.keys, _LONGEST_PATH)
            return NotUnderstoodError(
                f"The service redirects to its own path {path} {at}: a login page? That {followed}",
                hint=sentences(
                    "A proxy in front of the service may require you to sign in.", advice.ADDRESS
                ),
            )
        hint = sentences(advice.REDIRECTED)
        if _is_downgrade(origin(answer.base_url), place):
            hint = sentences("That address is not encrypted.", advice.ADDRESS)
        place = f"to {safe_excerpt(place, answer.keys)}"
    except ValueError:  # it is no address, or an ambiguous one
        place = "elsewhere"
        hint = sentences(advice.REDIRECTED)
    return NotUnderstoodError(f"The service redirects {place} {at}; that {followed}", hint=hint)


def _is_downgrade(before: str, after: str) -> bool:
    """Return whether a redirect leads from an encrypted address to one that is not."""
    return before.startswith("https:") and after.startswith("http:") and not is_loopback(after)


def _no_service(error_body: ErrorBody, quote: str, at: str) -> NotUnderstoodError:
    """Return the error for a response that neither refuses nor replies."""
    if not quote:
        return NotUnderstoodError(
            f"The answer has no content {at}.", hint=sentences(_UNSENT, advice.ADDRESS)
        )
    event = "The server that answered is not the chat service"
    if error_body != ErrorBody():
        event = "The answer holds no reply"
    return NotUnderstoodError(f"{event}{quote} {at}.", hint=advice.ADDRESS)


EXCERPT: Final = 200
"""Largest number of characters of an excerpt."""

_CHARSET: Final = (
    r"(?i)charset=\W*(iso-?8859-\d+|latin-?1|(?:windows-|cp)125\d|koi8-[ru]|gbk|gb2312|gb18030|big5"
    r"|shift_jis|euc-(?:jp|kr))\b"
)
# The time of each search is linear in the length of a page.
_TITLE: Final = r"(?i)<title[^<>]*>([^<]*)"
_UNSEEN: Final = r"(?is)<(?:script|style)\b.*?(?:</(?:script|style)[^<>]*>?|\Z)"
_TAG: Final = r"<[^<>]*>"


def body_text(body: bytes, headers: Sequence[tuple[str, str]]) -> str:
    """Return a body that is no stream as text.

    JSON is UTF-8, even if its header claims otherwise. A body that is not UTF-8 is read as the
    header says. UTF-16 and UTF-32 are known by their first bytes.

    Args:
        body: unpacked bytes, whole or cut off.
        headers: the answer's headers.
    """
    encoding: str = json.detect_encoding(body)
    if encoding.startswith("utf-8"):
        try:
            return body.removeprefix(codecs.BOM_UTF8).decode()
        except UnicodeDecodeError:
            named = re.search(_CHARSET, header(headers, "content-type"))
            encoding = named[1] if named else "utf-8-sig"
    return body.decode(encoding, "replace")


def header(headers: Sequence[tuple[str, str]], name: str) -> str:
    """Return the value of a header, the first one if it came several times; empty without one.

    Args:
        headers: the response's headers.
        name: the header's name, in lower case.
    """
    values = crediting.values_by_name(tuple(headers)).get(name)
    return values[0] if values else ""


def safe_excerpt(text: str, keys: Iterable[Secret], limit: int = EXCERPT) -> str:
    """Return the beginning of untrusted text on one line, without a key.

    Args:
        text: any text.
        keys: the keys to remove from it.
        limit: largest number of characters.
    """
    return one_line(redacted(text, keys), limit)


def quoted_error(error: ErrorBody, text: str, keys: Sequence[Secret]) -> str:
    """Return the message of a response, quoted, as the middle of a sentence.

    Args:
        error: the error in its body, empty if it has no words.
        text: its body, of which the title or the beginning is shown if it holds no error.
        keys: as for :func:`safe_excerpt`.
    """
    first, *more = dict.fromkeys(filter(None, (error.message, error.error))) or ("",)
    name = f" ({more[0]})" if more and more[0].lower() not in first.lower() else ""
    shown = first.rstrip(". \n") + name
    if not first:
        text = redacted(text, keys)
        title = re.search(_TITLE, text)
        page = title[1].strip() if title else ""
        shown = html.unescape(page or re.sub(_TAG, " ", re.sub(_UNSEEN, " ", text)))
        if text.count("\N{REPLACEMENT CHARACTER}") * 4 > len(text) > 0:
            return ", with bytes that are not text"
    shown = safe_excerpt(shown.rstrip(". \n"), keys)
    return f': "{shown}"' if shown else ""
