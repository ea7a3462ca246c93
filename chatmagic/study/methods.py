"""Report of how a model was used, from files alone: for a paper, a log, and an appendix.

No model is asked, and the same files give the same report, word for word. Each statement is one of
the files', or says that the service did not tell it, or is a marked blank for a person.

The fields of the form ``worldbank``, in their order, are those of the World Bank's "Documenting AI
use in a reproducible manner", section 3, as of 2 June 2026:
https://worldbank.github.io/wb-reproducible-research-repository/guidance/AI_reproducibility_guidelines.html
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from chatmagic._files import open_file
from chatmagic._json import digest, iso, timestamp
from chatmagic.archive.conversation_file import records_of
from chatmagic.conversation.conversation import Conversation
from chatmagic.errors import InputError
from chatmagic.render.safe_markdown import code_block, escaped
from chatmagic.safe_text import counted, one_line, to_terminal, visible
from chatmagic.study.recorded_agreement import RecordedAgreement, RecordedMeasure, read_agreement
from chatmagic.study.review import ReviewFile
from chatmagic.study.sources import Asked, Source, files_in, kind_of, of_record, read_source

Form = Literal["worldbank", "plain"]
Origin = Literal["files", "not told by the service", "to be filled in"]

FORMS: Final = get_args(Form)
VERSION: Final = 1
NOT_TOLD: Final = "not told by the service"
MOST_ROWS: Final = 200
"""Number of a map's answers in the appendix; all of them are in its file, and in the JSON."""
REVIEW: Final = b'{"review": '
"""Beginning of the file of a review."""
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Field:
    """Field of the report.

    Args:
        section: heading of its part.
        name: its name.
        lines: its value, a line each; of a blank, the request to fill it in.
        origin: the source of its value.
    """

    section: str
    name: str
    lines: tuple[str, ...]
    origin: Origin = "files"


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
    kept: dict[object, Asked] = {}
    for source in sources:
        seen: Counter[object] = Counter()
        for item in source.asked:
            key = _identity(item)
            seen[key] += 1
            kept.setdefault((key, seen[key]), item)
    return [*kept.values()]


def _identity(asked: Asked) -> object:
    """Return what two records of one answer have in common."""
    if asked.kind == "map" or asked.date is None:
        return asked.file, asked.where, asked.request
    return asked.request, asked.text, asked.error, asked.date.replace(microsecond=0), asked.model


def read_study(paths: Sequence[Path]) -> Study:
    """Return the files of a study.

    Args:
        paths: notebooks, cassettes, files of maps, reviews and agreements, and folders of them.

    Raises:
        InputError: a path is not there, or no file holds a question.
    """
    study = Study()
    for path in files_in(paths):
        try:
            if path.suffix.lower() == ".json":
                study.agreements.append(read_agreement(path))
            elif _is_review(path):
                study.reviews[str(path)] = ReviewFile.of(path)
            else:
                study.sources.append(source := read_source(path))
                study.agreements += source.agreements
        except InputError as error:
            study.unread.append(error.message)
    study.asked = _unique(study.sources)
    if not study.asked:
        raise InputError(
            " ".join(["No file holds a question that was asked through chatmagic.", *study.unread])
        )
    return study


def of_conversation(conversation: Conversation) -> Study:
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
    kind_of(path)  # raises for a file that cannot be read
    with open_file(path) as file:
        return file.read(len(REVIEW)) == REVIEW


# --- The fields ---------------------------------------------------------------------------------


def fields_of(study: Study) -> list[Field]:
    """Return the fields of the World Bank's log, in its order, and those on the agreement.

    Args:
        study: the files.
    """
    made: list[Field] = []
    for section, name, value in _FIELDS:
        lines = tuple(value(study))
        origin: Origin = "not told by the service" if lines == (NOT_TOLD,) else "files"
        made.append(
            Field(section, name, lines, origin)
            if lines
            else Field(section, name, (_blank(name),), "to be filled in")
        )
    for agreement in study.agreements:
        lines = tuple(map(_measure_words, agreement.measures))
        name = f"{agreement.where}, {agreement.level}"
        made.append(Field("Agreement", name, lines or ("no measure",)))
    return made


def _blank(name: str) -> str:
    return f"{_MARK}{_BLANKS[name]}]"


def _none(_: Study) -> Iterable[str]:
    return ()


