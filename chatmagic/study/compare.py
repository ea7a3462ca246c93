"""Comparison of two files with questions: what changed, and why, the cause before the effect.

Questions are paired by what they have in common, the surest first: the cell and the request, the
cell and the prompt, the request, the prompt as sent, its values, the row, the prompt as typed, the
cell. What remains is paired if the prompts are alike. So a question that was edited, moved or only
asked again stands beside its earlier self, in any mixture of files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chatmagic.archive.cassette_file import copies_before_refresh
from chatmagic.archive.interaction import Interaction
from chatmagic.errors import InputError
from chatmagic.safe_text import counted
from chatmagic.study.asked import Asked, Source
from chatmagic.study.asked_in_cassette import from_interactions
from chatmagic.study.causes import AnswerChange, answer_of, changes_of
from chatmagic.study.marked_words import Mark, marked_words
from chatmagic.study.pairs import partners_of
from chatmagic.study.sources import read_source


@dataclass(frozen=True, slots=True)
class Pair:
    """A question in both files, or in one of them.

    Args:
        old: the question in the first file; ``None`` if it is only in the second one.
        new: the question in the second file; ``None`` if it is only in the first one.
        changes: the causes, in the order of :data:`.causes.CauseKind`; empty if it is in one file
            only.
        words: the words of both answers, in their order, with their marks.
    """

    old: Asked | None
    new: Asked | None
    changes: tuple[AnswerChange, ...] = ()
    words: tuple[tuple[Mark, str], ...] = ()

    @property
    def has_other_words(self) -> bool:
        """Whether the answers differ in their words."""
        return any(mark != "same" for mark, _ in self.words)

    @property
    def is_only_again(self) -> bool:
        """Whether nothing changed but that it may have been asked again."""
        return {change.cause for change in self.changes} <= {"asked again", "same answer"}

    @property
    def differs(self) -> bool:
        """Whether the words, or a cause of other words, differ."""
        return (
            self.old is None or self.new is None or self.has_other_words or not self.is_only_again
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two files.

    Args:
        old: names of the first files.
        new: names of the second files.
        pairs: the questions.
        notes: lines on the files themselves.
    """

    old: str
    new: str
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of questions by what became of them."""
        count = Counter(map(_outcome, self.pairs))
        return {words: count[words] for words in _OUTCOMES}

    @property
    def differs(self) -> bool:
        """Whether any question differs."""
        return any(pair.differs for pair in self.pairs)


_OUTCOMES: Final = (
    "other words",
    "the same words, though a cause changed",
    "asked again, word for word the same",
    "the same answer",
    "only in the old one",
    "only in the new one",
)


def _outcome(pair: Pair) -> str:
    """Return what became of a question: one of ``_OUTCOMES``."""
    if pair.new is None:
        return "only in the old one"
    if pair.old is None:
        return "only in the new one"
    if pair.has_other_words:
        return "other words"
    if not pair.is_only_again:
        return "the same words, though a cause changed"
    is_same = all(change.cause == "same answer" for change in pair.changes)
    return "the same answer" if is_same else "asked again, word for word the same"


def of_files(paths: Sequence[Path]) -> Comparison:
    """Return the comparison of two files, or of a cassette with itself before its last refresh.

    Args:
        paths: the files.

    Raises:
        InputError: a file cannot be read, their number is another one, or there was no refresh.
    """
    match paths:
        case [path]:
            return compare(read_source(_before_refresh(path)), read_source(path))
        case [old, new]:
            return compare(read_source(old), read_source(new))
        case _:
            raise InputError(f"Two files are compared, not {len(paths):,}.")


def _before_refresh(path: Path) -> Path:
    """Return the copy of a cassette from before its last refresh."""
    copies = copies_before_refresh(path)
    if not copies:
        raise InputError(
            f"{path} is one file, and no copy from before a refresh is beside it.",
            hint="Name two files to compare.",
        )
    return copies[-1]


def of_refresh(
    name: str, before: Sequence[Interaction], after: Sequence[Interaction]
) -> Comparison:
    """Return the comparison of a cassette with itself before its refresh here.

    It has the questions with a new answer. New questions, and those that were not asked, are none.

    Args:
        name: the cassette's name.
        before: its exchanges before the refresh.
        after: its exchanges now.
    """
    old = from_interactions(before, name)
    new = from_interactions(after, name)
    pairs = compared(old, new)
    renewed = tuple(pair for pair in pairs if pair.old is not None and pair.new is not None)
    return Comparison(f"{name} before the refresh", name, renewed)


def compare(old: Source, new: Source) -> Comparison:
    """Return the comparison of two files.

    Args:
        old: the first file.
        new: the second file.
    """
    notes = [
        f"{source.path}: {counted(len(source.problems), 'problem')}: {source.problems[0]}"
        for source in (old, new)
        if source.problems
    ]
    return Comparison(old.path, new.path, compared(old.asked, new.asked), tuple(notes))


def compared(old: Sequence[Asked], new: Sequence[Asked]) -> tuple[Pair, ...]:
    """Return pairs of questions, in the order of the new ones; those without a new one are last.

    Args:
        old: the earlier questions.
        new: the later questions.
    """
    partners = partners_of(old, new)
    pairs: list[Pair] = []
    for place, asked in enumerate(new):
        if place in partners:
            pairs.append(_pair(old[partners[place]], asked))
        else:
            pairs.append(Pair(None, asked))
    taken = {*partners.values()}
    only_old = [Pair(asked, None) for place, asked in enumerate(old) if place not in taken]
    return (*pairs, *only_old)


def _pair(old: Asked, new: Asked) -> Pair:
    """Return a question in both files, with the causes of its difference and the words."""
    words = marked_words(answer_of(old), answer_of(new))
    return Pair(old, new, tuple(changes_of(old, new)), tuple(words))
