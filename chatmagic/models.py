"""The values a user holds: messages, replies, usage and credits (facts 2 to 5, 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from datetime import datetime  # noqa: TC003 - who reads the fields' types needs it
from operator import methodcaller
from typing import Any, Literal, Protocol, Self

from chatmagic._json import (
    exact_name,
    exact_text,
    exact_time,
    fields_from_json,
    fields_to_json,
    iso,
    json_field,
    timestamp,
    whole_number,
    word_of,
)
from chatmagic.text import to_terminal

State = Literal["complete", "interrupted", "cut off"]
Origin = Literal["live", "replay", "emulator"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation (fact 2).

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
        """Return the message as the interface writes it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Usage:
    """Token accounting (fact 5); what was not told is ``None``."""

    prompt_tokens: int | None = json_field(whole_number)
    completion_tokens: int | None = json_field(whole_number)
    total_tokens: int | None = json_field(whole_number)

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Read a usage object; anything that tells no count is ``None``."""
        if not isinstance(value, Mapping):
            return None
        # Some servers tell it with each chunk of a stream.
        counts = [whole_number(value.get(name)) for name in cls.__match_args__]
        return None if counts.count(None) == len(counts) else cls(*counts)

    def to_json(self) -> dict[str, Any]:
        """Return the counts that are known."""
        return fields_to_json(self)


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits of the account, as a response told them (fact 10).

    Args:
        limit: the credit limit; ``None`` is unknown.
        remaining: credits left; ``None`` is unknown.
        used: credits used; ``None`` is unknown.
        resets_at: when the limit resets, aware, in UTC; ``None`` is unknown.
        seen_at: the time these figures are of, aware, in UTC.
        lapsed_at: what was told for ``resets_at`` though it had passed by then; the next
            reset is unknown.
    """

    limit: int | None = json_field(whole_number, default=MISSING)
    remaining: int | None = json_field(whole_number, default=MISSING)
    used: int | None = json_field(whole_number, default=MISSING)
    resets_at: datetime | None = json_field(timestamp, iso, MISSING)
    seen_at: datetime = json_field(exact_time, iso, MISSING, required=True)
    lapsed_at: datetime | None = json_field(timestamp, iso)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: it is not such an object.
        """
        if not isinstance(value, Mapping):
            raise ValueError("credits are a JSON object")
        return cls(**{**dict.fromkeys(cls.__dataclass_fields__), **fields_from_json(cls, value)})

    def to_json(self) -> dict[str, Any]:
        """Return the figures that are known."""
        return fields_to_json(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFacts:
    """Facts of a reply that stand beside its text in the answer's body (facts 4, 6).

    A chunk of the wire, a reply, a turn's record and a recorded interaction all have these
    fields from here: a fact that is added here is kept wherever a reply is.

    Args:
        model: name of the model, where it was told.
        finish_reason: in the service's own words; ``stop`` is a normal end.
        usage: token counts, where they were told.
        refusal: what a model said instead of answering (compatible servers).
    """

    model: str | None = json_field(exact_name)
    finish_reason: str | None = json_field(exact_name)
    usage: Usage | None = json_field(Usage.from_json, methodcaller("to_json"))
    refusal: str | None = json_field(exact_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFacts(BodyFacts):
    """Facts of a reply beside its text, as a turn's record keeps them.

    Args:
        took: about how many credits it took, as far as it was known then.
        credits: what this response said of the credits.
        date: the response's own ``Date``, aware, in UTC.
        state: ``complete``, ``interrupted`` or ``cut off``.
        origin: ``live``, ``replay`` or ``emulator``.
        recorded: of a replayed reply, who answered when it was recorded.
        by_order: whether it was replayed for its place, as the request was another one.
        left_out: how many of the oldest turns were left out of its request, as the service
            refused it for its length with them; ``None`` where it was not sent again so.
    """

    took: int | None = json_field(whole_number)
    credits: Credits | None = json_field(Credits.from_json, methodcaller("to_json"))
    date: datetime | None = json_field(exact_time, iso)
    state: State = json_field(word_of(State), default="complete")
    origin: Origin = json_field(word_of(Origin), default="live")
    recorded: Origin | None = json_field(word_of(Origin))
    left_out: int | None = json_field(whole_number)
    by_order: bool = json_field(lambda value: value is True, lambda value: value or None, False)


class Renderer(Protocol):
    """What shows a reply, in a folder above: it is registered, so that nothing is imported here."""

    def bundle(self, reply: Reply, /) -> dict[str, Any]:
        """Return the data by which a notebook shows a reply, by type."""

    def code_blocks(self, reply: Reply, /) -> tuple[CodeBlock, ...]:
        """Return the blocks of code of a reply, in order."""


_renderers: list[Renderer] = []


def register_renderer(renderer: Renderer) -> None:
    """Let a renderer show replies from now on; :mod:`chatmagic.archive.output` does."""
    _renderers[:] = [renderer]


def _renderer() -> Renderer:
    if not _renderers:
        raise RuntimeError("chatmagic.archive.output, which shows replies, was not imported")
    return _renderers[0]


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Block of code in a reply.

    Args:
        code: its lines, as the reply has them, without the last line's end.
        language: first word behind the fence, such as ``python``; empty without one.
    """

    code: str
    language: str = ""

    def __str__(self) -> str:
        """Return the code."""
        return self.code


@dataclass(frozen=True, slots=True)
class Reply(ReplyFacts):
    """A reply, whole or as far as it came (fact 4).

    Args:
        text: the text, exactly as it came.
        parsed: what a reply in JSON holds, or the instance of its schema; of this run alone.
        held_back: whether its stream came all at once, which was not reported before; it
            is of this run alone, so no record and no file has it.
    """

    text: str
    parsed: Any = field(default=None, compare=False, repr=False, kw_only=True)
    held_back: bool = field(default=False, compare=False, kw_only=True)

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    @property
    def code_blocks(self) -> tuple[CodeBlock, ...]:
        """The reply's blocks of code, in order; one that was cut off ends with the text."""
        return _renderer().code_blocks(self)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the data and the metadata by which a notebook shows a cell's value.

        The data are safe HTML, and the text as a terminal may print it. There is no metadata: a
        value is not a turn's output once more, so it holds no record.
        """
        return {**_renderer().bundle(self), "text/plain": to_terminal(self.text)}, {}

    def _repr_html_(self) -> str:
        """Return the same HTML alone, which is all that marimo asks for."""
        return str(self._repr_mimebundle_()[0]["text/html"])

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """Print the text as a cell's value, so that it cannot act in a terminal."""
        printer.text(to_terminal(self.text))
