"""What a cassette holds: requests and what answered them, as text to be read and merged.

A cassette is JSON Lines. Its first line says what it is; then, for each exchange:

- one line that says what was asked: the digest of the request, its parameters, and the
  messages before the prompt, a turn that the cassette holds itself by its digest alone;
- a line for each line of the prompt (``you``);
- one line with the status, the few headers that are kept, and the facts of the reply;
- a line for each line of the reply (``reply``).

So a changed word is a changed line. No key, no request header and no address is in it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from chatmagic import wire
from chatmagic.errors import InputError
from chatmagic.wire import Message, Origin, Request, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from chatmagic.wire import Credits

VERSION: Final = 1
KEPT_HEADERS: Final = (
    "content-type",
    "date",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
)
"""All that is kept of an answer's headers."""
REFERENCE: Final = 16
"""How many digits of a turn's digest name it within a cassette."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One exchange: what was asked, and what answered.

    Args:
        request: digest of the canonical request, by which it is found again.
        prompt: the last message; as sent, or as typed where ``before`` holds digests.
        before: the messages before it, oldest first; a turn whose text is not known is its
            digest, or the beginning of that.
        parameters: what else the body said: ``stream``, ``max_tokens``, ``temperature``
            and fields of ``extra_body``, as far as known.
        typed: the prompt as typed, where values were put in; else ``None``.
        owner: hash of the cell that asked; ``None`` is not known.
        status: the HTTP status.
        headers: the headers of :data:`KEPT_HEADERS` that the answer had.
        text: the reply, exactly; ``None`` where the answer was an error.
        error: the JSON body of an error.
        model: name of the model, where it was told.
        finish_reason: in the service's own words.
        usage: token counts, where they were told.
        refusal: what a model said instead of answering.
        took: about how many credits it took, as far as it was known then.
        origin: who answered: ``live`` or ``emulator``.
    """

    request: str
    prompt: str
    before: tuple[Message | str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    typed: str | None = None
    owner: str | None = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    error: Any = None
    model: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    refusal: str | None = None
    took: int | None = None
    origin: Origin = "live"


def headers_for(credits: Credits | None, date: datetime | None) -> tuple[tuple[str, str], ...]:
    """Give the headers that say what a record knows of its answer (interface §8).

    Args:
        credits: what the answer said of the credits.
        date: the answer's ``Date``; without one, the time of the credits counts.
    """
    raise NotImplementedError
