"""Body of a request (fact 3), its JSON and its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from chatmagic._json import digest, finite_number
from chatmagic.models import Message
from chatmagic.safe_text import without_lone_surrogates

PATH: Final = "/v1/chat/completions"


EMULATOR_SERVER: Final = "chatmagic-emulator"
"""The emulator's ``Server`` header, by which its replies are known."""


OWN_FIELDS: Final = frozenset({"messages", "stream", "max_tokens", "temperature"})


NOT_IN_DIGEST: Final = frozenset({"model", "stream_options"})
"""Fields that a request's digest leaves out: the model's name, and the request for token counts."""


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


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
            text = _ENCODER.encode(self.to_json())
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
