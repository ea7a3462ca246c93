"""What came of one row of a job, and the line of JSON that its file keeps of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime  # noqa: TC003 - who reads the fields' types needs it
from typing import Any, Final, Self

from chatmagic._json import (
    digest,
    exact_count,
    exact_digest,
    exact_text,
    exact_time,
    fields_from_json,
    fields_to_json,
    iso,
    json_field,
)
from chatmagic.models import BodyFacts, Usage
from chatmagic.text import without_lone_surrogates

BEGINNING: Final = b'{"key": "'
"""How each line begins, by which a file of rows is known."""


def replay_key(request: str, occurrence: int) -> str:
    """Return the digest by which a reply is found in a replay, as a cassette finds it.

    Args:
        request: digest of the request, as the ledger has it.
        occurrence: which of equal requests it is, from 1.
    """
    return digest([request, occurrence])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowReply(BodyFacts):
    """Reply to one row, or why there is none.

    Args:
        row: the row's place, from 0.
        key: digest of its request with the address and, of equal requests, which it is.
        request: digest of the request, as the ledger has it.
        occurrence: which of equal requests it is, from 1.
        service: what the ledger calls the service.
        text: the reply as far as it came; ``None`` where nothing did.
        value: what a reply in JSON holds, or the instance of its schema; of this run alone.
        error: what went wrong, in one line; ``None`` where the reply is whole and of its form.
        ended_at: when it had ended, aware, in UTC.
    """

    row: int = json_field(exact_count, required=True)
    key: str = json_field(exact_digest, required=True)
    request: str = json_field(exact_digest, required=True)
    occurrence: int = json_field(exact_count, required=True)
    service: str | None = json_field(exact_text)
    text: str | None = json_field(exact_text)
    error: str | None = json_field(exact_text)
    ended_at: datetime | None = json_field(exact_time, iso)
    value: Any = None

    def __repr__(self) -> str:
        """Return what a person looks for in a list of many."""
        value = "" if self.value is None else f", value={self.value!r}"
        return f"RowReply(row={self.row}, text={self.text!r}{value}, error={self.error!r})"

    @property
    def replay_key(self) -> str:
        """Digest by which it is found in a replay, whatever the service and the model."""
        return replay_key(self.request, self.occurrence)

    @classmethod
    def from_line(cls, line: bytes) -> Self:
        """Read a line.

        Raises:
            ValueError: it is none of a job's file.
        """
        value = json.loads(line)
        if not isinstance(value, Mapping):
            raise ValueError("a line is a JSON object")
        known = {name: item for name, item in value.items() if item != ""}
        if "error" not in known:
            known.setdefault("text", "")
        return cls(**{**fields_from_json(cls, known), "usage": Usage.from_json(known)})

    def to_line(self) -> bytes:
        """Return it as a line: flat, with every name, and an empty text for one that is absent.

        So a table that is read of it in blocks has the same columns of the same types in each.
        """
        own = [item.name for item in fields(self) if "read" in item.metadata]
        counts = [item.name for item in fields(Usage)]
        line = dict.fromkeys(("key", *own), "") | fields_to_json(self) | dict.fromkeys(counts)
        line |= {} if self.usage is None else self.usage.to_json()
        line.pop("usage")
        text = without_lone_surrogates(json.dumps(line, ensure_ascii=False))
        return text.encode() + b"\n"
