"""Rows that persons review: the texts that they read, each row's key, and the model's labels."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from chatmagic._json import digest
from chatmagic.errors import InputError
from chatmagic.safe_text import one_line, without_lone_surrogates
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.rows import IT
from chatmagic.study.answers import Scale, cell, rows_of

_OF_MODEL: Final = frozenset({"reply", "value", "error", "agree", "replies"})
"""Columns of a map's result, which tell the model's label."""
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class ReviewRows:
    """Rows of a table that is reviewed.

    Args:
        columns: the columns that a person reads.
        texts: their texts, row by row.
        model_labels: the model's label of each row; ``None`` where it has none.
        keys: a name for each row, by which the file knows it: a digest of its texts, so a table may
            get other columns, answers and rows.
    """

    columns: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    model_labels: tuple[str | None, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, frame: Any, show: str | Sequence[str] | None, model: str) -> Self:
        """Return the rows of a table.

        Args:
            frame: a table of pandas, polars or pyarrow, a dict of columns, or a list of dicts.
            show: the columns that a person reads; ``None`` for the only one that is not the
                model's.
            model: the column with the model's label.

        Raises:
            InputError: there is no row, or it is not known which columns a person reads.
        """
        rows = rows_of(frame)
        if not rows:
            raise InputError("The table has no rows.")
        if isinstance(rows[0][IT], RowReply):
            raise InputError(
                "The replies of a map do not hold the texts that a person is to read.",
                hint='Give both: {"text": texts, "reply": [reply.text for reply in replies]}.',
            )
        columns = _columns_to_show(rows[0], show, model)
        texts = tuple(tuple(_text(cell(row, column)) for column in columns) for row in rows)
        labels = tuple(Scale("nominal", None).label(row.get(model)) for row in rows)
        return cls(columns, texts, labels, _keys(texts))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.keys)

    @property
    def places(self) -> dict[str, int]:
        """The place of each row, from 0, by its key."""
        return {key: place for place, key in enumerate(self.keys)}

    @property
    def text_digest(self) -> str:
        """Digest of what a person reads."""
        return digest([list(self.columns), [list(row) for row in self.texts]])

    def in_random_order(self, seed: int) -> list[int]:
        """Return the places of the rows in a random order, which is the same on each machine.

        Args:
            seed: seed of the order.
        """
        ranks = [hashlib.sha256(f"{seed}:{key}".encode()).hexdigest() for key in self.keys]
        return sorted(range(len(self)), key=ranks.__getitem__)


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
    of_model = _OF_MODEL | {model}
    others = [name for name in row if name not in of_model and not name.startswith(f"{model}_")]
    names = [name for name in others if name != IT]
    if len(names) == 1:
        return tuple(names)
    if not names and isinstance(row[IT], str):
        return (IT,)
    there = one_line(", ".join(names), _SHOWN) or "none"
    raise InputError(
        f"Which columns is a person to read? Besides the model's there are: {there}.",
        hint='show="text" names them; no other is shown, as it may tell a label.',
    )


def _text(value: Any) -> str:
    """Return the text of a value that a person reads."""
    return "" if value is None else without_lone_surrogates(str(value))


def _keys(texts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return a name for each row: the digest of its texts, and of its number among equal ones."""
    seen: Counter[str] = Counter()
    keys = []
    for row in texts:
        of_texts = digest(list(row))
        seen[of_texts] += 1
        keys.append(digest([of_texts, seen[of_texts]]))
    return tuple(keys)
