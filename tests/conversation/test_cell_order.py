"""What pages say of their cells, and the layout that comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cases import each_case

from chatmagic.conversation.cell_order import Layout, PageCell, PageReport, Pages, report_from
from chatmagic.conversation.record import owner_of

A, B, C, D = (owner_of(name) for name in "abcd")


def word(
    page: str, cells: str, *, notebook: str = "n", opened: bool = False, name: str = ""
) -> PageReport:
    """Give what a page says of cells with names of one letter."""
    return PageReport(
        page, notebook, {owner_of(name): PageCell(name) for name in cells}, opened, name
    )


def told(*words: PageReport) -> Pages:
    """Give pages that have said these words, one after the other."""
    pages = Pages()
    for one in words:
        pages = pages.with_report(one)
    return pages


def layout_of(pages: Pages, owner: str | None = A) -> Layout:
    """Give the layout for a cell, of pages that have said something."""
    layout = pages.layout(owner)
    assert layout is not None
    return layout


def test_without_a_word_there_is_no_layout() -> None:
    """Nobody's order is known, and nobody's cell is missed."""
    assert Pages().layout(A) is None
    assert A not in Pages().cells


def test_the_last_word_of_a_page_holds() -> None:
    """It says the order; a cell that was in an earlier one is gone."""
    pages = told(word("p", "abc", opened=True), word("p", "ca"))
    layout = layout_of(pages)
    assert layout.order == (C, A)
    assert set(layout.present) == {A, C}
    assert layout.gone == {B}
    assert A in pages.cells
    assert B not in pages.cells


def test_a_cell_that_asks_is_there() -> None:
    """Whatever was said of it; it has no order then."""
    layout = layout_of(told(word("p", "ab"), word("p", "a")), B)
    assert (layout.order, layout.gone) == ((), frozenset())


def test_two_notebooks_with_one_kernel() -> None:
    """Each cell goes by its own page; a cell of one is not gone from the other."""
    pages = told(word("p", "ab", opened=True), word("q", "cd", notebook="m", opened=True))
    first, second, newest = (layout_of(pages, owner) for owner in (A, C, None))
    assert (first.order, second.order, newest.order) == ((A, B), (C, D), (C, D))
    assert first.gone == second.gone == newest.gone == frozenset()
    pages = pages.with_report(word("p", "a")).with_report(word("q", "bcd", notebook="m"))
    assert layout_of(pages).gone == frozenset()


def test_a_page_that_is_loaded_again_takes_the_place_of_the_one_before() -> None:
    """It says what there is now; the page before says nothing any more, as it is gone."""
    pages = told(word("p", "abc", opened=True), word("p2", "ac", opened=True))
    layout = layout_of(pages)
    assert layout.gone == {B}
    assert len(pages.reports) == 1


def test_a_second_tab_of_a_notebook_does_not_take_cells_away() -> None:
    """The first one says its cells once more, and both count."""
    pages = told(word("p", "abc", opened=True), word("q", "ab", opened=True), word("p", "abc"))
    layout = layout_of(pages, C)
    assert (layout.order, layout.gone) == ((A, B, C), frozenset())


def test_a_record_in_a_cells_outputs_names_its_owner() -> None:
    """A layout says which cell names which."""
    pages = Pages().with_report(PageReport("p", "n", {A: PageCell("a"), B: PageCell("b", owner=D)}))
    layout = layout_of(pages)
    assert layout.named == {B: D}


def test_a_copy_holds_the_record_of_a_cell_that_is_there() -> None:
    """One whose own cell is gone is that cell, with another identity."""
    cells = {A: PageCell("a", owner=A), B: PageCell("b", owner=A), C: PageCell("c", owner=D)}
    assert Pages().with_report(PageReport("p", "n", cells)).copies() == {B}
    assert Pages().copies() == frozenset()


def test_an_output_that_is_older_than_the_kernel() -> None:
    """It stands above a live turn, and its cell has neither run here nor a place here."""
    cells = {name: PageCell(name, owner=name) for name in (A, B, C, D)}
    pages = Pages().with_report(PageReport("p", "n", cells))
    assert pages.unheard({C}, {C}) == {A, B}
    assert pages.unheard({B, C}, {C}) == {A}
    assert pages.unheard({A}, {A}) == set()
    assert pages.unheard(set(), set()) == set()
    moved = {A: PageCell("a", owner=D), B: PageCell("b"), C: PageCell("c", owner=C)}
    pages = Pages().with_report(PageReport("p", "n", moved))
    assert pages.unheard({C, D}, {C}) == set()
    assert pages.unheard({C}, {C}) == {A}


def test_notebooks_are_named_where_there_are_two() -> None:
    """A cell that no page ever had is another notebook's; one that is gone is nobody's."""
    one = told(word("p", "ab", opened=True, name="x.ipynb"), word("p", "a", name="x.ipynb"))
    assert one.notebooks_of([A, B]) == {}
    assert one.notebooks_of([A, B, C]) == {A: "of x.ipynb", C: "of another notebook"}
    two = one.with_report(word("q", "cd", notebook="m", opened=True, name="y.ipynb"))
    assert two.notebooks_of([A, C]) == {A: "of x.ipynb", C: "of y.ipynb"}
    assert told(word("p", "a")).notebooks_of([A, B]) == {}


def test_a_message_is_read() -> None:
    """Cells that are no code are left out, and so is an owner that is no text."""
    cells = [["a", True, None], ["m", False, None], ["b", True, "hash"], ["c", True, 7]]
    content = {"kind": "cells", "page": "p", "notebook": "n", "opened": True, "cells": cells}
    read = report_from(content)
    assert read is not None
    assert (read.page, read.notebook, read.opened) == ("p", "n", True)
    assert read.name == ""
    assert report_from({**content, "name": "x\x1b\n.ipynb"}) == replace(read, name="x\u241b .ipynb")
    assert list(read.cells.values()) == [PageCell("a"), PageCell("b", "hash"), PageCell("c")]


@each_case(
    "content",
    [None, 7, "text", [], {}, {"cells": 1}, {"cells": [["a"]]}, {"cells": []}, {"cells": [7]}],
)
def test_what_cannot_be_read_says_nothing(content: Any) -> None:
    """A message is not to be trusted to have its form."""
    assert report_from(content) is None


def test_the_page_that_runs_a_cell_says_the_order() -> None:
    """By its name, or by the cells that its request lists above; the other tab spoke last."""
    pages = told(word("p", "abcd"), word("q", "dbac"))
    assert layout_of(pages).order == (D, B, A, C)
    own = pages.layout(A, "p")
    assert own is not None
    assert own.order == (A, B, C, D)
    assert layout_of(pages.with_newest("p"), None).order == (A, B, C, D)
    assert pages.with_newest("closed") == pages
    gone = pages.layout(A, "closed")
    assert gone is not None
    assert gone.order == (D, B, A, C)
    new = owner_of("new")
    listed = pages.layout(A, "p", [new, B])
    assert listed is not None
    assert listed.order == (new, B, A, C, D)
    assert new in listed.present
    assert Pages().layout(A, "p", [B]) is None
    before = replace(pages, ever=pages.ever | {new})
    assert layout_of(before).gone == {new}
    again = before.layout(A, "p", [new])
    assert again is not None
    assert again.gone == frozenset()


def test_a_cell_is_on_the_page_that_runs_it() -> None:
    """Otherwise on the newest that lists it; on none if no page does."""
    pages = told(word("p", "ab"), word("q", "ab"), word("r", "c", notebook="o"))
    found = [pages.report_with(A, page) for page in ("p", "r", "")]
    assert [report and report.page for report in found] == ["p", "q", "q"]
    assert pages.report_with(D) is None
    newest = pages.report_with(None)
    assert newest is not None
    assert newest.page == "r"
