"""A recorded interaction: a request and its answer, from a cassette or a notebook."""

from __future__ import annotations

from collections import Counter
from dataclasses import MISSING, dataclass
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from chatmagic import _json
from chatmagic._json import exact, exact_count, exact_text, json_field, word_of
from chatmagic.conversation.request_facts import AsTyped
from chatmagic.models import BodyFacts, Origin
from chatmagic.protocol import wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from chatmagic.conversation.request_facts import Value
    from chatmagic.models import Credits, Message
    from chatmagic.protocol.wire import Request

KEPT_HEADERS: Final = (
    "content-type",
    "date",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
)
"""The only headers of an answer that are recorded."""
DIGITS: Final = 16
"""How many digits of its digest name a turn in a cassette."""

_Identity = tuple[str, int, str | None, str]
"""What identifies an interaction in every reading of its file."""


def _object(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(map(exact_text, value)) if isinstance(value, list) else None


def _headers(value: object) -> tuple[tuple[str, str], ...] | None:
    """Read the headers that are kept; no other comes in."""
    if not isinstance(value, dict):
        return None
    kept = {name: text for name, text in value.items() if name.lower() in KEPT_HEADERS}
    return tuple((name, exact_text(text)) for name, text in kept.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction(BodyFacts, AsTyped):
    """A request and its answer.

    Args:
        prompt: the last message; as sent, or in a notebook as typed.
        text: the reply, exactly; ``None`` where the answer was an error.
        request: digest of the canonical request, by which it is matched.
        before: the names of the turns before it, oldest first (see :attr:`turn`); an unknown
            number of turns before those that are known has one name, too.
        parameters: the other fields of the body: ``stream``, ``max_tokens``, ``temperature``
            and those of ``extra_body``, as far as known; without ``wire.NOT_IN_DIGEST``.
        asked_model: the model that was asked for; ``None`` where none was set.
        instructions: name of the standing instructions that the request carried; ``None`` for none.
        typed: the prompt as typed, where values were put into it; else ``None``.
        owner: hash of the cell that asked; ``None`` where it is not known.
        status: the HTTP status.
        headers: the headers of :data:`KEPT_HEADERS` that the answer had.
        error: the JSON body of an error.
        took: about how many credits it took, as far as it was known then.
        origin: what answered: ``live`` or ``emulator``.
        superseded: whether a later execution of its cell asked something else: it answers its
            very request still, and nothing else.
    """

    prompt: str
    text: str | None = None
    request: str = json_field(exact_text, default=MISSING, required=True)
    before: tuple[str, ...] = json_field(exact(_texts), lambda names: [*names] or None, ())
    parameters: Mapping[str, Any] = json_field(exact(_object), dict, MISSING, required=True)
    asked_model: str | None = json_field(exact_text)
    instructions: str | None = json_field(exact_text)
    typed: str | None = json_field(exact_text)
    owner: str | None = json_field(exact_text)
    status: int = json_field(exact_count, default=200)
    headers: tuple[tuple[str, str], ...] = json_field(exact(_headers), dict, ())
    error: Any = json_field(exact(_object))
    took: int | None = json_field(exact_count)
    origin: Origin = json_field(word_of(Literal["live", "emulator"]), default="live")
    superseded: bool = json_field(lambda mark: mark is True, lambda mark: mark or None, False)

    def answers(self, asked: Interaction) -> bool:
        """Return whether a request is the recorded one.

        A model that was asked for when it was recorded matters only if one is set now.

        Args:
            asked: the request, as it would be recorded.
        """
        is_model = asked.asked_model in (None, self.asked_model)
        return is_model and self.request == asked.request

    @property
    def is_reply(self) -> bool:
        """Whether the answer was a reply, and not an error."""
        return self.text is not None

    @property
    def turn(self) -> str | None:
        """Name of the turn that the prompt and the reply make; ``None`` for an error."""
        return None if self.text is None else _json.turn_digest(self.prompt, self.text)[:DIGITS]

    @classmethod
    def asked(
        cls,
        request: Request,
        messages: Sequence[Message] | None = None,
        instructions: Value | None = None,
        **known: Any,
    ) -> Self:
        """Return the interaction of a request that is not answered yet.

        Args:
            request: as it is sent.
            messages: the request's, without its instructions: prompts and replies in turn, and
                the prompt at the end; ``None`` for a request without instructions.
            instructions: the standing instructions that it carries.
            **known: fields that the request does not tell.
        """
        *before, prompt = request.messages if messages is None else messages
        turns = zip(before[::2], before[1::2], strict=True)
        body = request.to_json()
        model = body.get("model")
        return cls(
            request=request.digest(),
            prompt=prompt.content,
            before=tuple(_json.turn_digest(a.content, b.content)[:DIGITS] for a, b in turns),
            parameters={
                name: value
                for name, value in body.items()
                if name != "messages" and name not in wire.NOT_IN_DIGEST
            },
            asked_model=model if isinstance(model, str) else None,
            instructions=name_of(instructions),
            **known,
        )


def name_of(instructions: Value | None) -> str | None:
    """Return the name of a request's standing instructions in a cassette; ``None`` for none."""
    return None if instructions is None else instructions.sha256[:DIGITS]


def headers_for(credits: Credits | None, date: datetime | None) -> tuple[tuple[str, str], ...]:
    """Return the headers that tell what a turn's record knows of its answer (fact 10).

    Args:
        credits: the credits of the answer; ``None`` where they are not known.
        date: the answer's ``Date``; without one the time of the credits stands for it.
    """
    when = date or (None if credits is None else credits.seen_at)
    headers: dict[str, Any] = {"Date": when and format_datetime(when, usegmt=True)}
    if credits is not None:
        headers["X-RateLimit-Limit"] = credits.limit
        headers["X-RateLimit-Remaining"] = credits.remaining
        headers["X-RateLimit-Reset"] = _json.iso(credits.resets_at)
    return tuple((name, str(value)) for name, value in headers.items() if value is not None)


def numbered(interactions: Iterable[Interaction]) -> dict[tuple[_Identity, int], Interaction]:
    """Return interactions by their identities; equal ones are numbered."""
    count: Counter[_Identity] = Counter()
    by_identity: dict[tuple[_Identity, int], Interaction] = {}
    for recorded in interactions:
        key = _identity(recorded)
        by_identity[key, count[key]] = recorded
        count[key] += 1
    return by_identity


def missing(
    interactions: Iterable[Interaction], held: Iterable[Interaction]
) -> tuple[Interaction, ...]:
    """Return the interactions that are not among others; of equal ones those in excess.

    Args:
        interactions: in their order.
        held: the others.
    """
    present = numbered(held)
    return tuple(item for key, item in numbered(interactions).items() if key not in present)


def _identity(recorded: Interaction) -> _Identity:
    """Return the identity of an interaction; its owner and ``superseded`` may change."""
    unhashable = repr((recorded.headers, recorded.error, recorded.asked_model))
    return recorded.request, recorded.status, recorded.text, unhashable
