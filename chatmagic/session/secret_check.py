"""Search of a request for secrets: one stops the ask, and the error names its place."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from chatmagic._json import digest
from chatmagic.advice import ALLOW, ALLOW_IN_CELL, ALLOW_IN_PANEL, Note
from chatmagic.client.endpoint import Endpoint
from chatmagic.conversation.question import Entry, Value
from chatmagic.conversation.window import Window
from chatmagic.errors import InputError
from chatmagic.models import Reply
from chatmagic.protocol.api_key import refuse_keys
from chatmagic.protocol.request import Request
from chatmagic.protocol.secret_scanner import SecretVariable, secret_in, secret_variables
from chatmagic.safe_text import one_line
from chatmagic.session.events import Ask
from chatmagic.session.feature import Candidate, Feature
from chatmagic.session.prepare import Prepared

_HINTS: Final[Mapping[Entry, Note]] = {
    "cell": ALLOW_IN_CELL,
    "panel": ALLOW_IN_PANEL,
    "python": ALLOW,
}


_ENVIRON: Final[Mapping[Any, Any]] = getattr(os, "environb", os.environ)
"""The environment without the cost of decoding it; Windows has it only as text."""


def environment_secrets() -> tuple[SecretVariable, ...]:
    """Return the secrets in the environment, which is judged again only when it has changed."""
    names = _secret_names(hash(frozenset(_ENVIRON.items())))
    return secret_variables({name: os.environ.get(name, "") for name in names})


@lru_cache(maxsize=1)
def _secret_names(state: int) -> tuple[str, ...]:
    """Return the names of the variables that hold a secret; no value is kept for that.

    Args:
        state: hash of the environment's names and values.
    """
    del state
    return tuple({variable.name: None for variable in secret_variables(os.environ)})


class SecretCheck(Feature):
    """Check of each message for secrets, before the first request that carries it.

    A message that was sent to an address is not checked again when a later request carries it
    there, even if it was allowed. For another address, or another secret in the environment, all
    messages are checked again.
    """

    def __init__(self) -> None:
        """Start without any message."""
        self._about = ""
        self._passed: set[int] = set()
        """Hashes of the texts that passed; the texts themselves would stay in memory."""

    def check(self, candidate: Candidate) -> None:
        """Refuse a question whose request holds a secret.

        Args:
            candidate: the question.

        Raises:
            InputError: the request holds a secret, and the ask does not allow that.
        """
        prepared = candidate.prepared
        self.refuse(
            prepared.ask,
            prepared.window,
            prepared.request,
            candidate.endpoint,
            is_sent=candidate.is_sent,
        )

    def take_reply(self, prepared: Prepared, reply: Reply) -> None:
        """Let later requests carry the reply to an allowed ask, as it may repeat the secret.

        Args:
            prepared: the question.
            reply: its reply, whole or in part.
        """
        if prepared.ask.allow_secrets:
            self._passed.add(hash(reply.text))

    def refuse(
        self, asked: Ask, above: Window, request: Request, endpoint: Endpoint, *, is_sent: bool
    ) -> None:
        """Refuse an ask whose request holds a secret.

        Args:
            asked: the ask.
            above: the turns that its request carries.
            request: the request.
            endpoint: endpoint of the request.
            is_sent: whether the request is sent next, so that its messages count as passed.

        Raises:
            InputError: the request holds a secret, and the ask does not allow that.
        """
        ask, window = asked.as_sent(above)
        instructions = window.instructions
        # A turn's record holds these beside the texts that are sent.
        beside = {"name of the thread": ask.thread or "", "question as typed": ask.typed or ""}
        for name, text in beside.items():
            if any(key.is_in(text) for key in endpoint.known_keys):
                raise InputError(
                    f"The {name} holds an API key of yours. Nothing was sent.",
                    hint="A key that others may have seen should be revoked.",
                )
        variables = environment_secrets()
        # A session keeps no secret, only a digest that shows a change.
        about = digest(
            [endpoint.base_url, *([variable.name, variable.value] for variable in variables)]
        )
        if about != self._about:
            self._passed = set()
            self._about = about
        carried = [message.content for message in window.messages]
        if instructions is not None:
            carried.append(instructions.text or "")
        fields = json.dumps({**request.extra}, ensure_ascii=False)
        new = [text for text in carried if hash(text) not in self._passed]
        for text in () if ask.allow_secrets else (ask.prompt, fields, *new):
            if (secret := secret_in(text, variables)) is not None:
                # A text that may never be sent is reported first.
                refuse_keys([request.encode().decode()], endpoint.known_keys)
                place = "extra_body" if text is fields else _place(text, ask, above, variables)
                raise InputError(
                    f"{place} holds {secret}. Nothing was sent.",
                    hint=_HINTS[ask.entry],
                )
        if is_sent:
            self._passed.update(map(hash, [*carried, ask.prompt]))


def _place(text: str, ask: Ask, above: Window, variables: Iterable[SecretVariable]) -> str:
    """Return the place of a text that holds a secret, as the beginning of a sentence."""
    if text == ask.prompt:
        for value in ask.values:
            if value.text and secret_in(value.text, variables):
                return _value_place(value, variables)
        return "The prompt"
    part = ask.part
    if part is not None and text in {part.prompt, part.reply.text}:
        return "The turn whose reply is continued"
    for number, turn in above.places:
        if text == turn.reply.text:
            return f"The reply of turn {number:,}"
        if text == turn.prompt:
            return f"The prompt of turn {number:,}"
    return "The text of the standing instructions"


def _value_place(value: Value, variables: Iterable[SecretVariable]) -> str:
    """Return the place of a value; the text between the braces may hold the secret, too."""
    if secret_in(value.name, variables):
        return "The value of an expression"
    name = one_line(value.as_typed)
    return f"The value of {name}" if value.kind is None else f"The text sent along ({name})"
