"""How a model was used: what the report says, and that it says nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from audits import exchange, page, tape
from hostile import CORPUS
from pages import cell, output, save
from project import ROOT
from row_service import RowService
from studies import AGREEMENT, DRAWN, label, written

import chatmagic
from chatmagic import cli
from chatmagic.errors import InputError
from chatmagic.models import Usage
from chatmagic.session.session import Session
from chatmagic.study import methods
from chatmagic.study.agreement import METADATA
from chatmagic.study.methods import NOT_TOLD, Study, counts_of, fields_of, report, to_json
from chatmagic.study.sources import Asked, Source

SAMPLES = ROOT / "tests" / "samples"
WORLD_BANK = [
    *("Tool name", "Model version", "Provider", "Access method", "Access date", "Language"),
    *("System prompt", "User prompt(s)", "Input data", "Parameters", "Processing structure"),
    *("Raw AI output", "Final output", "Changes"),
    *("Review process", "Validation criteria", "Reviewer", "Review date"),
]
"""The fields of the World Bank's guideline, section 3, in its order."""


def study_of(*asked: Asked) -> Study:
    """Return the study of questions of one file."""
    source = Source("paper.ipynb", "notebook", "ab" * 32, 10, [*asked])
    return Study([source], asked=[*asked])


def field(study: Study, name: str) -> str:
    """Return the value of a field."""
    return "\n".join(next(item.lines for item in fields_of(study) if item.name == name))


ONE = Asked(file="paper.ipynb", kind="notebook", place=3, typed="QUESTION", text="ANSWER")


def test_the_fields_are_the_world_banks() -> None:
    """In its order; what only a person knows is a marked blank."""
    made = fields_of(study_of(ONE))
    assert [item.name for item in made] == WORLD_BANK
    blanks = [item.name for item in made if item.origin == "to be filled in"]
    assert blanks == [
        *("Tool name", "Provider", "Language", "Input data", "Final output", "Changes"),
        *("Review process", "Validation criteria", "Reviewer", "Review date"),
    ]
    for item in made:
        assert (item.origin == "to be filled in") == item.lines[0].startswith("[to be filled in: ")


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("model", "SENTINEL", "Model version"),
        ("asked_model", "SENTINEL", "Model version"),
        ("system_fingerprint", "SENTINEL", ""),
        ("response_id", "SENTINEL", ""),
        ("finish_reason", "SENTINEL", ""),
        ("system", "SENTINEL", "System prompt"),
        ("service", "https://SENTINEL", "Access method"),
        ("prompt_digest", "SENTINEL", ""),
        ("error", "SENTINEL", ""),
        ("refusal", "SENTINEL", ""),
        ("text", "SENTINEL", ""),
        ("typed", "SENTINEL", ""),
        ("fault", "SENTINEL", ""),
        ("settings", {"top_k": "SENTINEL"}, "Parameters"),
    ],
)
def test_a_fact_is_told_only_if_a_file_has_it(name: str, value: Any, place: str) -> None:
    """In both forms and in the JSON; without it, it is nowhere, and is not made up."""
    study = study_of(replace(ONE, **{name: value}))
    texts = [report(study, "worldbank"), report(study, "plain"), json.dumps(to_json(study))]
    assert all("SENTINEL" in text for text in texts)
    assert not place or "SENTINEL" in field(study, place)
    without = study_of(ONE)
    assert "SENTINEL" not in report(without) + json.dumps(to_json(without))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("model", "model as told"),
        ("system_fingerprint", "system fingerprint"),
        ("response_id", "response id"),
        ("finish_reason", "finish reason"),
        ("date", "date"),
    ],
)
def test_what_the_service_does_not_tell_is_told_so(name: str, line: str) -> None:
    """In so many words."""
    assert getattr(ONE, name) is None
    assert f"- {line}: {NOT_TOLD}" in report(study_of(ONE))


