"""Habits of addresses: the request fields outside the interface that each takes or refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from chatmagic.advice import sentences
from chatmagic.client.endpoint import ASKS_FOR_USAGE, ServiceSetup
from chatmagic.conversation.question import RequestFacts
from chatmagic.errors import ChatError
from chatmagic.models import Credits, Reply
from chatmagic.protocol.credits import are_told
from chatmagic.protocol.wire import Request
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.feature import Feature

OPTIONAL: Final = {"response_format": "response_format", "stream_options": "stream_usage"}
"""Request fields outside the service's interface, each with the setting that asks for it."""


class Habits(Feature):
    """Habits of the addresses that a session has asked; as a link it keeps to them."""

    def __init__(self) -> None:
        """Know no address yet."""
        self._refused: set[tuple[str, str]] = set()
        """Addresses, each with a field for which it refused a request."""
        self._without_figures: set[str] = set()
        """Addresses of which a stream reported neither credits nor tokens."""

    def __call__(self, sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        """Send a question with the fields that its address takes, and learn from the answer.

        Args:
            sending: the request.
            proceed: the next step.
        """
        question, request, client = sending.question, sending.request, sending.client
        if question is None or request is None:
            return proceed(sending)
        asked = self.as_sent(request, question, client.setup)
        answer = proceed(replace(sending, request=asked))
        if answer.problem is None:
            self._note_reply(client.setup, asked, answer.reply, client.credits)
        elif isinstance(answer.problem, ChatError):
            self._note_refusal(client.setup, answer.problem)
        return answer

    def as_sent(
        self, request: Request, question: RequestFacts, setup: ServiceSetup | None
    ) -> Request:
        """Return a request with the fields that its server takes beside the interface's own.

        They name the form of a reply in JSON, and ask for the token counts of a stream. OpenAI's
        API has ``response_format`` since August 2024, and so have others.

        Args:
            request: the request, whose digest and key are those without the fields.
            question: its question, with its schema.
            setup: the address and its settings; ``None`` if nothing is sent.
        """
        form: dict[str, Any] = {"type": "json_object"}
        if (schema := question.form) is not None:
            name = re.sub(r"[^A-Za-z0-9_-]", "_", schema.name)[:64]
            named = {"name": name, "schema": schema.document}
            form = {"type": "json_schema", "json_schema": named}
        fields = dict(ASKS_FOR_USAGE) if request.stream else {}
        if question.format == "json":
            fields["response_format"] = form
        taken = {name: fields[name] for name in fields if setup and self._takes(name, setup)}
        return replace(request, extra={**taken, **request.extra})

    def _takes(self, name: str, setup: ServiceSetup) -> bool:
        """Return whether requests of a setup have a field outside the service's interface.

        Token counts are also asked for where answers reported neither these nor credits.

        Args:
            name: the field, of :data:`OPTIONAL`.
            setup: the address and its settings.
        """
        address = setup.endpoint.base_url
        setting = OPTIONAL[name]
        is_wanted = getattr(setup, setting) or getattr(setup.endpoint.server, setting, False)
        is_tried = name == "stream_options" and address in self._without_figures
        return (is_wanted or is_tried) and (address, name) not in self._refused

    def _note_refusal(self, setup: ServiceSetup, error: ChatError) -> None:
        """Leave a field out of later requests to an address that refuses one for it.

        Args:
            setup: the address and its settings.
            error: the error of a request, which names the field.
        """
        for name in OPTIONAL:
            if name in error.message and self._takes(name, setup):
                self._refused.add((setup.endpoint.base_url, name))
                later = f"Later requests to this address leave {name} out: ask again."
                error.advice = sentences(later)

    def _note_reply(
        self, setup: ServiceSetup, request: Request, reply: Reply, known: Credits | None
    ) -> None:
        """Ask an address for token counts from now on, if a whole reply reported no figures.

        Args:
            setup: the address and its settings.
            request: the request.
            reply: its whole reply.
            known: the latest credits of the address; ``None`` if unknown.
        """
        is_whole = request.stream and reply.state == "complete" and reply.origin == "live"
        has_credits = are_told(reply.credits) or are_told(known)
        if is_whole and not has_credits and reply.usage is None:
            self._without_figures.add(setup.endpoint.base_url)
