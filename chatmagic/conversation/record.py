"""A turn's record: what an output's metadata keeps of it, and its JSON both ways.

A notebook comes from anywhere, so reading is strict where writing decides: a field that
is there and makes no sense raises :exc:`ValueError`, never anything else. Unknown fields
are ignored, and a missing field is the same as a null one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, get_args

from chatmagic import _json
from chatmagic._json import digest, iso, timestamp, whole_number
from chatmagic.models import Credits, Origin, State, Usage
from chatmagic.text import without_lone_surrogates

if TYPE_CHECKING:
    from datetime import datetime

VERSION: Final = 1
"""The version of records and of saved conversations that this release writes and reads."""

Did = Literal["undo", "redo", "reset"]

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LARGE: Final = re.compile(r"-?[1-9][0-9]{15,399}")
_OWNER: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")


class NewerVersionError(ValueError):
    """It was written by a release that came after this one."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value that ``{{ expression }}`` put into a prompt.

    Args:
        expression: as typed.
        size: length of the value's text in characters.
        sha256: digest of the value's text.
        text: the value's text; ``None`` where it is not kept.
    """

    expression: str
    size: int
    sha256: str
    text: str | None = None

    @classmethod
    def of(cls, expression: str, text: str) -> Self:
        """Give what ``{{ expression }}`` put in, with its text."""
        expression, text = map(without_lone_surrogates, (expression, text))
        return cls(expression, len(text), digest(text), text)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: it is not such an object, or its text is not what its digest says.
        """
        if not isinstance(value, Mapping):
            _wrong("values")
        expression, text = value.get("expression"), _text(value, "text")
        size = whole_number(value.get("size"))
        if not isinstance(expression, str) or size is None:
            _wrong("values")
        read = cls(expression, size, _hash(value.get("sha256"), "values"), text)
        if text is not None and cls.of(expression, text) != read:
            _wrong("values")
        return read

    @property
    def bare(self) -> Self:
        """The same without its text."""
        return replace(self, text=None)

    def to_json(self) -> dict[str, Any]:
        """Give it for a record."""
        kept = {} if self.text is None else {"text": self.text}
        return {"expression": self.expression, "size": self.size, "sha256": self.sha256, **kept}


@dataclass(frozen=True, slots=True)
class Record:
    """What an output's metadata keeps of a turn: nothing that a reader cannot see.

    Args:
        prompt: as typed; each inserted value stands as its expression.
        values: what was inserted, as expression, size and digest; with its text only where
            values are kept.
        state: ``complete``, ``interrupted`` or ``cut off``.
        owner: hash of the cell that owns the turn; ``None`` without one.
        carried: digests of the turns that the request carried, oldest first. Of a record that
            was read, only the newest: the last one that a cell showed, and those since.
        request: digest of the canonical request.
        reply: digest of the reply's text.
        parameters: ``max_tokens``, ``temperature``, ``last`` where they were set, ``stream``
            and ``history`` where they were off.
        model: name of the model, where it was told.
        usage: token counts, where they were told.
        credits: what the response said of the credits.
        took: about how many credits the turn took, as far as it was known then.
        finish_reason: in the service's own words.
        date: the response's own ``Date``.
        origin: ``live``, ``replay`` or ``emulator``.
        turn: the digest by which a later record names this turn.
        refusal: what a model said instead of answering (compatible servers).
        recorded: of a replayed reply, who answered when it was recorded.
        by_order: whether it was replayed for its place, as the request was another one.
        asked_model: name of the model that was asked for, where one was.
        earlier: how many turns the request carried before those in ``carried``.
        chain: chain digest of these earlier turns; ``None`` where there are none.
    """

    prompt: str
    values: tuple[Value, ...]
    state: State
    owner: str | None
    carried: tuple[str, ...]
    request: str
    reply: str
    parameters: Mapping[str, Any]
    model: str | None
    usage: Usage | None
    credits: Credits | None
    took: int | None
    finish_reason: str | None
    date: datetime | None
    origin: Origin
    turn: str | None = None
    refusal: str | None = None
    recorded: Origin | None = None
    by_order: bool = False
    asked_model: str | None = None
    earlier: int = 0
    chain: str | None = None

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what :meth:`to_json` wrote, or what anybody else put in its place.

        Raises:
            NewerVersionError: a later release wrote it.
            ValueError: it is no record of a turn, or a field of it makes no sense.
        """
        if kind_of(value) != "turn" or not isinstance(value, Mapping):
            raise ValueError("it is not the record of a turn")
        prompt, recorded = value.get("prompt"), value.get("recorded")
        if not isinstance(prompt, str):
            _wrong("prompt")
        owner, turn = _text(value, "owner"), value.get("turn")
        if owner is not None and not _OWNER.fullmatch(owner):
            _wrong("owner")
        figures, date = value.get("credits"), value.get("date")
        earlier, chain = _earlier(value.get("earlier"))
        if date is not None and timestamp(date) is None:
            _wrong("date")
        return cls(
            prompt=prompt,
            values=tuple(Value.from_json(item) for item in _list(value, "values")),
            state=_one_of(value.get("state"), State, "state"),
            owner=owner,
            carried=tuple(_hash(item, "carried") for item in _list(value, "carried")),
            request=_hash(value.get("request"), "request"),
            reply=_hash(value.get("reply"), "reply"),
            parameters=_parameters(value.get("parameters")),
            model=_text(value, "model"),
            usage=Usage.from_json(value.get("usage")),
            credits=None if figures is None else Credits.from_json(figures),
            took=whole_number(value.get("took")),
            finish_reason=_text(value, "finish_reason"),
            date=timestamp(date),
            origin=_one_of(value.get("origin"), Origin, "origin"),
            turn=None if turn is None else _hash(turn, "turn"),
            refusal=_text(value, "refusal"),
            recorded=None if recorded is None else _one_of(recorded, Origin, "recorded"),
            by_order=value.get("by_order") is True,
            asked_model=_text(value, "asked_model"),
            earlier=earlier,
            chain=chain,
        )

    @property
    def in_history(self) -> bool:
        """Whether the turn was kept in its conversation (not so with ``--no-history``)."""
        return self.parameters.get("history") is not False

    @property
    def bare(self) -> Self:
        """The same without the text of any value."""
        return replace(self, values=tuple(value.bare for value in self.values))

    def listing(self, shown: Container[str]) -> Self:
        """Return the same record with the newest turns alone listed, so that it stays short.

        Args:
            shown: digests of the turns that a cell shows; the newest of them that the request
                carried is the first that is listed.
        """
        start = next((n for n in range(len(self.carried))[::-1] if self.carried[n] in shown), 0)
        return replace(
            self,
            carried=self.carried[start:],
            earlier=self.earlier + start,
            chain=_json.chain_of(self.carried[:start], self.chain),
        )

    def to_json(self) -> dict[str, Any]:
        """Give the record for an output's metadata."""
        usage, figures = self.usage, self.credits
        known = {
            "values": [value.to_json() for value in self.values] or None,
            "owner": self.owner,
            "parameters": dict(self.parameters) or None,
            "model": self.model,
            "usage": None if usage is None else usage.to_json(),
            "credits": None if figures is None else figures.to_json(),
            "took": self.took,
            "finish_reason": self.finish_reason,
            "date": iso(self.date),
            "turn": self.turn,
            "refusal": self.refusal,
            "recorded": self.recorded,
            "by_order": self.by_order or None,
            "asked_model": self.asked_model,
            "earlier": {"count": self.earlier, "chain": self.chain} if self.earlier else None,
        }
        return {
            "version": VERSION,
            "kind": "turn",
            "prompt": self.prompt,
            "state": self.state,
            "carried": list(self.carried),
            "request": self.request,
            "reply": self.reply,
            "origin": self.origin,
            **{name: item for name, item in known.items() if item is not None},
        }


