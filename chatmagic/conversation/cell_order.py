"""What the pages of a kernel say of their cells: which there are, and in which order.

A *page* here is one notebook in one tab. It says its cells anew at every change; its last
word holds, also when the tab is gone. A kernel can have several: two notebooks with one
kernel, or one notebook in two tabs. A console, or another front end, says nothing, so a
cell that no page ever listed is never missed. Pure values; the words come from
:mod:`chatmagic.jupyter.bridge`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from chatmagic.conversation.record import owner_of
from chatmagic.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_T = TypeVar("_T")
_NAME: Final = 60  # characters of a notebook's name


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell of a page.

    Args:
        id: its identity as the page knows it.
        owner: hash of the cell that the record in its outputs names; ``None`` without one.
    """

    id: str
    owner: str | None = None

    @property
    def hash(self) -> str:
        """The hash by which turns know their cell."""
        return owner_of(self.id)


@dataclass(frozen=True, slots=True)
class Word:
    """What a page said last.

    Args:
        page: which page; it has another name each time it is loaded.
        notebook: what it has in common with the other pages of the same notebook.
        name: what people call the notebook; empty where the page does not tell.
        cells: its code cells from top to bottom, by hash.
        opened: whether it was its first word.
    """

    page: str
    notebook: str
    cells: Mapping[str, Cell]
    opened: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the cells stand, for a conversation to follow.

    Args:
        order: hashes of one page's cells from top to bottom; ``None`` asks for the order
            in which the cells asked first.
        present: hashes of the cells of all pages.
        gone: hashes of the cells that some page had, and none has now.
        named: for a cell whose outputs hold a record, the hash of the cell that it names.
    """

    order: tuple[str, ...] | None
    present: Collection[str] = ()
    gone: frozenset[str] = frozenset()
    named: Mapping[str, str] = field(default_factory=dict)


AS_RUN: Final = Layout(None)
"""Whatever the page says, the cells stand in the order in which they asked first."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The last words of a kernel's pages, the newest at the end, and every cell ever listed."""

    words: tuple[Word, ...] = ()
    ever: frozenset[str] = frozenset()

    def told(self, word: Word) -> Pages:
        """Take a word in.

        A page that has just been opened may be another one loaded again: it stands for all
        pages of its notebook until those that live have said theirs once more.

        Args:
            word: what a page said.
        """
        kept = tuple(
            other
            for other in self.words
            if other.page != word.page and not (word.opened and other.notebook == word.notebook)
        )
        return replace(self, words=(*kept, word), ever=self.ever | word.cells.keys())

    def lists(self, owner: str | None) -> bool:
        """Tell whether a page has this cell."""
        return any(owner in word.cells for word in self.words)

    def layout(self, owner: str | None) -> Layout | None:
        """Give the layout for a cell that asks: its own page's, or else no order of its own.

        Args:
            owner: hash of the cell; ``None`` where none asks, which goes by the newest word.

        Returns:
            The layout, or ``None`` if no page has said anything.
        """
        if not self.words:
            return None
        own = [word for word in self.words if owner is None or owner in word.cells]
        cells = {name: cell for word in self.words for name, cell in word.cells.items()}
        return Layout(
            order=tuple(own[-1].cells) if own else (),
            present=cells.keys(),
            # Who asks is there, whatever was said.
            gone=self.ever - cells.keys() - {owner},
            named={name: cell.owner for name, cell in cells.items() if cell.owner is not None},
        )

    def copies(self) -> frozenset[str]:
        """Give the cells whose outputs hold the record of another cell that a page has."""
        cells = {name: cell for word in self.words for name, cell in word.cells.items()}
        return frozenset(
            name for name, cell in cells.items() if cell.owner != name and cell.owner in cells
        )

    def names(self, owners: Collection[str]) -> dict[str, str]:
        """Give the notebooks that cells stand in, in words; nothing where all are in one.

        Args:
            owners: hashes of cells.
        """
        named = {name: f"of {word.name}" for word in self.words if word.name for name in word.cells}
        if named:
            named |= {name: "of another notebook" for name in owners if name not in self.ever}
        found = {name: named[name] for name in owners if name in named}
        return found if len(set(found.values())) > 1 else {}

    def by_id(self, known: Mapping[str, _T]) -> dict[str, _T]:
        """Give what is known of cells by the identities that the pages, if any, know them by.

        Args:
            known: what is known, by the cells' hashes.
        """
        return {
            cell.id: known[name]
            for word in self.words
            for name, cell in word.cells.items()
            if name in known
        }


def word_from(content: Any) -> Word | None:
    """Read what a page said; ``None`` if it cannot be read.

    Args:
        content: the message: ``page``, ``notebook``, ``name``, ``opened``, and ``cells`` as
            lists of identity, whether it is code, and the hash that its outputs' record names.
    """
    try:
        listed = [
            Cell(str(identity), owner if isinstance(owner, str) else None)
            for identity, is_code, owner in content["cells"]
            if is_code
        ]
        return Word(
            page=str(content["page"]),
            notebook=str(content["notebook"]),
            cells={cell.hash: cell for cell in listed},
            opened=bool(content["opened"]),
            name=one_line(str(content.get("name") or ""), _NAME),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
