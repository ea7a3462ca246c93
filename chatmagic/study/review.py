"""Review of a study: a random sample of its rows, which persons label without the model's labels.

The labels are in a file, a line of JSON each, to which lines are only added. A row is identified by
the text that a person reads, so a table may get more columns, other answers and more rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from chatmagic._files import content_of, replace_content
from chatmagic._json import digest, iso
from chatmagic.errors import InputError
from chatmagic.safe_text import counted, one_line, without_lone_surrogates
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.rows import IT
from chatmagic.study import review_csv
from chatmagic.study.answers import Scale, cell, listed, rows_of
from chatmagic.study.review_csv import ReviewRow
from chatmagic.study.review_file import Drawn, Judgement, ReviewFile, add_lines

KEYS: Final = "123456789acdefghijklmopqrtuvwxyz"
"""Keys of the labels, in their order; b goes back, n takes a note, s skips."""
GOLD: Final = "gold"
"""Name of the labels of a reviewer without a name."""
_OF_MODEL: Final = frozenset({"reply", "value", "error", "agree", "replies"})
"""Columns of a map's result, which tell the model's label."""
_SHOWN: Final = 60


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
        rows = rows_of(frame)
        if not rows:
            raise InputError("The table has no rows.")
        if n < 1:
            raise InputError(f"n is a number of rows from 1, not {n}.")
        if isinstance(rows[0][IT], RowReply):
            raise InputError(
                "The replies of a map do not hold the texts that a person is to read.",
                hint='Give both: {"text": texts, "reply": [reply.text for reply in replies]}.',
            )
        self.labels = _labels(labels)
        self.reviewer = without_lone_surrogates(reviewer).strip() or GOLD
        self.show = _columns_to_show(rows[0], show, model)
        self._texts = [[_text(cell(row, column)) for column in self.show] for row in rows]
        self._of_model = [Scale("nominal", None).label(row.get(model)) for row in rows]
        self._keys = _keys(self._texts)
        self._places = {key: place for place, key in enumerate(self._keys)}
        name = file or f"review-{digest([list(self.show), self._texts])[:12]}.jsonl"
        self.file = Path(name)
        self._told: set[int] = set()
        """Places of the rows whose model's label was told to this reviewer."""
        held = ReviewFile.of(self.file)
        drawn = held.drawn
        self._judgements = list(held.judgements)
        if drawn is not None and seed not in {None, drawn.seed}:
            raise InputError(
                f"{self.file.name} has a sample that was drawn with seed {drawn.seed}, and not "
                f"{seed}.",
                hint="file=… begins another review.",
            )
        self.seed = drawn.seed if drawn is not None else seed or 0
        by_chance = sorted(range(len(rows)), key=lambda place: _rank(self.seed, self._keys[place]))
        self.sample = tuple(by_chance[:n])
        """Places of the rows to review, from 0, in the order in which they are shown."""
        self._drawn = Drawn(self.seed, n, len(rows), self.labels, self.show, "")
        self._is_drawn = drawn is not None and self._drawn == drawn.without_time

    # --- What is shown --------------------------------------------------------------------------

    def text(self, place: int) -> list[tuple[str, str]]:
        """Return what a person reads of a row: names of columns, and texts.

        Args:
            place: the row's place, from 0.
        """
        return list(zip(self.show, self._texts[place], strict=True))

    def model_label(self, place: int) -> str | None:
        """Return the model's label of a row, if this reviewer has given one; else ``None``.

        Args:
            place: the row's place, from 0.
        """
        if not any(each.label is not None for each in self._of(place)):
            return None
        self._told.add(place)
        return self._of_model[place]

    def judgement(self, place: int) -> Judgement | None:
        """Return the last judgement of a row by this reviewer.

        Args:
            place: the row's place, from 0.
        """
        return next(reversed(self._of(place)), None)

    def _of(self, place: int) -> list[Judgement]:
        key = self._keys[place]
        return [e for e in self._judgements if e.key == key and e.reviewer == self.reviewer]

    # --- Labels ---------------------------------------------------------------------------------

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
        seen = place in self._told
        note = without_lone_surrogates(note).strip()
        now = iso(datetime.now(UTC)) or ""
        given = Judgement(self._keys[place], self.reviewer, label, note, seen, now)
        lines: list[dict[str, Any]] = [asdict(given)]
        if not self._is_drawn:
            lines.insert(0, replace(self._drawn, at=now).to_json())
        add_lines(self.file, lines)
        self._is_drawn = True
        self._judgements.append(given)

    def _check_drawn(self, place: int, where: str) -> None:
        """Refuse a row outside the sample, unless it was judged before, in an earlier sample."""
        key = self._keys[place]
        if place not in self.sample and not any(item.key == key for item in self._judgements):
            raise InputError(
                f"{where}: this row was not drawn into the sample. Nothing was recorded.",
                hint="A larger n draws more rows.",
            )

    @property
    def gold(self) -> list[str | None]:
        """The labels of this reviewer, row by row; ``None`` where there is none."""
        return self.columns.get(self.reviewer, [None] * len(self._keys))

    @property
    def columns(self) -> dict[str, list[str | None]]:
        """The labels of each reviewer by name, row by row, as the file has them now."""
        self._judgements = list(ReviewFile.of(self.file).judgements)
        columns: dict[str, list[str | None]] = {}
        for each in self._judgements:
            column = columns.setdefault(each.reviewer, [None] * len(self._keys))
            if each.key in self._places:
                column[self._places[each.key]] = each.label
        return columns

    @property
    def reviewed(self) -> int:
        """Number of the drawn rows that this reviewer has labelled."""
        return sum(self._is_labelled(place) for place in self.sample)

    def _is_labelled(self, place: int) -> bool:
        judgement = self.judgement(place)
        return judgement is not None and judgement.label is not None

    def to_json(self) -> dict[str, Any]:
        """Return how the sample was drawn, and what each person did, as of the file."""
        held = ReviewFile.of(self.file)
        return replace(held, draws=held.draws or (self._drawn,)).to_json()

    # --- Without a page -------------------------------------------------------------------------

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
        rows = []
        for place in self.sample:
            given = self.judgement(place)
            label = None if given is None else given.label
            note = "" if given is None else given.note
            rows.append(ReviewRow(review_csv.row_id(self._keys[place]), label or "", note))
        texts = [self._texts[place] for place in self.sample]
        content = review_csv.to_text(self.show, texts, rows)
        try:
            replace_content(target, content.encode("utf-8-sig"))
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(f"{target.name} cannot be written: {why}.") from None

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
        places = {review_csv.row_id(key): place for key, place in self._places.items()}
        new = []
        for number, row in review_csv.rows_of(content, source.name):
            where = f"{source.name}, line {number}"
            label = self._typed_label(row.label, where)
            if label is None:
                continue
            if row.id not in places:
                raise InputError(f"{where}: the table has no such row.")
            place = places[row.id]
            self._check_drawn(place, where)
            note = review_csv.as_typed(row.note)
            before = self.judgement(place)
            if before is None or (before.label, before.note) != (label, note):
                new.append((place, label, note))
        for place, label, note in new:
            self.give(place, label, note)
        return len(new)

    def _typed_label(self, text: str, where: str) -> str | None:
        typed = text.strip()
        if not typed:
            return None
        for label in (typed, review_csv.as_typed(typed)):
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
            f"drawn from {len(self._keys):,} with seed {self.seed}; {self.file.name}>"
        )


