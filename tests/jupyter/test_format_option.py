"""``--format`` and ``--schema``: what is asked for, what is shown, and what a variable gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logged import Emulator
from shells import Shell, asked

from chatmagic.errors import InputError, ReplyFormatError
from chatmagic.models import Reply
from chatmagic.session.current import current_session

PERSON = """
from dataclasses import dataclass, field
from typing import Literal

@dataclass
class Person:
    name: str = field(metadata={"description": "the full name"})
    age: int | None = None
    role: Literal["author", "reader"] = "reader"
"""
JSON_ALONE = "Reply with one JSON value alone, without a code fence and without other words."
IN_PROSE = "Reply in prose again, as Markdown; the form of the earlier reply holds no longer."
OF_PERSON = f"{JSON_ALONE} It is of the type Person:\n\nPerson: a value of this JSON schema\n\n"


def test_json_is_parsed_shown_as_a_tree_and_put_into_a_variable(
    shell: Shell, emulator: Emulator
) -> None:
    """The question stays as typed; what asks for the form goes in front of it."""
    ran = shell.machine('%%chat --format json -o data\necho:{"a": [1, "<b>"], "c": {}}')
    assert asked(emulator) == [[f'{JSON_ALONE}\n\necho:{{"a": [1, "<b>"], "c": {{}}}}']]
    assert shell["data"] == {"a": [1, "<b>"], "c": {}}
    assert ran.texts == ['{\n  "a": [\n    1,\n    "<b>"\n  ],\n  "c": {}\n}']
    assert "<strong>&quot;a&quot;</strong>: 2 items" in ran.html
    assert "<b>" not in ran.html
    (record,) = ran.records
    assert record["prompt"] == 'echo:{"a": [1, "<b>"], "c": {}}'
    assert record["parameters"] == {"format": "json"}
    assert [(value["kind"], value["expression"]) for value in record["values"]] == [
        ("format", "json")
    ]
    assert record["text"] == '{"a": [1, "<b>"], "c": {}}'
    assert current_session().conversation.turns[0].reply.text == '{"a": [1, "<b>"], "c": {}}'


def test_a_schema_checks_the_reply_and_gives_an_instance(shell: Shell, emulator: Emulator) -> None:
    """A schema asks for JSON by itself, and is told as JSON schema."""
    shell.do(PERSON)
    ran = shell.machine('%%chat --schema Person -o p\necho:{"name": "Ada", "age": 36}')
    words, _, question = asked(emulator)[0][0].rpartition("\n\n")
    assert question == 'echo:{"name": "Ada", "age": 36}'
    document = json.loads(words.removeprefix(OF_PERSON))
    assert document["properties"]["name"]["description"] == "the full name"
    assert document["required"] == ["name"]
    assert repr(shell["p"]) == "Person(name='Ada', age=36, role='reader')"
    assert ran.records[0]["parameters"] == {"format": "json", "schema": "Person"}
    assert "format json · schema Person" in ran.html
    shell.machine("%%chat\necho:It is {x} {{ p.age }}.")
    assert asked(emulator)[-1][-1] == f"{IN_PROSE}\n\necho:It is {{x}} 36."
    # Below prose the words of the schema are sent again.
    shell.machine('%%chat --format json -o q\necho:```json\n{"name": "Bo"}\n```')
    assert asked(emulator)[-1][-1].startswith(f"{words}\n\necho:```json")
    assert repr(shell["q"]) == "Person(name='Bo', age=None, role='reader')"


def test_what_is_no_json_fails_the_cell_and_is_kept(shell: Shell) -> None:
    """Run All stops; the text was paid for, so it is a turn, shown, and in the variable."""
    ran = shell.fails('%%chat --format json -o data\necho:{"a": 1,\n "b" 2}', person=False)
    assert isinstance(ran.error, ReplyFormatError)
    assert ran.error.message == "The reply is no JSON: line 2, column 6: Expecting ':' delimiter."
    assert ran.error.hint == (
        "Its text was paid for and is kept as a turn: %chat_history shows it."
    )
    assert ran.texts == ['{"a": 1,\n "b" 2}']
    assert "No JSON at line 2, column 6." in ran.html
    (turn,) = current_session().conversation
    assert (turn.state, turn.reply.text) == ("complete", '{"a": 1,\n "b" 2}')
    assert isinstance(shell["data"], Reply)
    assert shell["data"].text == turn.reply.text
    assert ran.error.reply == turn.reply


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%chat --schema Nobody echo:1", "There is no Nobody in this notebook yet."),
        ("%chat --schema Person.nothing echo:1", "There is no Person.nothing in this notebook yet"),
        (
            "%chat --schema number echo:1",
            "number is no schema that can be used: Unable to generate",
        ),
        ("%chat --schema Person --format code echo:1", "A schema goes with the format json, not"),
        (
            "%chat --format xml echo:1",
            "--format takes one of markdown, text, code, json, not 'xml'",
        ),
        ("%chat --schema 1x echo:1", "--schema takes the name of a variable, not '1x'"),
    ],
)
def test_a_form_that_cannot_be_asked_for_is_refused(
    shell: Shell, emulator: Emulator, line: str, message: str
) -> None:
    """Nothing is sent."""
    shell.do(f"{PERSON}\nnumber = 3")
    ran = shell.fails(line, person=False)
    assert isinstance(ran.error, InputError)
    assert ran.error.message.startswith(message)
    assert "Nothing was sent." in ran.error.message
    assert emulator.requests == []


def test_a_follow_up_of_another_form_says_whose_schema_it_was(shell: Shell) -> None:
    """The cell itself names none; one that takes any JSON is named like any other."""
    shell.do(PERSON)
    shell.machine('%%chat --schema Person\necho:{"name": "Ada"}')
    ran = shell.fails("%%chat --format json\necho:[1]", person=False)
    assert isinstance(ran.error, ReplyFormatError)
    assert ran.error.hint == (
        "Its text was paid for and is kept as a turn: %chat_history shows it. The question names "
        "no schema, so the nearest one above it applies; --schema object takes any JSON."
    )
    ran = shell.fails("%%chat --schema Person\necho:[1]", person=False)
    assert isinstance(ran.error, ReplyFormatError)
    assert "nearest" not in str(ran.error.hint)
    shell.machine("%%chat --schema object -o any\necho:[1]")
    assert shell["any"] == [1]


def test_a_form_is_set_for_every_question_and_taken_back_for_one(
    shell: Shell, emulator: Emulator
) -> None:
    """By %config, and by --format markdown."""
    assert "format" not in shell.do("%chat").texts[0]
    shell.do("%config ChatMagics.format = 'text'")
    assert "format = text" in shell.do("%chat").texts[0]
    ran = shell.machine("%chat echo:*one*")
    shell.machine("%chat --no-history --format markdown echo:two")
    assert [messages[-1] for messages in asked(emulator)] == [
        "Reply in plain text, without Markdown.\n\necho:*one*",
        "echo:two",
    ]
    assert "*one*" in ran.html
    assert "<em>" not in ran.html


def test_a_form_is_saved_and_loaded(shell: Shell, emulator: Emulator, tmp_path: Path) -> None:
    """As options of the cell, and with the text as it came; the schema is found by its name."""
    shell.do(PERSON)
    shell.do("%config ChatMagics.keep_values = True")
    shell.machine('%%chat --schema Person\necho:{"name":"Ada"}')
    (before,) = current_session().conversation
    shell.do(f"%chat_save {tmp_path}/talk.ipynb\n%chat_save {tmp_path}/talk.json")
    cells = json.loads((tmp_path / "talk.ipynb").read_text("utf-8"))["cells"]
    source = "".join(cells[1]["source"])
    assert source == '%%chat --format json --schema Person\necho:{"name":"Ada"}'
    for name in ("talk.ipynb", "talk.json"):
        shell.do(f"%chat_reset\n%chat_load {tmp_path}/{name}")
        (turn,) = current_session().conversation
        assert (turn.reply.text, turn.prompt) == (before.reply.text, before.prompt)
        assert (turn.format, turn.schema, turn.form) == ("json", "Person", None)
        shell.machine('%%chat --format json -o p\necho:{"name":"Bo"}')
        assert shell["p"].name == "Bo"
        assert asked(emulator)[-1][:2] == [before.prompt, before.reply.text]


def test_the_words_of_a_form_are_not_lost(shell: Shell, emulator: Emulator, tmp_path: Path) -> None:
    """They are ours: what is loaded is sent as it was, though no values are kept."""
    shell.machine("%%chat --format json\necho:[1]")
    shell.machine("%%chat\necho:a")
    for name in ("talk.ipynb", "talk.json"):
        ran = shell.do(f"%chat_save {tmp_path}/{name}\n%chat_reset\n%chat_load {tmp_path}/{name}")
        assert "not kept" not in ran.printed
        assert "Values" not in ran.printed
        shell.machine("%%chat --no-stream\necho:b")
        assert asked(emulator)[-1][:4] == asked(emulator)[1] + ["a"]
