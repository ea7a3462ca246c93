"""Fields and sentences of a report: each is one of the files', or a marked blank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from audits import exchange, tape
from cases import each_case
from project import ROOT
from row_service import RowService
from studies import AGREEMENT, DRAWN, ONE, field, label, study_of, written

import chatmagic
from chatmagic._json import timestamp
from chatmagic.session.session import Session
from chatmagic.study import study_files
from chatmagic.study.methods import report, report_json
from chatmagic.study.report_fields import log_fields, statement_of, unusual_counts

SAMPLES = ROOT / "tests" / "samples"
WORLD_BANK = [
    *("Tool name", "Model version", "Provider", "Access method", "Access date", "Language"),
    *("System prompt", "User prompt(s)", "Input data", "Parameters", "Processing structure"),
    *("Raw AI output", "Final output", "Changes"),
    *("Review process", "Validation criteria", "Reviewer", "Review date"),
]
"""The fields of the World Bank's guideline, section 3, in its order."""


def test_the_fields_are_the_world_banks() -> None:
    """In its order; what only a person knows is a marked blank."""
    made = log_fields(study_of(ONE))
    assert [item.name for item in made] == WORLD_BANK
    blanks = [item.name for item in made if item.origin == "to be filled in"]
    assert blanks == [
        *("Tool name", "Provider", "Language", "Input data", "Final output", "Changes"),
        *("Review process", "Validation criteria", "Reviewer", "Review date"),
    ]
    for item in made:
        assert (item.origin == "to be filled in") == item.lines[0].startswith("[to be filled in: ")


@each_case(
    ("changes", "words"),
    [
        ({"is_hidden": True}, "hidden from the requests below: 1"),
        ({"is_again": True}, "asked again for another answer: 1"),
        ({"is_rest": True}, "continuations of an answer: 1"),
        ({"is_replay": True}, "replayed from a recording: 1"),
        ({"state": "interrupted"}, "answered in part (interrupted, or cut off): 1"),
        ({"state": "cut off"}, "answered in part (interrupted, or cut off): 1"),
        ({"text": None, "error": "HTTP 500"}, "failed without an answer: 1"),
        ({"text": None, "error": "no", "requests": 0}, "not sent: 1"),
        ({"text": None}, "answers that are gone from the file: 1"),
        ({"error": "no JSON"}, "answered, but the answer was not accepted: 1"),
        ({"finish_reason": "length"}, "ended at the limit of tokens: 1"),
        ({"refusal": "no"}, "refused by the model: 1"),
        ({"requests": 3}, "sent more than once: 1"),
        ({"fault": "edited"}, "changed in the file since they were asked: 1"),
    ],
)
def test_nothing_is_concealed(changes: dict[str, Any], words: str) -> None:
    """It is counted, in the paragraph, too."""
    study = study_of(ONE, replace(ONE, place=4, **changes))
    assert unusual_counts(study) == [words]
    assert words in field(study, "Processing structure")
    assert words.partition(":")[0] in report(study, "plain").partition("Tool ident")[0]
    assert unusual_counts(study_of(ONE)) == []


def test_the_paragraph_counts_what_was_put_to_a_model() -> None:
    """Not what was not sent; an answer without a model is no answer of the named one."""
    unsent = replace(ONE, place=5, text=None, error="no", requests=0)
    said = " ".join(statement_of(study_of(replace(ONE, model="m"), ONE, unsent)))
    assert "2 questions were sent through an API, with chatmagic; 2 were answered, " in said
    assert (
        "by m (1 answer), as reported by the service, and by a model whose name is not reported by"
        in said
    )
    emulated = replace(ONE, origin="emulator", model="emulator")
    said = " ".join(statement_of(study_of(emulated)))
    assert "1 was answered, by emulator, as reported by the service." in said
    assert "1 answer of chatmagic's emulator, which is no language model." in said


def test_a_map_tells_its_call(tmp_path: Path) -> None:
    """The template, the settings, how often each row was asked, and what failed."""
    path = tmp_path / "answers.jsonl"
    service = RowService(refuses=lambda prompt: 400 if prompt.endswith("b") else 200)
    with chatmagic.Client(transport=service) as client:
        Session(client).map(
            "Label {{ it }}",
            ["a", "b", ""],
            file=path,
            yes=True,
            repeats=2,
            temperature=0,
            instructions="Be brief.",
            keep_prompts=True,
        )
    study = study_files.read_study([path])
    assert "template of the map answers.jsonl: Label {{ it }} (6 questions)" in field(
        study, "User prompt(s)"
    )
    assert "temperature: 0 (6 questions)" in field(study, "Parameters")
    assert "Be brief. (6 questions)" in field(study, "System prompt")
    structure = field(study, "Processing structure")
    words = "6 questions, 3 different ones asked 2 times each, of the map answers.jsonl, individu"
    assert words in structure
    assert "failed without an answer: 2" in structure
    assert "by the asking machine's clock" in field(study, "Access date")
    assert "Label a" in report(study)


