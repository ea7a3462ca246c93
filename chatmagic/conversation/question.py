"""Facts of a question: its prompt, values, parameters and cell, and the parts of its request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, replace
from typing import Any, Final, Literal, Self, TypeGuard

from chatmagic._json import (
    digest,
    exact,
    exact_count,
    exact_digest,
    exact_number,
    exact_text,
    fields_from_json,
    fields_to_json,
    json_field,
    sparse_field,
    word_of,
)
from chatmagic.models import Message
from chatmagic.protocol.request import Request
from chatmagic.safe_text import numbered, without_lone_surrogates

Entry = Literal["cell", "panel", "python"]
Format = Literal["markdown", "text", "code", "json"]
Above = Literal["new", "all"]
"""Selection of cells above: those since the question above in its thread, or all."""
ValueKind = Literal["cell", "markdown", "error", "instructions", "format"]
"""Kind of a value in front of a question; the value of an expression has none."""

ASKED_OF_AN_ERROR: Final = "Explain this error, and give the corrected code."
"""The question about an error if none was typed."""
ASKED_FOR_THE_REST: Final = (
    "Continue exactly where your reply above ends. Repeat nothing of it, and say nothing about it."
)
"""The message that asks for the rest of a reply; no later request carries it."""

NO_PARAMETERS: Final[Mapping[str, Any]] = {}
"""Empty parameters, which most turns share."""


_integer: Final = exact(lambda value: value if type(value) is int else None)


def _name(value: object) -> str | None:
    """Return a name as a thread has it; ``None`` for any other value."""
    is_name = isinstance(value, str) and re.fullmatch(r"[^\W\d][\w.-]{0,39}", value)
    return str(value) if is_name else None


thread_name: Final = exact(_name)
"""Return a thread's name; anything else raises a :exc:`ValueError`."""
A_NAME: Final = "a name: a letter, then letters, digits, _, - and ., 40 at most"
"""Description of a thread's name, in words."""


def is_model_name(value: object) -> TypeGuard[str]:
    """Return whether a value is the name of a model.

    Args:
        value: any value.
    """
    return isinstance(value, str) and value.isprintable() and 0 < len(value.strip()) <= _LONGEST


def unquoted(name: str) -> str:
    """Return a typed name of a model without the quotes around it, which no such name has.

    Args:
        name: the name as typed.
    """
    return name.strip(" \t\"'")


_LONGEST: Final = 300
A_MODEL: Final = f"the name of a model, {_LONGEST} printable characters at most"
"""Description of a model's name, in words."""
model_name: Final = exact(
    lambda value: value if is_model_name(value) else None,
    f"model is not {A_MODEL}; leave it out to ask the configured one",
)
"""Return the name of a model; anything else raises a :exc:`ValueError`."""

switch: Final = exact(lambda value: value if isinstance(value, bool) else None)
"""Return a switch as files keep it; anything else raises a :exc:`ValueError`."""


def correction(*typed: str) -> str:
    """Return the question of ``%chat_fix`` about an error, with the user's goal if there is one.

    Args:
        typed: parts of the goal, on the line and below it; each may be empty.
    """
    wanted = "\n".join(filter(None, typed))
    return f"{ASKED_OF_AN_ERROR} I wanted: {wanted}" if wanted.strip() else ASKED_OF_AN_ERROR


SCHEMA_MARK: Final = ": a value of this JSON schema\n\n"
"""Words between the name of a schema and its document."""


@dataclass(frozen=True, slots=True)
class Schema:
    """Schema that the JSON of a reply has to have.

    Args:
        name: its name, as the user gave it.
        document: the JSON schema.
        read: returns the instance for a JSON value; raises any error for another form.
    """

    name: str
    document: Mapping[str, Any]
    read: Callable[[Any], Any] = field(compare=False)

    @property
    def text(self) -> str:
        """The text for the model, which gets the JSON schema as it is."""
        document = json.dumps(self.document, ensure_ascii=False, indent=2)
        return f"{self.name}{SCHEMA_MARK}{document}"


