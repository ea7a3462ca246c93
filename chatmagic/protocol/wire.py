"""Bodies as they cross the wire: requests, chunks and their reply, errors (facts 2 to 9).

``to_json`` gives a JSON-ready value. ``from_json`` reads one and raises :exc:`ValueError`, never
anything else. Reading is lenient where the interface leaves things open: unknown fields are
ignored, and a missing field is the same as a null one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

from chatmagic import _json
from chatmagic._json import digest, finite_number, shared_fields, whole_number
from chatmagic.models import BodyFacts, Message, Origin, Reply, State, Usage
from chatmagic.protocol.api_key import KeyRedactor, Secret, redacted
from chatmagic.protocol.nested_errors import innermost_cause
from chatmagic.protocol.thoughts import ThoughtSplitter, split_unopened
from chatmagic.safe_text import without_lone_surrogates

PATH: Final = "/v1/chat/completions"
EMULATOR_SERVER: Final = "chatmagic-emulator"
"""The emulator's ``Server`` header, by which its replies are known."""

OWN_FIELDS: Final = frozenset({"messages", "stream", "max_tokens", "temperature"})
NOT_IN_DIGEST: Final = frozenset({"model", "stream_options"})
"""Fields that a request's digest leaves out: the model's name, and the request for token counts."""

DONE: Final = "[DONE]"
MOST_PIECES: Final = 64
"""Number of fragments of a text that are kept one by one, until they are joined."""
LONGEST_NAME: Final = 1_000
"""The most characters of a model's name, an ``id`` or a fingerprint that are kept."""
LONGEST_REASON: Final = 100
"""The most characters of a finish reason that are kept."""


