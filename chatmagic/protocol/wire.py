"""Requests and chunks as they cross the wire (facts 2 to 6).

Each is a frozen dataclass. ``to_json`` gives the
JSON-ready value; ``from_json`` reads one and raises :exc:`ValueError`, never anything
else. Reading is lenient where the interface leaves things open: unknown fields are
ignored, and a missing field is the same as a null one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from chatmagic import _json
from chatmagic._json import canonical, digest, finite_number, whole_number
from chatmagic.models import BodyFacts, Message, Usage
from chatmagic.text import is_json_escaped, json_escaped, without_lone_surrogates

PATH: Final = "/v1/chat/completions"
EMULATOR_SERVER: Final = "chatmagic-emulator"
"""The emulator's ``Server`` header, by which its replies are known."""

OWN_FIELDS: Final = frozenset({"messages", "stream", "max_tokens", "temperature"})
NOT_IN_DIGEST: Final = frozenset({"model", "stream_options"})
"""Fields that a request's digest leaves out: which model answers, and what it tells beside."""

DONE: Final = "[DONE]"
_BEGIN: Final = b'{"messages": ['
_SENT: Final = '{"role": "%(role)s", "content": "%(content)s"}'
_CANONICAL: Final = '{"content":"%(content)s","role":"%(role)s"}'


@dataclass(frozen=True, slots=True)
class Request:
    """Body of a request (fact 3).

    Args:
        messages: the conversation so far, oldest first.
        stream: whether the reply is to come as a stream.
        max_tokens: upper limit on generated tokens; left out when ``None``.
        temperature: sampling temperature; left out when ``None``.
        extra: fields that a compatible server wants beside the interface's own.
        body: the bytes that are sent, where they are written already.

    Raises:
        ValueError: a value cannot be said in JSON.
    """

    messages: tuple[Message, ...]
    stream: bool = True
    max_tokens: int | None = None
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the values."""
        if isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int | None):
            raise ValueError(f"max_tokens is a whole number, not {self.max_tokens!r}")
        if self.temperature is not None and finite_number(self.temperature) is None:
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
        """Return the body as it is sent: four fields at most, and what ``extra`` adds."""
        body: dict[str, Any] = {
            "messages": [
                {"role": message.role, "content": message.content} for message in self.messages
            ],
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
            ValueError: ``extra`` holds something that JSON has no word for.
        """
        if self.body is not None:
            return self.body
        try:
            text = json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the request cannot be written as JSON: {error}") from None
        return without_lone_surrogates(text).encode()

    def digest(self) -> str:
        """Return the digest of the canonical body by which a request is known again.

        It is that of the body as sent, without :data:`NOT_IN_DIGEST`.
        """
        sent = json.loads(self.encode())
        return digest({name: sent[name] for name in sent if name not in NOT_IN_DIGEST})


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written of one request.

    Args:
        messages: its messages.
        exact: the JSON of those of which :func:`_plain` writes none, by their places.
        head: what stands before them in the canonical body.
        hashed: digest of the canonical body as far as their end.
    """

    messages: tuple[Message, ...] = ()
    exact: Mapping[int, bytes] = field(default_factory=dict)
    head: str = ""
    hashed: Any = field(default_factory=hashlib.sha256)


class BodyWriter:
    """Writer of the bodies of one conversation's requests.

    It keeps no body, which would be the conversation once more, and writes each anew.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._last = _Written()

    def written(self, request: Request) -> tuple[Request, str]:
        """Return a request with its body, and its digest: those that it has by itself.

        Raises:
            ValueError: ``extra`` holds something that JSON has no word for.
        """
        bare = replace(request, messages=()).encode()
        others = {n: v for n, v in json.loads(bare).items() if n not in NOT_IN_DIGEST}
        del others["messages"]
        before, after = (
            canonical({name: value for name, value in others.items() if is_there(name)})[1:-1]
            for is_there in ("messages".__gt__, "messages".__lt__)
        )
        now = self._added(request.messages, f'{{{before}{"," * bool(before)}"messages":[')
        hashed = now.hashed.copy()
        hashed.update(f"]{',' * bool(after)}{after}}}".encode())
        sent = [now.exact.get(at) or _fast(each, _SENT) for at, each in enumerate(now.messages)]
        body = b"".join([_BEGIN, b", ".join(sent), bare[len(_BEGIN) :]])
        if len(request.messages) > 1:
            # A question by itself leaves what the next one of the conversation goes on from.
            self._last = now
        return replace(request, body=body), hashed.hexdigest()

    def _added(self, messages: tuple[Message, ...], head: str) -> _Written:
        """Return what is written of messages, after those that the last request had, too."""
        last = self._last
        if last.head != head or messages[: len(last.messages)] != last.messages:
            last = _Written(head=head)
            last.hashed.update(head.encode())
        hashed, exact = last.hashed.copy(), {**last.exact}
        for at, each in enumerate(messages[len(last.messages) :], len(last.messages)):
            written = _plain(each, _CANONICAL)
            if written is None:
                value = {"role": each.role, "content": each.content}
                text = without_lone_surrogates(json.dumps(value, ensure_ascii=False))
                exact[at], written = text.encode(), canonical(json.loads(text)).encode()
            hashed.update(b"," * bool(at) + written)
        return _Written(messages, exact, head, hashed)


