"""Fields and sentences of a report: each is one of the files', or a marked blank for a person.

The fields, in their order, are those of the World Bank's "Documenting AI use in a reproducible
manner", section 3, as of 2 June 2026:
https://worldbank.github.io/wb-reproducible-research-repository/guidance/AI_reproducibility_guidelines.html
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from chatmagic._json import digest, timestamp
from chatmagic.safe_text import counted, one_line
from chatmagic.study.asked import Asked
from chatmagic.study.recorded_agreement import RecordedMeasure
from chatmagic.study.study_files import Study

Origin = Literal["files", "not reported by the service", "to be filled in"]

NOT_REPORTED: Final = "not reported by the service"
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


def log_fields(study: Study) -> list[Field]:
    """Return the fields of the World Bank's log, in its order, and those on the agreement.

    Args:
        study: the files.
    """
    fields = [_field(section, name, tuple(value(study))) for section, name, value in _FIELDS]
    for agreement in study.agreements:
        lines = tuple(map(_measure_words, agreement.measures))
        name = f"{agreement.where}, {agreement.level}"
        fields.append(Field("Agreement", name, lines or ("no measure",)))
    return fields


def _field(section: str, name: str, lines: tuple[str, ...]) -> Field:
    """Return a field of the log; a blank if the files tell no line of it."""
    if not lines:
        return Field(section, name, (_blank(name),), "to be filled in")
    return Field(section, name, lines, NOT_REPORTED if lines == (NOT_REPORTED,) else "files")


def _blank(name: str) -> str:
    """Return the marked blank of a field, for a person to fill in."""
    return f"{_MARK}{_BLANKS[name]}]"


def _none(_: Study) -> Iterable[str]:
    """Return no line: the files tell nothing of the field."""
    return ()


def _tally_lines(name: str, values: Iterable[str | None]) -> list[str]:
    """Return a line for each value, with the number of its answers, the most frequent first."""
    counts = Counter(value or NOT_REPORTED for value in values)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{name}: {value} ({counted(count, 'answer')})" for value, count in ranked]


def _answered(study: Study) -> list[Asked]:
    """Return the questions with an answer, whole or in part."""
    return [asked for asked in study.asked if asked.text is not None]


def _models(study: Study) -> Iterable[str]:
    """Yield lines on the models that answered, and on those that were asked for."""
    answered = _answered(study)
    models = [asked.model for asked in answered]
    if not answered:
        yield _NO_ANSWER
    elif not any(models):
        yield NOT_REPORTED
    else:
        yield from _tally_lines("as reported", models)
    asked_for = [asked.asked_model for asked in answered if asked.asked_model is not None]
    lost = ["not in the file" for asked in answered if not asked.is_described]
    yield from _tally_lines("asked for", [*asked_for, *lost])
    if not any(models) and not asked_for:
        return
    fingerprints = [asked.system_fingerprint for asked in answered]
    if any(fingerprints):
        yield from _tally_lines("system fingerprint", fingerprints)
    else:
        yield f"system fingerprint: {NOT_REPORTED}"
    by_emulator = sum(asked.origin == "emulator" for asked in answered)
    if by_emulator:
        yield f"of these, {counted(by_emulator, 'answer')} {_EMULATOR}"


def _access(study: Study) -> Iterable[str]:
    """Yield the way of asking, and the addresses that were asked."""
    yield "API: chat completions, asked through chatmagic"
    services = [asked.service or "not in the file" for asked in _answered(study)]
    yield from _tally_lines("address", services)


def _dates(study: Study) -> Iterable[str]:
    """Yield the days of the answers, by the clock that each answer has."""
    answered = _answered(study)
    if not answered:
        yield _NO_ANSWER
    for is_local, clock in _CLOCKS:
        dates = (asked.date for asked in answered if asked.is_local_time == is_local)
        if days := _span([date for date in dates if date is not None]):
            yield f"{days}, {clock}, in UTC"
    missing = sum(asked.date is None for asked in answered)
    if missing:
        count = "" if missing == len(answered) else f" ({counted(missing, 'answer')})"
        yield f"{NOT_REPORTED}{count}"


_CLOCKS: Final = (
    (False, "by the service's clock"),
    (True, "by the asking machine's clock"),
)


def _span(times: Iterable[datetime]) -> str:
    """Return the first and the last day of times, and the number of days; empty without one."""
    days = sorted({f"{time.astimezone(UTC):%Y-%m-%d}" for time in times})
    if len(days) > 1:
        return f"{days[0]} to {days[-1]} (on {len(days):,} days)"
    return "".join(days)


def _put(study: Study) -> list[Asked]:
    """Return the questions but for those of which it is known that nothing was sent."""
    return [asked for asked in study.asked if asked.requests != 0]


def _system(study: Study) -> Iterable[str]:
    """Yield the texts of the instructions, each with the number of its questions."""
    put = _put(study)
    texts = Counter(asked.system for asked in put if asked.system)
    lost = sum(asked.instructions is not None and not asked.system for asked in put)
    yield from (f"{text} ({counted(count, 'question')})" for text, count in texts.items())
    if lost:
        yield f"only its digest is in the files ({counted(lost, 'question')})"
    none = sum(asked.is_described and asked.instructions is None for asked in put)
    if none or not put:
        yield f"None ({counted(none, 'question')})"
    yield from _undescribed(put)


def _undescribed(asked: Sequence[Asked]) -> Iterable[str]:
    """Yield a line on the questions whose file does not describe them."""
    count = sum(not item.is_described for item in asked)
    if count:
        yield f"not in the file ({counted(count, 'question')})"


def _prompts(study: Study) -> Iterable[str]:
    """Yield the number of prompts, and the templates of maps."""
    rows = [item for item in study.asked if item.kind == "map"]
    others = len(study.asked) - len(rows)
    if others:
        yield f"{counted(others, 'prompt')}, in order, in the appendix"
    for source in study.sources:
        for name, head in source.heads.items():
            count = counted(sum(item.call == name for item in source.asked), "question")
            yield f"template of the map {source.name}: {head.template} ({count})"
            if head.front.strip():
                yield f"in front of each of these prompts: {head.front.strip()}"
    yield from _undescribed(study.asked)
    kept = sum(item.prompt is not None for item in rows)
    if rows:
        yield f"prompts with their values that the files of maps keep: {kept:,} of {len(rows):,}"


def _inputs(study: Study) -> Iterable[str]:
    """Yield the inserted values with their sizes and digests."""
    values = [value for asked in study.asked for value in asked.values if value.kind != "format"]
    for name, size, sha256 in dict.fromkeys((v.name, v.size, v.sha256) for v in values):
        yield f"{name}: {counted(size, 'character')}, SHA-256 {sha256}"
    if values:
        yield _blank("Input data")


_ALWAYS: Final = ("temperature", "max_tokens")
"""The settings that the report names also where they were not sent."""


def _settings(study: Study) -> Iterable[str]:
    """Yield the settings, each with the number of its questions."""
    put = _put(study)
    described = [asked for asked in put if asked.is_described]
    names = {name for asked in described for name in asked.settings}
    for name in [*_ALWAYS, *sorted(names - {*_ALWAYS})]:
        yield from _setting_lines(name, described)
    if names & {*_ALWAYS}:
        yield _REFUSED
    if any(asked.kind == "notebook" for asked in described):
        yield "fields of extra_body: not kept by notebooks"
    yield from _undescribed(put)
    if not put:
        yield "no question was sent"


def _setting_lines(name: str, described: Sequence[Asked]) -> Iterable[str]:
    """Yield the values of a setting, each with the number of its questions."""
    values = Counter(
        setting_words(asked.settings[name]) for asked in described if name in asked.settings
    )
    for value, count in sorted(values.items()):
        yield f"{name}: {value} ({counted(count, 'question')})"
    lacking = len(described) - values.total()
    if lacking and name in _ALWAYS:
        yield f"{name}: not set ({counted(lacking, 'question')}); its value is {NOT_REPORTED}"


_REFUSED: Final = (
    "these are as set; a service that refused one of them by its name was asked without it, which "
    "the files do not show"
)


def setting_words(value: object) -> str:
    """Return a setting in one line; a long one, such as a schema, by its digest.

    Args:
        value: any JSON value.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST else f"SHA-256 {digest(text)}"


