"""Files of a study: its questions, its reviews and its agreements, read together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from chatmagic._files import open_file
from chatmagic.advice import joined_sentences
from chatmagic.archive.conversation_file import records_of
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError
from chatmagic.study.asked import Asked, Source
from chatmagic.study.asked_in_notebook import of_record
from chatmagic.study.recorded_agreement import RecordedAgreement, read_agreement
from chatmagic.study.review_file import ReviewFile
from chatmagic.study.sources import kind_of_file, question_files, read_source

REVIEW: Final = b'{"review": '
"""Beginning of the file of a review."""


@dataclass(slots=True)
class Study:
    """Files of a study.

    Args:
        sources: the files with questions.
        reviews: the files of reviews, by their paths.
        agreements: the agreements, of files and of notebooks.
        unread: a line for each file that cannot be read.
        asked: the questions, each answer once: a notebook and its cassette hold the same ones.
    """

    sources: list[Source] = field(default_factory=list)
    reviews: dict[str, ReviewFile] = field(default_factory=dict)
    agreements: list[RecordedAgreement] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def _unique(sources: Iterable[Source]) -> list[Asked]:
    """Return the questions of all files, each answer once."""
    kept: dict[tuple[object, int], Asked] = {}
    for source in sources:
        seen: Counter[object] = Counter()
        for item in source.asked:
            key = _identity(item)
            seen[key] += 1
            kept.setdefault((key, seen[key]), item)
    return [*kept.values()]


def _identity(asked: Asked) -> object:
    """Return what two records of one answer have in common."""
    facts = asked.request, asked.text, asked.error, asked.model, asked.response_id
    if asked.date is None:
        return facts, asked.cell or (asked.file, asked.where)
    return facts, asked.date if asked.kind == "map" else asked.date.replace(microsecond=0)


def read_study(paths: Sequence[Path]) -> Study:
    """Return the files of a study.

    Args:
        paths: notebooks, cassettes, files of maps, reviews and agreements, and folders of them.

    Raises:
        InputError: a path is not there, or no file holds a question.
    """
    study = Study()
    for path in question_files(paths):
        try:
            if path.suffix.lower() == ".json":
                study.agreements.append(read_agreement(path))
            elif _is_review(path):
                study.reviews[str(path)] = ReviewFile.of(path)
            else:
                source = read_source(path)
                study.sources.append(source)
                study.agreements += source.agreements
        except InputError as error:
            study.unread.append(error.message)
    study.asked = _unique(study.sources)
    if not study.asked:
        raise InputError(
            joined_sentences(
                ["No file holds a question that was asked through chatmagic.", *study.unread]
            )
        )
    return study


def study_of_conversation(conversation: Conversation) -> Study:
    """Return the study of a conversation that is in no file yet.

    Args:
        conversation: the conversation; the values of ``{{ }}`` are left out.

    Raises:
        InputError: it has no turn.
    """
    records = records_of(conversation, keep_values=False)
    source = Source("this conversation", "notebook")
    for number, turn in enumerate(conversation, 1):
        asked = of_record(records[turn.number], turn.reply.text, source.path, number)
        system = None if turn.instructions is None else turn.instructions.text
        source.asked.append(replace(asked, system=system))
    if not source.asked:
        raise InputError("No question was asked here yet. Nothing was sent.")
    return Study(sources=[source], asked=source.asked)


def _is_review(path: Path) -> bool:
    """Return whether a file is that of a review."""
    kind_of_file(path)  # raises for a file that cannot be read
    with open_file(path) as file:
        return file.read(len(REVIEW)) == REVIEW