def _tally(values: Iterable[str]) -> list[str]:
    """Return each value with the number of its answers, the most frequent first."""
    counts = Counter(values)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{value} ({counted(count, 'answer')})" for value, count in ranked]


def _answered(study: Study) -> list[Asked]:
    """Return the questions with an answer, whole or in part."""
    return [asked for asked in study.asked if asked.text is not None]


def _models(study: Study) -> Iterable[str]:
    answered = _answered(study)
    known = [asked for asked in answered if asked.model is not None]
    if not known:
        yield NOT_TOLD
    else:
        yield from (
            f"as told: {line}" for line in _tally(asked.model or NOT_TOLD for asked in answered)
        )
    asked_for = [asked.asked_model for asked in answered if asked.asked_model is not None]
    yield from (f"asked for: {line}" for line in _tally(asked_for))
    if not known and not asked_for:
        return
    prints = [asked.system_fingerprint for asked in answered]
    if not any(prints):
        yield f"system fingerprint: {NOT_TOLD}"
    else:
        yield from (f"system fingerprint: {line}" for line in _tally(p or NOT_TOLD for p in prints))
    practice = sum(asked.origin == "emulator" for asked in answered)
    if practice:
        yield f"of these, {counted(practice, 'answer')} {_EMULATOR}"


def _access(study: Study) -> Iterable[str]:
    yield "API: chat completions, asked through chatmagic"
    yield from (
        f"address: {line}" for line in _tally(a.service for a in _answered(study) if a.service)
    )


def _dates(study: Study) -> Iterable[str]:
    for is_local, clock in (
        (False, "by the service's clock"),
        (True, "by the asking machine's clock"),
    ):
        days = sorted(
            {
                f"{a.date:%Y-%m-%d}"
                for a in _answered(study)
                if a.date and a.is_local_time == is_local
            }
        )
        if days:
            span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]} ({len(days):,} days)"
            yield f"{span}, {clock}, in UTC"
    missing = sum(asked.date is None for asked in _answered(study))
    if missing:
        yield (
            f"{NOT_TOLD} ({counted(missing, 'answer')})"
            if missing < len(_answered(study))
            else NOT_TOLD
        )


def _system(study: Study) -> Iterable[str]:
    texts = Counter(asked.system for asked in study.asked if asked.system)
    lost = sum(asked.instructions is not None and not asked.system for asked in study.asked)
    yield from (f"{text} ({counted(count, 'question')})" for text, count in texts.items())
    if lost:
        yield f"only its digest is in the files ({counted(lost, 'question')})"
    none = sum(asked.is_described and asked.instructions is None for asked in study.asked)
    if none:
        yield f"None ({counted(none, 'question')})"
    yield from _undescribed(study)


def _undescribed(study: Study) -> Iterable[str]:
    """Yield a line on the questions whose file does not describe them."""
    count = sum(not asked.is_described for asked in study.asked)
    if count:
        yield f"not in the file ({counted(count, 'question')})"


def _prompts(study: Study) -> Iterable[str]:
    asked = study.asked
    rows = [item for item in asked if item.kind == "map"]
    others = len(asked) - len(rows)
    if others:
        yield f"{counted(others, 'prompt')}, in order, in the appendix"
    for source in study.sources:
        for head in source.heads.values():
            yield f"template of the map {source.name}: {head.template}"
            if head.front.strip():
                yield f"in front of each prompt of the map {source.name}: {head.front.strip()}"
    yield from _undescribed(study)
    kept = sum(item.prompt is not None for item in rows)
    if rows:
        yield f"prompts with their values that the files of maps keep: {kept:,} of {len(rows):,}"


def _inputs(study: Study) -> Iterable[str]:
    values = [value for asked in study.asked for value in asked.values if value.kind != "format"]
    for name, size, sha256 in dict.fromkeys((v.name, v.size, v.sha256) for v in values):
        yield f"{name}: {counted(size, 'character')}, SHA-256 {sha256}"
    if values:
        yield _blank("Input data")


_ALWAYS: Final = ("temperature", "max_tokens")
"""The settings that the report names also where they were not sent."""


