"""Values for users: messages, replies, token counts and credits (facts 2 to 5, 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from datetime import datetime
from operator import methodcaller
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    Never,
    NoReturn,
    Protocol,
    Self,
    TypeVar,
)

from chatmagic._json import (
    exact_text,
    exact_time,
    fields_from_json,
    fields_to_json,
    finite_number,
    iso,
    json_field,
    timestamp,
    whole_number,
    word_of,
)
from chatmagic.other_tools import REPLY, missing_name
from chatmagic.safe_text import to_terminal

if TYPE_CHECKING:
    import typing_extensions

    # With a default, as from Python 3.13 on: a bare ``Reply`` means ``Reply[Any]``.
    _Parsed_co = typing_extensions.TypeVar("_Parsed_co", covariant=True, default=Any)
else:
    _Parsed_co = TypeVar("_Parsed_co", covariant=True)

State = Literal["complete", "interrupted", "cut off"]
Origin = Literal["live", "replay", "emulator"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation (fact 2).

    Args:
        role: the author's role: ``user``, ``assistant``, or another one that the service accepts.
        content: its text.
    """

    role: str
    content: str

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Return the message of a JSON object.

        Args:
            value: any JSON value.

        Raises:
            ValueError: ``value`` is not an object with the two strings.
        """
        if isinstance(value, Mapping):
            role = value.get("role")
            content = value.get("content")
            if isinstance(role, str) and isinstance(content, str):
                return cls(role, content)
        raise ValueError("a message is an object with the strings 'role' and 'content'")

    def to_json(self) -> dict[str, Any]:
        """Return the message as a JSON object of the interface."""
        return {"role": self.role, "content": self.content}


MOST_TOKENS: Final = 10**15
"""Largest plausible token count."""


def _count(value: object) -> int | None:
    """Return a token count; ``None`` for any other value, or an implausible count."""
    count = value if type(value) is int else whole_number(value)
    return None if count is None or not 0 <= count <= MOST_TOKENS else count


def amount(value: object) -> float | None:
    """Return an amount, such as seconds; ``None`` for any other value.

    Args:
        value: any JSON value.
    """
    number = finite_number(value)
    return None if number is None or not 0 <= number <= MOST_TOKENS else number


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request (fact 5); an unknown count is ``None``.

    Args:
        prompt_tokens: tokens of the request's messages.
        completion_tokens: tokens of the reply.
        total_tokens: both together.
        reasoning_tokens: tokens of the reply's reasoning, which ``completion_tokens`` counts, too.
    """

    prompt_tokens: int | None = json_field(whole_number)
    completion_tokens: int | None = json_field(whole_number)
    total_tokens: int | None = json_field(whole_number)
    reasoning_tokens: int | None = json_field(whole_number)

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Return the counts of a usage object; ``None`` if it has none.

        Args:
            value: any JSON value.
        """
        if not isinstance(value, dict):
            return None
        # This must be quick: some servers send the counts with each chunk of a stream.
        details = value.get("completion_tokens_details")
        items = {**details, **value} if isinstance(details, dict) else value
        counts = [_count(items.get(name)) for name in cls.__match_args__]
        return None if counts.count(None) == len(counts) else cls(*counts)

    def to_json(self) -> dict[str, Any]:
        """Return the known counts as a JSON object."""
        return fields_to_json(self)


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits of the account, as a response named them (fact 10).

    Args:
        limit: the credit limit; ``None`` is unknown.
        remaining: credits left; ``None`` is unknown.
        used: credits used; ``None`` is unknown.
        resets_at: time of the limit's reset, aware, in UTC; ``None`` is unknown.
        seen_at: the time of these figures, aware, in UTC.
        lapsed_at: the reset that the response named, if it had passed already; then the next reset
            is unknown.
        spent: the spending of the key by a gateway's count, in its own unit; ``None`` is unknown.
        budget: the most that the gateway lets the key spend, in the same unit; ``None`` is unknown.
    """

    limit: int | None = json_field(whole_number, default=MISSING)
    remaining: int | None = json_field(whole_number, default=MISSING)
    used: int | None = json_field(whole_number, default=MISSING)
    resets_at: datetime | None = json_field(timestamp, iso, MISSING)
    seen_at: datetime = json_field(exact_time, iso, MISSING, required=True)
    lapsed_at: datetime | None = json_field(timestamp, iso)
    spent: float | None = json_field(amount)
    budget: float | None = json_field(amount)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Return the credits that :meth:`to_json` wrote.

        Args:
            value: any JSON value.

        Raises:
            ValueError: ``value`` is not such an object.
        """
        absent = dict.fromkeys(cls.__dataclass_fields__)  # these fields have no defaults
        return cls(**{**absent, **fields_from_json(cls, value)})

    def to_json(self) -> dict[str, Any]:
        """Return the known figures as a JSON object."""
        return fields_to_json(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFacts:
    """Facts of a reply in the answer's body, besides its text (facts 4, 6).

    A chunk of the wire, a reply, a turn's record and a recorded interaction have these fields in
    common: a fact that is added here is kept with every reply.

    Args:
        model: name of the model; ``None`` is unknown.
        finish_reason: reason for the end, in the service's words; ``stop`` is a normal end.
        usage: token counts; ``None`` is unknown.
        refusal: text by which a model refused to answer (compatible servers); ``None`` for none.
        reasoning: text of a model's thoughts before its reply (compatible servers); ``None`` for
            none. No later request carries it.
        response_id: the answer's ``id`` (compatible servers); ``None`` if the service gives none.
        system_fingerprint: the service's name for its software and settings (compatible servers);
            ``None`` if it gives none.
    """

    model: str | None = json_field(exact_text)
    finish_reason: str | None = json_field(exact_text)
    usage: Usage | None = json_field(Usage.from_json, methodcaller("to_json"))
    refusal: str | None = json_field(exact_text)
    reasoning: str | None = json_field(exact_text)
    response_id: str | None = json_field(exact_text)
    system_fingerprint: str | None = json_field(exact_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFacts(BodyFacts):
    """Facts of a reply besides its text, as a turn's record keeps them.

    Args:
        took: the approximate cost in credits; ``None`` if it was not known then.
        seconds: the time from the sending of the request to the end of the reply. A replay has the
            recorded time. ``None`` is unknown, as in a reply of the emulator.
        credits: the credits that this response named; ``None`` is unknown.
        date: the response's own ``Date``, aware, in UTC.
        state: ``complete``, ``interrupted`` or ``cut off``.
        origin: ``live``, ``replay`` or ``emulator``.
        recorded: for a replayed reply, the origin of the recording; otherwise ``None``.
        by_order: whether it was replayed by its position, for a request that differs from the
            recorded one.
        left_out: the number of oldest turns that were left out after the service refused the
            request as too long; ``None`` if nothing was left out.
    """

    took: int | None = json_field(whole_number)
    seconds: float | None = json_field(amount)
    credits: Credits | None = json_field(Credits.from_json, methodcaller("to_json"))
    date: datetime | None = json_field(exact_time, iso)
    state: State = json_field(word_of(State), default="complete")
    origin: Origin = json_field(word_of(Origin), default="live")
    recorded: Origin | None = json_field(word_of(Origin))
    left_out: int | None = json_field(whole_number)
    by_order: bool = json_field(lambda value: value is True, lambda value: value or None, False)


class Renderer(Protocol):
    """Renderer of replies. :mod:`chatmagic.archive.output` is one, without an import from here."""

    def bundle(self, reply: Reply, /) -> dict[str, Any]:
        """Return the data by which a notebook shows a reply, by media type.

        Args:
            reply: the reply to show.
        """

    def code_blocks(self, reply: Reply, /) -> tuple[CodeBlock, ...]:
        """Return the blocks of code of a reply, in order.

        Args:
            reply: the reply to read.
        """


renderer: Renderer = None  # type: ignore[assignment] # set before there are replies to show
"""Renderer of all replies, once :mod:`chatmagic.archive.output` is imported."""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Block of code in a reply.

    Args:
        code: its lines, exactly, without the last line end.
        language: first word after the fence, such as ``python``; empty for none.
    """

    code: str
    language: str = ""

    def __str__(self) -> str:
        """Return the code, safe to print in a terminal; :attr:`code` is exact."""
        return to_terminal(self.code)


