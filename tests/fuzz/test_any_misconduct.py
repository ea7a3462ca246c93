"""Notebooks that somebody edits after they were run, in each way that has a name, and re-saves.

Not nameable, as the manual says: the last cells taken out, text in the output of a cell with code
of its own, ``-o``, ``--background``, ``--allow-secrets``, ``--raw``, and a seal that is made again.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from pages import cell, output, text_cell

from chatmagic.archive import output as turn_output
from chatmagic.audit import audit
from chatmagic.audit.findings import Audit
from chatmagic.conversation import cell_magics, magic_line
from chatmagic.conversation.record import change_record, sealed
from chatmagic.conversation.steering import Instructions, ThreadStart
from chatmagic.conversation.turn import Carried, Turn
from chatmagic.models import Message, Reply
from chatmagic.protocol.request import Request

Cells = list[dict[str, Any]]
Edit = Callable[[Cells, int, random.Random], set[int]]

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TURNS = 4
FIRST = 4
"""Place of the first cell with a question; each has its options, and those below carry it."""


def asked(number: int, held: list[Turn], chance: random.Random) -> tuple[dict[str, Any], Turn]:
    """Give a cell that asks, as it is saved, and its turn."""
    turn = Turn(
        prompt=f"question {number} of {chance.randrange(1000)}",
        reply=Reply(f"*reply* {chance.random()}", date=NOON + timedelta(minutes=number)),
        temperature=chance.choice([0, 0.5, 1.0]),
    )
    turn = replace(turn, carried=Carried.from_turns((0, other.digest) for other in held))
    digest = Request((Message("user", turn.prompt),)).digest()
    record = turn.to_record(digest, {other.digest for other in held})
    record = replace(record, instructions=INSTRUCTIONS.value.bare)
    line = f"%chat -t {turn.temperature} {turn.prompt}"
    source = cell_magics.source_for(turn.prompt, *magic_line.typed_options(turn))
    shown = output(*turn_output.of_turn(turn.reply, record))
    return cell(chance.choice([source, line]), [shown], id=f"c{number}"), turn


INSTRUCTIONS = Instructions.of_text("Be brief.")


def notebook(seed: int) -> Cells:
    """Give the cells of a notebook that was run from top to bottom; its end takes turns back."""
    return json.loads(made_of(seed))  # type: ignore[no-any-return]


@lru_cache
def made_of(seed: int) -> str:
    """Give the same as JSON."""
    chance = random.Random(seed)  # noqa: S311 - the same each time
    start = output(*turn_output.of_steering(ThreadStart("main")))
    cells = [
        cell("%load_ext chatmagic"),
        cell(INSTRUCTIONS.source, [output(*turn_output.of_steering(INSTRUCTIONS))]),
        cell("%chat_thread main", [start]),
        cell("print(1)", [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]),
    ]
    held: list[Turn] = []
    for number in range(TURNS):
        made, turn = asked(number, held, chance)
        cells.append(made)
        held.append(turn)
    kind = chance.choice(["undo", "reset"])
    shown = output(*turn_output.of_message("<p>x</p>", "x", change_record(kind)))  # type: ignore[arg-type]
    return json.dumps([*cells, cell(f"%chat_{kind}", [shown])])


def found(path: Path, cells: Cells, **changes: Any) -> Audit:
    """Audit a notebook of these cells."""
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **changes}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return audit.audit_all([path])[0]


def shown_in(made: dict[str, Any]) -> dict[str, Any]:
    """Give a cell's one output."""
    return made["outputs"][0]  # type: ignore[no-any-return]


def source(made: dict[str, Any], change: Callable[[str], str]) -> None:
    """Change a cell's source."""
    made["source"] = change("".join(made["source"])).splitlines(keepends=True)


def pasted() -> dict[str, Any]:
    """Give an output that a person has written."""
    return {"output_type": "stream", "name": "stdout", "text": ["a much better reply"]}