def _settings(study: Study) -> Iterable[str]:
    described = [asked for asked in study.asked if asked.is_described]
    names = {name for asked in described for name in asked.settings}
    for name in [*_ALWAYS, *sorted(names - {*_ALWAYS})]:
        values = Counter(
            _value(asked.settings[name]) for asked in described if name in asked.settings
        )
        for value, count in sorted(values.items()):
            yield f"{name}: {value} ({counted(count, 'question')})"
        lacking = len(described) - values.total()
        if lacking and name in _ALWAYS:
            yield f"{name}: not set ({counted(lacking, 'question')}); its value is {NOT_TOLD}"
    if any(asked.kind == "notebook" for asked in described):
        yield "fields of extra_body: not kept by notebooks"
    yield from _undescribed(study)


def _value(value: object) -> str:
    """Return a setting in one line; a long one, such as a schema, by its digest."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST else f"SHA-256 {digest(text)}"


def _structure(study: Study) -> Iterable[str]:
    others = [asked for asked in study.asked if asked.kind != "map"]
    if others:
        yield f"{counted(len(others), 'question')}, individually: each in a request of its own"
        carried = sum(bool(asked.context) for asked in others)
        if carried:
            yield f"of these, {counted(carried, 'request')} carried earlier turns of a conversation"
    for source in study.sources:
        if source.kind != "map":
            continue
        rows = counted(len({asked.place for asked in source.asked}), "row")
        most = max(asked.repeat for asked in source.asked)
        times = f", each up to {most:,} times" if most > 1 else ""
        yield (
            f"{rows} of the map {source.name}{times}, individually: each in a request of its own, "
            "not batched"
        )
    yield from counts_of(study)


def counts_of(study: Study) -> list[str]:
    """Return lines on questions that did not go as usual; none is left out of the numbers.

    Args:
        study: the files.
    """
    asked = study.asked
    numbers = {
        "answered in part (interrupted, or cut off)": sum(
            item.text is not None and item.state != "complete" for item in asked
        ),
        "failed without an answer": sum(
            item.text is None and item.error is not None and item.requests != 0 for item in asked
        ),
        "answers that are gone from the file": sum(
            item.text is None and item.error is None for item in asked
        ),
        "answered, but the answer was not accepted": sum(
            item.text is not None and item.error is not None for item in asked
        ),
        "hidden from the requests below": sum(item.is_hidden for item in asked),
        "asked again for another answer": sum(item.is_again for item in asked),
        "continuations of an answer": sum(item.is_rest for item in asked),
        "ended at the limit of tokens": sum(item.finish_reason == "length" for item in asked),
        "refused by the model": sum(bool(item.refusal) for item in asked),
        "replayed from a recording": sum(item.is_replay for item in asked),
        "sent more than once": sum((item.requests or 0) > 1 for item in asked),
        "not sent": sum(item.requests == 0 for item in asked),
        "changed in the file since they were asked": sum(bool(item.fault) for item in asked),
    }
    for source in study.sources:
        for words, count in source.counts.items():
            numbers[words] = numbers.get(words, 0) + count
    return [f"{words}: {count:,}" for words, count in numbers.items() if count]


def _outputs(study: Study) -> Iterable[str]:
    for source in study.sources:
        if not source.sha256:
            yield f"{source.path}, which is in no file yet"
            continue
        yield f"{source.name} ({source.kind}, {source.size:,} bytes), SHA-256 {source.sha256}"


def _review_process(study: Study) -> Iterable[str]:
    for path, review in study.reviews.items():
        drawn = review.drawn
        if drawn is None:
            continue
        count = len({each.reviewer for each in review.judgements})
        people = "1 person" if count == 1 else f"{count:,} people"
        yield (
            f"a random sample of {drawn.n:,} of {counted(drawn.rows, 'row')}, drawn with seed "
            f"{drawn.seed}, labelled by {people} ({Path(path).name})"
        )


def _reviewers(study: Study) -> Iterable[str]:
    for review in study.reviews.values():
        for person in review.to_json()["reviewers"]:
            words = f"{person['reviewer']}: {counted(person['labelled'], 'label')}"
            if person["skipped"]:
                words += f", {person['skipped']:,} skipped"
            if person["changed"]:
                words += f", {person['changed']:,} changed after the model's label was shown"
            yield words


def _review_dates(study: Study) -> Iterable[str]:
    for review in study.reviews.values():
        days: dict[str, list[str]] = {}
        for each in review.judgements:
            if timestamp(each.at) is not None:
                days.setdefault(each.reviewer, []).append(each.at[:10])
        for name, held in days.items():
            yield f"{name}: {min(held)} to {max(held)}"


def _measure_words(measure: RecordedMeasure) -> str:
    value = "not defined" if measure.value is None else f"{measure.value:.3f}"
    if measure.low is not None and measure.high is not None:
        value += f", 95 % interval {measure.low:.3f} to {measure.high:.3f} ({measure.interval})"
    rows = "" if measure.n is None else f", n = {measure.n:,}"
    return f"{measure.name}: {value}{rows}"


_TOOL: Final = "Tool identification"
_INPUTS: Final = "Inputs"
_OUTPUTS: Final = "Outputs"
_REVIEW: Final = "Human review"
_FIELDS: Final[tuple[tuple[str, str, Callable[[Study], Iterable[str]]], ...]] = (
    (_TOOL, "Tool name", _none),
    (_TOOL, "Model version", _models),
    (_TOOL, "Provider", _none),
    (_TOOL, "Access method", _access),
    (_TOOL, "Access date", _dates),
    (_TOOL, "Language", _none),
    (_INPUTS, "System prompt", _system),
    (_INPUTS, "User prompt(s)", _prompts),
    (_INPUTS, "Input data", _inputs),
    (_INPUTS, "Parameters", _settings),
    (_INPUTS, "Processing structure", _structure),
    (_OUTPUTS, "Raw AI output", _outputs),
    (_OUTPUTS, "Final output", _none),
    (_OUTPUTS, "Changes", _none),
    (_REVIEW, "Review process", _review_process),
    (_REVIEW, "Validation criteria", _none),
    (_REVIEW, "Reviewer", _reviewers),
    (_REVIEW, "Review date", _review_dates),
)
"""The fields of the World Bank's log in its order, each with the lines that the files tell."""
_BLANKS: Final = {
    "Tool name": "the name of the service or product",
    "Provider": "the provider of the model",
    "Language": "the language of the prompts, if not English",
    "Input data": "the data and documents that were passed to the model, with file names",
    "Final output": "the version that appears in the publication",
    "Changes": "the changes from raw to final output, and why; or None",
    "Review process": "how, and by whom, the output was reviewed",
    "Validation criteria": "the standards that were applied",
    "Reviewer": "name or role of each reviewer",
    "Review date": "the date of the review",
}
_MARK: Final = "[to be filled in: "
"""Beginning of a blank, which no text of a file stands behind."""
PURPOSE: Final = f"{_MARK}the purpose for which the model was used]"