def kind_of(value: object) -> str:
    """Tell what kind of record an output's metadata holds, once its version is known.

    Args:
        value: what stands in the metadata under ``chatmagic``.

    Returns:
        ``turn``, ``undo``, ``redo``, ``reset``, or what else it says.

    Raises:
        NewerVersionError: a later release wrote it.
        ValueError: it is no record.
    """
    if not isinstance(value, Mapping):
        raise ValueError("it is not a JSON object")
    version, kind = value.get("version"), value.get("kind")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        _wrong("version")
    if version > VERSION:
        raise NewerVersionError("a newer release of chatmagic wrote it")
    if not isinstance(kind, str):
        _wrong("kind")
    return kind


def owner_of(cell: str) -> str:
    """Give the hash by which a cell is known; its identity is opaque, and may hold a path.

    Args:
        cell: the ``cellId`` of an execute request; in most front ends the id on disk.
    """
    return digest(f"cell {cell}")[:16]


def note(kind: Did) -> dict[str, Any]:
    """Give the record of something that was done to the conversation."""
    return {"version": VERSION, "kind": kind}


def _earlier(value: object) -> tuple[int, str | None]:
    """Read how many turns were carried before those that are listed, and their chain digest."""
    if value is None:
        return 0, None
    count = whole_number(value.get("count")) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not count:
        _wrong("earlier")
    return count, _hash(value.get("chain"), "earlier")


def _parameters(value: object) -> dict[str, Any]:
    """Read the parameters that have a meaning here; each has its own kind of value."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _wrong("parameters")
    found = {name: value[name] for name in _PARAMETERS if value.get(name) is not None}
    for name, item in found.items():
        # An integer that a page would round is kept as a text.
        if int in _PARAMETERS[name] and isinstance(item, str) and _LARGE.fullmatch(item):
            found[name] = int(item)
    for name, item in found.items():
        kinds = _PARAMETERS[name]
        if not isinstance(item, kinds) or (isinstance(item, bool) and bool not in kinds):
            _wrong("parameters")
        if isinstance(item, float) and not math.isfinite(item):
            _wrong("parameters")
    if found.get("last", 0) < 0:
        _wrong("parameters")
    return found


_PARAMETERS: Final[Mapping[str, tuple[type, ...]]] = {
    "max_tokens": (int,),
    "temperature": (int, float),
    "last": (int,),
    "stream": (bool,),
    "history": (bool,),
}


def _one_of(value: object, words: Any, name: str) -> Any:
    if not isinstance(value, str) or value not in get_args(words):
        _wrong(name)
    return value


def _text(value: Mapping[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        _wrong(name)
    return text


def _list(value: Mapping[str, Any], name: str) -> list[Any]:
    items = value.get(name)
    if items is not None and not isinstance(items, list):
        _wrong(name)
    return items or []


def _hash(value: object, name: str) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        _wrong(name)
    return value


def _wrong(name: str) -> NoReturn:
    raise ValueError(f"its {name!r} cannot be read") from None
