"""Differences in the order of turns, each told once at its cause."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from audits import changed, page, run
from pages import cell, output, save

from chatmagic._json import chain_of
from chatmagic.archive import notebook
from chatmagic.archive import output as turn_output
from chatmagic.conversation.steering import Instructions
from chatmagic.conversation.turn import Turn
from chatmagic.models import Reply

Cells = list[dict[str, Any]]
Told = Callable[[Sequence[Any]], list[str]]
SEAL = notebook.CHANGED
AFTER = "it was asked after other turns than those above it"
ELSEWHERE = (
    "moved, copied or asked again: its turn stood elsewhere, or nowhere, for the question of"
)


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """Give the faults of a notebook, and the remarks on what follows from one."""

    def told(cells: Sequence[Any]) -> list[str]:
        lines = run(capsys, [save(tmp_path / "n.ipynb", cells)])[1].splitlines()
        return [line for line in lines if line.startswith("!") or "carried it as it was" in line]

    return told


def names_of(digest: str) -> str | None:
    """Give the digest of a list with one turn."""
    return chain_of([digest])


def followed(number: int, cells: str) -> str:
    """Give the remark on cells below a change."""
    return f"cell {number}: {cells} carried it as it was before the edit."


def chain(count: int) -> Cells:
    """Give cells of questions, each asked after those above it."""
    digests = [Turn(prompt=f"p{at}", reply=Reply(f"r{at}")).digest for at in range(count)]
    return [page(f"p{at}", f"r{at}", carried=tuple(digests[:at])) for at in range(count)]


def moved(cells: Cells, old: int, new: int) -> Cells:
    """Give the cells with one of them in another place."""
    kept = cells[:old] + cells[old + 1 :]
    return [*kept[:new], cells[old], *kept[new:]]


def test_a_changed_reply_is_one_fault_with_what_follows(told: Told) -> None:
    """The cells below it are innocent: they carried it as it was."""
    cells = chain(5)
    changed(cells[1])
    assert told(cells) == [
        f"! cell 2: {SEAL}.",
        "cell 2: cells 3, 4 and 5 carried it as it was before the edit.",
    ]


def test_a_record_that_cannot_be_read_is_one_fault(told: Told) -> None:
    """Its turn is missing for all cells below it."""
    cells = chain(4)
    cells[1]["outputs"][0]["metadata"]["chatmagic"]["state"] = 1
    assert told(cells) == [
        "! cell 2: a malformed record was left out: its 'state' cannot be read.",
        "cell 2: cells 3 and 4 carried it as it was before the edit.",
    ]
    # Another one is missing, too.
    assert told([cells[0], cells[1], cells[3]])[1:] == [f"! cell 3: {AFTER}."]


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ([*chain(5)[:1], *chain(5)[2:]], f"cell 2: {AFTER}; so were cells 3 and 4"),
        ([*chain(3)[:1], *chain(3)[2:]], f"cell 2: {AFTER}"),
        (moved(chain(6), 1, 4), f"cell 5: {ELSEWHERE} cells 2, 3, 4 and 6"),
        (moved(chain(6), 4, 1), f"cell 2: {AFTER}; so were cells 3, 4, 5 and 6"),
        (moved(chain(3), 2, 1), f"cell 3: {ELSEWHERE} cell 2"),
        (
            [*chain(2), page("x", carried=()), *chain(4)[2:]],
            f"cell 3: {AFTER}; so were cells 4 and 5",
        ),
        ([page("x"), *chain(3)], f"cell 1: {ELSEWHERE} cells 2, 3 and 4"),
        ([*chain(4)[:3], chain(4)[0], chain(4)[3]], f"cell 4: {AFTER}; so was cell 5"),
        (
            [chain(4)[0], page("p1", "other", carried=()), *chain(4)[2:]],
            f"cell 2: {AFTER}; so were cells 3 and 4",
        ),
    ],
)
def test_one_change_of_the_cells_is_one_fault(cells: Cells, fault: str, told: Told) -> None:
    """Removed, moved, inserted, copied, asked again: told at a cell, with those that follow."""
    assert told(copy.deepcopy(cells)) == [f"! {fault}."]


def test_an_edited_turn_is_known_in_lists_that_name_only_the_newest(told: Told) -> None:
    """Of the earlier ones a record has one digest; with ``--last`` it may be that of any two."""
    names = [Turn(prompt=f"p{at}", reply=Reply(f"r{at}")).digest for at in range(4)]
    cells = chain(3)
    before = (2, chain_of(names[:2]))
    cells.append(page("p3", "r3", carried=(names[2],), earlier=before))
    last = {"last": 2}
    short = page("p4", "r4", carried=(names[3],), earlier=(1, names_of(names[2])), parameters=last)
    cells.append(short)
    assert told(cells) == []
    changed(cells[2])
    assert told(cells) == [f"! cell 3: {SEAL}.", followed(3, "cells 4 and 5")]
    cells = chain(3)
    changed(cells[2])
    cells[2:2] = [page("x", "y", parameters={"history": False})]
    assert told(cells) == [f"! cell 4: {SEAL}."]


def test_two_changes_are_two_faults(told: Told) -> None:
    """Each with what follows from it."""
    cells = chain(7)
    del cells[4], cells[1]
    assert told(cells) == [
        f"! cell 2: {AFTER}; so was cell 3.",
        f"! cell 4: {AFTER}; so was cell 5.",
    ]


def test_other_instructions_are_one_fault(told: Told) -> None:
    """They were removed; or their cell was changed, which is told at that cell."""
    item = Instructions.of_text("Be brief.")
    shown = output(*turn_output.of_steering(item))
    cells = chain(3)
    for at, made in enumerate(cells):
        cells[at] = page(
            f"p{at}",
            f"r{at}",
            instructions=item.value.bare,
            carried=tuple(Turn(prompt=f"p{n}", reply=Reply(f"r{n}")).digest for n in range(at)),
        ) | {"source": made["source"]}
    words = "it was asked with other instructions than those that stand above it"
    instruct = cell("%%chat_instructions\nBe brief.", [shown])
    assert told([instruct, *cells]) == []
    assert told(cells) == [f"! cell 1: {words}; so were cells 2 and 3."]
    late = [cells[0], instruct, *cells[1:]]
    assert told(late) == [f"! cell 1: {words}."]
    other = Instructions.of_text("Be long.")
    forged = copy.deepcopy(shown)
    forged["metadata"]["chatmagic"]["instructions"] = other.to_json()["instructions"]
    assert told([cell("%%chat_instructions\nBe long.", [forged]), *cells]) == [
        f"! cell 1: {SEAL}.",
        "cell 1: cells 2, 3 and 4 carried it as it was before the edit.",
    ]