def test_a_map_of_an_earlier_release_is_not_described() -> None:
    """So nothing is said of its settings."""
    study = study_files.read_study([SAMPLES / "saved_job_file.jsonl"])
    for name in ("System prompt", "Parameters", "User prompt(s)"):
        assert "not in the file (4 questions)" in field(study, name)
    assert "asked for: not in the file (4 answers)" in field(study, "Model version")
    assert "not set" not in field(study, "Parameters")
    assert "None" not in field(study, "System prompt")


def test_a_review_and_an_agreement_are_reported_as_recorded(tmp_path: Path) -> None:
    """How many, drawn how, by how many people; each measure with its interval."""
    tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    written(tmp_path / "review.jsonl", DRAWN, label("1", "a"), label("1", "a", "Bob"))
    written(tmp_path / "agreement.json", AGREEMENT)
    study = study_files.read_study([tmp_path, tmp_path / "agreement.json"])
    process = field(study, "Review process")
    assert "50 of 300 rows, drawn with seed 7 (review.jsonl)" in process
    assert "labels of 2 reviewers (review.jsonl)" in process
    assert field(study, "Reviewer") == "Ann: 1 label\nBob: 1 label"
    assert field(study, "Review date").startswith("Ann: 2026-02-03, by the machine's clock")
    measures = field(study, "agreement.json, nominal")
    assert "pairs: 0.500, 95 % interval 0.400 to 0.600 (BCa), n = 9" in measures
    assert "m: alpha: not defined, n = 0" in measures
    text = report(study)
    assert "All answers are the same." in text
    told = report_json(study)["reviews"][0]["reviewers"][0]
    assert told == {"reviewer": "Ann", "labelled": 1, "skipped": 0, "changed": 0}


def test_a_study_without_an_answer_says_so() -> None:
    """No service told anything then."""
    failed = replace(ONE, text=None, error="HTTP 500")
    study = study_of(failed, replace(failed, place=4))
    assert field(study, "Access date") == field(study, "Model version") == "there is no answer"
    assert "2 questions were sent through an API, with chatmagic; none was answered." in (
        statement_of(study)
    )
    unsent = study_of(replace(failed, requests=0))
    assert field(unsent, "Processing structure") == "not sent: 1"
    assert "no question was sent" in field(unsent, "Parameters")
    assert "0 questions were sent" in " ".join(statement_of(unsent))


def test_a_partly_repeated_map_is_not_said_to_be_whole() -> None:
    """Each different question was asked at least so often, and at most so often."""
    rows = [
        replace(ONE, kind="map", place=place, repeat=repeat, request=str(place))
        for place, repeat in ((0, 1), (0, 2), (0, 3), (1, 1))
    ]
    words = "4 questions, 2 different ones asked 1 to 3 times each, of the map paper.ipynb, indiv"
    assert words in field(study_of(*rows), "Processing structure")
    once = field(study_of(rows[0], rows[3]), "Processing structure")
    assert once.startswith("2 questions of the map paper.ipynb, individually")


def test_settings_are_as_they_were_set() -> None:
    """A service may refuse one by its name, and answer without it."""
    settings = field(study_of(replace(ONE, settings={"temperature": 0})), "Parameters")
    assert "temperature: 0 (1 question)\n" in settings
    assert "these are as set; a service that refused one of them" in settings
    assert "as set" not in field(study_of(ONE), "Parameters")


def test_part_of_an_answer_and_several_days_are_told() -> None:
    """With their numbers."""
    days = [timestamp(f"2026-01-0{day}T12:00:00Z") for day in (1, 1, 3)]
    asked = [replace(ONE, place=n, date=day, model="m") for n, day in enumerate(days)]
    study = study_of(*asked, replace(ONE, place=9, state="cut off", model="n"))
    dates = field(study, "Access date")
    assert "2026-01-01 to 2026-01-03 (on 2 days), by the service's clock, in UTC" in dates
    assert "not reported by the service (1 answer)" in dates
    assert "4 were answered, whole or in part, by m (3 answers) and n (1 answer), as " in " ".join(
        statement_of(study)
    )
