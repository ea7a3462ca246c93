"""What the rows of a call have in common, in its first row."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import each_case
from row_service import RowService

import chatmagic
from chatmagic._json import digest
from chatmagic.models import Message
from chatmagic.session.map.job_file import JobFile
from chatmagic.session.map.job_head import JobHead, head_name
from chatmagic.session.map.row_reply import RowReply
from chatmagic.session.session import Session

HEAD = JobHead(
    template="Label {{ it }}",
    instructions="Be brief.",
    front="Reply with JSON.\n",
    before=(Message("system", "Be brief."),),
    parameters={"stream": True, "temperature": 0},
    schema="Label",
)


def lines(path: Path) -> list[RowReply]:
    """Return the lines of a job's file."""
    return [RowReply.from_line(line) for line in path.read_bytes().splitlines()]


def asked(path: Path, rows: list[str], template: str = "Label {{ it }}", **how: Any) -> None:
    """Ask rows through a session, into a file."""
    with chatmagic.Client(transport=RowService()) as client:
        Session(client).map(template, rows, file=path, yes=True, workers=1, **how)


@pytest.mark.parametrize("head", [HEAD, JobHead(template="{{ it }}", parameters={})])
def test_a_description_is_read_as_it_was_written(head: JobHead) -> None:
    """Its name is that of its text; a name stays one."""
    assert JobHead.from_text(head.text) == head
    assert len(name := head_name(head.text)) == 16
    assert head_name(name) == name


@each_case(
    "text",
    [
        "",
        "ab" * 8,
        "[]",
        "{" * 100_000,
        '{"a":' * 100_000,
        json.dumps({"version": 2, "template": "a", "parameters": {}}),
        json.dumps({"version": 1, "template": "a", "parameters": []}),
        json.dumps({"version": 1, "parameters": {}}),
        json.dumps({"version": 1, "template": "a", "parameters": {}, "before": [{"role": 1}]}),
    ],
)
def test_any_other_text_is_none(text: str) -> None:
    """A file may come from anyone."""
    with pytest.raises(ValueError, match=r"."):
        JobHead.from_text(text)


def test_the_first_row_of_a_call_describes_it(tmp_path: Path) -> None:
    """The others name it; each has the digest of its prompt. A second run adds nothing."""
    path = tmp_path / "job.jsonl"
    asked(path, ["a", "b"], temperature=0.5, instructions="Be brief.", format="text")
    asked(path, ["a", "b", "c"], temperature=0.5, instructions="Be brief.", format="text")
    first, *others = rows = lines(path)
    head = JobHead.from_text(first.head or "")
    assert head.template == "Label {{ it }}"
    assert (head.instructions, head.before) == ("Be brief.", ())
    assert head.front.startswith("Be brief.\n")
    assert "plain text" in head.front
    assert head.parameters["temperature"] == 0.5
    assert [row.head for row in others] == [head_name(head.text)] * 2
    assert [row.prompt_digest for row in rows] == [digest(f"Label {name}") for name in "abc"]
    assert {(row.prompt, row.requests) for row in rows} == {(None, 1)}


def test_another_call_has_another_description(tmp_path: Path) -> None:
    """Also in the same file; with ``keep_prompts`` the prompts are kept."""
    path = tmp_path / "job.jsonl"
    asked(path, ["a"])
    asked(path, ["a"], temperature=1.0, keep_prompts=True)
    heads = [JobHead.from_text(row.head or "") for row in lines(path)]
    assert [head.parameters.get("temperature") for head in heads] == [None, 1.0]
    assert [row.prompt for row in lines(path)] == [None, "Label a"]


def test_room_is_made_for_the_description(tmp_path: Path) -> None:
    """A full disk refuses the first row before it is paid for."""
    path = tmp_path / "job.jsonl"
    head = replace(HEAD, template='"' * 200_000).text
    file = JobFile(path, head=head).open()
    file.make_room(1)
    assert path.stat().st_size > 2 * len(head)
    file.close()
    assert not path.exists()


def test_a_row_that_is_not_sent_tells_so(tmp_path: Path) -> None:
    """It took no request."""
    path = tmp_path / "job.jsonl"
    asked(path, ["", "b"], "{{ it }}")
    assert [row.requests for row in lines(path)] == [0, 1]
