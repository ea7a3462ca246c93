"""Habits of addresses: the fields that each takes, and what it gets in place of the others.

All that is known of an address stands here: its server's row in ``servers.toml``, and the fields
for which it refused a request. A request that was refused for a field by its name was not answered.
So it is sent once more without it, at once, in the same question. The digest of a request, the key
of a row and a cassette's exchange are those of the request as it was asked, before its fields are
changed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from chatmagic._json import digest
from chatmagic.advice import Note
from chatmagic.client.endpoint import ASKS_FOR_USAGE, LIMIT_FIELDS, ServiceSetup
from chatmagic.conversation.question import RequestFacts, Schema
from chatmagic.errors import ChatError
from chatmagic.models import Credits, Reply
from chatmagic.protocol.credits import has_credit_figures
from chatmagic.protocol.refused_fields import SCHEMA
from chatmagic.protocol.request import Request
from chatmagic.session.exchange import Answer, Sending
from chatmagic.session.feature import Feature
from chatmagic.session.forms import in_an_object

_MOST_REFUSALS: Final = 6
"""Largest number of requests that one question sends because of refused fields."""
_LATER: Final = "Later requests to this address do the same."


class Habits(Feature):
    """Habits of the addresses that a session has asked; as a link it keeps to them.

    Args:
        notify: shows a line to the user.
    """

    def __init__(self, notify: Callable[[Note], object] = str) -> None:
        """Know no address yet."""
        self._notify = notify
        self._refused: set[tuple[str, str, str]] = set()
        """Addresses, each with a model and a field for which it refused a request."""
        self._without_figures: set[str] = set()
        """Addresses of which a stream reported neither credits nor tokens."""

    def __call__(self, sending: Sending, proceed: Callable[[Sending], Answer]) -> Answer:
        """Send a question with the fields that its address takes, and learn from the answer.

        Args:
            sending: the request.
            proceed: the next step.

        Raises:
            ChatError: nothing was sent.
        """
        question = sending.question
        request = sending.request
        client = sending.client
        if question is None or request is None:
            return proceed(sending)
        asked = self.as_sent(request, question, client.setup)
        answer = proceed(sending if asked is request else replace(sending, request=asked))
        for _ in range(_MOST_REFUSALS):
            refused = self._refused_fields(sending, asked, answer)
            if not refused:
                break
            self._note_refused(client.setup, asked, refused)
            before = asked
            asked = self.as_sent(request, question, client.setup)
            if asked == before:
                break
            try:
                answer = proceed(replace(sending, request=asked))
            except ChatError:  # a budget, for instance: the first answer stays
                return answer
        if answer.problem is None:
            self._note_reply(client.setup, asked, answer.reply, client.credits)
        return answer

    def as_sent(
        self, request: Request, question: RequestFacts, setup: ServiceSetup | None
    ) -> Request:
        """Return a request with the fields that its address takes.

        Beside the interface's own these name the form of a reply in JSON, and ask for the token
        counts of a stream. OpenAI's API has ``response_format`` since August 2024, and so have
        others.

        Args:
            request: the request, whose digest and key are those without the changes.
            question: its question, with its schema.
            setup: the address and its settings; ``None`` if nothing is sent.
        """
        if setup is None:
            return request
        fields: dict[str, Any] = {}
        if request.stream and self._asks_for_counts(setup, request):
            fields.update(ASKS_FOR_USAGE)
        form = _form(question) if setup.response_format else None
        if form is not None and not self._refuses_form(setup, request, form):
            fields["response_format"] = form
        limit = self._limit_field(setup, request)
        max_tokens = request.max_tokens
        if max_tokens is not None and limit != "max_tokens":
            fields[limit] = max_tokens
            max_tokens = None
        takes_temperature = self._takes("temperature", setup, request)
        is_same = not fields and max_tokens == request.max_tokens
        if is_same and takes_temperature and self._takes("stream", setup, request):
            return request
        return replace(
            request,
            stream=request.stream and self._takes("stream", setup, request),
            temperature=request.temperature if takes_temperature else None,
            max_tokens=max_tokens,
            extra={**fields, **request.extra},
        )

    def notes(
        self, request: Request, question: RequestFacts, setup: ServiceSetup | None
    ) -> list[str]:
        """Return a line on each field of the user's that a request is sent without.

        Args:
            request: the request as it was asked.
            question: its question.
            setup: the address and its settings; ``None`` if nothing is sent.
        """
        sent = self.as_sent(request, question, setup)
        is_without = request.temperature is not None and sent.temperature is None
        return ["sent without temperature, which this address refuses"] if is_without else []

    def _takes(self, name: str, setup: ServiceSetup, request: Request) -> bool:
        """Return whether an address takes a field, as far as it is known.

        Args:
            name: the field.
            setup: the address and its settings.
            request: the request, whose model may matter.
        """
        server = setup.endpoint.server
        is_known = server is not None and name in server.refuses
        return not is_known and _habit(setup, request, name) not in self._refused

    def _asks_for_counts(self, setup: ServiceSetup, request: Request) -> bool:
        """Return whether a stream asks for its token counts.

        It does where it is set, or known of the server, and where answers reported neither these
        nor credits.
        """
        is_wanted = setup.stream_usage or getattr(setup.endpoint.server, "stream_usage", False)
        is_tried = setup.endpoint.base_url in self._without_figures
        return (is_wanted or is_tried) and self._takes("stream_options", setup, request)

    def _refuses_form(self, setup: ServiceSetup, request: Request, form: Mapping[str, Any]) -> bool:
        """Return whether an address refused the field of a form, its type, or its very schema."""
        server = setup.endpoint.server
        if server is not None and not server.response_format:
            return True
        names = ("response_format", _form_type(form), _form_schema(form))
        return not all(self._takes(name, setup, request) for name in names)

    def _limit_field(self, setup: ServiceSetup, request: Request) -> str:
        """Return the name of the field that limits the tokens of a reply."""
        first = getattr(setup.endpoint.server, "limit_field", LIMIT_FIELDS[0])
        (other,) = {*LIMIT_FIELDS} - {first}
        # The user's limit is never left out: without another name the service has the word.
        return first if self._takes(first, setup, request) else other

    def _refused_fields(self, sending: Sending, asked: Request, answer: Answer) -> dict[str, str]:
        """Return the fields for which a request was refused, that can be left out or replaced.

        Args:
            sending: the question, with its request as it was asked.
            asked: the request as it was sent.
            answer: its answer.

        Returns:
            The name of the habit that each field shows, by the field.
        """
        error = answer.problem
        if not isinstance(error, ChatError) or answer.reply.text or sending.halt.reason is not None:
            return {}
        own = {} if sending.request is None else sending.request.extra
        names = {field: _habit_name(field, asked, own) for field in error.refused_fields}
        return {field: name for field, name in names.items() if name is not None}

    def _note_refused(
        self, setup: ServiceSetup, asked: Request, refused: Mapping[str, str]
    ) -> None:
        """Keep the fields that an address refused, and tell of each once.

        Args:
            setup: the address and its settings.
            asked: the request as it was sent.
            refused: the names of the habits, by the field.
        """
        for field, name in refused.items():
            habit = _habit(setup, asked, name)
            if habit in self._refused:
                continue
            self._refused.add(habit)
            what = "the schema in response_format" if field == SCHEMA else field
            again = _AGAIN.get(field, "without it")
            self._notify(f"The service refused {what}: sent once more {again}. {_LATER}")

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
        has_credits = has_credit_figures(reply.credits) or has_credit_figures(known)
        if is_whole and not has_credits and reply.usage is None:
            self._without_figures.add(setup.endpoint.base_url)


def _habit(setup: ServiceSetup, request: Request, name: str) -> tuple[str, str, str]:
    """Return the key of a habit: models of one address take different fields."""
    return setup.endpoint.base_url, str(request.extra.get("model") or ""), name


_AGAIN: Final = {
    "max_tokens": "with max_completion_tokens",
    "max_completion_tokens": "with max_tokens",
    "stream": "without a stream",
}
"""What a refused request was sent with; ``without it`` for any other field."""


def _habit_name(field: str, asked: Request, own: Mapping[str, Any]) -> str | None:
    """Return the name of the habit that a refused field shows.

    Args:
        field: the refused field, as :mod:`chatmagic.protocol.refused_fields` has it.
        asked: the request as it was sent.
        own: the user's own fields, which are not changed.

    Returns:
        The name; ``None`` if the request had no such field that can be changed.
    """
    added = {name: value for name, value in asked.extra.items() if name not in own}
    form = added.get("response_format")
    if field in (SCHEMA, "response_format"):
        named = _form_schema if field == SCHEMA else _form_type
        return None if form is None else named(form)
    is_sent = field in added or getattr(asked, field, None) not in (None, False)
    return field if is_sent else None


def _form(question: RequestFacts) -> dict[str, Any] | None:
    """Return the value of ``response_format`` for a question; ``None`` if it asks for no JSON."""
    if question.format != "json":
        return None
    schema: Schema | None = question.form
    if schema is None:
        return {"type": "json_object"}
    name = re.sub(r"[^A-Za-z0-9_-]", "_", schema.name)[:64]
    named = {"name": name, "schema": in_an_object(schema.document)}
    return {"type": "json_schema", "json_schema": named}


def _form_type(form: Mapping[str, Any]) -> str:
    """Return the name of the habit to refuse a form of this type."""
    return f"response_format of type {form.get('type')}"


def _form_schema(form: Mapping[str, Any]) -> str:
    """Return the name of the habit to refuse this very form, with its schema."""
    return f"response_format {digest(form)}"
