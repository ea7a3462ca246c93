"""The values that cross the wire, and their JSON both ways (interface §2).

Every thing the interface names is one frozen dataclass here. ``to_json`` gives the
JSON-ready value; ``from_json`` reads one and raises :exc:`ValueError`, never anything
else. Reading is lenient where the interface leaves things open: unknown fields are
ignored, and a missing field is the same as a null one.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.entities import codepoint2name
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

State = Literal["complete", "interrupted", "cut off"]
Origin = Literal["live", "replay", "emulator"]
Auth = Literal["bearer", "x-api-key", "query", "none"]

AUTH_WAYS: Final[tuple[Auth, ...]] = ("bearer", "x-api-key", "query", "none")
PATH: Final = "/v1/chat/completions"
EMULATOR_SERVER: Final = "chatmagic-emulator"
"""What the emulator says in ``Server``, by which its replies are told."""

OWN_FIELDS: Final = frozenset({"messages", "stream", "max_tokens", "temperature"})
DONE: Final = "[DONE]"
SECRET_LENGTH: Final = 8
"""A key that is shorter than this is no secret."""
REMOVED: Final = "[key removed]"
"""What stands where a key stood."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{8}T\d{4}", re.ASCII)
_URL_SAFE: Final = str.maketrans("+/", "-_")