def edit(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Give the edit of one cell that asks, which is named."""

    def done(cells: Cells, place: int, _: random.Random) -> set[int]:
        change(cells[place])
        return {place + 1}

    return done


def at(place: int, change: Callable[[dict[str, Any]], object]) -> Edit:
    """Give the edit of the cell in one place."""
    return lambda cells, _, chance: edit(change)(cells, place % len(cells), chance)


def resealed(made: dict[str, Any], kind: str = "text/html") -> None:
    """Show another HTML, or Markdown, and make the seal again."""
    shown = shown_in(made)
    shown["data"][kind] = ["<p>better</p>"]
    told = {name: item for name, item in shown["metadata"]["chatmagic"].items() if name != "seal"}
    data = {kind: "".join(lines) for kind, lines in shown["data"].items()}
    shown["metadata"]["chatmagic"] = sealed(told, data)


def taken_out(cells: Cells, place: int, _: random.Random) -> set[int]:
    """Take out a cell with its question; the one that stands there then carried it."""
    place = min(place, FIRST + TURNS - 2)
    del cells[place]
    return {place + 1}


def swapped(cells: Cells, place: int, _: random.Random) -> set[int]:
    """Swap a cell with the next."""
    place = min(place, FIRST + TURNS - 2)
    cells[place], cells[place + 1] = cells[place + 1], cells[place]
    return {place + 1, place + 2}


def moved(cells: Cells, place: int, _: random.Random) -> set[int]:
    """Move a cell to the top."""
    cells.insert(0, cells.pop(max(place, FIRST + 1)))
    return {1}


def copied(cells: Cells, place: int, chance: random.Random) -> set[int]:
    """Copy a cell with its output further down."""
    to = chance.randint(place + 1, FIRST + TURNS)
    cells.insert(to, copy.deepcopy(cells[place]))
    return {to + 1}


def other(place: int, chance: random.Random) -> int:
    """Give the place of another cell that asks."""
    return chance.choice([each for each in range(FIRST, FIRST + TURNS) if each != place])


def added_from(cells: Cells, place: int, chance: random.Random) -> set[int]:
    """Paste another cell's output below a reply."""
    cells[place]["outputs"].append(copy.deepcopy(shown_in(cells[other(place, chance)])))
    return {place + 1}


def replaced_by(cells: Cells, place: int, chance: random.Random) -> set[int]:
    """Paste another cell's output in place of a reply."""
    cells[place]["outputs"] = copy.deepcopy(cells[other(place, chance)]["outputs"])
    return {place + 1}


def into_code(cells: Cells, place: int, _: random.Random) -> set[int]:
    """Paste a reply into a cell that asks nothing."""
    cells[FIRST - 1]["outputs"].append(copy.deepcopy(shown_in(cells[place])))
    return {FIRST}


def invented(cells: Cells, place: int, chance: random.Random) -> set[int]:
    """Put in a question that was asked elsewhere, with its sealed reply."""
    cells.insert(place, asked(99, [], chance)[0])
    return {place + 1, place + 2}


def from_another(cells: Cells, place: int, chance: random.Random) -> set[int]:
    """Paste the output of another notebook."""
    cells[place]["outputs"] = asked(0, [], chance)[0]["outputs"]
    return {place + 1}


def never_asked(cells: Cells, place: int, _: random.Random) -> set[int]:
    """Put in a question that nobody asked."""
    cells.insert(place, cell("%%chat\nWhat else?", [pasted()]))
    return {place + 1}


def undone(cells: Cells, place: int, _: random.Random) -> set[int]:
    """Paste an undo where nothing is undone."""
    shown = output(*turn_output.of_message("<p>x</p>", "x", change_record("undo")))
    cells[place]["outputs"].append(shown)
    return {place + 1}


def chatmagic_of(made: dict[str, Any]) -> dict[str, Any]:
    """Give the record in a cell's one output."""
    return shown_in(made)["metadata"]["chatmagic"]  # type: ignore[no-any-return]


MISCONDUCT: dict[str, Edit] = {
    "its output is deleted": edit(lambda made: made.update(outputs=[], execution_count=None)),
    "text in its place": edit(lambda made: made.update(outputs=[pasted()])),
    "text below it": edit(lambda made: made["outputs"].append(pasted())),
    "an error in its place": edit(
        lambda made: made.update(outputs=[{"output_type": "error", "ename": "E", "traceback": []}])
    ),
    "the question is edited": edit(
        lambda made: source(made, lambda text: text.replace("question", "riddle"))
    ),
    "the question is emptied": edit(lambda made: made.update(source=[])),
    "the question is a comment": edit(
        lambda made: source(made, lambda text: "\n".join(f"# {line}" for line in text.split("\n")))
    ),
    "an option is added": edit(
        lambda made: source(made, lambda text: text.replace("%chat -", "%chat --last 3 -"))
    ),
    "an option is taken out": edit(
        lambda made: source(made, lambda text: re.sub("-t [0-9.]+", "", text))
    ),
    "an option is changed": edit(
        lambda made: source(made, lambda text: text.replace("-t ", "-t 0.1"))
    ),
    "quiet is added": edit(
        lambda made: source(made, lambda text: text.replace("%chat -", "%chat -q -"))
    ),
    "the text is changed": edit(
        lambda made: shown_in(made)["data"].update({"text/plain": ["better"]})
    ),
    "the HTML is changed": edit(
        lambda made: shown_in(made)["data"].update({"text/html": ["better"]})
    ),
    "the HTML is changed and sealed": edit(resealed),
    "the Markdown is changed and sealed": edit(lambda made: resealed(made, "text/markdown")),
    "the record is changed": edit(lambda made: chatmagic_of(made).update(prompt="another")),
    "the date is changed": edit(lambda made: chatmagic_of(made).update(date="2025-01-01T00:00Z")),
    "the record is taken out": edit(lambda made: shown_in(made).update(metadata={})),
    "the seal is taken out": edit(lambda made: chatmagic_of(made).pop("seal")),
    "a cell is taken out": taken_out,
    "cells are swapped": swapped,
    "a cell is moved": moved,
    "a cell is copied": copied,
    "a reply is added": added_from,
    "a reply is replaced": replaced_by,
    "a reply is put into code": into_code,
    "a question is invented": invented,
    "a reply of another notebook": from_another,
    "a reply that is written": never_asked,
    "an undo is added": undone,
    "the undo is taken out": at(-1, lambda made: made.update(outputs=[])),
    "the undo is a comment": at(-1, lambda made: made.update(source=["# nothing"])),
    "the instructions are edited": at(1, lambda made: source(made, lambda text: f"{text} Or not.")),
    "the instructions are taken out": at(1, lambda made: made.update(source=["x"], outputs=[])),
    "the thread is renamed": at(2, lambda made: made.update(source=["%chat_thread other"])),
}  # fmt: skip


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 6), marks=pytest.mark.release)])
@pytest.mark.parametrize("kind", MISCONDUCT)
def test_whoever_edits_a_notebook_is_named_by_cell(tmp_path: Path, kind: str, seeds: range) -> None:
    """In a line of its own, in each of 2 notebooks, and for a release in 4 more."""
    for seed in seeds:
        chance = random.Random(f"{kind} {seed}")  # noqa: S311 - the same each time
        cells = notebook(seed)
        place = chance.randrange(FIRST, FIRST + TURNS)
        numbers = MISCONDUCT[kind](cells, place, chance)
        told = found(tmp_path / "n.ipynb", cells)
        if kind == "the instructions are taken out":
            numbers = {*range(FIRST + 1, FIRST + 1 + TURNS)}
        lines = [*told.problems, *told.remarks]
        assert any(line.startswith(f"cell {number}: ") for line in lines for number in numbers), (
            seed, place, numbers, lines,
        )  # fmt: skip
        assert told.problems or kind == "an error in its place"


