"""Interaction: a request of the service with its answer, as a cassette holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from datetime import datetime
from email.utils import format_datetime
from typing import Any, Final, Literal, Self

from chatmagic import _json
from chatmagic._json import (
    exact,
    exact_count,
    exact_text,
    json_field,
    tuple_of,
    word_of,
)
from chatmagic.conversation.question import AsTyped, Value
from chatmagic.models import BodyFacts, Credits, Message, Origin, amount
from chatmagic.protocol.credits import HEADERS
from chatmagic.protocol.request import NOT_IN_DIGEST, Request

KEPT_HEADERS: Final = ("content-type", *HEADERS)
"""The only headers of an answer that are recorded."""
DIGITS: Final = 16
"""Number of digits of a turn's digest that are its name in a cassette."""


def _object(value: object) -> dict[str, Any] | None:
    """Return a JSON object; ``None`` for any other value."""
    return value if isinstance(value, dict) else None


def _headers(value: object) -> tuple[tuple[str, str], ...] | None:
    """Return the headers of :data:`KEPT_HEADERS`; others are ignored."""
    if not isinstance(value, dict):
        return None
    kept = {name: text for name, text in value.items() if name.lower() in KEPT_HEADERS}
    return tuple((name, exact_text(text)) for name, text in kept.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction(BodyFacts, AsTyped):
    """A request and its answer.

    Args:
        prompt: the last message; as sent, or in a notebook as typed.
        text: the reply, exactly; ``None`` if the answer was an error.
        request: digest of the canonical request without its Markdown cells, by which a request is
            matched: not every run knows them.
        before: the names of the turns before it, oldest first (see :attr:`turn`). Unknown turns
            before the known ones have one name together.
        parameters: the other fields of the body: ``stream``, ``max_tokens``, ``temperature``
            and those of ``extra_body``, as far as known; without ``NOT_IN_DIGEST`` of requests.
        asked_model: the model that was requested; ``None`` if none was set.
        instructions: name of the standing instructions that the request carried; ``None`` for none.
        typed: the prompt as typed, if values were put into it; otherwise ``None``.
        owner: hash of the cell that asked; ``None`` if it is unknown.
        status: the HTTP status.
        headers: the answer's headers, of those in :data:`KEPT_HEADERS`.
        error: the JSON body of an error.
        took: the approximate cost in credits; ``None`` if it was not known then.
        seconds: the time of the reply; ``None`` is unknown.
        origin: ``live`` if a service answered, or ``emulator``.
        known_turn: the :attr:`turn` of a notebook's exchange, whose prompt as sent is not known.
        is_marked: whether its lines have a digest of their exchange; not so in earlier files.
    """

    prompt: str = ""
    text: str | None = None
    request: str = json_field(exact_text, default=MISSING, required=True)
    before: tuple[str, ...] = json_field(tuple_of(exact_text), lambda names: [*names] or None, ())
    parameters: Mapping[str, Any] = json_field(exact(_object), dict, MISSING, required=True)
    asked_model: str | None = json_field(exact_text)
    instructions: str | None = json_field(exact_text)
    typed: str | None = json_field(exact_text)
    owner: str | None = json_field(exact_text)
    status: int = json_field(exact_count, default=200)
    headers: tuple[tuple[str, str], ...] = json_field(exact(_headers), dict, ())
    error: Any = json_field(exact(_object))
    took: int | None = json_field(exact_count)
    seconds: float | None = json_field(amount)
    origin: Origin = json_field(word_of(Literal["live", "emulator"]), default="live")
    known_turn: str | None = None
    is_marked: bool = field(default=True, compare=False)

    def answers(self, asked: Interaction) -> bool:
        """Return whether a request is the recorded one, but for its Markdown cells.

        The recorded model matters only if the request names a model.

        Args:
            asked: the request, as it would be recorded.
        """
        is_model = asked.asked_model in (None, self.asked_model)
        return is_model and self.request == asked.request

    def has_markdown_of(self, asked: Interaction) -> bool:
        """Return whether a request that it answers is the recorded one in its Markdown cells, too.

        Args:
            asked: the request, as it would be recorded.
        """
        if self.text is None:
            return self.prompt == asked.prompt and self.before == asked.before
        known = self.before
        if len(known) != len(asked.before):
            # The first name stands for turns that are not known.
            known = known[1:]
        carried = asked.before[len(asked.before) - len(known) :]
        return known == carried and self.turn == _turn(asked.prompt, self.text)

    @property
    def is_reply(self) -> bool:
        """Whether the answer was a reply, and not an error."""
        return self.text is not None

    @property
    def turn(self) -> str | None:
        """Name of the turn of this prompt and reply; ``None`` for an error."""
        return None if self.text is None else self.known_turn or _turn(self.prompt, self.text)

    @classmethod
    def asked(
        cls,
        request: Request,
        messages: Sequence[Message] | None = None,
        instructions: Value | None = None,
        *,
        digest: str | None = None,
        typed: str | None = None,
        owner: str | None = None,
    ) -> Self:
        """Return the interaction of a request that is not answered yet.

        Args:
            request: the request, as it is sent.
            messages: its messages without its instructions: prompts and replies alternately, and
                the prompt at the end; ``None`` for a request without instructions.
            instructions: the standing instructions that it carries; ``None`` for none.
            digest: its digest without Markdown cells; ``None`` if it carries none.
            typed: the prompt as typed, if values were put into it; otherwise ``None``.
            owner: hash of the cell that asks; ``None`` if it is unknown.
        """
        *before, prompt = request.messages if messages is None else messages
        turns = zip(before[::2], before[1::2], strict=True)
        body = request.to_json()
        model = body.get("model")
        return cls(
            request=digest or request.digest(),
            prompt=prompt.content,
            before=tuple(_turn(a.content, b.content) for a, b in turns),
            parameters={
                name: value
                for name, value in body.items()
                if name != "messages" and name not in NOT_IN_DIGEST
            },
            asked_model=model if isinstance(model, str) else None,
            instructions=instructions_name(instructions),
            typed=typed,
            owner=owner,
        )


def _turn(prompt: str, text: str) -> str:
    """Return the name of a turn in a cassette."""
    return _json.turn_digest(prompt, text)[:DIGITS]


def instructions_name(instructions: Value | None) -> str | None:
    """Return the name of a request's standing instructions in a cassette; ``None`` for none.

    Args:
        instructions: the instructions; ``None`` for none.
    """
    return None if instructions is None else instructions.sha256[:DIGITS]


def by_identity(interactions: Iterable[Interaction]) -> dict[tuple[object, ...], Interaction]:
    """Return interactions by a key that is the same each time the file is read.

    The key holds the request's digest and prompt, the answer, and a number that distinguishes equal
    exchanges. The owner is not part of it.

    Args:
        interactions: the interactions, in the order of the file.
    """
    count: Counter[tuple[object, ...]] = Counter()
    by_key: dict[tuple[object, ...], Interaction] = {}
    for item in interactions:
        unhashable = repr((item.headers, item.error, item.asked_model))
        key = item.request, item.prompt, item.status, item.text, unhashable
        by_key[*key, count[key]] = item
        count[key] += 1
    return by_key


def headers_for(credits: Credits | None, date: datetime | None) -> tuple[tuple[str, str], ...]:
    """Return the answer's headers that a turn's record implies (fact 10).

    Args:
        credits: the credits of the answer; ``None`` if they are unknown.
        date: the answer's ``Date``; without it the time of the credits is used.
    """
    when = date or (None if credits is None else credits.seen_at)
    headers: dict[str, Any] = {"Date": when and format_datetime(when, usegmt=True)}
    if credits is not None:
        headers["X-RateLimit-Limit"] = credits.limit
        headers["X-RateLimit-Remaining"] = credits.remaining
        headers["X-RateLimit-Reset"] = _json.iso(credits.resets_at)
    return tuple((name, str(value)) for name, value in headers.items() if value is not None)