def _structure(study: Study) -> Iterable[str]:
    """Yield the number of requests, and what they had in common."""
    put = _put(study)
    others = [asked for asked in put if asked.kind != "map"]
    if others:
        yield f"{counted(len(others), 'question')}, {_ALONE}"
        carried = sum(bool(asked.context) for asked in others)
        if carried:
            yield f"of these, {counted(carried, 'request')} carried earlier turns of a conversation"
    for source in study.sources:
        rows = [asked for asked in put if asked.kind == "map" and asked.file == source.path]
        if rows:
            yield f"{_repeats(rows)} of the map {source.name}, {_ALONE}"
    yield from unusual_counts(study)


_ALONE: Final = "individually: each in a request of its own, not batched"


def _repeats(rows: Sequence[Asked]) -> str:
    """Return the number of questions of a map, and how often each was asked."""
    times = Counter(asked.request for asked in rows).values()
    number = counted(len(rows), "question")
    if max(times) == 1:
        return number
    span = f"{min(times):,}" if min(times) == max(times) else f"{min(times):,} to {max(times):,}"
    return f"{number}, {len(times):,} different ones asked {span} times each,"


def unusual_counts(study: Study) -> list[str]:
    """Return lines on questions that did not go as usual; none is left out of the numbers.

    Args:
        study: the files.
    """
    numbers = {
        words: sum(is_unusual(asked) for asked in study.asked)
        for words, is_unusual in _UNUSUAL.items()
    }
    for source in study.sources:
        for words, count in source.counts.items():
            numbers[words] = numbers.get(words, 0) + count
    return [f"{words}: {count:,}" for words, count in numbers.items() if count]


