"""Columns of replies: their names and their values, without the types of a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chatmagic.errors import InputError
from chatmagic.session.map.repeats import RepeatedReply
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.map.rows import names_of


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of a map's result.

    Args:
        name: name of the column of replies, with which the names of the others begin; ``None``
            stands for ``reply``, ``value`` and ``error``.
        is_parsed: whether the replies have values beside their texts.
        fields: the fields of the values that get columns of their own, in place of the values.
        repeats: number of times that each row was asked.
    """

    name: str | None = None
    is_parsed: bool = False
    fields: tuple[str, ...] = ()
    repeats: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.of(()))

    def of(self, replies: Sequence[RowReply]) -> dict[str, list[Any]]:
        """Return the columns by their names.

        Args:
            replies: a reply for each row, in order.
        """
        columns: dict[str, list[Any]] = {self.name or "reply": [reply.text for reply in replies]}
        values = [reply.value for reply in replies]
        for field in self.fields:
            columns[self.name_of(field)] = [_field(value, field) for value in values]
        if self.is_parsed and not self.fields:
            columns[self.name_of("value")] = values
        if self.repeats > 1:
            each = [reply for reply in replies if isinstance(reply, RepeatedReply)]
            columns[self.name_of("agree")] = [reply.agree for reply in each]
            columns[self.name_of("replies")] = [reply.answers for reply in each]
        columns[self.name_of("error")] = [reply.error for reply in replies]
        return columns

    @property
    def makes_table(self) -> bool:
        """Whether the result for a Series is a table, as it has several columns."""
        return bool(self.fields) or self.repeats > 1

    @property
    def name_of_values(self) -> str:
        """The name of the column that is the result for a Series: the values, or the replies."""
        has_values = self.is_parsed and not self.makes_table
        return self.name_of("value") if has_values else self.names[0]

    def name_of(self, name: str) -> str:
        """Return the name of a column of the result beside the replies.

        Args:
            name: the field, or ``value``, ``agree``, ``replies`` or ``error``.
        """
        return name if self.name is None else f"{self.name}_{name}"

    def refuse_taken(self, source: Any) -> None:
        """Raise an error if a table already has one of the columns.

        Args:
            source: the rows as they were given.

        Raises:
            InputError: the table has such a column.
        """
        taken = {str(name) for name in names_of(source)}
        for name in self.names:
            if name in taken:
                raise InputError(
                    f"The rows have a column {name} already, which the result would replace. "
                    "Nothing was sent.",
                    hint='column="…" names the result.',
                )


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
