"""Make the README's moving picture from a real page: ``python tests/tour.py``.

JupyterLab runs in Chromium, and its kernel asks the emulator. A question is asked, the first cell
is changed, the reply below is marked stale and asked again, and the notebook is replayed. The
result is ``.images/tour.gif``, at most ten seconds and 1 MB. Look at it before you commit it.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont

ROOT: Final = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), *(str(ROOT / "tests" / name) for name in ("browser", "support"))]

import serving  # noqa: E402 - found by the line above
from rig import Book, Tabs  # noqa: E402 - found by the line above

PICTURE: Final = ROOT / ".images" / "tour.gif"
WIDTH: Final = 800
HEIGHT: Final = 560
CAPTION: Final = 40
"""Height of the line of words below the page, in pixels."""
COLOURS: Final = 48
LONGEST: Final = 10_000
"""Milliseconds of the whole picture."""
LARGEST: Final = 1_000_000
"""Bytes of the file."""
CELLS: Final = (
    "%load_ext chatmagic\n%chat_connect emulator\n%chat_cassette talk.jsonl --record",
    "%%chat\nHow do I stop a reply?",
    "%%chat\nAnd what if I run a cell again?",
)
CHANGED: Final = "%%chat\nHow do I undo a question?"
REPLAYED: Final = "%load_ext chatmagic\n%chat_cassette talk.jsonl --replay"
IS_DRAWN: Final = "notebook.widgets[given].outputArea.node.querySelector('.chatmagic-credits')"
IS_STALE: Final = "notebook.node.querySelector('.chatmagic-mark')"


@dataclass
class Tour:
    """The pictures of a notebook's page, each with its time.

    Args:
        book: the notebook.
    """

    book: Book
    frames: list[Image.Image] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def frame(self, words: str, milliseconds: int) -> None:
        """Add a picture of the page with words below it.

        Args:
            words: the caption.
            milliseconds: its time.
        """
        self.book.js("document.activeElement.blur(); await notebook.scrollToItem(0)")
        at = self.book.js(
            "const box = panel.content.node.getBoundingClientRect(); return [box.x, box.y]"
        )
        picture = self.book.page.screenshot(
            clip={"x": at[0], "y": at[1], "width": WIDTH, "height": HEIGHT}
        )
        page = Image.open(io.BytesIO(picture))
        whole = Image.new("RGB", (WIDTH, HEIGHT + CAPTION), "#1f2937")
        whole.paste(page, (0, 0))
        font = ImageFont.load_default(size=20)
        ImageDraw.Draw(whole).text((16, HEIGHT + 8), words, fill="white", font=font)
        self.frames.append(whole)
        self.times.append(milliseconds)

    def asked(self, cell: int, words: str) -> None:
        """Run a cell that asks, with pictures of its reply as it comes.

        Args:
            cell: the cell, from 0.
            words: the caption.
        """
        self.book.start(cell)
        for _ in range(4):
            self.frame(words, 200)
        self.book.until(IS_DRAWN, cell)
        self.book.ended(cell)

    def save(self, path: Path) -> None:
        """Write the moving picture.

        Args:
            path: the file.
        """
        first = self.frames[-1].quantize(COLOURS)
        frames = [frame.quantize(palette=first, dither=Image.Dither.NONE) for frame in self.frames]
        frames[0].save(
            path,
            save_all=True,
            append_images=frames[1:],
            duration=self.times,
            loop=0,
            optimize=True,
        )


def made_in(book: Book) -> Tour:
    """Return the pictures of the whole tour.

    Args:
        book: the notebook with the cells of the tour.
    """
    tour = Tour(book)
    book.page.set_viewport_size({"width": WIDTH + 60, "height": HEIGHT + 220})
    book.js("app.shell.collapseLeft()")
    book.run(0)
    tour.frame("Ask in a cell", 500)
    tour.asked(1, "Ask in a cell")
    tour.asked(2, "The next cell continues the conversation")
    tour.frame("The next cell continues the conversation", 900)
    book.write(1, CHANGED)
    tour.frame("Change the first question …", 700)
    tour.asked(1, "Change the first question …")
    book.until(IS_STALE)
    tour.frame("… and the reply below is marked stale", 1600)
    tour.asked(2, "Run it again")
    book.until(f"!{IS_STALE}")
    tour.frame("Run it again", 900)
    book.write(0, REPLAYED)
    book.command("notebook:clear-all-cell-outputs")
    book.restart()
    tour.frame("Next year, without a key or a network …", 800)
    book.run_all()
    book.until(IS_DRAWN, 2)
    tour.frame("… the recorded replies come back", 1400)
    return tour


def main() -> None:
    """Make the picture, and say its time and its size."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium is not None, "chromium is not installed"
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        serving.server(Path(folder), {}) as server,
    ):
        tabs = Tabs(chromium, server)
        book = tabs.front("lab").open(list(CELLS))
        tour = made_in(book)
        book.close()
        tabs.close()
    assert sum(tour.times) <= LONGEST, sum(tour.times)
    tour.save(PICTURE)
    size = PICTURE.stat().st_size
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {sum(tour.times) / 1000} s, {size:,} bytes\n")
    assert size <= LARGEST, size


if __name__ == "__main__":
    main()
