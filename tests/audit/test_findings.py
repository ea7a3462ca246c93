"""The findings in one file: problems, remarks, and cells that were not checked."""

from __future__ import annotations

from chatmagic.audit.cell_settings import Finding
from chatmagic.audit.findings import Audit


def test_a_file_is_in_order_without_a_problem_where_all_was_checked() -> None:
    """A cell that was not checked is neither a pass nor a problem; a remark changes nothing."""
    audit = Audit("n.ipynb")
    audit.remark([], "it is about no cell")
    audit.remark([2], "it was practice")
    audit.not_checked([], "there is no such cell")
    states = [audit.in_order]
    audit.not_checked([3, 4], "their code may ask")
    states.append(audit.in_order)
    audit.wrong(1, "it was edited")
    states.append(audit.in_order)
    assert states == [True, None, False]
    assert audit.problems == ["cell 1: it was edited."]
    assert audit.unchecked == {3, 4}
    assert audit.remarks == [
        "cell 2: it was practice.",
        "not checked: cells 3 and 4: their code may ask.",
    ]


def test_a_finding_is_a_fault_a_remark_or_not_checked() -> None:
    """As it says."""
    audit = Audit("talk.jsonl", "cassette")
    audit.add(Finding((1,), "it differs", is_fault=True))
    audit.add(Finding((3,), "it may differ", is_fault=False))
    audit.add(Finding((4,), "it is unknown", is_fault=False, is_checked=False))
    assert audit.problems == ["exchange 1: it differs."]
    assert audit.remarks == [
        "exchange 3: it may differ.",
        "not checked: exchange 4: it is unknown.",
    ]