def statement_of(study: Study) -> list[str]:
    """Return the paragraph for a paper, in sentences and marked blanks.

    Args:
        study: the files.
    """
    lines = {item.name: "; ".join(item.lines) for item in fields_of(study)}
    put = [asked for asked in study.asked if asked.requests != 0]
    answered = _answered(study)
    told = sorted({asked.model for asked in answered if asked.model is not None})
    names = [one_line(name, _LONGEST) for name in told]
    if any(asked.model is None for asked in answered) or not names:
        names.append("a model whose name is not told by the service")
    were = "was" if len(put) == 1 else "were"
    count = counted(len(put), "question")
    through = f"through an API, with chatmagic, and {len(answered):,} answered"
    sentences = [
        PURPOSE,
        f"{count} {were} put to {' and '.join(names)} {through}.",
        f"Dates of the answers: {lines['Access date']}.",
        f"Settings: {lines['Parameters']}.",
        f"Requests: {lines['Processing structure']}.",
    ]
    practice = sum(asked.origin == "emulator" for asked in answered)
    if practice:
        sentences.append(f"{counted(practice, 'answer')} {_EMULATOR}.")
    if study.reviews:
        sentences.append(f"Review: {lines['Review process']}; {lines['Reviewer']}.")
    for agreement in study.agreements:
        measures = "; ".join(map(_measure_words, agreement.measures))
        sentences.append(f"Agreement ({agreement.where}): {measures}.")
    if problems := sum(len(source.problems) for source in study.sources):
        sentences.append(f"A check of the files finds {counted(problems, 'problem')}.")
    sentences += [_APPENDIX, _LEFT_TO_DO]
    return sentences


_EMULATOR: Final = "of chatmagic's emulator, which is no language model"
_APPENDIX: Final = (
    "The appendix has the prompts, system texts and answers that the files keep; the files are "
    "named with their SHA-256 digests."
)
_LEFT_TO_DO: Final = f"{_MARK}human review, and changes from raw to final output]"


