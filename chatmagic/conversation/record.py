"""A turn's record in an output's metadata: its fields, reading, writing, and its seal.

A notebook may come from anyone, so reading is strict: an invalid field raises :exc:`ValueError`,
never another error. Unknown fields are ignored, and a missing field is the same
as a null one.

The seal is one digest over all values of a record and every form of its output. A program that
saves a notebook may write it differently without changing it: a text as a list of its lines,
``1.0`` as ``1``, fields in another order. So the seal is made of parsed values, in one form. It is
no signature: an edited record that is sealed again is not detected.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, replace
from functools import partial
from operator import methodcaller
from typing import Any, Final, Literal, Self

from chatmagic._json import (
    digest,
    exact_count,
    exact_digest,
    exact_text,
    fields_from_json,
    fields_to_json,
    json_field,
    sparse_field,
    tuple_of,
    whole_number,
    word_of,
)
from chatmagic.conversation.question import NO_PARAMETERS, Parameters, Value, switch
from chatmagic.models import Origin, ReplyFacts, State

VERSION: Final = 1
"""The version of records and of saved conversations that this release writes and reads."""

Did = Literal["undo", "redo", "reset"]

_OWNER: Final = "[0-9A-Za-z_-]{1,64}"


class NewerVersionError(ValueError):
    """Record that was written by a release after this one."""


def owner_from(value: object) -> str:
    """Return a cell's hash from a file.

    Args:
        value: any value from an untrusted file.

    Raises:
        ValueError: the value is no such hash.
    """
    if not isinstance(value, str) or not re.fullmatch(_OWNER, value):
        raise ValueError("not an owner")
    return sys.intern(value)  # each saved turn has it three times


def _earlier(value: object) -> tuple[int, str]:
    """Read the number of carried turns before the listed ones, and their chain digest."""
    facts = value if isinstance(value, Mapping) else {}
    count = whole_number(facts.get("count"))
    if not count:
        raise ValueError("not a number of turns")
    return count, exact_digest(facts.get("chain"))


def _earlier_to_json(earlier: tuple[int, str | None]) -> dict[str, Any] | None:
    """Return the same as JSON; ``None`` if there are no such turns."""
    count, chain = earlier
    return {"count": count, "chain": chain} if count else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(ReplyFacts):
    """Facts of a turn in the metadata of its output.

    Args:
        prompt: the prompt as typed, with expressions in place of inserted values.
        values: the inserted values, each with its expression, size and digest, and with its text if
            values are kept.
        state: ``complete``, ``interrupted`` or ``cut off``.
        owner: hash of the cell that owns the turn; ``None`` without one.
        carried: digests of the newest turns that the request carried, oldest first, from the last
            one that a cell showed.
        request: digest of the canonical request without its Markdown cells. Earlier records have
            that in the field ``without_markdown``.
        reply: digest of the reply's text.
        parameters: the fields of :class:`Parameters` that were set.
        origin: ``live``, ``replay`` or ``emulator``.
        turn: the digest by which a later record names this turn.
        asked_model: name of the requested model, if any.
        instructions: the standing instructions that the request carried, without their text.
        in_place_of: digests of the turns with the earlier replies to its question, if it replaces
            one of them (rule 20).
        picked: whether the reply is an earlier one that was put back.
        continues: digest of the turn whose reply this one continues (rule 22). Then ``turn`` names
            the turn with both parts, and ``reply`` only this part.
        compared: whether it is one of several replies that were asked for together, each with other
            settings.
        afresh: whether this part began the reply again, and stands alone, without the first part.
        alike: whether this part begins as the first part does, but too briefly to tell whether the
            model began again; both are kept.
        cut: number of the first characters of this part that the joined reply leaves out.
        seams: the last words before each place where a later part was joined; of a part, those
            before its own place.
        block: line that opens the code block in which this part continues; ``None`` for none.
        placeholder: the first ``{name}`` or ``$name`` in the prompt that named a variable and was
            sent as typed; ``None`` for none.
        earlier: number of the carried turns before those in ``carried``, and the chain digest of
            these, ``None`` if there are none.
    """

    prompt: str = json_field(exact_text, default=MISSING, required=True)
    state: State = json_field(word_of(State), default=MISSING, required=True)
    carried: tuple[str, ...] = json_field(tuple_of(exact_digest), list, ())
    request: str = json_field(exact_digest, default=MISSING, required=True)
    reply: str = json_field(exact_digest, default=MISSING, required=True)
    origin: Origin = json_field(word_of(Origin), default=MISSING, required=True)
    values: tuple[Value, ...] = json_field(
        tuple_of(Value.from_json), lambda values: [value.to_json() for value in values] or None, ()
    )
    owner: str | None = json_field(owner_from)
    parameters: Mapping[str, Any] = json_field(
        partial(fields_from_json, Parameters), lambda given: dict(given) or None, MISSING
    )
    turn: str | None = json_field(exact_digest)
    asked_model: str | None = json_field(exact_text)
    instructions: Value | None = json_field(Value.from_json, methodcaller("to_json"))
    in_place_of: tuple[str, ...] = json_field(
        tuple_of(exact_digest), lambda digests: list(digests) or None, ()
    )
    continues: str | None = json_field(exact_digest)
    cut: int = sparse_field(exact_count, default=0)
    block: str | None = json_field(exact_text)
    placeholder: str | None = json_field(exact_text)
    picked: bool = False
    compared: bool = sparse_field(switch, default=False)
    afresh: bool = sparse_field(switch, default=False)
    alike: bool = sparse_field(switch, default=False)
    seams: tuple[str, ...] = json_field(tuple_of(exact_text), lambda words: list(words) or None, ())
    earlier: tuple[int, str | None] = json_field(_earlier, _earlier_to_json, (0, None))

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read the output of :meth:`to_json`, or any other value from an untrusted file.

        Args:
            value: the value in an output's metadata.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: it is no record of a turn, or has an invalid field.
        """
        kind = record_kind(value)
        if kind not in {"turn", "pick"} or not isinstance(value, Mapping):
            raise ValueError("it is not the record of a turn")
        request = value.get("without_markdown")
        if request is not None:  # of an earlier release
            value = {**value, "request": request}
        known = {"parameters": NO_PARAMETERS, **fields_from_json(cls, value)}
        return cls(**known, picked=kind == "pick")

    @property
    def in_history(self) -> bool:
        """Whether the turn was kept in its conversation, which ``--no-history`` prevents."""
        return self.parameters.get("history") is not False

    @property
    def bare(self) -> Self:
        """The same without the text of any value."""
        return replace(self, values=tuple(value.bare for value in self.values))

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON, for an output's metadata."""
        kind = "pick" if self.picked else "turn"
        return {"version": VERSION, "kind": kind, **fields_to_json(self)}


