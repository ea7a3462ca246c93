"""Reviews and agreements in files, as a report of methods reads them.

The files are untrusted, and are read line by line: a line that is none is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chatmagic._files import content_of
from chatmagic._json import exact_text, finite_number, json_of_file, timestamp, whole_number
from chatmagic.errors import InputError

BEGINNING: Final = b'{"review": '
"""Beginning of the file of a review."""
_FORM: Final = 1
_AGREEMENT: Final = frozenset({"level", "measures", "notes"})


@dataclass(slots=True)
class Reviewer:
    """Labels of one person.

    Args:
        labels: the last label of each row by its key; a skipped row has ``None``.
        changed: number of labels that were changed after the model's label was shown.
        first: time of the first label, as the file has it.
        last: time of the last label, as the file has it.
    """

    labels: dict[str, str | None] = field(default_factory=dict)
    changed: int = 0
    first: str = ""
    last: str = ""

    @property
    def labelled(self) -> int:
        """Number of the rows with a label."""
        return sum(label is not None for label in self.labels.values())


@dataclass(slots=True)
class ReviewFile:
    """A person's review, or that of several persons.

    Args:
        path: the path, as it was given.
        seed: the seed of the random sample.
        n: number of the rows to review.
        rows: number of all rows.
        reviewers: the persons by the names in the file.
        unread: number of lines that cannot be read.
    """

    path: str
    seed: int = 0
    n: int = 0
    rows: int = 0
    reviewers: dict[str, Reviewer] = field(default_factory=dict)
    unread: int = 0


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
class AgreementFile:
    """Agreement, as ``json.dump(agreement.to_json(), file)`` writes it.

    Args:
        path: the path, as it was given.
        level: level of measurement of the labels.
        measures: its measures.
        notes: sentences on what they do not say.
    """

    path: str
    level: str
    measures: tuple[RecordedMeasure, ...]
    notes: tuple[str, ...]


def read_review(path: Path) -> ReviewFile:
    """Return a review.

    Args:
        path: the file.

    Raises:
        InputError: it cannot be read, or does not say how its sample was drawn.
    """
    review = ReviewFile(str(path))
    is_drawn = False
    for line in (content_of(path) or b"").splitlines():
        value = _object(line)
        if value is not None and value.get("review") == _FORM:
            numbers = [whole_number(value.get(name)) for name in ("seed", "n", "rows")]
            if None not in numbers:
                review.seed, review.n, review.rows = (number or 0 for number in numbers)
                is_drawn = True
        elif value is None or not _add_label(value, review):
            review.unread += bool(line.strip())
    if not is_drawn:
        raise InputError(f"{path} is no file of a review.")
    return review


def _add_label(value: Mapping[str, Any], review: ReviewFile) -> bool:
    """Add a line's label; return whether it is one."""
    key, name, label, at = (value.get(field) for field in ("key", "reviewer", "label", "at"))
    if not isinstance(key, str) or not isinstance(name, str) or not isinstance(label, str | None):
        return False
    person = review.reviewers.setdefault(name, Reviewer())
    before = person.labels.get(key)
    is_told = value.get("seen") is True and label is not None and before is not None
    person.changed += is_told and before != label
    person.labels[key] = label
    if timestamp(at) is not None:
        person.first = min(person.first or str(at), str(at))
        person.last = max(person.last, str(at))
    return True


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json_of_file(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def read_agreement(path: Path) -> AgreementFile:
    """Return an agreement.

    Args:
        path: the file.

    Raises:
        InputError: it cannot be read, or is none.
    """
    value = _object(content_of(path) or b"")
    if value is None or not value.keys() >= _AGREEMENT or not isinstance(value["measures"], list):
        raise InputError(f"{path} is no notebook, no cassette, no map, no review, no agreement.")
    try:
        measures = tuple(map(_measure, value["measures"]))
        notes = tuple(exact_text(note) for note in value["notes"])
        return AgreementFile(str(path), exact_text(value["level"]), measures, notes)
    except (ValueError, TypeError, AttributeError):
        raise InputError(f"{path} is no agreement: one of its measures cannot be read.") from None


def _measure(value: Mapping[str, Any]) -> RecordedMeasure:
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
