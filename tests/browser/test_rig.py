"""The rig itself: a notebook runs in a page, and nothing leaves the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from logged import Emulator
    from rig import Book


def test_a_cell_asks_in_a_real_page(lab: Callable[..., Book], service: Emulator) -> None:
    """A reply comes, is saved, and is there after a reload; the page fetches nothing else."""
    book = lab(["%load_ext chatmagic", "%%chat\necho:**Good** morning"])
    book.run_all()
    assert book.text(1) == "**Good** morning"
    assert "Good morning" in book.shown(1)
    assert book.save()["cells"][1]["outputs"][0]["metadata"]["chatmagic"]["owner"]
    book.reload()
    assert book.text(1) == "**Good** morning"
    assert len(service.requests) == 1
    assert book.front.heard.fetched == []
    assert book.front.heard.errors == []