def test_each_fact_of_a_question_is_in_the_json() -> None:
    """A fact that is added to the questions of files is added there, too."""
    told = to_json(study_of(ONE))["questions"][0]
    elsewhere = {
        *("kind", "place", "repeat", "cell", "thread", "typed", "context", "name"),
        *("instructions", "text", "is_replay", "is_local_time", "is_hidden", "is_again"),
        *("is_rest", "is_described", "reasoning"),
    }
    assert {item.name for item in fields(Asked)} - elsewhere <= told.keys()


@pytest.mark.parametrize(
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
    assert counts_of(study) == [words]
    assert words in field(study, "Processing structure")
    assert words.partition(":")[0] in report(study, "plain").partition("Tool ident")[0]
    assert counts_of(study_of(ONE)) == []


def test_the_paragraph_counts_what_was_put_to_a_model() -> None:
    """Not what was not sent; an answer without a model is no answer of the named one."""
    unsent = replace(ONE, place=5, text=None, error="no", requests=0)
    said = " ".join(methods.statement_of(study_of(replace(ONE, model="m"), ONE, unsent)))
    assert "2 questions were put to m and a model whose name is not told by the service" in said
    assert "and 2 answered." in said
    emulated = replace(ONE, origin="emulator", model="emulator")
    said = " ".join(methods.statement_of(study_of(emulated)))
    assert "1 question was put to emulator" in said
    assert "1 answer of chatmagic's emulator, which is no language model." in said


def test_a_notebook_and_its_cassette_are_one_study() -> None:
    """Each answer counts once, and the same files give the same report."""
    paths = [SAMPLES / "saved_notebook.ipynb", SAMPLES / "saved_cassette.jsonl"]
    both = methods.read_study(paths)
    assert len(both.asked) == 14
    assert [item["questions"] for item in to_json(both)["files"]] == [14, 14]
    assert report(methods.read_study(paths)) == report(both)
    assert f"SHA-256 {both.sources[0].sha256}" in field(both, "Raw AI output")


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
    study = methods.read_study([path])
    assert "template of the map answers.jsonl: Label {{ it }}" in field(study, "User prompt(s)")
    assert "temperature: 0 (6 questions)" in field(study, "Parameters")
    assert "Be brief. (6 questions)" in field(study, "System prompt")
    structure = field(study, "Processing structure")
    assert "3 rows of the map answers.jsonl, each up to 2 times, individually" in structure
    assert "failed without an answer: 2" in structure
    assert "by the asking machine's clock" in field(study, "Access date")
    assert "Label a" in report(study)


def test_a_map_of_an_earlier_release_is_not_described() -> None:
    """So nothing is said of its settings."""
    study = methods.read_study([SAMPLES / "saved_job_file.jsonl"])
    for name in ("System prompt", "Parameters", "User prompt(s)"):
        assert "not in the file (4 questions)" in field(study, name)
    assert "not set" not in field(study, "Parameters")
    assert "None" not in field(study, "System prompt")


def test_a_review_and_an_agreement_are_reported_as_recorded(tmp_path: Path) -> None:
    """How many, drawn how, by how many people; each measure with its interval."""
    tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    written(tmp_path / "review.jsonl", DRAWN, label("1", "a"), label("1", "a", "Bob"))
    written(tmp_path / "agreement.json", AGREEMENT)
    study = methods.read_study([tmp_path, tmp_path / "agreement.json"])
    process = field(study, "Review process")
    assert "50 of 300 rows, drawn with seed 7, labelled by 2 people (review.jsonl)" in process
    assert field(study, "Reviewer") == "Ann: 1 label\nBob: 1 label"
    assert field(study, "Review date").startswith("Ann: 2026-02-03 to 2026-02-03")
    measures = field(study, "agreement.json, nominal")
    assert "pairs: 0.500, 95 % interval 0.400 to 0.600 (BCa), n = 9" in measures
    assert "m: alpha: not defined, n = 0" in measures
    text = report(study)
    assert "All answers are the same." in text
    told = to_json(study)["reviews"][0]["reviewers"][0]
    assert told == {"reviewer": "Ann", "labelled": 1, "skipped": 0, "changed": 0}


def test_a_long_map_is_cut_in_the_appendix_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The JSON has all answers."""
    monkeypatch.setattr(methods, "MOST_ROWS", 2)
    study = methods.read_study([SAMPLES / "saved_job_file.jsonl"])
    text = report(study)
    assert text.count("*Answer:*") == 2
    assert "2 more answers in saved&#95;job&#95;file.jsonl." in text
    assert len(to_json(study)["questions"]) == 4


def test_untrusted_text_cannot_act() -> None:
    """Neither in Markdown nor in plain text: it stands in code, or without signs."""
    for bad in (item.text for item in CORPUS if not item.long):
        told = replace(ONE, typed=bad, text=bad, model=bad, system=bad, error=bad)
        study = study_of(replace(told, settings={bad: bad}))
        for form in methods.FORMS:
            assert not set("\x1b\x07\x9b\u202e\u2066") & set(report(study, form)), bad
        outside = "\n".join(_outside(report(study)))
        assert not re.search(r"<(?!br>)|\]\(|!\[", outside), bad
        json.dumps(to_json(study))


def _outside(text: str) -> list[str]:
    """Return the lines outside of blocks of code."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if not fence and len(mark) >= 3:
            fence = mark
        elif fence and line == fence:
            fence = ""
        elif not fence:
            lines.append(line)
    return lines


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its exit codes; a file that cannot be read is named, and the others are reported."""
    good = tape(tmp_path / "talk.jsonl", exchange("q", "r"))
    assert cli.main(["methods", str(good)]) == 0
    assert capsys.readouterr().out.startswith("# Use of a language model\n\n**[to be filled in: ")
    assert cli.main(["methods", str(good), "--form", "plain"]) == 0
    assert "| Field |" not in capsys.readouterr().out
    assert cli.main(["methods", str(good), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == 1
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    assert cli.main(["methods", str(good), str(bad)]) == 1
    assert "Files that cannot be read" in capsys.readouterr().out
    for words in ([str(bad)], [str(tmp_path / "none")], [str(good), "--form", "other"]):
        assert cli.main(["methods", *words]) == 2


def test_an_edited_notebook_is_told(tmp_path: Path) -> None:
    """Its problems are those of an audit."""
    edited = page("q", "a")
    edited["outputs"][0]["data"]["text/plain"] = ["another"]
    study = methods.read_study([save(tmp_path / "a.ipynb", [edited])])
    assert study.sources[0].problems
    text = report(study)
    assert "## Problems of the files" in text
    assert "changed in the file since they were asked: 1" in text


def test_files_without_a_question(tmp_path: Path) -> None:
    """There is nothing to report."""
    with pytest.raises(InputError, match="No file holds a question"):
        methods.read_study([save(tmp_path / "a.ipynb", [])])


def test_tokens_and_values_are_told() -> None:
    """As the file has them."""
    asked = replace(ONE, usage=Usage(1, 2, 3))
    assert "tokens: 1 + 2 = 3" in report(study_of(asked))
    study = methods.read_study([SAMPLES / "saved_notebook.ipynb"])
    assert "town: 8 characters, SHA-256 59729232" in field(study, "Input data")
    assert field(study, "Input data").endswith("with file names]")


def test_an_agreement_that_a_notebook_shows(tmp_path: Path) -> None:
    """With its cell; one that cannot be read is a problem."""
    values: list[Any] = [AGREEMENT, []]
    shown = [cell("found", [output({"text/plain": ""}, {METADATA: value})]) for value in values]
    study = methods.read_study([save(tmp_path / "a.ipynb", [page("q"), *shown])])
    assert "pairs: 0.500" in field(study, "a.ipynb, cell 2, nominal")
    assert "Agreement (a.ipynb, cell 2): pairs: 0.500" in " ".join(methods.statement_of(study))
    assert "cell 3: its agreement cannot be read, and was left out." in study.sources[0].problems