def _plain(message: Message, form: str) -> bytes | None:
    """Return the JSON of a message; ``None`` where :func:`_fast` does not write it rightly."""
    try:
        written = _fast(message, form)
    except UnicodeEncodeError:
        return None
    return written if message.role.isalpha() and is_json_escaped(written) else None


def _fast(message: Message, form: str) -> bytes:
    """Return the JSON of a message, if :func:`is_json_escaped` agrees."""
    return (form % {"role": message.role, "content": json_escaped(message.content)}).encode()


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

        Of several choices the one with index 0 counts, or the first without an index; what is
        of others alone adds nothing.

        Raises:
            ValueError: ``value`` is not a JSON object.
        """
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
        choice = first_choice(value.get("choices"))
        part, message = choice.get("delta"), choice.get("message")
        whole = isinstance(message, dict) and not (
            isinstance(part, dict) and _content(part.get("content"))
        )
        if whole:
            part = message
        if not isinstance(part, dict):
            part = {"content": choice.get("text")}
        usage = Usage.from_json(value["usage"]) if value.get("usage") else None
        if usage is None and choice.get("usage"):
            usage = Usage.from_json(choice["usage"])
        finish_reason = _json.name(choice.get("finish_reason"))
        return cls(
            content=_content(part.get("content")),
            # Some servers write the word where they mean the value.
            finish_reason=None if finish_reason == "null" else finish_reason,
            model=_json.name(value.get("model")),
            usage=usage,
            refusal=_json.text(part.get("refusal")),
            whole=whole,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the chunk as the interface writes it: in a stream, or as a whole reply."""
        part = _json.known(content=self.content, refusal=self.refusal)
        choice: dict[str, Any] = (
            {"message": {"role": "assistant", **part}} if self.whole else {"delta": part}
        )
        if self.finish_reason is not None:
            choice["finish_reason"] = self.finish_reason
        usage = None if self.usage is None else self.usage.to_json()
        return {**_json.known(model=self.model, usage=usage), "choices": [choice]}


def _content(value: object) -> str:
    """Read a content: a string, or a list of parts of which the text ones count."""
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
    return _json.text(part.get("text")) or ""


def first_choice(choices: object) -> Mapping[str, Any]:
    """Return the choice with index 0 or without one; an empty one where there is none."""
    for item in choices if isinstance(choices, list) else []:
        if isinstance(item, dict) and not ((index := item.get("index")) and whole_number(index)):
            return item
    return {}


def plain_content(value: Mapping[str, Any], model: str | None) -> str:
    """Return the content of a chunk that tells at most its usage beside; empty for any other.

    Args:
        value: the chunk's JSON, with ``choices``.
        model: the name of the model that was told before.
    """
    choices = value["choices"]
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return ""
    told, of_choice = value.get, choices[0].get
    delta = of_choice("delta")
    more = (
        told("error")
        or told("errors")
        or told("object") == "error"
        or told("model") not in (None, model)
        or of_choice("error")
        or of_choice("usage")
        or of_choice("finish_reason")
        or of_choice("index")
        or of_choice("message")
    )
    if more or not isinstance(delta, dict) or delta.get("refusal"):
        return ""
    content = delta.get("content")
    return content if isinstance(content, str) else ""
