"""How a model was used: the report, and that it says nothing that no file says."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from audits import exchange, page, tape
from cases import each_case
from pages import save
from project import ROOT
from studies import ONE, field, study_of

from chatmagic import cli
from chatmagic.models import Usage
from chatmagic.study import methods, study_files
from chatmagic.study.asked import Asked
from chatmagic.study.methods import report, report_json
from chatmagic.study.report_fields import NOT_REPORTED

SAMPLES = ROOT / "tests" / "samples"


@each_case(
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
    texts = [report(study, "worldbank"), report(study, "plain"), json.dumps(report_json(study))]
    assert all("SENTINEL" in text for text in texts)
    assert not place or "SENTINEL" in field(study, place)
    without = study_of(ONE)
    assert "SENTINEL" not in report(without) + json.dumps(report_json(without))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("model", "model as reported"),
        ("system_fingerprint", "system fingerprint"),
        ("response_id", "response id"),
        ("finish_reason", "finish reason"),
        ("date", "date"),
    ],
)
def test_what_the_service_does_not_tell_is_told_so(name: str, line: str) -> None:
    """In so many words."""
    assert getattr(ONE, name) is None
    assert f"- {line}: {NOT_REPORTED}" in report(study_of(ONE))


def test_each_fact_of_a_question_is_in_the_json() -> None:
    """A fact that is added to the questions of files is added there, too."""
    told = report_json(study_of(ONE))["questions"][0]
    elsewhere = {
        *("kind", "place", "repeat", "cell", "thread", "typed", "context", "name"),
        *("instructions", "text", "is_replay", "is_local_time", "is_hidden", "is_again"),
        *("is_rest", "is_described", "reasoning", "call", "is_by_order"),
    }
    assert {item.name for item in fields(Asked)} - elsewhere <= told.keys()


def test_a_long_map_is_cut_in_the_appendix_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The JSON has all answers."""
    monkeypatch.setattr(methods, "MOST_ROWS", 2)
    study = study_files.read_study([SAMPLES / "saved_job_file.jsonl"])
    text = report(study)
    assert text.count("*Answer:*") == 2
    assert "2 more answers in saved&#95;job&#95;file.jsonl." in text
    assert len(report_json(study)["questions"]) == 4


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
    study = study_files.read_study([save(tmp_path / "a.ipynb", [edited])])
    assert study.sources[0].problems
    text = report(study)
    assert "## Problems of the files" in text
    assert "changed in the file since they were asked: 1" in text


def test_tokens_and_values_are_told() -> None:
    """As the file has them."""
    asked = replace(ONE, usage=Usage(1, 2, 3))
    assert "tokens: 1 + 2 = 3" in report(study_of(asked))
    study = study_files.read_study([SAMPLES / "saved_notebook.ipynb"])
    assert "town: 8 characters, SHA-256 59729232" in field(study, "Input data")
    assert field(study, "Input data").endswith("with file names]")
