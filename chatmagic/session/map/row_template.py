"""Template of a map's rows: the prompt, the key and the request of each row.

The template is prepared once, as any question is (:mod:`chatmagic.session.prepare`). A row's
request differs from it only in the text of its last message.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from chatmagic._json import canonical, digest
from chatmagic.conversation import template
from chatmagic.conversation.window import Window
from chatmagic.errors import InputError
from chatmagic.models import Message, Reply
from chatmagic.protocol.request import NOT_IN_DIGEST, Request
from chatmagic.protocol.secret_scanner import secret_in
from chatmagic.safe_text import one_line, without_lone_surrogates
from chatmagic.session import forms
from chatmagic.session.environment import Environment
from chatmagic.session.events import Ask
from chatmagic.session.map.job_head import JobHead
from chatmagic.session.map.results import Columns
from chatmagic.session.map.row_reply import replay_key
from chatmagic.session.prepare import Setup, prepare
from chatmagic.session.secret_check import environment_secrets


class _Frame:
    """Digest of a JSON value of which one text differs from row to row.

    It is that of :func:`chatmagic._json.digest`. What stands before the text is hashed once.

    Args:
        value: the value.
        text: the text, which occurs once in it.
    """

    def __init__(self, value: object, text: str) -> None:
        """Hash what stands before the text."""
        before, _, after = canonical(value).partition(canonical(text))
        self._before = hashlib.sha256(before.encode())
        self._after = after.encode()

    def digest(self, text: bytes) -> str:
        """Return the digest of the value with another text.

        Args:
            text: the text's canonical JSON, in UTF-8.
        """
        hashed = self._before.copy()
        hashed.update(text)
        hashed.update(self._after)
        return hashed.hexdigest()


class Row(NamedTuple):
    """Row of a map, with its prompt.

    Args:
        number: its place, from 0.
        prompt: the template with its values.
        missing: name of a value that is missing; ``None`` for none.
        occurrence: number of the request among equal ones, from 1.
        key: the row's key in the file.
        frame: what the requests of all rows have in common; ``None`` without a request.
        text: the text of the request's last message, as canonical JSON.
        misfit: the reason why the template does not fit the row; ``None`` if it does.
    """

    number: int
    prompt: str
    missing: str | None
    occurrence: int
    key: str
    frame: _Frame | None = None
    text: bytes = b""
    misfit: str | None = None

    @property
    def request(self) -> str:
        """Digest of its request, as in the ledger: worked out only for a row that is asked."""
        return self.key if self.frame is None else self.frame.digest(self.text)


class RowTemplate:
    """Template of a map's rows.

    Args:
        ask: the options of each question, with the template as prompt.
        environment: the source of named schemas.
        setup: the settings of the requests.
        columns: whether the fields of the schema get columns of their own.
        column: name of the column of replies; ``None`` for ``reply``.
        repeats: number of times that each row is asked.

    Raises:
        InputError: the template or an option cannot be used.
    """

    def __init__(
        self,
        ask: Ask,
        environment: Environment,
        setup: Setup,
        *,
        columns: bool = False,
        column: str | None = None,
        repeats: int = 1,
    ) -> None:
        """Prepare the template; send nothing."""
        ask.refuse_empty()
        self._text = ask.prompt
        self._variables = () if ask.allow_secrets else environment_secrets()
        self._refuse_secrets(ask, setup)
        self._prepared = prepare(ask, ask.instruct(Window()), environment.named, setup)
        self.ask = self._prepared.ask
        """The question of each row, with its options and its schema."""
        self._front = self._prepared.request.messages[-1].content.removesuffix(ask.prompt)
        self.repeats = repeats
        """Number of times that each row is asked."""
        fields = self._fields() if columns else ()
        self.columns = Columns(_column_name(column), self.is_parsed, fields, repeats)
        """The columns of the result."""

    def _refuse_secrets(self, ask: Ask, setup: Setup) -> None:
        fields = json.dumps({**(setup.extra_body or {})}, ensure_ascii=False, default=str)
        texts = ("The template", ask.prompt), ("extra_body", fields)
        for place, text in (*texts, ("The text of instructions", ask.instructions or "")):
            if not ask.allow_secrets and (secret := secret_in(text, self._variables)) is not None:
                raise InputError(
                    f"{place} holds {secret}. Nothing was sent.",
                    hint="allow_secrets=True sends it.",
                )

    def _fields(self) -> tuple[str, ...]:
        schema = self.ask.form
        fields = () if schema is None else tuple(schema.document.get("properties", ()))
        taken = ("reply", "error") if self.repeats == 1 else ("reply", "replies", "agree", "error")
        if not fields or not set(taken).isdisjoint(fields):
            names = f"{', '.join(taken[:-1])} or {taken[-1]}"
            message = f"columns=True takes the fields of a schema, none of them {names}."
            raise InputError(f"{message} Nothing was sent.")
        return fields

    @property
    def is_parsed(self) -> bool:
        """Whether the replies have values beside their texts."""
        return self.ask.format == "json"

    @property
    def head(self) -> JobHead:
        """What the rows have in common, for the file."""
        body = self._prepared.request.to_json()
        return JobHead(
            template=self._text,
            instructions=self.ask.instructions,
            front=self._front,
            before=self._prepared.request.messages[:-1],
            parameters={name: body[name] for name in body if name != "messages"},
            schema=self.ask.schema,
        )

    @property
    def digest(self) -> str:
        """Digest of the template and its options; it is the same for any service."""
        front = [value.text for value in self.ask.values]
        return digest([self._text, front, self.ask.parameters])

    def rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        address: str | None,
        *,
        keeps_misfits: Callable[[], bool] = bool,
    ) -> Iterator[Row]:
        """Yield the rows with their prompts and keys, in their order, each as often as it is asked.

        Args:
            rows: the values of each row by name.
            address: the address that is part of each key; ``None`` in a replay.
            keeps_misfits: returns whether a row that the template does not fit is yielded, with the
                reason.

        Raises:
            InputError: the template does not fit a row.
        """
        mark = os.urandom(32).hex()
        body = json.loads(self._request(mark).encode())
        of_request = _Frame({name: body[name] for name in body.keys() - NOT_IN_DIGEST}, mark)
        of_first = _Frame([address, body, 1], mark)
        seen: Counter[str] = Counter()
        for number, row in enumerate(rows):
            try:
                prompt, missing = self._filled(number, row)
            except InputError as error:
                if number == 0 or not keeps_misfits():
                    raise
                name = digest(error.message)
                for _ in range(self.repeats):
                    yield Row(number, "", None, 1, name, misfit=error.message)
                continue
            text = canonical(self._front + prompt).encode()
            first = (of_request if address is None else of_first).digest(text)
            for _ in range(self.repeats):
                seen[first] += 1
                occurrence = seen[first]
                key = first
                if address is None:
                    key = replay_key(first, occurrence)
                elif occurrence > 1:
                    key = _Frame([address, body, occurrence], mark).digest(text)
                yield Row(number, prompt, missing, occurrence, key, of_request, text)

    def _filled(self, number: int, row: Mapping[str, Any]) -> tuple[str, str | None]:
        try:
            prompt, missing = template.fill_row(self._text, row)
        except InputError as error:
            message = f"Row {number:,}: {error.message}"
            raise InputError(message, hint=error.advice) from None
        return without_lone_surrogates(prompt), missing

    def _request(self, text: str) -> Request:
        """Return the request whose last message is a text."""
        like = self._prepared.request
        return Request(
            (*like.messages[:-1], Message("user", text)),
            stream=like.stream,
            max_tokens=like.max_tokens,
            temperature=like.temperature,
            extra=like.extra,
        )

    def request(self, row: Row) -> Request:
        """Return a row's request.

        Args:
            row: the row.
        """
        return self._request(self._front + row.prompt)

    def size(self, row: Row) -> int:
        """Return the number of characters of a row's request.

        Args:
            row: the row.
        """
        return len(self._front) + len(row.prompt)

    def problem(self, row: Row) -> str | None:
        """Return the reason not to send a row; ``None`` if there is none.

        Args:
            row: the row.
        """
        if row.misfit is not None:
            return row.misfit
        if row.missing is not None:
            return (
                f"Row {row.number:,} has no value for {{{{ {one_line(row.missing)} }}}}, so it is "
                "not sent: fill the value in, or leave the row out."
            )
        if not row.prompt.strip():
            return f"Row {row.number:,} makes an empty prompt, which is not sent."
        if self.ask.allow_secrets or (secret := secret_in(row.prompt, self._variables)) is None:
            return None
        return f"Row {row.number:,} holds {secret}, so it is not sent: allow_secrets=True sends it."

    def checked(self, reply: Reply) -> Reply:
        """Return a reply with the value of its JSON, if JSON was asked for.

        Args:
            reply: a whole reply.

        Raises:
            ReplyFormatError: the reply is no JSON, or has another form; the error holds it.
        """
        return forms.parsed(reply, self.ask.form, kept=False) if self.is_parsed else reply


def _column_name(name: str | None) -> str | None:
    """Return the name of a column.

    Raises:
        InputError: it is no name.
    """
    if name is None or (isinstance(name, str) and name.strip()):
        return name
    raise InputError("column is the name of a column, a text. Nothing was sent.")
