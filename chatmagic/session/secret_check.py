"""Search of a request for secrets: one stops the ask, and the error names its place."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
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
from chatmagic.protocol.secret_scanner import SecretVariable, secret_in, secret_variables
from chatmagic.safe_text import one_line
from chatmagic.session.ask import Ask
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
        ask, window = prepared.ask.as_sent(prepared.window)
        _refuse_own_keys(ask, candidate.endpoint)
        variables = environment_secrets()
        self._begin_anew(candidate.endpoint, variables)
        carried = [message.content for message in window.messages]
        if window.instructions is not None:
            carried.append(window.instructions.text or "")
        if not ask.allow_secrets:
            new = [text for text in carried if hash(text) not in self._passed]
            _refuse_secrets(candidate, ask, new, variables)
        if candidate.is_sent:
            self._passed.update(map(hash, [*carried, ask.prompt]))

    def _begin_anew(self, endpoint: Endpoint, variables: Sequence[SecretVariable]) -> None:
        """Forget the messages that passed, if the address or a secret is another one now."""
        # A session keeps no secret, only a digest that shows a change.
        about = digest(
            [endpoint.base_url, *([variable.name, variable.value] for variable in variables)]
        )
        if about != self._about:
            self._passed = set()
            self._about = about

    def take_reply(self, prepared: Prepared, reply: Reply) -> None:
        """Let later requests carry the reply to an allowed ask, as it may repeat the secret.

        Args:
            prepared: the question.
            reply: its reply, whole or in part.
        """
        if prepared.ask.allow_secrets:
            self._passed.add(hash(reply.text))


def _refuse_own_keys(ask: Ask, endpoint: Endpoint) -> None:
    """Raise an error if a text that a turn's record holds beside those that are sent has a key."""
    beside = {"name of the thread": ask.thread or "", "question as typed": ask.typed or ""}
    for name, text in beside.items():
        if any(key.is_in(text) for key in endpoint.known_keys):
            raise InputError(
                f"The {name} holds an API key of yours. Nothing was sent.",
                hint="A key that others may have seen should be revoked.",
            )


def _refuse_secrets(
    candidate: Candidate, ask: Ask, carried: Iterable[str], variables: Sequence[SecretVariable]
) -> None:
    """Raise an error if the prompt, a field or a carried text holds a secret.

    Args:
        candidate: the question.
        ask: the question as it is sent.
        carried: the texts to search beside its own.
        variables: the secrets in the environment.

    Raises:
        InputError: one of them holds a secret.
    """
    request = candidate.prepared.request
    fields = json.dumps({**request.extra}, ensure_ascii=False)
    for text in (ask.prompt, fields, *carried):
        secret = secret_in(text, variables)
        if secret is None:
            continue
        # A text that may never be sent is reported first.
        refuse_keys([request.encode().decode()], candidate.endpoint.known_keys)
        place = "extra_body"
        if text is not fields:
            place = _place(text, ask, candidate.prepared.window, variables)
        raise InputError(f"{place} holds {secret}. Nothing was sent.", hint=_HINTS[ask.entry])


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