class Secret:
    """An API key that shows itself to nobody by accident (interface §2.6).

    Args:
        value: the key, an opaque string.

    Raises:
        ValueError: the key is empty, or holds a character that no header can carry.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        """Keep the key."""
        if not (isinstance(value, str) and value.isascii() and value.isprintable()) or (
            not value or " " in value
        ):
            del value  # a traceback with its locals is no place for a key either
            raise ValueError(
                "an API key is one word of printable ASCII characters; this one is not"
            ) from None
        self._value = value

    @classmethod
    def of(cls, value: object) -> Self | None:
        """Give the key that ``value`` is; ``None`` if it cannot be one."""
        try:
            return cls(value)  # type: ignore[arg-type] # that is looked at there
        except ValueError:
            return None

    def reveal(self) -> str:
        """Give the key itself; only the place that puts it on the wire asks for it."""
        return self._value

    def is_in(self, text: str) -> bool:
        """Tell whether a text holds the key, as it is or as URLs, JSON, HTML or base64 write it.

        One of a few letters may be a word of the text, so it is never found.
        """
        if len(self._value) < SECRET_LENGTH:
            return False
        readings = {text, unquote(text), html.unescape(text)}
        # However often it was quoted: JSON and Python only put backslashes in.
        readings |= {reading.replace("\\", "") for reading in readings}
        bare = self._value.replace("\\", "")
        forms = {self._value, *self._encoded()} | ({bare} if len(bare) >= SECRET_LENGTH else set())
        return any(form in reading for reading in readings for form in forms)

    def redact(self, text: str) -> str:
        """Give ``text`` with every occurrence of the key taken out, in any of its writings.

        So is what may be the beginning of one, where the text was cut in the middle of it.
        """
        # A letter or two would be found in every word.
        edge = (r"(?<!\w)", r"(?!\w)") if len(self._value) < SECRET_LENGTH else ("", "")
        letters = "".join(map(_writings, self._value)).join(edge)
        encoded = (rf"[\w+/-]{{0,4}}{re.escape(form)}[\w+/-]{{0,4}}=*" for form in self._encoded())
        found = re.compile("|".join((letters, *encoded)), re.IGNORECASE | re.ASCII)
        text = found.sub(REMOVED, text)
        parts = range(len(self._value) - 1, SECRET_LENGTH - 1, -1)
        part = next((size for size in parts if text.endswith(self._value[:size])), 0)
        return text[:-part] + REMOVED if part else text

    def _encoded(self) -> set[str]:
        """Give what base64 and hexadecimal make of the key, whatever stands around it."""
        data = self._value.encode()
        if len(data) < SECRET_LENGTH:
            return set()
        forms = {data.hex()}
        for before in range(3):
            # The letters of base64 at either end hold bits of what stands there.
            whole = base64.b64encode(bytes(before) + data).rstrip(b"=").decode()
            inner = whole[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
            forms |= {inner, inner.translate(_URL_SAFE)}
        return forms

    def __repr__(self) -> str:
        """Show that there is a key, and nothing of it."""
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        """Two secrets are equal when their keys are."""
        return self._value == other._value if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        """Hash like the key."""
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a key is not written to a file by the way.

        Raises:
            TypeError: always.
        """
        raise TypeError("an API key is not pickled")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation (interface §2.1).

    Args:
        role: who wrote it: ``user``, ``assistant``, or what else the service takes.
        content: its text.
    """

    role: str
    content: str

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a message.

        Raises:
            ValueError: ``value`` is not an object with two strings.
        """
        if isinstance(value, Mapping):
            role, content = value.get("role"), value.get("content")
            if isinstance(role, str) and isinstance(content, str):
                return cls(role, content)
        raise ValueError("a message is an object with the strings 'role' and 'content'")

    def to_json(self) -> dict[str, Any]:
        """Give the message as the interface writes it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Request:
    """The body of one ask (interface §2.2).

    Args:
        messages: the conversation so far, oldest first.
        stream: whether the reply is to come as a stream.
        max_tokens: upper limit on generated tokens; left out when ``None``.
        temperature: sampling temperature; left out when ``None``.
        extra: fields that a compatible server wants beside the interface's own.

    Raises:
        ValueError: a value cannot be said in JSON.
    """

    messages: tuple[Message, ...]
    stream: bool = True
    max_tokens: int | None = None
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what Python cannot check by itself."""
        if self.max_tokens is not None and (
            isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int)
        ):
            raise ValueError(f"max_tokens is a whole number, not {self.max_tokens!r}")
        if self.temperature is not None and (
            isinstance(self.temperature, bool)
            or not isinstance(self.temperature, int | float)
            or not _is_finite(self.temperature)
        ):
            raise ValueError(f"temperature is a finite number, not {self.temperature!r}")
        if own := OWN_FIELDS & set(self.extra):
            raise ValueError(f"extra_body cannot say {min(own)}, which has its own argument")

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a request body.

        Raises:
            ValueError: it is not an object, or a field of it has the wrong type.
        """
        if not isinstance(value, Mapping):
            raise ValueError("the body is not a JSON object")
        messages = value.get("messages")
        if not isinstance(messages, list) or not messages:
            raise ValueError("'messages' is not a list with at least one message")
        stream = value.get("stream")
        if stream is not None and not isinstance(stream, bool):
            raise ValueError("'stream' is neither true nor false")
        return cls(
            messages=tuple(Message.from_json(message) for message in messages),
            stream=bool(stream),
            max_tokens=value.get("max_tokens"),
            temperature=value.get("temperature"),
            extra={name: item for name, item in value.items() if name not in OWN_FIELDS},
        )

    def to_json(self) -> dict[str, Any]:
        """Give the body as it is sent: four fields at most, and what ``extra`` adds."""
        body: dict[str, Any] = {
            "messages": [message.to_json() for message in self.messages],
            "stream": self.stream,
        }
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return {**body, **self.extra}

    def encode(self) -> bytes:
        """Give the bytes that are sent.

        Raises:
            ValueError: ``extra`` holds something that JSON has no word for.
        """
        try:
            text = json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the request cannot be written as JSON: {error}") from None
        return without_lone_surrogates(text).encode()

    def digest(self) -> str:
        """Give the digest of the canonical body, as sent, by which a request is known again."""
        return digest(json.loads(self.encode()))


@dataclass(frozen=True, slots=True)
class Usage:
    """Token accounting (interface §2.3); what was not told is ``None``."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Read a usage object; anything that tells no count is ``None``."""
        if not isinstance(value, Mapping):
            return None
        counts = [
            whole_number(value.get(name))
            for name in ("prompt_tokens", "completion_tokens", "total_tokens")
        ]
        return None if counts == [None, None, None] else cls(*counts)

    def to_json(self) -> dict[str, Any]:
        """Give the counts that are known."""
        return _known(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            total_tokens=self.total_tokens,
        )


