"""Preview of an ask: the request as it would go, its parts, and where it would go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from chatmagic.client import config
from chatmagic.conversation import options
from chatmagic.conversation.request_facts import Part, TokenRate, parts_of
from chatmagic.conversation.turn import MAIN
from chatmagic.protocol.auth import refuse_keys
from chatmagic.text import counted

if TYPE_CHECKING:
    from chatmagic.cassette.mode import CassetteConfig
    from chatmagic.client.endpoint import Endpoint
    from chatmagic.protocol.wire import Request
    from chatmagic.session.ask import AskState


@dataclass(frozen=True, slots=True)
class Preview:
    """Request as it would go.

    Args:
        request: the request.
        parts: what it carries.
        endpoint: where it would go; ``None`` in a replay where no service is set.
        cassette: the cassette that is chosen; ``None`` for none.
        extra_headers: names of the headers beside the connection's own.
        rate: what the tokens are estimated by; ``None`` where none were told yet.
        notes: what to say of the request, a line each.
    """

    request: Request
    parts: tuple[Part, ...]
    endpoint: Endpoint | None
    cassette: CassetteConfig | None
    extra_headers: tuple[str, ...]
    rate: TokenRate | None
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls,
        state: AskState,
        endpoint: Endpoint | None,
        rate: TokenRate | None,
    ) -> Self:
        """Return the preview of an ask whose request is made.

        Args:
            state: the ask.
            endpoint: where it would go.
            rate: what the tokens are estimated by.

        Raises:
            InputError: it holds the API key, which is never shown.
        """
        request = state.request
        texts = [request.encode().decode(), *(message.content for message in request.messages)]
        refuse_keys(texts, config.known_keys() if endpoint is None else endpoint.known_keys)
        context = state.context
        sizes = [(place, len(turn.prompt) + len(turn.reply.text)) for place, turn in context.places]
        along = [] if context.thread == MAIN else [f"it is asked in the thread {context.thread}"]
        if context.hidden_above:
            along.append(f"{counted(context.hidden_above, 'hidden turn')} left out")
        if len(context.turns) < context.total:
            along.append(f"the last {len(context.turns):,} of {context.total:,} turns go along")
        return cls(
            request,
            tuple(parts_of(sizes, context.instructions, state.ask)),
            endpoint,
            None if state.cassette is None else state.cassette.config,
            tuple((state.service and state.service.extra_headers) or ()),
            rate,
            (*along, *state.ask.notes, *options.merged_cell_notes(state.ask)),
        )
