"""File of a review: how its sample was drawn, and what persons judged; lines are only added."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from chatmagic._files import content_of, folder_lock, open_to_change
from chatmagic._json import json_of_file
from chatmagic.errors import ChatError, InputError

_FORM: Final = 1


@dataclass(frozen=True, slots=True)
class Judgement:
    """A person's label of one row.

    Args:
        key: the row's name in the file.
        reviewer: the person's name.
        label: the label; ``None`` for a row that was skipped.
        note: the person's note.
        seen: whether the model's label was shown to this person before.
        at: the time, in ISO 8601 and UTC.
    """

    key: str
    reviewer: str
    label: str | None
    note: str
    seen: bool
    at: str

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Judgement | None:
        """Return the judgement of a line; ``None`` if it is none.

        Args:
            value: the line's JSON.
        """
        names = ("key", "reviewer", "note", "at")
        texts = {name: value.get(name) for name in names}
        label = value.get("label")
        if not all(isinstance(text, str) for text in texts.values()):
            return None
        if not isinstance(label, str | None):
            return None
        return cls(
            key=str(texts["key"]),
            reviewer=str(texts["reviewer"]),
            label=label,
            note=str(texts["note"]),
            seen=value.get("seen") is True,
            at=str(texts["at"]),
        )


@dataclass(frozen=True, slots=True)
class SampleDraw:
    """How a sample was drawn, as the first line of a file has it.

    Args:
        seed: the seed: the sample are the rows whose SHA-256 with the seed comes first.
        n: number of the rows to review.
        rows: number of all rows.
        labels: the labels to choose from.
        show: the columns that a person reads.
        at: the time, in ISO 8601 and UTC.
    """

    seed: int
    n: int
    rows: int
    labels: tuple[str, ...]
    show: tuple[str, ...]
    at: str

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> SampleDraw | None:
        """Return how a sample was drawn, of a line; ``None`` if it does not say.

        Args:
            value: the line's JSON.
        """
        numbers = {name: value.get(name) for name in ("seed", "n", "rows")}
        lists = {name: value.get(name) for name in ("labels", "show")}
        if not all(type(number) is int for number in numbers.values()):
            return None
        if not all(isinstance(texts, list) for texts in lists.values()):
            return None
        return cls(
            seed=value["seed"],
            n=value["n"],
            rows=value["rows"],
            labels=tuple(map(str, value["labels"])),
            show=tuple(map(str, value["show"])),
            at=str(value.get("at")),
        )

    @property
    def without_time(self) -> SampleDraw:
        """The same sample, whenever it was drawn."""
        return replace(self, at="")

    def to_json(self) -> dict[str, Any]:
        """Return its line."""
        return {"review": _FORM, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Reviewer:
    """What one person did in a review.

    Args:
        reviewer: the person's name.
        labelled: number of rows whose last judgement is a label.
        skipped: number of rows whose last judgement is none.
        changed: number of labels that were changed after the model's label was shown.
    """

    reviewer: str
    labelled: int
    skipped: int
    changed: int


@dataclass(frozen=True, slots=True)
class ReviewFile:
    """What the file of a review holds.

    Args:
        draws: how the sample was drawn, each time that it was drawn in another way.
        judgements: all judgements, in their order.
        unread: number of lines that are neither, such as a damaged one.
    """

    draws: tuple[SampleDraw, ...]
    judgements: tuple[Judgement, ...]
    unread: int

    @classmethod
    def of(cls, path: Path) -> ReviewFile:
        """Return what a file holds.

        Args:
            path: the file, which may not exist yet.

        Raises:
            InputError: it is no file of a review, or cannot be read.
        """
        content = content_of(path)
        draws: list[SampleDraw] = []
        judgements: list[Judgement] = []
        unread = 0
        for line in (content or b"").splitlines():
            item = _read_line(line)
            if isinstance(item, SampleDraw):
                draws.append(item)
            elif isinstance(item, Judgement):
                judgements.append(item)
            elif line.strip():
                unread += 1
        if content and not draws:
            raise InputError(f"{path.name} is no file of a review.")
        return cls(tuple(draws), tuple(judgements), unread)

    @property
    def drawn(self) -> SampleDraw | None:
        """How the sample was drawn last; ``None`` for a file that does not exist yet."""
        return self.draws[-1] if self.draws else None

    def people(self) -> list[Reviewer]:
        """Return what each person did, in the order of their first judgements."""
        last: dict[str, dict[str, str | None]] = {}
        changed: Counter[str] = Counter()
        for judgement in self.judgements:
            labels = last.setdefault(judgement.reviewer, {})
            before = labels.get(judgement.key)
            is_changed = None not in {before, judgement.label} and before != judgement.label
            if judgement.seen and is_changed:
                changed[judgement.reviewer] += 1
            labels[judgement.key] = judgement.label
        return [
            Reviewer(
                name,
                labelled=sum(label is not None for label in labels.values()),
                skipped=sum(label is None for label in labels.values()),
                changed=changed[name],
            )
            for name, labels in last.items()
        ]

    def to_json(self) -> dict[str, Any]:
        """Return how the sample was drawn last, and what each person did, as JSON."""
        return {
            "drawn": None if self.drawn is None else asdict(self.drawn),
            "reviewers": [asdict(person) for person in self.people()],
        }


def _read_line(line: bytes) -> SampleDraw | Judgement | None:
    """Return what a line of a file records; ``None`` if it is damaged."""
    try:
        value = json_of_file(line)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    return SampleDraw.of(value) if value.get("review") == _FORM else Judgement.of(value)


class ReviewRecorder:
    """Recorder of the judgements of a review, in whose file each stands at once.

    Args:
        path: the file, which may not exist yet.
        content: its content.
        draw: how the sample is drawn, without the time. The file says so before the first
            judgement, unless it does already.
    """

    def __init__(self, path: Path, content: ReviewFile, draw: SampleDraw) -> None:
        """Record nothing yet."""
        self.path = path
        self.judgements = list(content.judgements)
        """All judgements in the file, in their order, as it was read last."""
        self._draw = draw
        self._is_drawn = content.drawn is not None and content.drawn.without_time == draw

    def judgements_of(self, key: str) -> list[Judgement]:
        """Return the judgements of a row, in their order.

        Args:
            key: the row's name in the file.
        """
        return [judgement for judgement in self.judgements if judgement.key == key]

    def read_again(self) -> None:
        """Read the judgements in the file anew, as other reviewers may have added some.

        Raises:
            InputError: the file cannot be read.
        """
        self.judgements = list(ReviewFile.of(self.path).judgements)

    def add(self, judgement: Judgement) -> None:
        """Add a judgement to the file.

        Args:
            judgement: the judgement.

        Raises:
            ChatError: the file cannot be written; nothing was added.
        """
        lines: list[dict[str, Any]] = [asdict(judgement)]
        if not self._is_drawn:
            lines.insert(0, replace(self._draw, at=judgement.at).to_json())
        add_lines(self.path, lines)
        self._is_drawn = True
        self.judgements.append(judgement)

    def to_json(self) -> dict[str, Any]:
        """Return how the sample was drawn, and what each person did, as of the file."""
        content = ReviewFile.of(self.path)
        return replace(content, draws=content.draws or (self._draw,)).to_json()


def add_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines to the file of a review, and bring them to the disk.

    Args:
        path: the file, which may not exist yet.
        lines: the lines' JSON.

    Raises:
        ChatError: the file cannot be written; no line was added.
    """
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    try:
        with folder_lock(path.absolute().parent), open_to_change(path) as file:
            end = file.seek(0, io.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # of a process that was killed
                    text = f"\n{text}"
            file.seek(end)
            _write(file, text.encode(), end)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ChatError(
            f"{path.name} cannot be written: {why}.", hint="The label was not recorded."
        ) from None


def _write(file: io.FileIO, content: bytes, end: int) -> None:
    """Write lines at the end of a file, whole or not at all, and bring them to the disk."""
    if file.write(content) != len(content):
        file.truncate(end)
        raise OSError("the disk is full")
    os.fsync(file.fileno())