@dataclass(frozen=True, slots=True)
class Request:
    """Body of a request (fact 3).

    Args:
        messages: the conversation so far, oldest first.
        stream: whether the reply is to come as a stream.
        max_tokens: upper limit on generated tokens; left out when ``None``.
        temperature: sampling temperature; left out when ``None``.
        extra: fields that a compatible server wants beside the interface's own.

    Raises:
        ValueError: JSON cannot represent a value.
    """

    messages: tuple[Message, ...]
    stream: bool = True
    max_tokens: int | None = None
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values."""
        if isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int | None):
            raise ValueError(f"max_tokens is a whole number, not {self.max_tokens!r}")
        if self.temperature is not None and finite_number(self.temperature) is None:
            raise ValueError(f"temperature is a finite number, not {self.temperature!r}")
        if own := OWN_FIELDS & set(self.extra):
            raise ValueError(f"extra_body cannot set {min(own)}, which has its own argument")

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a request body.

        Args:
            value: parsed JSON.

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
        """Return the body as it is sent: at most four fields, and the fields of ``extra``."""
        body: dict[str, Any] = {
            "messages": [message.to_json() for message in self.messages],
            "stream": self.stream,
        }
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        if self.temperature is not None:
            body["temperature"] = self.temperature
        # Servers refuse a request that says how to stream, and asks for no stream.
        dropped = set() if self.stream else {"stream_options"}
        extra = {name: value for name, value in self.extra.items() if name not in dropped}
        return {**body, **extra}

    def encode(self) -> bytes:
        """Return the bytes that are sent.

        Raises:
            ValueError: JSON cannot represent a value in ``extra``.
        """
        try:
            text = json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the request cannot be written as JSON: {error}") from None
        return without_lone_surrogates(text).encode()

    def digest(self) -> str:
        """Return the digest by which a request is recognized.

        It covers the canonical body as sent, without :data:`NOT_IN_DIGEST`.

        Raises:
            ValueError: as :meth:`encode`.
        """
        sent = json.loads(self.encode()).items()
        return digest({name: value for name, value in sent if name not in NOT_IN_DIGEST})


@dataclass(frozen=True, slots=True)
class Chunk(BodyFacts):
    """Part of a reply that one stream chunk, or a whole JSON reply, has (facts 4, 6).

    Args:
        content: a fragment of the reply, or all of it; may be empty.
        whole: whether the content stood in a ``message``, where a whole reply has it.
    """

    content: str = ""
    whole: bool = field(default=False, compare=False, kw_only=True)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read a chunk or a reply; everything missing or of another type is left out.

        Of several choices the one with index 0 counts, or the first without an index; texts of the
        others are ignored.

        Args:
            value: parsed JSON.

        Raises:
            ValueError: ``value`` is not a JSON object.
        """
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        choice = first_choice(value.get("choices"))
        part, message = choice.get("delta"), choice.get("message")
        whole = isinstance(message, dict) and not (
            isinstance(part, dict) and content_text(part.get("content"))
        )
        if whole:
            part = message
        if not isinstance(part, dict):
            part = {"content": choice.get("text")}
        usage = Usage.from_json(value["usage"]) if value.get("usage") else None
        if usage is None and choice.get("usage"):
            usage = Usage.from_json(choice["usage"])
        finish_reason = _json.whole_text(choice.get("finish_reason"))
        return cls(
            content=content_text(part.get("content")),
            # Some servers write the word where they mean the value.
            finish_reason=(
                None if finish_reason in (None, "null") else finish_reason[:LONGEST_REASON]
            ),
            model=_name(value.get("model")),
            response_id=_name(value.get("id")),
            system_fingerprint=_name(value.get("system_fingerprint")),
            usage=usage,
            refusal=_json.text_or_none(part.get("refusal")),
            reasoning=next(filter(None, map(_json.text_or_none, map(part.get, _REASONING))), None),
            whole=whole,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the chunk as the interface writes it: in a stream, or as a whole reply."""
        part = _json.known_items(
            content=self.content, refusal=self.refusal, reasoning_content=self.reasoning
        )
        choice: dict[str, Any] = (
            {"message": {"role": "assistant", **part}} if self.whole else {"delta": part}
        )
        if self.finish_reason is not None:
            choice["finish_reason"] = self.finish_reason
        usage = None if self.usage is None else self.usage.to_json()
        facts = _json.known_items(
            id=self.response_id,
            model=self.model,
            system_fingerprint=self.system_fingerprint,
            usage=usage,
        )
        return {**facts, "choices": [choice]}


def _name(value: object) -> str | None:
    """Return a name that a service gives; ``None`` without one."""
    return (_json.whole_text(value) or "")[:LONGEST_NAME] or None


def content_text(value: object) -> str:
    """Return the text of a content: a string, or a list of parts of which the text ones count.

    Args:
        value: JSON of a message's ``content``.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "".join(_part(part) for part in value)
    return _part(value)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("type", "text") not in ("text", "output_text"):
        return ""
    return _json.text_or_none(part.get("text")) or ""


def first_choice(choices: object) -> Mapping[str, Any]:
    """Return the choice with index 0 or without one; an empty one if there is none.

    Args:
        choices: JSON of a reply's or a chunk's ``choices``.
    """
    for item in choices if isinstance(choices, list) else []:
        if isinstance(item, dict) and not ((index := item.get("index")) and whole_number(index)):
            return item
    return {}


def unknown_texts(value: Mapping[str, Any]) -> str:
    """Return the texts in fields of a chunk's delta that are not read; empty without one.

    Args:
        value: the chunk's JSON.
    """
    delta = first_choice(value.get("choices")).get("delta")
    fields = delta.items() if isinstance(delta, dict) else ()
    return "".join(text for name, text in fields if name not in _READ and isinstance(text, str))


_REASONING: Final = ("reasoning_content", "reasoning")
TEXTS_BESIDE: Final = ("refusal", *_REASONING)
"""Fields of a message or a delta that hold texts beside its content, in fragments as that is."""
_READ: Final = ("role", "content", *TEXTS_BESIDE)
_OF_A_CHUNK: Final = ("error", "errors", "usage")
_OF_A_CHOICE: Final = ("error", "usage", "finish_reason", "index", "message")


def plain_content(value: Mapping[str, Any], names: Mapping[str, str | None]) -> str:
    """Return the content of a chunk that holds nothing else new; empty for any other chunk.

    Most chunks are of this kind, and reading one in full takes twice the time.

    Args:
        value: the chunk's JSON.
        names: the names so far, by their fields (:attr:`ReplyBuilder.names`).
    """
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return ""
    choice = choices[0]
    delta = choices[0].get("delta")
    if any(map(value.get, _OF_A_CHUNK)) or any(map(choice.get, _OF_A_CHOICE)):
        return ""
    if value.get("object") == "error":
        return ""
    if any(_json.text_or_none(value.get(field)) not in (None, names[field]) for field in names):
        return ""
    if not isinstance(delta, dict) or any(map(delta.get, TEXTS_BESIDE)):
        return ""
    content = delta.get("content")
    return content if isinstance(content, str) else ""


_EXPLANATIONS: Final = ("message", "detail", "error_description", "title")
"""Fields of an explanation; the last three as FastAPI, OAuth (RFC 6749) and RFC 9457 have them."""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Body of an error response (facts 8, 9), in the shape of any server.

    Args:
        error: short error name.
        message: explanation for people.
        limit: the credit limit, on the rate-limit error.
        used: credits used, on the rate-limit error.
        reset_at: when the limit resets, as it was written.
        status: the HTTP status that the body itself names, by its number or by the name that
            services have for it (compatible servers).
        code: the error's code, where it is a word (compatible servers).
        source: the JSON from which it was read, which may name a time to ask again.
    """

    error: str | None = None
    message: str | None = None
    limit: int | None = None
    used: int | None = None
    reset_at: str | None = None
    status: int | None = None
    code: str | None = None
    source: object = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Read an error in any of the shapes that servers give it; ``None`` is no error.

        Beside the documented shape these are ``error`` as an object or a list, ``errors``,
        ``detail``, ``error_description``, ``title``, and a bare ``message``. Each may be a text, or
        an object or a list that holds it. A list may stand around any of them.

        Args:
            value: parsed JSON.
        """
        if isinstance(value, list):
            errors = (cls.from_json(item) for item in value if isinstance(item, Mapping))
            return next((error for error in errors if error is not None), None)
        if not isinstance(value, Mapping):
            return None
        named = inner = value.get("error") or value.get("errors") or None
        if isinstance(inner, list):
            inner = next((item for item in inner if isinstance(item, Mapping | str)), None)
        outer = inner if isinstance(inner, Mapping) else value
        code = _json.text_or_none(outer.get("code"))
        reset = outer.get("resetAt")
        name = _json.text_or_none(inner) or _json.text_or_none(outer.get("type")) or code
        words = (_words(part.get(field)) for part in (outer, value) for field in _EXPLANATIONS)
        message = innermost_cause(outer, next(filter(None, words), None))
        is_named = named is not None or value.get("object") == "error"
        if not is_named and (message is None or "choices" in value):
            return None
        if name is None and message is None:
            return None if named is None else cls(error=_as_written(named), source=value)
        return cls(
            error=name,
            message=message,
            limit=whole_number(outer.get("limit")),
            used=whole_number(outer.get("used")),
            reset_at=str(reset) if isinstance(reset, str | int) else None,
            status=_named_status(outer),
            code=code,
            source=value,
        )

    @classmethod
    def in_reply(cls, value: object) -> Self | None:
        """Read an error in place of a reply; ``None`` for no error.

        Only three things show an error: the ``error`` field, that of the choice, and the figures of
        the rate-limit error. The interface does not show the other fields, so they may mean
        anything.

        Args:
            value: parsed JSON.
        """
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, dict):
            return None
        if value.get("error") or value.get("object") == "error":
            return cls.from_json(value)
        if "choices" in value:
            inner = first_choice(value["choices"]).get("error")
            return cls.from_json({"error": inner}) if inner else None
        error = cls.from_json(value)
        return error if error is not None and (value.get("errors") or error.is_rate_limit) else None

    @property
    def is_rate_limit(self) -> bool:
        """Whether this is the documented rate-limit error, known only by its body (fact 9)."""
        return self.limit is not None and self.used is not None

    def to_json(self) -> dict[str, Any]:
        """Return the body as the interface writes it."""
        return _json.known_items(
            error=self.error,
            message=self.message,
            limit=self.limit,
            used=self.used,
            resetAt=self.reset_at,
        )