# --- The report as Markdown, as text and as JSON -------------------------------------------------


def report(study: Study, form: Form = "worldbank") -> str:
    """Return the report: the paragraph, the log, the files, and the appendix.

    Args:
        study: the files.
        form: ``worldbank`` is Markdown with the fields of the World Bank's log as tables; ``plain``
            is text without any markup.
    """
    writer: _Writer = _Markdown() if form == "worldbank" else _Plain()
    parts = [writer.heading("Use of a language model", 1)]
    parts.append(" ".join(map(writer.prose, statement_of(study))))
    fields = fields_of(study)
    for section in dict.fromkeys(item.section for item in fields):
        parts.append(writer.heading(section, 2))
        parts.append(writer.table([item for item in fields if item.section == section]))
    problems = [f"{source.name}: {line}" for source in study.sources for line in source.problems]
    for title, lines in (
        ("Problems of the files", problems),
        ("Files that cannot be read", study.unread),
    ):
        if lines:
            parts += [writer.heading(title, 2), writer.items(lines)]
    notes = [note for agreement in study.agreements for note in agreement.notes]
    if notes:
        parts += [writer.heading("What the agreement does not say", 2), writer.items(notes)]
    parts.append(writer.heading("Appendix: prompts and answers", 2))
    parts += _appendix(study, writer)
    return "\n\n".join(part for part in parts if part) + "\n"


def _appendix(study: Study, writer: _Writer) -> Iterable[str]:
    """Yield the parts of the appendix: each system text once, then the questions in order."""
    systems = list(dict.fromkeys(asked.system for asked in study.asked if asked.system))
    for number, text in enumerate(systems, 1):
        yield writer.heading(f"System text {number:,}", 3)
        yield writer.block(text)
    left_out: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for asked in study.asked:
        if asked.kind == "map":
            shown[asked.file] += 1
            if shown[asked.file] > MOST_ROWS:
                left_out[asked.file] += 1
                continue
        yield writer.heading(f"{Path(asked.file).name}, {asked.where}", 3)
        yield writer.items(_about(asked, systems))
        yield writer.label(_PROMPTS[asked.kind] if asked.prompt is None else "Prompt")
        prompt = asked.typed if asked.prompt is None or asked.kind != "map" else asked.prompt
        yield writer.block(prompt) if prompt else writer.items(["not in the file"])
        yield writer.label("Answer")
        gone = writer.items([asked.error or "not in the file"])
        yield gone if asked.text is None else writer.block(asked.text)
    for file, count in left_out.items():
        yield writer.prose(f"{counted(count, 'more answer')} in {Path(file).name}.")


_PROMPTS: Final = {
    "notebook": "Prompt as typed",
    "cassette": "Prompt as typed",
    "map": "Template of the prompt, whose values are not in the file",
}


def _about(asked: Asked, systems: Sequence[str]) -> list[str]:
    """Return lines on a question: what the file tells of it."""
    usage = asked.usage
    facts = {
        "model as told": asked.model or NOT_TOLD,
        "model asked for": asked.asked_model,
        "date": iso(asked.date) or NOT_TOLD,
        "response id": asked.response_id or NOT_TOLD,
        "system fingerprint": asked.system_fingerprint or NOT_TOLD,
        "finish reason": asked.finish_reason or NOT_TOLD,
        "tokens": None
        if usage is None
        else f"{usage.prompt_tokens} + {usage.completion_tokens} = {usage.total_tokens}",
        "system text": None if asked.system is None else f"{systems.index(asked.system) + 1:,}",
        "settings": ", ".join(f"{name} {_value(item)}" for name, item in asked.settings.items())
        or None,
        "earlier turns carried": f"{len(asked.context):,}" if asked.context else None,
        "digest of the prompt": asked.prompt_digest,
        "digest of the request": asked.request or None,
        "source": "the emulator" if asked.origin == "emulator" else None,
        "end": None if asked.state == "complete" else asked.state,
        "error": asked.error if asked.text is not None else None,
        "refusal": asked.refusal,
        "requests": None if asked.requests in {None, 1} else f"{asked.requests:,}",
        "file": f"not as it was written: {asked.fault}" if asked.fault else None,
    }
    lines = [f"{name}: {value}" for name, value in facts.items() if value is not None]
    flags = {
        "hidden from the requests below": asked.is_hidden,
        "another answer to an earlier question": asked.is_again,
        "continues an earlier answer": asked.is_rest,
        "replayed from a recording": asked.is_replay,
    }
    lines += [words for words, is_so in flags.items() if is_so]
    for value in asked.values:
        kept = "" if value.text is None else f": {value.text}"
        size = counted(value.size, "character")
        lines.append(f"value of {value.name} ({size}, SHA-256 {value.sha256}){kept}")
    return lines