def record_kind(value: object) -> str:
    """Return the kind of record in an output's metadata, after a check of its version.

    Args:
        value: the value in the metadata under ``chatmagic``.

    Returns:
        ``turn``, ``pick``, ``instructions``, ``thread``, ``deletion``, ``hiding``, ``undo``,
        ``redo``, ``reset``, or any other word there.

    Raises:
        NewerVersionError: a later release wrote it.
        ValueError: it is no record.
    """
    if not isinstance(value, Mapping):
        raise ValueError("it is not a JSON object")
    version = value.get("version")
    kind = value.get("kind")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError("its 'version' cannot be read")
    if version > VERSION:
        raise NewerVersionError("a newer release of chatmagic wrote it")
    if not isinstance(kind, str):
        raise ValueError("its 'kind' cannot be read")
    return kind


def owner_of(cell: str, notebook: str = "") -> str:
    """Return the hash of a cell's identity, which may contain a path.

    Args:
        cell: the ``cellId`` of an execute request; in most front ends the id on disk.
        notebook: the identity of its notebook, if that is not the first one of its kernel. A copy
            of a notebook has cells with the same identities.
    """
    of_notebook = f" of {notebook}" if notebook else ""
    return digest(f"cell {cell}{of_notebook}")[:16]


def change_record(kind: Did) -> dict[str, Any]:
    """Return the record of an undo, a redo or a reset.

    Args:
        kind: the kind of change.
    """
    return {"version": VERSION, "kind": kind}


FIELD: Final = "seal"
"""The field of a record that holds its seal."""


def sealed(record: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with its seal.

    Args:
        record: the record as JSON.
        data: the output's data by type, such as ``text/html``.
    """
    return {**record, FIELD: _seal(record, data)}


def is_sealed(record: Mapping[str, Any], data: object) -> bool:
    """Return whether a record and its output are as they were sealed.

    Args:
        record: the record as JSON, from any file.
        data: the output's data by type, in any form that a notebook has.
    """
    try:
        return record.get(FIELD) == _seal(record, data if isinstance(data, Mapping) else {})
    except RecursionError:
        return False


def joined_lines(value: object) -> object:
    """Return a text, which may be given as a list of its lines; any other value as it is.

    Args:
        value: any JSON value.
    """
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return value


def _seal(record: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return the digest over the values of a record and all forms of its output."""
    values = {name: item for name, item in record.items() if name != FIELD}
    forms = {kind: joined_lines(item) for kind, item in data.items()}
    return digest(canonical([values, forms]))


def canonical(value: Any) -> Any:
    """Return a JSON value in the form that is the same for all programs that save it.

    Args:
        value: any JSON value.
    """
    if isinstance(value, Mapping):
        return {name: canonical(item) for name, item in value.items()}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    # A page saves a whole number for each integral value.
    return int(value) if isinstance(value, float) and value.is_integer() else value