_UNUSUAL: Final[Mapping[str, Callable[[Asked], bool]]] = {
    "answered in part (interrupted, or cut off)": lambda asked: (
        asked.text is not None and asked.state != "complete"
    ),
    "failed without an answer": lambda asked: (
        asked.text is None and asked.error is not None and asked.requests != 0
    ),
    "answers that are gone from the file": lambda asked: asked.text is None and asked.error is None,
    "answered, but the answer was not accepted": lambda asked: (
        asked.text is not None and asked.error is not None
    ),
    "hidden from the requests below": lambda asked: asked.is_hidden,
    "asked again for another answer": lambda asked: asked.is_again,
    "continuations of an answer": lambda asked: asked.is_rest,
    "ended at the limit of tokens": lambda asked: asked.finish_reason == "length",
    "refused by the model": lambda asked: bool(asked.refusal),
    "replayed from a recording": lambda asked: asked.is_replay,
    "replayed by order, for a request that differs from the recorded one": lambda asked: (
        asked.is_by_order
    ),
    "sent more than once": lambda asked: (asked.requests or 0) > 1,
    "not sent": lambda asked: asked.requests == 0,
    "changed in the file since they were asked": lambda asked: bool(asked.fault),
}
"""What may be unusual about a question, in the order of the report."""


def _outputs(study: Study) -> Iterable[str]:
    """Yield the files with the answers, and their digests."""
    for source in study.sources:
        if not source.sha256:
            yield f"{source.path}, which is in no file yet"
            continue
        yield f"{source.name} ({source.kind}, {source.size:,} bytes), SHA-256 {source.sha256}"


def _review_process(study: Study) -> Iterable[str]:
    """Yield how the samples were drawn, and how many people labelled them."""
    for path, review in study.reviews.items():
        name = Path(path).name
        for drawn in review.draws:
            yield (
                f"a random sample of {min(drawn.n, drawn.rows):,} of "
                f"{counted(drawn.rows, 'row')}, drawn with seed {drawn.seed} ({name})"
            )
        people = len({item.reviewer for item in review.judgements if item.label is not None})
        yield f"labels of {counted(people, 'reviewer')} ({name})"


def _reviewers(study: Study) -> Iterable[str]:
    """Yield what each person labelled, skipped and changed."""
    for review in study.reviews.values():
        for person in review.people():
            words = f"{person.reviewer}: {counted(person.labelled, 'label')}"
            if person.skipped:
                words += f", {person.skipped:,} skipped"
            if person.changed:
                words += f", {person.changed:,} changed after the model's label was shown"
            yield words


