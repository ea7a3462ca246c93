"""Outcome of a job: the rows' own table with what came beside them, or a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from chatmagic.batch.rows import is_table
from chatmagic.errors import InputError
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatmagic.batch.row_reply import RowReply

REPLY: Final = "reply"
VALUE: Final = "value"
ERROR: Final = "error"


def columns(*, parsed: bool) -> list[str]:
    """Return the names of the columns that a table gets.

    Args:
        parsed: whether the replies have values beside their texts.
    """
    return [REPLY, *([VALUE] if parsed else []), ERROR]


def refuse_taken(source: Any, *, parsed: bool) -> None:
    """Refuse a table that has one of the columns already.

    Args:
        source: the rows as they were given.
        parsed: whether the replies have values beside their texts.

    Raises:
        InputError: it has one.
    """
    taken = {str(name) for name in source.columns} if is_table(source) else set()
    for name in columns(parsed=parsed):
        if name in taken:
            raise InputError(
                f"The rows have a column {one_line(name)} already, which the result "
                "would replace. Nothing was sent.",
                hint="Rename it, or take it out of the rows.",
            )


def of(source: Any, replies: Sequence[RowReply], *, parsed: bool) -> Any:
    """Return the rows with their replies, values and errors, or the replies as a list.

    Args:
        source: the rows as they were given.
        replies: one for each row, in order.
        parsed: whether the replies have values beside their texts.
    """
    if not is_table(source):
        return list(replies)
    known = {
        REPLY: [reply.text for reply in replies],
        VALUE: [reply.value for reply in replies],
        ERROR: [reply.error for reply in replies],
    }
    new = {name: known[name] for name in columns(parsed=parsed)}
    if hasattr(type(source), "hstack"):
        return source.hstack(type(source)(new))
    return source.assign(**new)