def _labels(labels: Iterable[Any]) -> tuple[str, ...]:
    found = Scale.of("nominal", listed("labels", labels)).labels or ()
    if not found or len({*found}) < len(found) or len(found) > len(KEYS):
        raise InputError(
            f"labels is a list of 1 to {len(KEYS)} different labels: each has a key of its own."
        )
    return tuple(without_lone_surrogates(label) for label in found)


def _columns_to_show(
    row: Mapping[str, Any], show: str | Sequence[str] | None, model: str
) -> tuple[str, ...]:
    """Return the columns that a person reads, none of which tells the model's label."""
    if show is not None:
        chosen = (show,) if isinstance(show, str) else tuple(show)
        if model in chosen:
            raise InputError(
                f"{one_line(model)} is the model's label, which is hidden until the person's is "
                "given."
            )
        return chosen
    own = _OF_MODEL | {model}
    others = [name for name in row if name not in own and not name.startswith(f"{model}_")]
    names = [name for name in others if name != IT]
    if len(names) == 1:
        return tuple(names)
    if not names and isinstance(row[IT], str):
        return (IT,)
    listed = one_line(", ".join(names), _SHOWN) or "none"
    raise InputError(
        f"Which columns is a person to read? Besides the model's there are: {listed}.",
        hint='show="text" names them; no other is shown, as it may tell a label.',
    )


def _text(value: Any) -> str:
    return "" if value is None else without_lone_surrogates(str(value))


def _keys(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return a name for each row: the digest of its text, and of its number among equal ones."""
    seen: Counter[str] = Counter()
    keys = []
    for row in texts:
        of_text = digest(list(row))
        seen[of_text] += 1
        keys.append(digest([of_text, seen[of_text]]))
    return keys


def _rank(seed: int, key: str) -> str:
    """Return the place of a row in a random order, which is the same on each machine."""
    return hashlib.sha256(f"{seed}:{key}".encode()).hexdigest()