def _review_dates(study: Study) -> Iterable[str]:
    """Yield the days on which each person labelled."""
    for review in study.reviews.values():
        times: dict[str, list[datetime]] = {}
        for judgement in review.judgements:
            if (time := timestamp(judgement.at)) is not None:
                times.setdefault(judgement.reviewer, []).append(time)
        for name, labelled_at in times.items():
            yield f"{name}: {_span(labelled_at)}, by the machine's clock, in UTC"


def _measure_words(measure: RecordedMeasure) -> str:
    """Return a measure with its interval and its number of rows, in words."""
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
_NO_ANSWER: Final = "there is no answer"
PURPOSE: Final = f"{_MARK}the purpose for which the model was used]"


def statement_of(study: Study) -> list[str]:
    """Return the paragraph for a paper, in sentences and marked blanks.

    Args:
        study: the files.
    """
    lines = {item.name: "; ".join(item.lines) for item in log_fields(study)}
    put = len(_put(study))
    were = "was" if put == 1 else "were"
    sentences = [
        PURPOSE,
        f"{counted(put, 'question')} {were} {_PUT}; {_answered_words(study)}.",
        f"Dates of the answers: {lines['Access date']}.",
        f"Settings: {lines['Parameters']}.",
        f"Requests: {lines['Processing structure']}.",
    ]
    by_emulator = sum(asked.origin == "emulator" for asked in _answered(study))
    if by_emulator:
        sentences.append(f"{counted(by_emulator, 'answer')} {_EMULATOR}.")
    if study.reviews:
        sentences.append(f"Review: {lines['Review process']}; {lines['Reviewer']}.")
    for agreement in study.agreements:
        measures = "; ".join(map(_measure_words, agreement.measures))
        sentences.append(f"Agreement ({agreement.where}): {measures}.")
    if problems := sum(len(source.problems) for source in study.sources):
        sentences.append(f"A check of the files finds {counted(problems, 'problem')}.")
    if study.unread:
        sentences.append(f"{counted(len(study.unread), 'file')} cannot be read.")
    sentences.append(_APPENDIX)
    if any(source.sha256 for source in study.sources):
        sentences.append("The files with the answers are named with their SHA-256 digests.")
    return [*sentences, _LEFT_TO_DO]


_PUT: Final = "sent through an API, with chatmagic"


def _answered_words(study: Study) -> str:
    """Return the number of answers, and the models that gave them as reported."""
    answered = _answered(study)
    if not answered:
        return "none was answered"
    is_part = any(asked.state != "complete" for asked in answered)
    were = "was" if len(answered) == 1 else "were"
    part = ", whole or in part" if is_part else ""
    return f"{len(answered):,} {were} answered{part}, {', and '.join(_by_models(answered))}"


def _by_models(answered: Sequence[Asked]) -> list[str]:
    """Return words on the models that gave answers, with their numbers if there are several."""
    counts = Counter(asked.model for asked in answered)

    def with_count(name: str, model: str | None) -> str:
        """Return a model's name, with the number of its answers unless it gave all."""
        return name if len(counts) == 1 else f"{name} ({counted(counts[model], 'answer')})"

    reported = sorted(model for model in counts if model is not None)
    names = [with_count(one_line(model, _LONGEST), model) for model in reported]
    words = []
    if names:
        words.append(f"by {' and '.join(names)}, as reported by the service")
    if None in counts:
        words.append(with_count(f"by a model whose name is {NOT_REPORTED}", None))
    return words


_EMULATOR: Final = "of chatmagic's emulator, which is no language model"
MOST_ROWS: Final = 200
"""Number of a map's answers in the appendix; all of them are in its file, and in the JSON."""
_APPENDIX: Final = (
    "The appendix has the prompts, system texts and answers in the files, of a map at most "
    f"{MOST_ROWS:,}."
)
_LEFT_TO_DO: Final = f"{_MARK}human review, and changes from raw to final output]"
BLANKS: Final = frozenset([PURPOSE, _LEFT_TO_DO, *map(_blank, _BLANKS)])
"""The marked blanks, which no text of a file equals."""
