"""The order of the cells of a kernel's pages, from the reports that these pages send.

A *page* here is one notebook in one tab. It reports its cells at every change; its last report is
used even when the tab is gone. A kernel can have several pages: two notebooks with one kernel, or
one notebook in two tabs. A console, or another front end, reports nothing, so a cell that no page
ever listed is never missed. The reports arrive through :mod:`chatmagic.jupyter.page.bridge`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Final

from chatmagic.conversation.record import owner_of
from chatmagic.safe_text import one_line

_NAME: Final = 60  # characters of a notebook's name


@dataclass(frozen=True, slots=True)
class PageCell:
    """A code cell of a page.

    Args:
        id: its identity as the page knows it.
        owner: hash of the cell that the record in its outputs names; ``None`` without one.
    """

    id: str
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class PageReport:
    """A page's last report.

    Args:
        page: name of the page, which differs each time that the page is loaded.
        notebook: identity that all pages of the same notebook share.
        name: name of the notebook; empty if the page does not report it.
        markdown: sources of the Markdown cells that were edited since the previous report, by hash.
        cells: its code cells from top to bottom, by hash.
        opened: whether it was the page's first report.
    """

    page: str
    notebook: str
    cells: Mapping[str, PageCell]
    opened: bool = False
    name: str = ""
    markdown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """Order of a page's cells, for a conversation to follow.

    Args:
        order: hashes of one page's cells from top to bottom.
        present: hashes of the cells of all pages.
        gone: hashes of the cells that some page had, and none has now.
        named: for each cell whose outputs hold a record, the hash of the cell in that record.
    """

    order: tuple[str, ...]
    present: Collection[str] = ()
    gone: frozenset[str] = frozenset()
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pages:
    """The last reports of a kernel's pages, the newest at the end, and every cell ever listed."""

    reports: tuple[PageReport, ...] = ()
    ever: frozenset[str] = frozenset()

    def with_report(self, report: PageReport) -> Pages:
        """Return the pages with one more report.

        A page that has just been opened may be another page after a reload. It stands for all pages
        of its notebook until the live ones have reported once more.

        Args:
            report: the report of a page, known or new.
        """
        kept = tuple(
            other
            for other in self.reports
            if other.page != report.page
            and not (report.opened and other.notebook == report.notebook)
        )
        return replace(self, reports=(*kept, report), ever=self.ever | report.cells.keys())

    def with_newest(self, page: str) -> Pages:
        """Return the pages with the report of one page as the newest, as a person uses that page.

        Args:
            page: name of the page; nothing changes if it has not reported.
        """
        others = [report for report in self.reports if report.page != page]
        own = [report for report in self.reports if report.page == page]
        return replace(self, reports=(*others, *own))

    @property
    def cells(self) -> dict[str, PageCell]:
        """The code cells of all pages, by hash."""
        return {name: cell for report in self.reports for name, cell in report.cells.items()}

    def report_with(self, owner: str | None, page: str = "") -> PageReport | None:
        """Return the report of a cell's page; ``None`` if no page lists the cell.

        Args:
            owner: hash of the cell; ``None`` for the newest report.
            page: name of the page that runs the cell; empty takes the newest one that lists it.
        """
        own = [report for report in self.reports[::-1] if owner is None or owner in report.cells]
        running = (report for report in own if report.page == page)
        return next(running, own[0] if own else None)

    def layout(
        self, owner: str | None, page: str = "", above: Sequence[str] | None = None
    ) -> Layout | None:
        """Return the layout for a cell that asks, with the order of its own page if there is one.

        Args:
            owner: hash of the cell; ``None`` for the newest report.
            page: as for :meth:`report_with`.
            above: hashes of the code cells above it, as the page that runs it lists them now;
                ``None`` if it does not.

        Returns:
            The layout, or ``None`` if no page has reported.
        """
        if not self.reports:
            return None
        report = self.report_with(owner, page)
        order = () if report is None else tuple(report.cells)
        if above is not None and owner is not None:
            listed = dict.fromkeys((*above, owner))
            order = (*listed, *(name for name in order if name not in listed))
        cells = self.cells
        return Layout(
            order=order,
            present=cells.keys() | set(above or ()),
            # The cells that ask and stand above are there, even if no page has reported them.
            gone=self.ever - cells.keys() - {owner, *(above or ())},
            named={name: cell.owner for name, cell in cells.items() if cell.owner is not None},
        )

    def copies(self) -> frozenset[str]:
        """Return the cells whose outputs hold the record of another cell that a page has."""
        cells = self.cells
        return frozenset(
            name for name, cell in cells.items() if cell.owner != name and cell.owner in cells
        )

    def unheard(self, known: AbstractSet[str | None], live: AbstractSet[str | None]) -> set[str]:
        """Return the cells whose outputs hold a record that is older than the kernel.

        Only cells above a live turn count, so that a notebook has none while it runs from the top.

        Args:
            known: hashes of the cells that have run in this kernel, or have a place in its
                conversation.
            live: hashes of the cells that own its live turns.
        """
        older: set[str] = set()
        for report in self.reports:
            above: list[str] = []
            for name, cell in report.cells.items():
                if name in live:
                    older.update(above)
                    above = []
                elif cell.owner is not None and name not in known and cell.owner not in known:
                    above.append(name)
        return older

    def notebooks_of(self, owners: Collection[str]) -> dict[str, str]:
        """Return the notebooks of cells, in words; empty if all cells are in one notebook.

        Args:
            owners: hashes of the cells.
        """
        named = {
            name: f"of {report.name}"
            for report in self.reports
            if report.name
            for name in report.cells
        }
        if named:
            named |= {name: "of another notebook" for name in owners if name not in self.ever}
        notebooks = {name: named[name] for name in owners if name in named}
        return notebooks if len(set(notebooks.values())) > 1 else {}


def report_from(content: Any, first: str | None = None) -> PageReport | None:
    """Return a page's report; ``None`` if it cannot be read.

    Args:
        content: the message: ``page``, ``notebook``, ``name``, ``opened``, and ``cells`` as
            lists of identity, whether it is code, and the hash that its outputs' record names.
        first: the identity of the kernel's first notebook, if known. The hashes of cells in other
            notebooks include the notebook.
    """
    try:
        listed = [
            PageCell(str(identity), owner if isinstance(owner, str) else None)
            for identity, is_code, owner in content["cells"]
            if is_code
        ]
        notebook = str(content["notebook"])
        other = "" if first in {None, notebook} else notebook
        return PageReport(
            page=str(content["page"]),
            notebook=notebook,
            cells={owner_of(cell.id, other): cell for cell in listed},
            opened=bool(content["opened"]),
            name=one_line(str(content.get("name") or ""), _NAME),
            markdown={
                owner_of(str(name), other): str(text) for name, text in content.get("markdown", ())
            },
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