def doubles(value: Any) -> Any:
    """Give JSON as a page reads and writes it: 1.0 is 1."""
    if isinstance(value, dict):
        return {name: doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [doubles(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def texts_whole(value: Any) -> Any:
    """Give JSON with its lists of lines as texts, but for the sources."""
    if isinstance(value, dict):
        return {name: texts_whole(item) for name, item in value.items()}
    is_lines = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    if is_lines and str(value[0]).endswith(("\n", "</div>")):
        return "".join(value)
    return [texts_whole(item) for item in value] if isinstance(value, list) else value


def each_cell(change: Callable[[dict[str, Any], int], object]) -> Callable[[Cells], Cells]:
    """Give a re-save that changes each cell."""

    def done(cells: Cells) -> Cells:
        for number, made in enumerate(cells):
            change(made, number)
        return cells

    return done


HARMLESS: dict[str, Callable[[Cells], Cells]] = {
    "as it is": lambda cells: cells,
    "by a page": doubles,
    "texts as texts": texts_whole,
    "sources as texts": each_cell(lambda made, _: made.update(source="".join(made["source"]))),
    "without ids": each_cell(lambda made, _: made.pop("id", None)),
    "with other ids": each_cell(lambda made, number: made.update(id=f"new-{number}")),
    "other counts": each_cell(lambda made, number: made.update(execution_count=number + 70)),
    "no counts": each_cell(lambda made, _: made.update(execution_count=None)),
    "with metadata": each_cell(lambda made, _: made.update(metadata={"tags": ["x"], "a": 1.5})),
    "with a line end": each_cell(lambda made, _: source(made, lambda text: f"{text}\n")),
    "fields in another order": lambda cells: json.loads(json.dumps(cells, sort_keys=True)),
    "texts between": lambda cells: [each for made in cells for each in (text_cell("%chat"), made)],
    "code between": lambda cells: [each for made in cells for each in (cell("x = 1"), made)],
}  # fmt: skip


@pytest.mark.parametrize("minors", [[0, 5], pytest.param(range(1, 5), marks=pytest.mark.release)])
@pytest.mark.parametrize("kind", HARMLESS)
def test_a_notebook_that_is_saved_again_is_in_order(
    tmp_path: Path, kind: str, minors: Sequence[int]
) -> None:
    """Whoever saves it, by each of 6 minor versions of the format, four of them for a release."""
    for seed in minors:
        cells = HARMLESS[kind](notebook(seed))
        told = found(tmp_path / "n.ipynb", cells, nbformat_minor=seed)
        assert told.problems == []
        assert told.remarks == []
        assert [(row.agrees, row.in_order) for row in told.turns] == [(True, True)] * TURNS
