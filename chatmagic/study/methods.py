"""Report of how a model was used, from files alone: for a paper, a log, and an appendix.

No model is asked, and the same files give the same report, word for word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Literal, get_args

from chatmagic._json import iso
from chatmagic.conversation.question import Value
from chatmagic.models import Usage
from chatmagic.safe_text import counted
from chatmagic.study.asked import Asked, Source
from chatmagic.study.recorded_agreement import RecordedMeasure
from chatmagic.study.report_fields import (
    MOST_ROWS,
    NOT_REPORTED,
    log_fields,
    setting_words,
    statement_of,
    unusual_counts,
)
from chatmagic.study.report_writers import MarkdownWriter, ReportWriter, TextWriter
from chatmagic.study.study_files import Study

Form = Literal["worldbank", "plain"]

FORMS: Final = get_args(Form)
VERSION: Final = 1


def report(study: Study, form: Form = "worldbank") -> str:
    """Return the report: the paragraph, the log, the files, and the appendix.

    Args:
        study: the files.
        form: ``worldbank`` is Markdown with the fields of the World Bank's log as tables; ``plain``
            is text without any markup.
    """
    writer: ReportWriter = MarkdownWriter() if form == "worldbank" else TextWriter()
    parts = [
        writer.heading("Use of a language model", 1),
        " ".join(map(writer.prose, statement_of(study))),
        *_log(study, writer),
        *_faults(study, writer),
        writer.heading("Appendix: prompts and answers", 2),
        *_appendix(study, writer),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _log(study: Study, writer: ReportWriter) -> Iterator[str]:
    """Yield the parts of the log: a heading and a table for each section."""
    fields = log_fields(study)
    for section in dict.fromkeys(item.section for item in fields):
        yield writer.heading(section, 2)
        yield writer.table([item for item in fields if item.section == section])


def _faults(study: Study, writer: ReportWriter) -> Iterator[str]:
    """Yield the parts on what the files lack, and on what their figures do not say."""
    problems = [f"{source.name}: {line}" for source in study.sources for line in source.problems]
    notes = [note for agreement in study.agreements for note in agreement.notes]
    for title, lines in (
        ("Problems of the files", problems),
        ("Files that cannot be read", study.unread),
        ("What the agreement does not say", notes),
    ):
        if lines:
            yield writer.heading(title, 2)
            yield writer.items(lines)


def _appendix(study: Study, writer: ReportWriter) -> Iterator[str]:
    """Yield the parts of the appendix: each system text once, then the questions in order."""
    systems = list(dict.fromkeys(asked.system for asked in study.asked if asked.system))
    for number, text in enumerate(systems, 1):
        yield writer.heading(f"System text {number:,}", 3)
        yield writer.block(text)
    rows: Counter[str] = Counter()
    for asked in study.asked:
        if asked.kind == "map":
            rows[asked.file] += 1
        if rows[asked.file] <= MOST_ROWS:
            yield from _question_and_answer(asked, systems, writer)
    for file, count in rows.items():
        if count > MOST_ROWS:
            more = counted(count - MOST_ROWS, "more answer")
            yield writer.prose(f"{more} in {Path(file).name}.")


_PROMPTS: Final = {
    "notebook": "Prompt as typed",
    "cassette": "Prompt as typed",
    "map": "Template of the prompt, whose values are not in the file",
}


def _question_and_answer(
    asked: Asked, systems: Sequence[str], writer: ReportWriter
) -> Iterator[str]:
    """Yield the parts of the appendix on a question."""
    yield writer.heading(f"{Path(asked.file).name}, {asked.where}", 3)
    yield writer.items(_about(asked, systems))
    yield writer.label(_PROMPTS[asked.kind] if asked.prompt is None else "Prompt")
    prompt = asked.typed if asked.prompt is None or asked.kind != "map" else asked.prompt
    yield writer.block(prompt) if prompt else writer.items(["not in the file"])
    yield writer.label("Answer")
    if asked.text is None:
        yield writer.items([asked.error or "not in the file"])
    else:
        yield writer.block(asked.text)


def _about(asked: Asked, systems: Sequence[str]) -> list[str]:
    """Return lines on a question: what the file tells of it."""
    return [
        *(
            f"{name}: {value}"
            for name, value in _facts(asked, systems).items()
            if value is not None
        ),
        *(words for words, is_so in _marks(asked).items() if is_so),
        *map(_value_words, asked.values),
    ]


def _facts(asked: Asked, systems: Sequence[str]) -> dict[str, str | None]:
    """Return the facts of a question by their names; ``None`` where there is none."""
    settings = [f"{name} {setting_words(item)}" for name, item in asked.settings.items()]
    return {
        "model as reported": asked.model or NOT_REPORTED,
        "model asked for": asked.asked_model,
        "date": iso(asked.date) or NOT_REPORTED,
        "response id": asked.response_id or NOT_REPORTED,
        "system fingerprint": asked.system_fingerprint or NOT_REPORTED,
        "finish reason": asked.finish_reason or NOT_REPORTED,
        "tokens": _usage_words(asked.usage),
        "system text": None if asked.system is None else f"{systems.index(asked.system) + 1:,}",
        "settings": ", ".join(settings) or None,
        "earlier turns carried": f"{len(asked.context):,}" if asked.context else None,
        "digest of the prompt": asked.prompt_digest,
        "digest of the request": asked.request or None,
        "source": "the emulator" if asked.origin == "emulator" else None,
        "end": None if asked.state == "complete" else asked.state,
        "error": None if asked.text is None else asked.error,
        "refusal": asked.refusal,
        "requests": None if asked.requests in {None, 1} else f"{asked.requests:,}",
        "file": f"not as it was written: {asked.fault}" if asked.fault else None,
    }


def _marks(asked: Asked) -> dict[str, bool]:
    """Return what may be special about a question, each with whether it is so."""
    return {
        "replayed by order, for another request": asked.is_by_order,
        "hidden from the requests below": asked.is_hidden,
        "another answer to an earlier question": asked.is_again,
        "continues an earlier answer": asked.is_rest,
        "replayed from a recording": asked.is_replay,
    }


def _usage_words(usage: Usage | None) -> str | None:
    """Return the tokens of a prompt, of its answer and of both; ``None`` if they are unknown."""
    if usage is None:
        return None
    return f"{usage.prompt_tokens} + {usage.completion_tokens} = {usage.total_tokens}"


def _value_words(value: Value) -> str:
    """Return a line on an inserted value, with its text if the file keeps it."""
    kept = "" if value.text is None else f": {value.text}"
    size = counted(value.size, "character")
    return f"value of {value.name} ({size}, SHA-256 {value.sha256}){kept}"


def report_json(study: Study, form: Form = "worldbank") -> dict[str, Any]:
    """Return the same as JSON, with the whole texts.

    Args:
        study: the files.
        form: the form of the report.
    """
    return {
        "version": VERSION,
        "form": form,
        "statement": " ".join(statement_of(study)),
        "fields": [asdict(field) for field in log_fields(study)],
        "counts": unusual_counts(study),
        "files": [_file(source) for source in study.sources],
        "unread": study.unread,
        "reviews": [
            {"path": path, **review.to_json(), "unread": review.unread}
            for path, review in study.reviews.items()
        ],
        "agreements": [
            {
                "where": agreement.where,
                "level": agreement.level,
                "measures": [_measure(measure) for measure in agreement.measures],
                "notes": [*agreement.notes],
            }
            for agreement in study.agreements
        ],
        "questions": [_question(asked) for asked in study.asked],
    }


def _file(source: Source) -> dict[str, Any]:
    """Return a file with questions, without these."""
    return {
        "path": source.path,
        "kind": source.kind,
        "sha256": source.sha256,
        "bytes": source.size,
        "questions": len(source.asked),
        "problems": source.problems,
    }


def _measure(measure: RecordedMeasure) -> dict[str, Any]:
    """Return a measure with its interval, without the kind of that."""
    return {
        "name": measure.name,
        "value": measure.value,
        "low": measure.low,
        "high": measure.high,
        "n": measure.n,
    }


def _question(asked: Asked) -> dict[str, Any]:
    """Return a question with all that its file tells of it."""
    return {
        "file": asked.file,
        "place": asked.where,
        "prompt_as_typed": asked.typed,
        "prompt": asked.prompt,
        "prompt_digest": asked.prompt_digest,
        "values": [value.to_json() for value in asked.values],
        "system": asked.system,
        "instructions_digest": asked.instructions,
        "settings": dict(asked.settings),
        "asked_model": asked.asked_model,
        "model": asked.model,
        "system_fingerprint": asked.system_fingerprint,
        "response_id": asked.response_id,
        "service": asked.service,
        "date": iso(asked.date),
        "answer": asked.text,
        "error": asked.error,
        "state": asked.state,
        "finish_reason": asked.finish_reason,
        "usage": None if asked.usage is None else asked.usage.to_json(),
        "refusal": asked.refusal,
        "origin": asked.origin,
        "request": asked.request,
        "requests": asked.requests,
        "carried": len(asked.context),
        "hidden": asked.is_hidden,
        "again": asked.is_again,
        "continues": asked.is_rest,
        "replayed": asked.is_replay,
        "by_order": asked.is_by_order,
        "fault": asked.fault,
    }