@dataclass(frozen=True, slots=True)
class Value:
    """A value that was put into a prompt, or that goes in front of it.

    Args:
        expression: the expression as typed; the name of a value in front.
        size: length of the value's text in characters.
        sha256: digest of the value's text.
        text: the value's text; ``None`` if it is not kept.
        kind: kind of a value in front of the prompt; ``None`` for the value of
            ``{{ expression }}``.
        cell: hash of the cell that it shows, for a check whether the cell has changed.
    """

    expression: str = json_field(exact_text, default=MISSING, required=True)
    size: int = json_field(exact_count, default=MISSING, required=True)
    sha256: str = json_field(exact_digest, default=MISSING, required=True)
    text: str | None = json_field(exact_text)
    kind: ValueKind | None = json_field(word_of(ValueKind))
    cell: str | None = json_field(exact_text)

    @classmethod
    def of_text(
        cls, expression: str, text: str, kind: ValueKind | None = None, cell: str | None = None
    ) -> Self:
        """Return a value with its text.

        Args:
            expression: the expression as typed between the braces; the name of a value in front.
            text: its text as it is sent.
            kind: kind of a value in front of the prompt; ``None`` for an expression.
            cell: hash of the cell that it shows.
        """
        expression = without_lone_surrogates(expression)
        text = without_lone_surrogates(text)
        return cls(expression, len(text), digest(text), text, kind, cell)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read the output of :meth:`to_json`.

        Args:
            value: any value from an untrusted file.

        Raises:
            ValueError: it is not such an object, or its text does not match its digest.
        """
        read = cls(**fields_from_json(cls, value))
        if read.text is not None and read != cls.of_text(
            read.expression, read.text, read.kind, read.cell
        ):
            raise ValueError("its text does not match its digest")
        return read

    @property
    def name(self) -> str:
        """Its name in words: the expression, or the kind and the name, such as ``cell 1 above``."""
        return self.expression if self.kind is None else f"{self.kind} {self.expression}".rstrip()

    @property
    def as_typed(self) -> str:
        """Its name, an expression in its braces."""
        return f"{{{{ {self.expression} }}}}" if self.kind is None else self.name

    @property
    def bare(self) -> Self:
        """The same value without its text."""
        return replace(self, text=None)

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON, for a record."""
        return fields_to_json(self)


class AsTyped:
    """Prompt as sent and, if it has values, as typed."""

    __slots__ = ()

    prompt: str
    typed: str | None

    @property
    def as_typed(self) -> str:
        """The prompt as typed, with its ``{{ }}`` if it had some."""
        return self.prompt if self.typed is None else self.typed