@dataclass(frozen=True, slots=True)
class Credits:
    """What a response said of the account's credits (interface §8).

    Args:
        limit: the credit limit; ``None`` is unknown.
        remaining: credits left; ``None`` is unknown.
        used: credits used; ``None`` is unknown.
        resets_at: when the limit resets, aware, in UTC; ``None`` is unknown.
        seen_at: the time these figures are of, aware, in UTC.
        lapsed_at: what was told for ``resets_at`` though it had passed by then; the next
            reset is unknown.
    """

    limit: int | None
    remaining: int | None
    used: int | None
    resets_at: datetime | None
    seen_at: datetime
    lapsed_at: datetime | None = None

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: it is not such an object.
        """
        if not isinstance(value, Mapping):
            raise ValueError("credits are a JSON object")
        seen_at = timestamp(value.get("seen_at"))
        if seen_at is None:
            raise ValueError("credits without the time they were seen at")
        return cls(
            limit=whole_number(value.get("limit")),
            remaining=whole_number(value.get("remaining")),
            used=whole_number(value.get("used")),
            resets_at=timestamp(value.get("resets_at")),
            seen_at=seen_at,
            lapsed_at=timestamp(value.get("lapsed_at")),
        )

    def to_json(self) -> dict[str, Any]:
        """Give the figures that are known."""
        return _known(
            limit=self.limit,
            remaining=self.remaining,
            used=self.used,
            resets_at=iso(self.resets_at),
            seen_at=iso(self.seen_at),
            lapsed_at=iso(self.lapsed_at),
        )


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The body of an error response (interface §2.5), or the nearest thing to one.

    Args:
        error: short error name.
        message: explanation for people.
        limit: the credit limit, on the rate-limit error.
        used: credits used, on the rate-limit error.
        reset_at: when the limit resets, as it was written.
        status: the HTTP status that the body itself names (compatible servers).
    """

    error: str | None = None
    message: str | None = None
    limit: int | None = None
    used: int | None = None
    reset_at: str | None = None
    status: int | None = None

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Read an error in any of the shapes that servers give it; ``None`` is no error.

        Beside the documented shape: ``error`` as an object or a list, ``errors``,
        ``detail``, ``error_description``, ``title``, a bare ``message`` (each as text, or as an
        object or a list that holds it), and a list around any of them.
        """
        if isinstance(value, list):
            found = (cls.from_json(item) for item in value if isinstance(item, Mapping))
            return next((item for item in found if item is not None), None)
        if not isinstance(value, Mapping):
            return None
        told = inner = value.get("error") or value.get("errors") or None
        if told is None and value.get("object") != "error" and _looks_like_a_reply(value):
            return None
        nested = inner if isinstance(inner, Mapping) else None
        if isinstance(inner, list):
            nested = next((item for item in inner if isinstance(item, Mapping)), None)
            inner = None if nested else next((i for i in inner if isinstance(i, str)), None)
        outer = nested or value
        name = _text(inner) or _text(outer.get("type")) or _text(outer.get("code"))
        message = (
            _words(outer.get("message"))
            or _words(outer.get("detail"))
            or _words(value.get("message"))
            or _words(value.get("detail"))
            or _text(value.get("error_description"))
            or _text(value.get("title"))
        )
        if name is None and message is None:
            return None if told is None else cls(error=_as_written(told))
        return cls(
            error=name,
            message=message,
            limit=whole_number(outer.get("limit")),
            used=whole_number(outer.get("used")),
            reset_at=_text(outer.get("resetAt")) or _digits(outer.get("resetAt")),
            status=_status(outer.get("code")) or _status(outer.get("status")),
        )

    @classmethod
    def in_reply(cls, value: object) -> Self | None:
        """Read an error that stands where a reply was promised; ``None`` is no error.

        Only its ``error`` field tells it, or that of its choice, or the figures of the
        rate-limit error: any other field of a reply or a chunk is not shown, and may be
        called anything.
        """
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, Mapping):
            return None
        choice = _first_choice(value.get("choices"))
        if choice.get("error") and not value.get("error"):
            value = {"error": choice["error"]}
        told = cls.from_json(value)
        named = value.get("error") or value.get("object") == "error"
        named = named or ("choices" not in value and value.get("errors"))
        return told if named or (told is not None and told.is_rate_limit) else None

    @property
    def is_rate_limit(self) -> bool:
        """Whether this is the documented rate-limit error, which only its body tells (§7)."""
        return self.limit is not None and self.used is not None

    def to_json(self) -> dict[str, Any]:
        """Give the body as the interface writes it."""
        return _known(
            error=self.error,
            message=self.message,
            limit=self.limit,
            used=self.used,
            resetAt=self.reset_at,
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one stream chunk, or a whole JSON reply, adds to the reply (interface §2.3, §2.4).

    Args:
        content: a fragment of the reply, or all of it; may be empty.
        finish_reason: in the service's own words.
        model: name of the model.
        usage: token counts.
        refusal: what a model said instead of answering (compatible servers).
        index: which of several choices this is of.
        whole: whether the content stood in a ``message``, where a whole reply has it.
    """

    content: str = ""
    finish_reason: str | None = None
    model: str | None = None
    usage: Usage | None = None
    refusal: str | None = None
    index: int = 0
    whole: bool = field(default=False, compare=False)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a chunk or a reply; everything missing or of another type is left out.

        Of several choices the one with index 0 counts, or the first without an index.

        Raises:
            ValueError: ``value`` is not a JSON object.
        """
        if not isinstance(value, Mapping):
            raise ValueError("not a JSON object")
        choice = _first_choice(value.get("choices"))
        part = choice.get("delta")
        message = choice.get("message")
        whole = isinstance(message, Mapping) and not (
            isinstance(part, Mapping) and _content(part.get("content"))
        )
        if whole:
            part = message
        if not isinstance(part, Mapping):
            part = {"content": choice.get("text")}
        finish_reason = _word(choice.get("finish_reason"))
        return cls(
            content=_content(part.get("content")),
            # Some servers write the word where they mean the value.
            finish_reason=None if finish_reason == "null" else finish_reason,
            model=_word(value.get("model")),
            usage=Usage.from_json(value.get("usage")) or Usage.from_json(choice.get("usage")),
            refusal=_text(part.get("refusal")),
            index=whole_number(choice.get("index")) or 0,
            whole=whole,
        )

    def to_json(self) -> dict[str, Any]:
        """Give the chunk as the interface writes it in a stream."""
        choice: dict[str, Any] = {"delta": {"content": self.content}}
        if self.finish_reason is not None:
            choice["finish_reason"] = self.finish_reason
        usage = None if self.usage is None else self.usage.to_json()
        return {**_known(model=self.model, usage=usage), "choices": [choice]}


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, whole or as far as it came (interface §2.3).

    Args:
        text: the text, exactly as it came.
        model: name of the model, where it was told.
        finish_reason: in the service's own words; ``stop`` is a normal end.
        usage: token counts, where they were told.
        credits: what this response said of the credits.
        state: ``complete``, ``interrupted`` or ``cut off``.
        refusal: what a model said instead of answering (compatible servers).
        date: the response's own ``Date``, aware, in UTC.
        origin: ``live``, ``replay`` or ``emulator``.
        recorded: of a replayed reply, who answered when it was recorded.
        by_order: whether it was replayed for its place, as the request was another one.
    """

    text: str
    model: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    credits: Credits | None = None
    state: State = "complete"
    refusal: str | None = None
    date: datetime | None = None
    origin: Origin = "live"
    recorded: Origin | None = None
    by_order: bool = False

    def __str__(self) -> str:
        """Give the text."""
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Give the body of a reply as the interface writes it (§2.3)."""
        return {
            "model": self.model,
            "choices": [
                {
                    "message": Message("assistant", self.text).to_json(),
                    "finish_reason": self.finish_reason,
                }
            ],
            "usage": None if self.usage is None else self.usage.to_json(),
        }


_HASHED_AT_ONCE: Final = 100_000


def digest(value: object) -> str:
    """Give the SHA-256 of a JSON value's canonical form, or of a text, in hexadecimal."""
    return _sha256(_parts(value if isinstance(value, str) else _canonical(value)))


