"""Template of a map's rows: the prompt, the key and the request of each row.

The template is prepared once, as any question is (:mod:`chatmagic.session.prepare`). A row's
request differs from it only in the text of its last message.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple

from chatmagic._json import canonical, digest, quoted
from chatmagic.conversation import template
from chatmagic.conversation.window import Window
from chatmagic.errors import InputError, ReplyFormatError
from chatmagic.models import Message, Reply
from chatmagic.protocol.request import NOT_IN_DIGEST, Request
from chatmagic.protocol.secret_scanner import secret_in
from chatmagic.safe_text import one_line, without_lone_surrogates
from chatmagic.session import forms
from chatmagic.session.ask import Ask
from chatmagic.session.environment import Environment
from chatmagic.session.map.job_head import JobHead
from chatmagic.session.map.reply_columns import Columns
from chatmagic.session.map.row_reply import SHORT, RowReply, replay_key
from chatmagic.session.prepare import Setup, prepare
from chatmagic.session.secret_check import environment_secrets


class _Frame:
    """Digest of a JSON value of which one text differs from row to row.

    It is that of :func:`chatmagic._json.digest`. What stands before the text is hashed once.

    Args:
        before: what stands before the text in the value's canonical JSON.
        after: what stands behind it.
    """

    def __init__(self, before: str, after: str) -> None:
        """Hash what stands before the text."""
        self._before = hashlib.sha256(before.encode())
        self._after = after.encode()

    def digest(self, text: bytes, end: bytes = b"") -> bytes:
        """Return the digest of the value with another text.

        Args:
            text: the text's canonical JSON, in UTF-8.
            end: the end of the value, if it is not in ``after``.
        """
        hashed = self._before.copy()
        hashed.update(text)
        hashed.update(self._after + end)
        return hashed.digest()


class _RowKeys:
    """Keys of the rows of a run, in which equal requests are counted.

    A key is the digest of the address, the request and its occurrence. In a replay, in which any
    address will do, it is that of the request's digest and its occurrence.

    Args:
        body: the JSON of a row's request.
        text: the text of its last message, which occurs once in it.
        address: the address; ``None`` in a replay.
    """

    def __init__(self, body: Mapping[str, Any], text: str, address: str | None) -> None:
        """Hash what all requests have in common."""
        named = {name: body[name] for name in body.keys() - NOT_IN_DIGEST}
        before, _, after = canonical(named).partition(canonical(text))
        self.requests = _Frame(before, after)
        """The digests of the requests, as in the ledger."""
        before, _, after = canonical(body).partition(canonical(text))
        self._keys = _Frame(f"[{canonical(address)},{before}", f"{after},")
        self._is_replay = address is None
        self._counts: dict[bytes, int] = {}

    def next(self, text: bytes) -> tuple[int, bytes]:
        """Return the occurrence of the next row's request, and the row's key.

        Args:
            text: the text of its last message, as canonical JSON.
        """
        if self._is_replay:
            request = self.requests.digest(text)
            occurrence = self._count(request)
            return occurrence, bytes.fromhex(replay_key(request.hex(), occurrence))
        first = self._keys.digest(text, b"1]")
        occurrence = self._count(first)
        if occurrence == 1:
            return 1, first
        return occurrence, self._keys.digest(text, b"%d]" % occurrence)

    def _count(self, name: bytes) -> int:
        """Count a request; return its number among equal ones, from 1."""
        count = self._counts.get(name, 0) + 1
        self._counts[name] = count
        return count


class Row(NamedTuple):
    """Row of a map, with its prompt.

    Args:
        number: its place, from 0.
        prompt: the template with its values.
        missing: name of a value that is missing; ``None`` for none.
        occurrence: number of the request among equal ones, from 1.
        full_key: the digest that is the row's key.
        requests: the digests of the requests of all rows; ``None`` without a request.
        text: the text of the request's last message, as canonical JSON.
        misfit: the reason why the template does not fit the row; ``None`` if it does.
    """

    number: int
    prompt: str
    missing: str | None
    occurrence: int
    full_key: bytes
    requests: _Frame | None = None
    text: bytes = b""
    misfit: str | None = None

    @property
    def key(self) -> str:
        """The row's key in the file, in hexadecimal."""
        return self.full_key.hex()

    @property
    def short_key(self) -> bytes:
        """The beginning of the key, which distinguishes rows."""
        return self.full_key[:SHORT]

    @property
    def request(self) -> str:
        """Digest of its request, as in the ledger: worked out only for a row that is asked."""
        return self.key if self.requests is None else self.requests.digest(self.text).hex()


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
        keys = _RowKeys(json.loads(self._request(mark).encode()), mark, address)
        for number, row in enumerate(rows):
            try:
                prompt, missing = self._filled(number, row)
            except InputError as error:
                if number == 0 or not keeps_misfits():
                    raise
                key = bytes.fromhex(digest(error.message))
                misfit = Row(number, "", None, 1, key, misfit=error.message)
                yield from repeat(misfit, self.repeats)
                continue
            text = quoted(self._front + prompt).encode()
            for _ in range(self.repeats):
                occurrence, key = keys.next(text)
                yield Row(number, prompt, missing, occurrence, key, keys.requests, text)

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

    def problem(self, row: Row, name: str = "This row") -> str | None:
        """Return the reason not to send a row; ``None`` if there is none.

        Args:
            row: the row.
            name: its name in the reason. In its own error that is no number: a mapper's row has
                another one in each part, and equal rows are one.
        """
        if row.misfit is not None:
            return row.misfit
        if row.missing is not None:
            return (
                f"{name} has no value for {{{{ {one_line(row.missing)} }}}}, so it is "
                "not sent: fill the value in, or leave the row out."
            )
        if not row.prompt.strip():
            return f"{name} makes an empty prompt, which is not sent."
        if self.ask.allow_secrets or (secret := secret_in(row.prompt, self._variables)) is None:
            return None
        return f"{name} holds {secret}, so it is not sent: allow_secrets=True sends it."

    def checked(self, reply: Reply) -> Reply:
        """Return a reply with the value of its JSON, if JSON was asked for.

        Args:
            reply: a whole reply.

        Raises:
            ReplyFormatError: the reply is no JSON, or has another form; the error holds it.
        """
        return forms.parsed(reply, self.ask.form, kept=False) if self.is_parsed else reply

    def with_value(self, reply: RowReply | None) -> RowReply | None:
        """Return a row's reply with its value; a changed schema may no longer accept the reply.

        Args:
            reply: the reply as its line has it; ``None`` for a row without a line.
        """
        if not self.is_parsed or reply is None or reply.error is not None:
            return reply
        try:
            return replace(reply, value=self.checked(Reply(reply.text or "")).parsed)
        except ReplyFormatError as error:
            return replace(reply, error=error.message)


def _column_name(name: str | None) -> str | None:
    """Return the name of a column.

    Raises:
        InputError: it is no name.
    """
    if name is None or (isinstance(name, str) and name.strip()):
        return name
    raise InputError("column is the name of a column, a text. Nothing was sent.")
