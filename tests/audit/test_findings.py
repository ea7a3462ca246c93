"""The row of a reply in an audit, and what is in order."""

from __future__ import annotations

from dataclasses import fields

from audits import FIGURES, NOON

from chatmagic.audit.findings import Audit, Row
from chatmagic.models import ReplyFacts, Usage

CHECKED = {
    "cell": 2,
    "prompt": "p",
    "model_asked": None,
    "sealed": True,
    "rendered": None,
    "in_order": True,
}


def test_a_row_tells_the_facts_of_a_reply() -> None:
    """Those of the same name, and the figures of its usage and credits one by one."""
    facts = ReplyFacts(
        model="m", finish_reason="stop", usage=Usage(1, 2, 3), credits=FIGURES, took=1, date=NOON
    )
    row = Row.of(facts, **CHECKED)
    assert (row.model, row.finish_reason, row.state, row.origin) == (
        "m",
        "stop",
        "complete",
        "live",
    )
    assert (row.prompt_tokens, row.completion_tokens, row.total_tokens) == (1, 2, 3)
    assert (row.credits_left, row.credits_limit, row.took) == (99, 100, 1)
    assert row.date == "2026-01-01T12:00:00Z"
    assert Row.of(facts, **{**CHECKED, "state": "error"}).state == "error"


def test_what_is_not_known_is_none() -> None:
    """Nothing is made up."""
    row = Row.of(ReplyFacts(), **CHECKED)
    known = {item.name for item in fields(Row) if getattr(row, item.name) is not None}
    assert known == {"cell", "prompt", "state", "origin", "sealed", "in_order"}


def test_one_fault_is_enough() -> None:
    """A problem, or an order that cannot be; what is not known is none."""
    row = Row.of(ReplyFacts(), **CHECKED)
    unknown = Row.of(ReplyFacts(), **{**CHECKED, "in_order": None})
    assert Audit("f", (row, unknown), (), (), ()).in_order
    assert not Audit("f", (row,), ("problem",), (), ()).in_order
    fault = Row.of(ReplyFacts(), **{**CHECKED, "in_order": False})
    assert not Audit("f", (row, fault), (), (), ()).in_order