def turn_digest(prompt: str, reply: str) -> str:
    """Give the digest by which a later request's record names a turn that it carried.

    It is that of the JSON array of the two.
    """
    quoted = (_canonical(part)[1:-1] for part in _parts(prompt))
    replied = (_canonical(part)[1:-1] for part in _parts(reply))
    return _sha256(chain(['["'], quoted, ['","'], replied, ['"]']))


def _canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _parts(text: str) -> Iterator[str]:
    """Give a text in parts, so that a long one is not held twice."""
    return (text[at : at + _HASHED_AT_ONCE] for at in range(0, len(text), _HASHED_AT_ONCE))


def _sha256(parts: Iterable[str]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode("utf-8", "surrogatepass"))
    return made.hexdigest()


def whole_number(value: object) -> int | None:
    """Read an integer that may come as text; anything else, or below 0, is ``None``."""
    if isinstance(value, str) and value.strip().isdecimal() and value.isascii():
        # Figures longer than this are nobody's; and int() refuses 4,300 digits.
        value = int(value) if len(value) <= 18 else None  # noqa: PLR2004
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    return None


def timestamp(value: object) -> datetime | None:
    """Read an ISO 8601 timestamp as an aware time in UTC; anything else is ``None``.

    A timestamp without a zone is taken as UTC, as the interface says they are (§8).
    """
    if not isinstance(value, str) or not _TIMESTAMP.match(text := value.strip().upper()):
        return None
    try:
        when = datetime.fromisoformat(text)
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def iso(when: datetime | None) -> str | None:
    """Write a time as the interface does: ISO 8601 in UTC with a ``Z``."""
    return None if when is None else when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def without_lone_surrogates(text: str) -> str:
    """Give ``text`` with surrogate pairs joined and each lone one as U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _writings(letter: str) -> str:
    """Give the pattern of one letter as it is, and as URLs, JSON, HTML and Python write it."""
    code = ord(letter)
    name = "apos" if letter == "'" else codepoint2name.get(code, "")
    ways = (re.escape(letter), f"%(?:25)*{code:02x}", f"(?:u00|x){code:02x}")
    entity = f"&(?:amp;)*(?:#0*{code}|#x0*{code:x}{name and f'|{name}'});?"
    # A text may be quoted within a quoted text; the bound keeps the search linear.
    return rf"(?:{entity}|\\{{0,4}}(?:{'|'.join(ways)}))"


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond every float
        return False


def _known(**items: Any) -> dict[str, Any]:
    """Give the items that are not ``None``."""
    return {name: item for name, item in items.items() if item is not None}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _word(value: object) -> str | None:
    """Give a text that comes whole; half a surrogate pair in it has no other half to wait for."""
    text = _text(value)
    return None if text is None else without_lone_surrogates(text)


def _digits(value: object) -> str | None:
    number = whole_number(value)
    return None if number is None else str(number)


def _status(value: object) -> int | None:
    number = whole_number(value)
    return number if number is not None and 400 <= number <= 599 else None  # noqa: PLR2004 - HTTP's


def _content(value: object) -> str:
    """Read a content: a string, or a list of parts of which the text ones count."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "".join(_part(part) for part in value)
    return _part(value)


def _part(part: object) -> str:
    if not isinstance(part, Mapping) or part.get("type", "text") not in ("text", "output_text"):
        return ""
    return _text(part.get("text")) or ""


def _first_choice(choices: object) -> Mapping[str, Any]:
    """Give the choice with index 0 or without one, else the first."""
    items = choices if isinstance(choices, list) else []
    found = [item for item in items if isinstance(item, Mapping)]
    first = (item for item in found if item.get("index", 0) in (0, None))
    return next(first, found[0] if found else {})


def _looks_like_a_reply(value: Mapping[str, Any]) -> bool:
    return "choices" in value or not any(
        _words(value.get(name)) for name in ("message", "detail", "title")
    )


def _words(value: object, depth: int = 3) -> str | None:
    """Read an explanation: a text, or the first one in a list or an object such as FastAPI's."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, Mapping) and depth:
        names = ("msg", "message", "detail", "error")
        found = (_words(value.get(name), depth - 1) for name in names)
        return next((words for words in found if words), None)
    return _text(value)


def _as_written(value: object) -> str:
    """Give what stands for an error and has no words of its own."""
    try:
        return "error" if isinstance(value, bool) else json.dumps(value)
    except RecursionError:
        return "error"