def cells_above(value: object) -> int | Above:
    """Return the selection of the cells above: a number of the nearest, or a word.

    Args:
        value: any JSON value.

    Raises:
        ValueError: it is neither.
    """
    return word_of(Above)(value) if isinstance(value, str) else exact_count(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Options by which a question is asked.

    Args:
        max_tokens: upper limit on generated tokens (fact 3); ``None`` leaves it out.
        temperature: sampling temperature (fact 3); ``None`` leaves it out.
        model: name of the model for this question; ``None`` is the configured one.
        last: largest number of turns to carry, the newest; ``None`` for all.
        stream: whether the reply is requested as a stream.
        history: whether the request carries the turns above, and this turn is kept.
        format: the form of the reply.
        schema: name of the schema of a reply in JSON; ``None`` for none.
        with_error: whether the last error is sent in front of the question.
        above: number of the nearest code cells above to send in front, or :data:`Above`.
        markdown: whether the Markdown cells between these go along, too.
        tag: label or tag of the cells that go along.
        thread: name of its thread; ``None`` for the thread of its place.
        hide: whether later requests leave the turn out.
        credit_line: whether the reply has the line of the credits.
    """

    max_tokens: int | None = json_field(_integer)
    temperature: float | None = json_field(exact_number)
    model: str | None = json_field(model_name)
    last: int | None = json_field(exact_count)
    stream: bool = sparse_field(switch, default=True)
    history: bool = sparse_field(switch, default=True)
    format: Format = sparse_field(word_of(Format), default="markdown")
    schema: str | None = json_field(exact_text)
    with_error: bool = sparse_field(switch, default=False)
    above: int | Above | None = json_field(cells_above)
    markdown: bool = sparse_field(switch, default=True)
    tag: str | None = json_field(exact_text)
    thread: str | None = json_field(thread_name)
    hide: bool = sparse_field(switch, default=False)
    credit_line: bool = sparse_field(switch, default=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were set, as JSON, for a record."""
        return fields_to_json(self, Parameters)

    def question(self, *typed: str) -> str:
        """Return the question to send; about an error there is a default.

        Args:
            typed: its parts, on the line and under it; each may be empty.
        """
        text = "\n".join(filter(None, typed))
        return ASKED_OF_AN_ERROR if self.with_error and not text.strip() else text


@dataclass(frozen=True, slots=True)
class RequestFacts(Parameters, AsTyped):
    """Facts of a question: its text, its options and its place.

    The ask and its turn inherit these fields. A fact that is added here passes from the ask to the
    turn.

    Args:
        prompt: the question as it is sent.
        typed: the question as typed, with its ``{{ }}``; ``None`` if it has no values inside or in
            front.
        values: the inserted values, and the values in front.
        asked_model: name of the requested model; ``None`` if there is none.
        owner: hash of the cell that owns the turn; ``None`` without one.
        execution: identity of the cell's execution; ``None`` if unknown.
        entry: place of the question: a ``cell``, the ``panel``, or ``python``.
        asker: place of the question in words, such as ``cell [3]``.
        shown: whether an output of a cell shows the turn, with its record.
        again: number of the turn whose question it repeats, or whose reply it continues; ``None``
            for a new question, 0 for an unknown turn.
        placeholder: the first ``{name}`` or ``$name`` of a variable in it, which is sent as typed;
            ``None`` for none.
        form: the schema that ``schema`` names, in this kernel; ``None`` if it has none.
    """

    prompt: str
    _: KW_ONLY
    typed: str | None = None
    values: tuple[Value, ...] = ()
    asked_model: str | None = None
    owner: str | None = None
    execution: str | None = None
    entry: Entry = "cell"
    asker: str = ""
    shown: bool = False
    again: int | None = None
    placeholder: str | None = None
    form: Schema | None = field(default=None, compare=False, repr=False)

    @property
    def missing(self) -> tuple[Value, ...]:
        """The values whose text was not kept; the prompt has their names instead."""
        return tuple(value for value in self.values if value.text is None)

    def request(
        self, before: Iterable[Message], extra: Mapping[str, Any] = NO_PARAMETERS
    ) -> Request:
        """Return the request that is sent.

        Args:
            before: the carried messages, oldest first.
            extra: fields that a compatible server wants beside the interface's own.

        Raises:
            ValueError: a parameter cannot be sent.
        """
        if self.model is not None:
            extra = {**extra, "model": model_name(self.model)}
        return Request(
            (*before, Message("user", self.prompt)),
            stream=self.stream,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            extra=extra,
        )


MOST_TURNS: Final = 20
"""Number of the newest turns that have a part of their own; the others are one part."""


Part = tuple[str, int]
"""Part of a request: its name in words, and its length in characters."""


def parts_of(
    turns: Sequence[tuple[int, int]], instructions: Value | None, asked: RequestFacts
) -> list[Part]:
    """Return the parts of a request in the order in which they are sent.

    Args:
        turns: place and size of each carried turn, oldest first; a turn that is no longer in the
            conversation has the place 0.
        instructions: the standing instructions that go along; ``None`` for none.
        asked: the question.
    """
    parts = [] if instructions is None else [(instructions.name, instructions.size)]
    older = turns[:-MOST_TURNS]
    newest = turns[-MOST_TURNS:]
    if older:
        size = sum(size for _, size in older)
        parts.append((f"{len(older):,} earlier turns (prompts and replies)", size))
    for place, size in newest:
        name = numbered([place], "turn") if place else "a turn that is not live any more"
        parts.append((f"{name} (prompt and reply)", size))
    parts += [(value.as_typed, value.size) for value in asked.values]
    rest = len(asked.prompt) - sum(value.size for value in asked.values if value.text is not None)
    return [*parts, ("the rest of the prompt" if asked.values else "the prompt", rest)]
