"""Turns of the panel as cells of the notebook."""

from __future__ import annotations

from dataclasses import replace

from panel_views import turn

from chatmagic.conversation.carried import Carried
from chatmagic.conversation.record import owner_of
from chatmagic.conversation.request_facts import Value
from chatmagic.jupyter.page.panel import cell_export


def test_where_cells_go() -> None:
    """Below the cell of the turn above, else above that of the turn below, else anywhere."""
    turns = [
        turn(1, number=1, entry="panel", owner="p1"),
        turn(2, number=2, owner=owner_of("A")),
        turn(3, number=3, entry="panel", owner="p3"),
    ]
    plan = cell_export.planned(turns, None, ["A"])
    assert [(one.get("before"), one.get("after")) for one in plan] == [("A", None), (None, "A")]
    (alone_,) = cell_export.planned(turns, [3], [])
    assert "before" not in alone_
    assert "after" not in alone_
    assert alone_["cell"]["outputs"][0]["metadata"] == {}  # of a turn without a record


def test_the_records_of_cells_do_not_grow_with_the_panel() -> None:
    """Each lists the turn whose cell stands before it, and those that no cell shows."""
    turns = [turn(number, number=number, entry="panel", owner=f"p{number}") for number in range(5)]
    digests = [one.digest for one in turns]
    turns = [
        replace(one, carried=carried, record=replace(one, carried=carried).to_record("0" * 64))
        for number, one in enumerate(turns)
        for carried in [Carried.of(enumerate(digests[:number]))]
    ]
    for wanted, expected in (
        (None, [[], *([digest] for digest in digests[:4])]),
        ([0, 2, 4], [[], digests[:2], digests[2:4]]),
    ):
        plan = cell_export.planned(turns, wanted, [])
        told = [one["cell"]["outputs"][0]["metadata"]["chatmagic"] for one in plan]
        assert [one["carried"] for one in told] == expected


def test_a_cell_has_the_options_of_its_turn() -> None:
    """Run, it sends what the panel sent."""
    asked = turn(1, number=1, entry="panel", owner="p1", temperature=0.5, last=2)
    (cell,) = cell_export.planned([asked], None, [])
    assert cell["cell"]["source"].splitlines()[0] == "%%chat -t 0.5 --last 2"


def test_a_cell_asks_as_typed_in_the_form_of_its_turn() -> None:
    """What goes in front of a question for its form is no part of its cell."""
    form = Value.of("json", "Reply with JSON.", "format")
    asked = replace(
        turn(1, number=1, entry="panel", owner="p1", format="json"),
        prompt="Reply with JSON.\n\nwhy?",
        typed="why?",
        values=(form,),
    )
    (cell,) = cell_export.planned([asked], None, [])
    assert cell["cell"]["source"] == "%%chat --format json\nwhy?"
