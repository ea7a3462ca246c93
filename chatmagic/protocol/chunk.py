"""Chunks of a stream, and whole replies, as values (facts 4 to 6).

Reading is lenient where the interface leaves things open: unknown fields are ignored, and a missing
field is the same as a null one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from chatmagic import _json
from chatmagic._json import whole_number
from chatmagic.models import BodyFacts, Usage

LONGEST_NAME: Final = 1_000
"""The most characters of a model's name, an ``id`` or a fingerprint that are kept."""
LONGEST_REASON: Final = 100
"""The most characters of a finish reason that are kept."""


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
        part, whole = _texts_of(choice)
        thoughts = (_json.text_or_none(part.get(name)) for name in _REASONING)
        return cls(
            content=content_text(part.get("content")),
            finish_reason=_finish_reason(choice),
            model=_name(value.get("model")),
            response_id=_name(value.get("id")),
            system_fingerprint=_name(value.get("system_fingerprint")),
            usage=_usage(value) or _usage(choice),
            refusal=_json.text_or_none(part.get("refusal")),
            reasoning=next(filter(None, thoughts), None),
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


def _texts_of(choice: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the part of a choice that has its texts, and whether that is a whole message."""
    delta = choice.get("delta")
    message = choice.get("message")
    has_fragment = isinstance(delta, dict) and content_text(delta.get("content"))
    if isinstance(message, dict) and not has_fragment:
        return message, True
    if isinstance(delta, dict):
        return delta, False
    return {"content": choice.get("text")}, False


def _finish_reason(choice: Mapping[str, Any]) -> str | None:
    """Return the finish reason of a choice; ``None`` without one."""
    reason = _json.whole_text(choice.get("finish_reason"))
    # Some servers write the word where they mean the value.
    return None if reason in (None, "null") else reason[:LONGEST_REASON]


def _usage(value: Mapping[str, Any]) -> Usage | None:
    """Return the usage that a chunk or a choice has; ``None`` without one."""
    return Usage.from_json(value["usage"]) if value.get("usage") else None


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
        return "".join(_text_of_part(part) for part in value)
    return _text_of_part(value)


def _text_of_part(part: object) -> str:
    """Return the text of one part of a content; empty for another kind of part."""
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
        if isinstance(item, dict) and not whole_number(item.get("index")):
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
    delta = choice.get("delta")
    if any(map(value.get, _OF_A_CHUNK)) or any(map(choice.get, _OF_A_CHOICE)):
        return ""
    if value.get("object") == "error":
        return ""
    if any(_json.text_or_none(value.get(name)) not in (None, names[name]) for name in names):
        return ""
    if not isinstance(delta, dict) or any(map(delta.get, TEXTS_BESIDE)):
        return ""
    content = delta.get("content")
    return content if isinstance(content, str) else ""