_STATUS_NAMES: Final[Mapping[str, int]] = {
    "overloaded": 529,
    "overloaded_error": 529,
    "engine_overloaded": 503,
    "server_overloaded": 503,
    "service_unavailable": 503,
    "unavailable": 503,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
    "insufficient_quota": 429,
}
"""Statuses by the names that Anthropic, Google, OpenAI and compatible servers have for them."""


def _named_status(error: Mapping[str, Any]) -> int | None:
    """Return the status that an error names; a number counts before a name."""
    values = [error.get(name) for name in ("code", "status", "type")]
    names = [value.lower() for value in values if isinstance(value, str)]
    statuses = [*map(_status, values[:2]), *map(_STATUS_NAMES.get, names)]
    return next(filter(None, statuses), None)


def _status(value: object) -> int | None:
    number = whole_number(value)
    return number if number is not None and 400 <= number <= 599 else None  # noqa: PLR2004 - HTTP's


def _words(value: object, depth: int = 3) -> str | None:
    """Read an explanation: a text, or the first one in a list or an object such as FastAPI's."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, Mapping) and depth:
        inner = (
            _words(value.get(name), depth - 1) for name in ("msg", "message", "detail", "error")
        )
        words = next(filter(None, inner), None)
        place = value.get("loc")
        # FastAPI names the field beside the explanation: ["body", "messages"].
        path = place[1:] if isinstance(place, list) else []
        return f"{path[-1]}: {words}" if words and path and isinstance(path[-1], str) else words
    return _json.text_or_none(value)


def _as_written(value: object) -> str:
    """Return the text of an error that has no words of its own."""
    try:
        return "error" if isinstance(value, bool) else json.dumps(value)
    except RecursionError:
        return "error"


def _whole(digits: str) -> float:
    """Return a whole number; infinity, which is no figure, if Python reads no number so long."""
    return int(digits) if len(digits) <= _json.MOST_DIGITS else math.inf


# Raw control characters inside a string are accepted: the text matters more than the standard.
JSON_DECODER: Final = json.JSONDecoder(strict=False, parse_int=_whole)
"""Decoder of JSON; raises :exc:`ValueError` and :exc:`RecursionError`."""

_LONGEST_WORD: Final = len("-Infinity")


def json_is_cut(error: Exception) -> bool:
    """Return whether JSON probably could not be read because it ends too early.

    Args:
        error: the error of :data:`JSON_DECODER`.
    """
    if not isinstance(error, json.JSONDecodeError):
        return False
    # Where a word, a number or an escape is cut, the mistake is near the end.
    rest = error.doc[error.pos :].rstrip()
    is_end = len(rest) < _LONGEST_WORD and not rest.endswith(("]", "}"))
    return is_end or error.msg.startswith("Unterminated")


_CONTENT: Final = re.compile(r'"content"\s*:\s*"')
_LONGEST_ESCAPE: Final = len(r"\u0000")


def content_begun(text: str) -> str:
    """Return the beginning of the first content in JSON that is cut; empty without one.

    Args:
        text: the JSON, cut anywhere.
    """
    if (match := _CONTENT.search(text)) is None:
        return ""
    # The cut may be within an escape.
    for end in (len(text), text.rfind("\\", len(text) - _LONGEST_ESCAPE)):
        with suppress(ValueError):
            content: str = JSON_DECODER.raw_decode(f'{text[:end]}"', match.end() - 1)[0]
            return content
    return ""


_FACTS: Final = tuple(item.name for item in fields(BodyFacts))
_NAMES: Final = {
    "id": "response_id",
    "model": "model",
    "system_fingerprint": "system_fingerprint",
}
"""The facts that a service may repeat in each chunk, by their fields there."""


class ReplyBuilder:
    """Reply under construction: its text and its facts so far, without any key.

    Attributes:
        on_thoughts: called with each fragment of the reasoning.

    Args:
        keys: the keys that are known.
        most: largest number of bytes of its texts in UTF-8, thoughts included; ``None`` is
            unlimited. What exceeds it is left out.
    """

    def __init__(self, keys: Iterable[Secret] = (), *, most: int | None = None) -> None:
        """Start with nothing."""
        self._keys = tuple(keys)
        self._text_keys = KeyRedactor(self._keys)
        self._thought_keys = KeyRedactor(self._keys)
        self._has_key_in_facts = False
        self.on_thoughts: Callable[[str], object] | None = None
        self._most: float = math.inf if most is None else most
        self._size = 0
        self._facts: dict[str, Any] = {}
        self._refusal: list[str] = []
        self._thoughts: list[str] = []
        self._splitter = ThoughtSplitter()
        self._text = ""
        self._length = 0
        self._pieces: list[str] = []
        self._held = ""
        self._in_deltas = False

    @property
    def facts(self) -> BodyFacts:
        """The facts beside the text so far; the latest value of each counts."""
        # These two come in fragments, as the text does.
        held = self._thought_keys.held + self._splitter.held[0]
        thoughts = "".join([*self._thoughts, held]).strip()
        refusal = "".join(self._refusal)
        facts = {**self._facts, "refusal": refusal or None, "reasoning": thoughts or None}
        without = {name: self._without_keys(fact) for name, fact in facts.items()}
        self._has_key_in_facts = self._has_key_in_facts or without != facts
        return BodyFacts(**without)

    def _without_keys(self, fact: Any) -> Any:
        """Return a fact; a text without the keys."""
        return redacted(fact, self._keys) if isinstance(fact, str) else fact

    @property
    def has_removed_key(self) -> bool:
        """Whether the reply so far held a key, which was removed."""
        found = self._text_keys.has_removed, self._thought_keys.has_removed
        return self._has_key_in_facts or any(found)

    @property
    def finish_reason(self) -> str | None:
        """The finish reason so far; it is read after each piece of a stream."""
        return self._facts.get("finish_reason")

    @property
    def names(self) -> Mapping[str, str | None]:
        """The names that the service gave so far, by their fields in a chunk."""
        return {field: self._facts.get(name) for field, name in _NAMES.items()}

    @property
    def is_full(self) -> bool:
        """Whether a text was cut, as it exceeds the limit."""
        return self._size > self._most

    @property
    def progress(self) -> tuple[object, ...]:
        """Value that changes with each part of the reply; of a fact, only the first one counts."""
        return self._size, "finish_reason" in self._facts, "usage" in self._facts

    def _within(self, text: str) -> str:
        """Return a text, cut at the limit."""
        room = self._most - self._size
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        self._size += size
        if size <= room:
            return text
        kept = text.encode("utf-8", "surrogatepass")[: max(int(room), 0)]
        return kept.decode("utf-8", "ignore")

    @property
    def begun(self) -> bool:
        """Whether any part of a reply but the service's names has come."""
        facts = shared_fields(self.facts, BodyFacts)
        unnamed = facts.keys() - _NAMES.values()
        return bool(self.text) or any(facts[name] is not None for name in unnamed)

    @property
    def text(self) -> str:
        """The text so far."""
        self._join()
        return self._text + self._text_keys.held + self._splitter.held[1]

    def add(self, chunk: Chunk) -> str:
        """Add a chunk.

        Some servers end a stream with a message that repeats all of it; only its new text is added.

        Args:
            chunk: the next chunk.

        Returns:
            The text that the chunk adds. Half of a surrogate pair at its end waits for the other
            half, and the beginning of a key for the rest of it.
        """
        for name in _FACTS:
            if fact := getattr(chunk, name):
                self._facts[name] = fact
        if chunk.refusal:
            self._refusal.append(self._within(chunk.refusal))
        if chunk.reasoning and not (chunk.whole and self._thoughts):
            self._think(self._within(chunk.reasoning))
        if chunk.whole and self._in_deltas:
            self._held = ""
            new = self._new_of_whole(without_lone_surrogates(chunk.content))
            return self._keep(self._within(new))
        if chunk.content:
            self._in_deltas = not chunk.whole
        return self._put_together(chunk.content)

    def _new_of_whole(self, content: str) -> str:
        """Return the part of a whole reply that has not come in fragments."""
        content = self._text_keys.without_keys(content)
        # A shorter one cannot repeat the text, which is not joined for it.
        if len(content) < self._length:
            return content
        self._join()
        before = self._text + self._splitter.held[1]
        if not content.startswith(before):
            return content
        self._text_keys.drop()  # the whole reply holds it, too
        return content[len(before) :]

    def append(self, content: str) -> str:
        """Add a delta that equals the one before it, except for its content.

        Args:
            content: its content, which is not empty.

        Returns:
            As :meth:`add`.
        """
        self._in_deltas = True
        return self._put_together(content)

    def _put_together(self, content: str) -> str:
        """Add the text, without half of a surrogate pair at its end."""
        content = self._within(content)
        if content.isascii() and not self._held:
            return self._keep(content)
        text = self._held + content
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return self._keep(without_lone_surrogates(text))

    def rest(self) -> str:
        """Return the text that was held, because no more text arrives."""
        text = self._held
        self._held = ""
        text = self._keep(without_lone_surrogates(text))
        thoughts, held = self._splitter.rest()
        self._think(thoughts)
        self._add_thoughts(self._thought_keys.rest())
        text += self._keep(held)
        rest = self._text_keys.rest()
        self._pieces.append(rest)
        return text + rest

    def _think(self, text: str) -> None:
        self._add_thoughts(self._thought_keys.feed(text))

    def _add_thoughts(self, text: str) -> None:
        if text:
            self._thoughts.append(without_lone_surrogates(text))
            if self.on_thoughts is not None:
                self.on_thoughts(text)

    def _keep(self, text: str) -> str:
        if not self._splitter.has_reply:
            thoughts, text = self._splitter.feed(text)
            self._think(thoughts)
        text = self._text_keys.feed(text)
        self._pieces.append(text)
        self._length += len(text)
        if len(self._pieces) == MOST_PIECES:
            self._join()
        return text

    def _join(self) -> None:
        """Join the pieces to the text before them."""
        text = self._text
        pieces = "".join(self._pieces)
        try:
            self._pieces.clear()
            # With the local name as its only reference, the text is lengthened in place, not
            # copied.
            self._text = ""
        finally:
            text += pieces
            self._text = text

    def reply(self, state: State, origin: Origin, known: Mapping[str, Any]) -> Reply:
        """Return the reply so far.

        Args:
            state: the end of the reply; ``interrupted`` if it has none yet.
            origin: source of the response.
            known: the facts beside the body, such as those of its headers, by the names of a
                reply's facts.
        """
        facts = {**shared_fields(self.facts, BodyFacts), **known}
        text = self.text
        if facts["reasoning"] is None:
            thoughts, text = split_unopened(text)
            facts["reasoning"] = thoughts or None
        return Reply(text=text, state=state, origin=origin, **facts)
