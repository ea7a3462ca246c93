"""A page that is loaded again, and a notebook that is saved, while a reply comes lose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from chat import LOAD

from chatmagic.emulator.server import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from logged import Emulator
    from rig import Book

    Open = Callable[..., Book]

WORDS = " ".join(f"word-{number}" for number in range(150))
SHOWN = "notebook.widgets[1].outputArea.node.innerText.includes(given)"
SLOW = Settings(delay=0.1, credits=1000)
NOTE = "the notebook was saved while this reply came"


@pytest.fixture(params=["lab", "notebook7"])
def opened(request: pytest.FixtureRequest) -> Open:
    """Open notebooks in one front end, and in the other."""
    front: Open = request.getfixturevalue(request.param)
    return front


def html(saved: dict[str, Any]) -> list[str]:
    """Return the outputs of the asking cell in a file, as HTML."""
    return ["".join(output["data"]["text/html"]) for output in saved["cells"][1]["outputs"]]


def complete(book: Book, service: Emulator) -> None:
    """Let the rest come, and wait for the last state in the page: in the file, too, once."""
    service.at_once.set()
    book.until(SHOWN, "word-149")
    book.until("notebook.model.cells.get(1).outputs.get(0).metadata.chatmagic")
    saved = book.save()
    (output,) = saved["cells"][1]["outputs"]
    assert "".join(output["data"]["text/plain"]) == WORDS
    assert output["metadata"]["chatmagic"]["reply"]
    assert NOTE not in str(saved)
    assert book.front.heard.errors == []


@pytest.mark.parametrize("how", ["cell", "background"])
def test_a_reload_shows_the_reply_that_comes(opened: Open, service: Emulator, how: str) -> None:
    """Under a busy kernel and an idle one, unsaved; in the place of an old reply."""
    magic = "%%chat" if how == "cell" else "%%chat --background"
    book = opened([LOAD, f"{magic}\necho:old"])
    book.run_all()
    book.until(SHOWN, "old")
    book.save()
    book.write(1, f"{magic}\necho:{WORDS}")
    book.save()
    service.settings = SLOW
    book.start(1)
    book.until(SHOWN, "word-9 ")
    book.reload(busy=True)
    book.until(SHOWN, "word-9 ")
    assert "word-149" not in book.shown(1)
    assert "old" not in book.shown(1)
    book.screenshot(f"reload-{book.front.kind}-{how}")
    complete(book, service)


def test_a_save_keeps_what_was_painted(opened: Open, service: Emulator) -> None:
    """Marked as not complete in the file; the page goes on without the mark."""
    book = opened([LOAD, f"%%chat\necho:{WORDS}"])
    book.run(0)
    service.settings = SLOW
    book.start(1)
    book.until(SHOWN, "word-20 ")
    (saved,) = html(book.save())
    assert "word-20 " in saved
    assert NOTE in saved
    book.until(f"!({SHOWN})", NOTE)
    book.reload(busy=True)
    book.until(SHOWN, "word-20 ")
    book.until(f"!({SHOWN})", NOTE)
    complete(book, service)
