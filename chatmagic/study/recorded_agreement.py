"""Agreement as a file has it: that of a notebook's output, or of JSON in a file of its own.

The files are untrusted, and no seal is over an agreement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chatmagic._files import content_of
from chatmagic._json import (
    exact,
    exact_text,
    finite_number,
    json_of_file,
    tuple_of,
    whole_number,
)
from chatmagic.errors import InputError


@dataclass(frozen=True, slots=True)
class RecordedMeasure:
    """Measure of an agreement, as a file has it.

    Args:
        name: the measure, with the name of its answers among several.
        value: its value; ``None`` if it is not defined.
        low: lower end of its interval; ``None`` without one.
        high: upper end of its interval; ``None`` without one.
        n: number of rows; ``None`` is unknown.
        interval: kind of the interval; empty without one.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None
    interval: str


@dataclass(frozen=True, slots=True)
class RecordedAgreement:
    """Agreement, as a file has it.

    Args:
        where: name of the file, and the cell of a notebook.
        level: level of measurement of the labels.
        measures: its measures.
        notes: sentences on what they do not say.
    """

    where: str
    level: str
    measures: tuple[RecordedMeasure, ...]
    notes: tuple[str, ...]


def read_agreement(path: Path) -> RecordedAgreement:
    """Return the agreement of a file that ``json.dump(agreement.to_json(), file)`` wrote.

    Args:
        path: the file.

    Raises:
        InputError: it cannot be read, or is none.
    """
    try:
        return agreement_from(json_of_file(content_of(path) or b""), path.name)
    except ValueError:
        raise InputError(f"{path} holds no agreement.") from None


def agreement_from(value: object, where: str) -> RecordedAgreement:
    """Return the agreement of its JSON.

    Args:
        value: any JSON value, of an untrusted file.
        where: name of the file, and the cell of a notebook.

    Raises:
        ValueError: it is none.
    """
    fields = _object(value)
    return RecordedAgreement(
        where,
        exact_text(fields.get("level")),
        tuple_of(_measure)(fields.get("measures")),
        tuple_of(exact_text)(fields.get("notes")),
    )


_object: Final = exact(lambda value: value if isinstance(value, Mapping) else None)


def _measure(value: object) -> RecordedMeasure:
    """Return the measure of its JSON."""
    value = _object(value)
    of = exact_text(value.get("of", ""))
    name = exact_text(value.get("name"))
    return RecordedMeasure(
        name=f"{of}: {name}" if of else name,
        value=finite_number(value.get("value")),
        low=finite_number(value.get("low")),
        high=finite_number(value.get("high")),
        n=whole_number(value.get("n")),
        interval=exact_text(value.get("interval", "")),
    )
