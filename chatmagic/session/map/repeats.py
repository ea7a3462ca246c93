"""Replies to a row that was asked several times: the most frequent answer, and its share.

An answer is the reply's value where JSON was asked for, and otherwise its text without blanks at
its ends. If several answers are equally frequent, none of them is the most frequent one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatmagic.advice import joined_sentences
from chatmagic.safe_text import one_line
from chatmagic.session.map.row_reply import RowReply

_LONGEST = 40


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RepeatedReply(RowReply):
    """Most frequent reply to a row that was asked several times, with all replies.

    Its place, model and times are those of the first reply with that answer; the usage of each is
    in ``replies``. ``error`` says how many replies failed, or which answers are tied.

    Args:
        replies: a reply for each time that the row was asked; some may have failed.
        agree: share of the most frequent answer among the replies that did not fail; ``None`` if
            all failed. For a tie it is that of each tied answer.
        tied: the answers that are equally frequent; empty if one is the most frequent.
    """

    replies: tuple[RowReply, ...] = ()
    agree: float | None = None
    tied: tuple[Any, ...] = ()

    @property
    def answers(self) -> list[Any]:
        """The answers in the order of the replies; ``None`` for a reply that failed."""
        return [_answer(reply) for reply in self.replies]

    def __repr__(self) -> str:
        """Return the row, the most frequent answer, its share, and the error."""
        answer = self.text if self.value is None else self.value
        share = None if self.agree is None else round(self.agree, 3)
        return (
            f"RepeatedReply(row={self.row}, answer={answer!r}, agree={share}, "
            f"replies={len(self.replies)}, error={self.error!r})"
        )


def together(replies: Sequence[RowReply], repeats: int) -> list[RepeatedReply]:
    """Return a reply for each row that was asked several times.

    Args:
        replies: the replies, those of a row beside one another.
        repeats: number of replies of each row.
    """
    begins = range(0, len(replies), repeats)
    return [_of_row(tuple(replies[begin : begin + repeats])) for begin in begins]


def _of_row(replies: tuple[RowReply, ...]) -> RepeatedReply:
    """Return the most frequent of the replies to a row, with all of them."""
    given = [reply for reply in replies if reply.error is None]
    answers = [_answer(reply) for reply in given]
    first = _most_frequent(answers)
    most = _count(answers, answers[first[0]]) if first else 0
    tied = tuple(answers[index] for index in first) if len(first) > 1 else ()
    problems = _failures(replies)
    if tied:
        words = ", ".join(one_line(str(answer), _LONGEST) for answer in tied)
        problems.append(f"A tie of {len(tied):,} answers, {most:,} times each: {words}.")
    shown = given[first[0]] if len(first) == 1 else replace(replies[0], text=None, value=None)
    return RepeatedReply(
        row=shown.row,
        key=shown.key,
        request=shown.request,
        occurrence=shown.occurrence,
        service=shown.service,
        model=shown.model,
        finish_reason=shown.finish_reason,
        ended_at=shown.ended_at,
        text=None if shown.text is None else shown.text.strip(),
        value=shown.value,
        error=joined_sentences(problems) or None,
        replies=replies,
        agree=most / len(given) if given else None,
        tied=tied,
    )


def _most_frequent(answers: Sequence[Any]) -> list[int]:
    """Return the place of each of the most frequent answers, where it comes first."""
    counts = [_count(answers, answer) for answer in answers]
    most = max(counts, default=0)
    return [
        index
        for index, answer in enumerate(answers)
        if counts[index] == most and not _count(answers[:index], answer)
    ]


def _count(answers: Sequence[Any], answer: object) -> int:
    """Return the number of times that an answer is among others."""
    return sum(_is_same(answer, other) for other in answers)


def _failures(replies: Sequence[RowReply]) -> list[str]:
    """Return a sentence on the replies that failed; none if none did."""
    errors = [reply.error for reply in replies if reply.error is not None]
    if not errors:
        return []
    return [f"{len(errors):,} of {len(replies):,} failed: {errors[0]}"]


def _answer(reply: RowReply) -> Any:
    """Return the answer of a reply; ``None`` if it failed."""
    if reply.error is not None:
        return None
    return (reply.text or "").strip() if reply.value is None else reply.value


def _is_same(answer: object, other: object) -> bool:
    """Return whether two answers are one; the number 1 is not the value true."""
    return type(answer) is type(other) and answer == other
