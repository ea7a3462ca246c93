"""One recorded exchange: what was asked and what answered, whatever file it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final, Self

from chatmagic import _json
from chatmagic.conversation.request_facts import AsTyped
from chatmagic.models import BodyFacts, Message, Origin
from chatmagic.protocol import wire
from chatmagic.protocol.wire import Request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from chatmagic.models import Credits

KEPT_HEADERS: Final = (
    "content-type",
    "date",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
)
"""All that is kept of an answer's headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction(BodyFacts, AsTyped):
    """One exchange: what was asked, and what answered.

    Args:
        request: digest of the canonical request, by which it is found again.
        prompt: the last message; as sent, or as typed where ``before`` holds digests.
        before: the messages before it, oldest first; a turn whose text is not known is its
            digest, or the beginning of that.
        after: the beginning of the chain digest of what stands before ``before``, where a file
            lacks that; ``None`` where nothing is lacking.
        last: how many of the newest parts of what ``after`` names it is; ``None`` is all.
        parameters: what else the body said: ``stream``, ``max_tokens``, ``temperature``
            and fields of ``extra_body``, as far as known; without ``wire.NOT_IN_DIGEST``.
        asked_model: the model that was asked for; ``None`` where none was set.
        typed: the prompt as typed, where values were put in; else ``None``.
        owner: hash of the cell that asked; ``None`` is not known.
        status: the HTTP status.
        headers: the headers of :data:`KEPT_HEADERS` that the answer had.
        text: the reply, exactly; ``None`` where the answer was an error.
        error: the JSON body of an error.
        took: about how many credits it took, as far as it was known then.
        origin: who answered: ``live`` or ``emulator``.
        superseded: whether a later execution of its cell left it behind: it answers this very
            request still, and nothing else.
    """

    request: str
    prompt: str
    before: tuple[Message | str, ...] = ()
    after: str | None = None
    last: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    asked_model: str | None = None
    typed: str | None = None
    owner: str | None = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    error: Any = None
    took: int | None = None
    origin: Origin = "live"
    superseded: bool = False

    @property
    def body(self) -> Request | None:
        """The request by which it is known again; ``None`` where a message of it is not known.

        Raises:
            ValueError: the parameters are not those of a request.
        """
        messages = [item for item in self.before if isinstance(item, Message)]
        if len(messages) < len(self.before) or self.after or "stream" not in self.parameters:
            return None
        known = {name: self.parameters.get(name) for name in ("max_tokens", "temperature")}
        return Request(
            (*messages, Message("user", self.prompt)),
            stream=bool(self.parameters["stream"]),
            extra={
                name: value
                for name, value in self.parameters.items()
                if name not in wire.OWN_FIELDS
            },
            **known,
        )

    def answers(self, asked: Interaction) -> bool:
        """Tell whether it is the exchange of this very request.

        A model that was asked for when it was recorded matters only if one is set now.

        Args:
            asked: the request, as it would be recorded.
        """
        is_model = asked.asked_model in (None, self.asked_model)
        return is_model and self.request == asked.request

    @property
    def is_reply(self) -> bool:
        """Whether it was answered by a reply, and not by an error."""
        return self.text is not None

    @property
    def turn(self) -> str | None:
        """The digest of the turn that it makes; ``None`` for an error."""
        return None if self.text is None else _json.turn_digest(self.prompt, self.text)

    @classmethod
    def asked(cls, request: Request, **known: Any) -> Self:
        """Begin with a request whose last message is the prompt.

        Args:
            request: as it is sent.
            **known: the other fields.
        """
        *before, prompt = request.messages
        body = request.to_json()
        model = body.get("model")
        return cls(
            request=request.digest(),
            prompt=prompt.content,
            before=tuple(before),
            parameters={
                name: value
                for name, value in body.items()
                if name != "messages" and name not in wire.NOT_IN_DIGEST
            },
            asked_model=model if isinstance(model, str) else None,
            **known,
        )


def headers_for(credits: Credits | None, date: datetime | None) -> tuple[tuple[str, str], ...]:
    """Give the headers that say what a record knows of its answer (fact 10).

    Args:
        credits: what the answer said of the credits.
        date: the answer's ``Date``; without one, the time of the credits counts.
    """
    when = date or (None if credits is None else credits.seen_at)
    found: list[tuple[str, str | None]] = [
        ("Date", None if when is None else format_datetime(when, usegmt=True)),
    ]
    if credits is not None:
        figures = (("Limit", credits.limit), ("Remaining", credits.remaining))
        found += [
            (f"X-RateLimit-{name}", None if figure is None else str(figure))
            for name, figure in figures
        ]
        found.append(("X-RateLimit-Reset", _json.iso(credits.resets_at)))
    return tuple((name, value) for name, value in found if value is not None)