_OWN: Final = frozenset([PURPOSE, _LEFT_TO_DO, *map(_blank, _BLANKS)])
"""The blanks."""


class _Writer:
    """Writer of the report's parts; all texts are untrusted."""

    def heading(self, text: str, level: int) -> str:
        """Return a heading."""
        raise NotImplementedError

    def prose(self, text: str) -> str:
        """Return a paragraph."""
        raise NotImplementedError

    def table(self, fields: Sequence[Field]) -> str:
        """Return the fields of a section."""
        raise NotImplementedError

    def items(self, lines: Sequence[str]) -> str:
        """Return a list."""
        raise NotImplementedError

    def label(self, text: str) -> str:
        """Return a line above a block."""
        raise NotImplementedError

    def block(self, text: str) -> str:
        """Return a prompt or an answer, exactly."""
        raise NotImplementedError


class _Markdown(_Writer):
    """Writer of Markdown in which no text acts."""

    def heading(self, text: str, level: int) -> str:
        return f"{'#' * level} {escaped(text)}"

    def prose(self, text: str) -> str:
        # A blank is chatmagic's own text.
        return f"**{text}**" if text in _OWN else escaped(text)

    def table(self, fields: Sequence[Field]) -> str:
        rows = [
            f"| {escaped(item.name)} | {'<br>'.join(map(self.prose, item.lines))} |"
            for item in fields
        ]
        return "\n".join(["| Field | Value |", "|---|---|", *rows])

    def items(self, lines: Sequence[str]) -> str:
        return "\n".join(f"- {escaped(line)}" for line in lines)

    def label(self, text: str) -> str:
        return f"*{escaped(text)}:*"

    def block(self, text: str) -> str:
        return code_block(text)


class _Plain(_Writer):
    """Writer of plain text."""

    def heading(self, text: str, level: int) -> str:
        line = one_line(text, _LONGEST)
        return f"{line}\n{('=' if level == 1 else '-') * len(line)}" if level < 3 else line  # noqa: PLR2004

    def prose(self, text: str) -> str:
        return one_line(text, len(text) + 1)

    def table(self, fields: Sequence[Field]) -> str:
        lines = [f"{item.name}: {line}" for item in fields for line in item.lines]
        return "\n".join(one_line(line, len(line) + 1) for line in lines)

    def items(self, lines: Sequence[str]) -> str:
        return "\n".join(f"  {one_line(line, len(line) + 1)}" for line in lines)

    def label(self, text: str) -> str:
        return f"{text}:"

    def block(self, text: str) -> str:
        return "\n".join(f"    {line}" for line in visible(to_terminal(text)).split("\n"))


def to_json(study: Study, form: Form = "worldbank") -> dict[str, Any]:
    """Return the same as JSON, with the whole texts.

    Args:
        study: the files.
        form: the form of the report.
    """
    return {
        "version": VERSION,
        "form": form,
        "statement": " ".join(statement_of(study)),
        "fields": [
            {"section": i.section, "name": i.name, "lines": [*i.lines], "origin": i.origin}
            for i in fields_of(study)
        ],
        "counts": counts_of(study),
        "files": [
            {
                "path": source.path,
                "kind": source.kind,
                "sha256": source.sha256,
                "bytes": source.size,
                "questions": len(source.asked),
                "problems": source.problems,
            }
            for source in study.sources
        ],
        "unread": study.unread,
        "reviews": [
            {"path": path, **review.to_json(), "unread": review.unread}
            for path, review in study.reviews.items()
        ],
        "agreements": [
            {
                "where": agreement.where,
                "level": agreement.level,
                "measures": [
                    {"name": m.name, "value": m.value, "low": m.low, "high": m.high, "n": m.n}
                    for m in agreement.measures
                ],
                "notes": [*agreement.notes],
            }
            for agreement in study.agreements
        ],
        "questions": [_question(asked) for asked in study.asked],
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
        "fault": asked.fault,
    }
