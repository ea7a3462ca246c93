"""Reply to a row of a map, and the line of JSON that holds it.

Each line has a digest of its other fields, so a text that was edited is not taken for the model's.
"""

from __future__ import annotations

import hashlib
import json
import re
from binascii import unhexlify
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from chatmagic._json import (
    digest,
    exact_count,
    exact_digest,
    exact_text,
    exact_time,
    fields_from_json,
    iso,
    json_field,
    json_of_file,
    shared_fields,
)
from chatmagic.models import BodyFacts, Usage
from chatmagic.safe_text import without_lone_surrogates

BEGINNING: Final = b'{"key": "'
"""Beginning of each line, by which a file of rows is recognized."""
SHORT: Final = 16
"""Number of bytes of a short key."""


def short_key(key: str) -> bytes:
    """Return the beginning of a key, which distinguishes rows.

    Args:
        key: a digest in hexadecimal.
    """
    return bytes.fromhex(key)[:SHORT]


def replay_key(request: str, occurrence: int) -> str:
    """Return the digest by which a replay finds a reply.

    Args:
        request: digest of the request, as in the ledger.
        occurrence: number of the request among equal ones, from 1.
    """
    return digest([request, occurrence])


class _OfLine(BodyFacts):
    """Facts of a reply whose line may not be read yet."""

    __slots__ = ("_line", "_row")

    _line: bytes
    _row: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowReply(_OfLine):
    """Reply to one row, or the error in its place.

    Args:
        row: the row's place, from 0.
        key: digest of its request, the address and the occurrence.
        request: digest of the request, as in the ledger.
        occurrence: number of the request among equal ones, from 1.
        service: the service's name in the ledger.
        text: the reply so far; ``None`` if there is none.
        value: the value of a reply in JSON, or the instance of its schema; no file keeps it.
        call: name of the call that the row belongs to, in files of earlier releases.
        error: the error in one line; ``None`` if the reply is whole and has its form.
        ended_at: the time of its end, aware, in UTC.
        head: the description of the call that asked it, or its name (see :mod:`.job_head`).
        prompt_digest: digest of its prompt, as filled in.
        prompt: its prompt, if prompts are kept.
        requests: number of requests that were sent for it, with those that failed; 0 if it was not
            sent.
        credits_left: the credits left by its answer.
    """

    row: int = json_field(exact_count, required=True)
    key: str = json_field(exact_digest, required=True)
    request: str = json_field(exact_digest, required=True)
    occurrence: int = json_field(exact_count, required=True)
    service: str | None = json_field(exact_text)
    call: str | None = json_field(exact_text)
    text: str | None = json_field(exact_text)
    error: str | None = json_field(exact_text)
    ended_at: datetime | None = json_field(exact_time, iso)
    head: str | None = json_field(exact_text)
    prompt_digest: str | None = json_field(exact_digest)
    prompt: str | None = json_field(exact_text)
    requests: int | None = json_field(exact_count)
    credits_left: int | None = json_field(exact_count)
    value: Any = None

    def __repr__(self) -> str:
        """Return the row, the text, the value and the error."""
        value = "" if self.value is None else f", value={self.value!r}"
        return f"RowReply(row={self.row}, text={self.text!r}{value}, error={self.error!r})"

    @classmethod
    def from_line(cls, line: bytes) -> Self:
        """Return the reply that a line holds.

        Args:
            line: JSON in UTF-8.

        Raises:
            ValueError: it is no line of a job's file, or was edited.
        """
        value, is_ours = fields_of(line)
        return cls.of_fields(value, is_ours=is_ours)

    @classmethod
    def unread(cls, line: bytes) -> Self:
        """Return the reply of a line that is read when a field is looked at.

        A map of many rows that were answered before returns them all, and few are looked at. A
        line that is no line of a job's file, or was edited, raises :exc:`ValueError` then.

        Args:
            line: the line.
        """
        reply = cls.__new__(cls)
        object.__setattr__(reply, "_line", line)
        return reply

    def of_row(self, row: int) -> Self:
        """Return a reply that is not read yet as that of a row of this call.

        Args:
            row: the row's place, from 0. In the line is that of the call that asked it.
        """
        object.__setattr__(self, "_row", row)
        return self

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a field that is missing, as the line was not read: read it.

            Args:
                name: the field.

            Raises:
                AttributeError: a reply has no such field.
                ValueError: the line was edited.
            """
            if name not in _FIELDS:
                raise AttributeError(name)
            # Another thread may read it at the same time, with the same result.
            if line := self._line:
                read = RowReply.from_line(line)
                for field in _FIELDS:
                    object.__setattr__(self, field, getattr(read, field))
                if (row := getattr(self, "_row", None)) is not None:
                    object.__setattr__(self, "row", row)
                object.__setattr__(self, "_line", b"")
            return object.__getattribute__(self, name)

    @classmethod
    def of_fields(cls, value: dict[str, Any], *, is_ours: bool) -> Self:
        """Return the reply of a line's fields, which it takes.

        Args:
            value: the fields.
            is_ours: whether they were written here, so that they need no checks.

        Raises:
            ValueError: a field is wrong.
        """
        for name in [name for name, item in value.items() if item == ""]:
            del value[name]
        if "error" not in value:
            value.setdefault("text", "")
        if not is_ours:
            return cls(**{**fields_from_json(cls, value), "usage": Usage.from_json(value)})
        counts = [value.pop(name, None) for name in _NO_USAGE]
        usage = None if counts == _UNKNOWN else Usage(*counts)
        if "ended_at" in value:
            value["ended_at"] = datetime.fromisoformat(value["ended_at"])
        return cls(**value, usage=usage)

    def to_line(self) -> bytes:
        """Return the reply's line: flat, with every name, and an empty text for an absent fact.

        So readers that take the file in blocks find the same columns in each block.
        """
        line: dict[str, Any] = {
            name: "" if value is None else value
            for name, value in zip(_OWN, _OWN_VALUES(self), strict=True)
            if value or value == 0 or name not in _SPARSE
        }
        line["ended_at"] = iso(self.ended_at) or ""
        line |= _NO_USAGE if self.usage is None else shared_fields(self.usage, Usage)
        if line["reasoning_tokens"] is None:
            del line["reasoning_tokens"]
        body = _body(line)
        return body + _end_of(body)


_FIELDS: Final = frozenset(item.name for item in fields(RowReply))
_NO_USAGE: Final = dict.fromkeys(item.name for item in fields(Usage))
_UNKNOWN: Final = list(_NO_USAGE.values())
_EMPTY: Final = dict.fromkeys(
    ("key", *(item.name for item in fields(RowReply) if "read" in item.metadata)), ""
)
"""Every name of a line, in its order."""
_OWN: Final = tuple(name for name in _EMPTY if name != "usage")
_OWN_VALUES: Final = attrgetter(*_OWN)
_NAMES: Final = tuple(name for name in _EMPTY if name != "usage") + tuple(_NO_USAGE)
_SPARSE: Final = (
    *("call", "reasoning"),
    *(
        "response_id",
        "system_fingerprint",
        "head",
        "prompt_digest",
        "prompt",
        "requests",
        "credits_left",
    ),
)
"""The names that a line lacks if it has no such fact: files of earlier releases have none."""
_SEAL: Final = b', "digest": "'
_WITH_DIGEST: Final = frozenset({"head", "prompt_digest"})
"""Names of fields that no line without a digest has."""


class EditedError(ValueError):
    """Line whose fields are not those that were written."""


_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def _body(fields: Mapping[str, Any]) -> bytes:
    """Return a line without its digest and its end."""
    text = _encode(fields)
    return without_lone_surrogates(text)[:-1].encode()


def _seal(body: bytes) -> str:
    """Return the digest of a line without its digest and its end."""
    return hashlib.sha256(body).hexdigest()


def _end_of(body: bytes) -> bytes:
    """Return the end of a line, which is its digest, for the line without it."""
    return b'%b%b"}\n' % (_SEAL, _seal(body).encode())


_END_SIZE: Final = len(_end_of(b""))


def seal_of(line: bytes) -> str:
    """Return the digest that a line should have."""
    return _seal(line[: line.rfind(_SEAL)])


def fields_of(line: bytes) -> tuple[dict[str, Any], bool]:
    """Return the fields of a line, and whether it stands as it was written here.

    A line of an earlier release has no digest, and none of the fields that came after it. A tool
    may have written the same fields in another order, or with other spaces.

    Raises:
        ValueError: it is no line of a job's file, or was edited.
    """
    value = json_of_file(line)
    if not isinstance(value, dict):
        raise ValueError("a line is a JSON object")
    seal = value.pop("digest", None)
    if seal is None:
        if not _WITH_DIGEST.isdisjoint(value):
            raise EditedError("the line has lost its digest")
        return value, False
    seal = str(seal)
    if seal_of(line) == seal and is_well_formed(value):
        return value, True
    known = {name: value[name] for name in _NAMES if name in value}
    if len(known) < len(value) or _seal(_body(known)) != seal:
        raise EditedError("the line was edited")
    return value, False


def is_as_written(line: bytes) -> bool:
    """Return whether a line has the digest of its other fields at its end.

    Args:
        line: the line.
    """
    return line[-_END_SIZE:] == _end_of(line[:-_END_SIZE])


def is_well_formed(value: dict[str, Any]) -> bool:
    """Return whether the fields of a line have their names, and those that are used their types."""
    try:
        types = tuple(map(type, _USED(value)))
    except KeyError:
        return False
    return types == _TYPES and value.keys() <= _ALL


class LineFacts(NamedTuple):
    """What a file knows of a row's line.

    Args:
        key: the row's short key.
        request: digest of its request.
        occurrence: number of the request among equal ones.
        has_failed: whether it is an error.
        ended_at: the time of its end, as it is written.
    """

    key: bytes
    request: str
    occurrence: int
    has_failed: bool
    ended_at: str


def facts_as_written(line: bytes) -> LineFacts | None:
    """Return the facts of a line that stands as it was written here, which is not parsed.

    A name in quotation marks behind a comma is a name: within a text the marks have a backslash.

    Args:
        line: the line.

    Returns:
        The facts; ``None`` for any other line, and for the first one of a call.
    """
    place = _PLACE.search(line)
    if place is None or _HEAD in line or not is_as_written(line):
        return None
    request, occurrence = place.groups()
    try:
        begin = line.index(_ENDED) + len(_ENDED)
        return LineFacts(
            unhexlify(line[_KEY]),
            request.decode("ascii"),
            int(occurrence),
            _NO_ERROR not in line,
            line[begin : line.index(b'"', begin)].decode("ascii"),
        )
    except ValueError:
        return None


_PLACE: Final = re.compile(
    rb', "row": [0-9]{1,15}, "request": "([0-9a-f]{64})", "occurrence": ([0-9]{1,15}), '
)
_NO_ERROR: Final = b', "error": ""'
_ENDED: Final = b', "ended_at": "'
_KEY: Final = slice(len(BEGINNING), len(BEGINNING) + 2 * SHORT)
"""The place of the short key in a line that was written here."""
_HEAD: Final = b', "head": "{'
_ALL: Final = frozenset(_NAMES)
_USED: Final = itemgetter("key", "request", "text", "error", "ended_at", "row", "occurrence")
_TYPES: Final = (str, str, str, str, str, int, int)