@dataclass(frozen=True, slots=True)
class Reply(ReplyFacts, Generic[_Parsed_co]):
    """A reply, whole or partial (fact 4).

    Args:
        text: the text, exactly as it arrived.
        parsed: the value of a reply in JSON, or the instance of its schema. No file keeps it.
    """

    text: str
    parsed: _Parsed_co = field(default=None, compare=False, repr=False, kw_only=True)  # type: ignore[assignment]

    def __str__(self) -> str:
        """Return the text, safe to print in a terminal; :attr:`text` is exact."""
        return to_terminal(self.text)

    def __getitem__(self, item: Never) -> NoReturn:
        """Raise an error that names what a loop over a reply, or its JSON, is here.

        Args:
            item: anything; a type checker takes nothing.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "A reply has no items: reply.text is its text, and ask(…, on_fragment=…) calls a "
            "function with each fragment as it arrives."
        )

    if not TYPE_CHECKING:  # an attribute that is not there is an error for a type checker, too

        def __getattr__(self, name: str) -> Any:
            """Raise the error for an attribute that a reply does not have, with the word here."""
            raise AttributeError(missing_name("A reply", name, REPLY))

    @property
    def code_blocks(self) -> tuple[CodeBlock, ...]:
        """The reply's blocks of code, in order; one that was cut off ends with the text."""
        return renderer.code_blocks(self)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the data and the metadata by which a notebook shows a cell's value.

        The data are safe HTML, and text that is safe in a terminal. The metadata is empty: a value
        is no second output of its turn, so it has no record.
        """
        return {**renderer.bundle(self), "text/plain": to_terminal(self.text)}, {}

    def _repr_html_(self) -> str:
        """Return the same HTML for marimo, which reads no other form."""
        return str(self._repr_mimebundle_()[0]["text/html"])

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """Print the text as a cell's value, safe in a terminal."""
        printer.text(to_terminal(self.text))
