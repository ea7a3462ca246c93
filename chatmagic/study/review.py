"""Review of a study: a random sample of its rows, which persons label without the model's labels.

The labels are in a file, a line of JSON each, to which lines are only added. A row is identified by
the text that a person reads, so a table may get more columns, other answers and more rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from chatmagic._cached import cached_property
from chatmagic._files import content_of, replace_content
from chatmagic._json import iso
from chatmagic.errors import InputError
from chatmagic.safe_text import counted, one_line, without_lone_surrogates
from chatmagic.study import review_csv
from chatmagic.study.answers import Scale, listed
from chatmagic.study.review_csv import ReviewRow
from chatmagic.study.review_file import Judgement, ReviewFile, ReviewRecorder, SampleDraw
from chatmagic.study.review_rows import ReviewRows

KEYS: Final = "123456789acdefghijklmopqrtuvwxyz"
"""Keys of the labels, in their order; b goes back, n takes a note, s skips."""
GOLD: Final = "gold"
"""Name of the labels of a reviewer without a name."""


class Review:
    """Sample of the rows of a table, and the labels that persons gave.

    Args:
        frame: a table of pandas, polars or pyarrow, a dict of columns, or a list of dicts.
        labels: the labels to choose from.
        n: number of rows to review.
        seed: seed of the sample; ``None`` for that of the file, or 0.
        show: the columns that a person reads; ``None`` for the only one that is not the model's.
        model: the column with the model's label, which is shown after the person's.
        file: the file; ``None`` for one in the working folder, named for the texts.
        reviewer: the person's name.

    Raises:
        InputError: the table, the labels or the file do not fit.
    """

    def __init__(
        self,
        frame: Any,
        labels: Iterable[Any],
        *,
        n: int = 50,
        seed: int | None = None,
        show: str | Sequence[str] | None = None,
        model: str = "reply",
        file: str | Path | None = None,
        reviewer: str = GOLD,
    ) -> None:
        """Read the file, and draw the sample."""
        rows = ReviewRows.of(frame, show, model)
        if n < 1:
            raise InputError(f"n is a number of rows from 1, not {n}.")
        path = Path(file or f"review-{rows.text_digest[:12]}.jsonl")
        content = ReviewFile.of(path)
        self._rows = rows
        self.labels = _labels(labels)
        self.reviewer = without_lone_surrogates(reviewer).strip() or GOLD
        self.seed = _seed_of_sample(path.name, content.drawn, seed)
        self.sample = tuple(rows.in_random_order(self.seed)[:n])
        """Places of the rows to review, from 0, in the order in which they are shown."""
        draw = SampleDraw(self.seed, n, len(rows), self.labels, rows.columns, "")
        self._recorder = ReviewRecorder(path, content, draw)
        self._told: set[int] = set()
        """Places of the rows whose model's label was told to this reviewer."""

    @property
    def show(self) -> tuple[str, ...]:
        """The columns that a person reads."""
        return self._rows.columns

    @property
    def file(self) -> Path:
        """The file of the labels."""
        return self._recorder.path

    def text(self, place: int) -> list[tuple[str, str]]:
        """Return what a person reads of a row: names of columns, and texts.

        Args:
            place: the row's place, from 0.
        """
        return list(zip(self.show, self._rows.texts[place], strict=True))

    def model_label(self, place: int) -> str | None:
        """Return the model's label of a row, if this reviewer has given one; else ``None``.

        Args:
            place: the row's place, from 0.
        """
        if not any(given.label is not None for given in self._judgements_of(place)):
            return None
        self._told.add(place)
        return self._rows.model_labels[place]

    def judgement(self, place: int) -> Judgement | None:
        """Return the last judgement of a row by this reviewer.

        Args:
            place: the row's place, from 0.
        """
        return next(reversed(self._judgements_of(place)), None)

    def _judgements_of(self, place: int) -> list[Judgement]:
        """Return the judgements of a row by this reviewer, in their order."""
        judgements = self._recorder.judgements_of(self._rows.keys[place])
        return [judgement for judgement in judgements if judgement.reviewer == self.reviewer]

    def give(self, place: int, label: str | None, note: str = "") -> None:
        """Record a label at once, in the file. An earlier one stays there; the last one counts.

        Args:
            place: the row's place, from 0.
            label: one of the labels; ``None`` skips the row.
            note: a note, in any words.

        Raises:
            InputError: there is no such label, or the row was not drawn.
            ChatError: the file cannot be written.
        """
        if label is not None and label not in self.labels:
            raise InputError(f"{one_line(repr(label))} is none of the labels.")
        self._check_drawn(place, f"Row {place}")
        judgement = Judgement(
            key=self._rows.keys[place],
            reviewer=self.reviewer,
            label=label,
            note=without_lone_surrogates(note).strip(),
            seen=place in self._told,
            at=iso(datetime.now(UTC)) or "",
        )
        self._recorder.add(judgement)

    def _check_drawn(self, place: int, where: str) -> None:
        """Refuse a row outside the sample, unless it was judged before, in an earlier sample."""
        is_judged = bool(self._recorder.judgements_of(self._rows.keys[place]))
        if place not in self.sample and not is_judged:
            raise InputError(
                f"{where}: this row was not drawn into the sample. Nothing was recorded.",
                hint="A larger n draws more rows.",
            )

    @property
    def gold(self) -> list[str | None]:
        """The labels of this reviewer, row by row; ``None`` where there is none."""
        return self.columns.get(self.reviewer, [None] * len(self._rows))

    @property
    def columns(self) -> dict[str, list[str | None]]:
        """The labels of each reviewer by name, row by row, as the file has them now."""
        self._recorder.read_again()
        places = self._rows.places
        columns: dict[str, list[str | None]] = {}
        for judgement in self._recorder.judgements:
            column = columns.setdefault(judgement.reviewer, [None] * len(self._rows))
            if judgement.key in places:
                column[places[judgement.key]] = judgement.label
        return columns

    @property
    def reviewed(self) -> int:
        """Number of the drawn rows that this reviewer has labelled."""
        judgements = map(self.judgement, self.sample)
        return sum(last is not None and last.label is not None for last in judgements)

    def to_json(self) -> dict[str, Any]:
        """Return how the sample was drawn, and what each person did, as of the file."""
        return self._recorder.to_json()

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file to fill in: the drawn rows, with columns ``label`` and ``note``.

        Args:
            path: the file, which does not exist yet.

        Raises:
            InputError: there is such a file, or it cannot be written.
        """
        target = Path(path)
        if target.exists():
            raise InputError(f"{target.name} exists already, and may be filled in: it is kept.")
        rows = [self._csv_row(place) for place in self.sample]
        texts = [self._rows.texts[place] for place in self.sample]
        content = review_csv.csv_text(self.show, texts, rows)
        try:
            replace_content(target, content.encode("utf-8-sig"))
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(f"{target.name} cannot be written: {why}.") from None

    def _csv_row(self, place: int) -> ReviewRow:
        """Return the row of a CSV file, with this reviewer's label and note if there are any."""
        id = review_csv.row_id(self._rows.keys[place])
        judgement = self.judgement(place)
        if judgement is None:
            return ReviewRow(id, "", "")
        return ReviewRow(id, judgement.label or "", judgement.note)

    def read_csv(self, path: str | Path) -> int:
        """Record the labels of a filled-in CSV file; return how many are new.

        Args:
            path: the file that :meth:`to_csv` wrote; commas, semicolons or tabs are between cells.

        Raises:
            InputError: it is no such file, or has another label; then nothing is recorded.
        """
        source = Path(path)
        content = content_of(source)
        if content is None:
            raise InputError(f"There is no file {source.name}.")
        new = []
        # All are checked before the first is recorded.
        for number, row in review_csv.filled_in_rows(content, source.name):
            if not row.label.strip():
                continue
            where = f"{source.name}, line {number}"
            label = self._typed_label(row.label.strip(), where)
            place = self._place_of(row, where)
            note = review_csv.typed_text(row.note)
            last = self.judgement(place)
            if last is None or (last.label, last.note) != (label, note):
                new.append((place, label, note))
        for place, label, note in new:
            self.give(place, label, note)
        return len(new)

    def _place_of(self, row: ReviewRow, where: str) -> int:
        """Return the place of a row of a CSV file, from 0; only drawn rows are accepted."""
        place = self._csv_places.get(row.id)
        if place is None:
            raise InputError(f"{where}: the table has no such row.")
        self._check_drawn(place, where)
        return place

    @cached_property
    def _csv_places(self) -> dict[str, int]:
        """The place of each row of the table, by its name in a CSV file."""
        return {review_csv.row_id(key): place for key, place in self._rows.places.items()}

    def _typed_label(self, typed: str, where: str) -> str:
        """Return the label that a cell names."""
        for label in (typed, review_csv.typed_text(typed)):
            if label in self.labels:
                return label
        raise InputError(
            f"{where}: {one_line(repr(typed))} is none of the labels. Nothing was recorded."
        )

    def __repr__(self) -> str:
        """Return the state of the review, and how to go on."""
        count = counted(len(self.sample), "row")
        return (
            f"<review: {self.reviewed:,} of {count} labelled by {one_line(self.reviewer)}, "
            f"drawn from {len(self._rows):,} with seed {self.seed}; {self.file.name}>"
        )


def _seed_of_sample(name: str, drawn: SampleDraw | None, seed: int | None) -> int:
    """Return the seed of a sample: that of the file, or the given one, or 0.

    Args:
        name: the file's name.
        drawn: how the file's sample was drawn; ``None`` for a new file.
        seed: the given seed; ``None`` for none.
    """
    if drawn is None:
        return seed or 0
    if seed not in {None, drawn.seed}:
        raise InputError(
            f"{name} has a sample that was drawn with seed {drawn.seed}, and not {seed}.",
            hint="file=… begins another review.",
        )
    return drawn.seed


def _labels(labels: Iterable[Any]) -> tuple[str, ...]:
    """Return the labels to choose from, of which each has a key."""
    choices = Scale.of("nominal", listed("labels", labels)).labels or ()
    if not choices or len({*choices}) < len(choices) or len(choices) > len(KEYS):
        raise InputError(
            f"labels is a list of 1 to {len(KEYS)} different labels: each has a key of its own."
        )
    return tuple(without_lone_surrogates(label) for label in choices)
