"""A kernel that ends while a reply comes: what came stays, marked, and a new question works."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence

import pytest
from chat import LOAD
from logged import Emulator, Settings
from rig import Book

Open = Callable[..., Book]

WORDS = " ".join(f"word-{number}" for number in range(150))
SHOWN = "notebook.widgets[1].outputArea.node.innerText.includes(given)"
ENDED = "Not complete: the kernel ended while this reply came."
WAITED = "Not complete: the kernel ended while this question waited."
WAITS = "notebook.widgets[3].outputArea.node.innerText.includes(given)"
PARTIAL = "ot complete"
"""Words of the page's note, and of the last state that a kernel may still send before a restart."""
# Before a kernel is restarted, the cell that runs is interrupted.
KINDS = (
    ("%%chat", False, PARTIAL),
    ("%%chat --background", False, PARTIAL),
    ("%%chat", True, ENDED),
)
"""A magic, whether its kernel is killed, and the note."""
SUBSHELL = "Canceled future for create_subshell_request"


def end(book: Book, process: int | None) -> None:
    """Restart the kernel; or kill its process, upon which the server starts it again."""
    if process is None:
        book.restart()
        return
    os.kill(process, signal.SIGKILL)
    book.page.get_by_role("dialog").get_by_role("button", name="Ok").click()
    book.until("panel.sessionContext.session.kernel.status === 'idle'")


@pytest.mark.release
@pytest.mark.parametrize("kinds", [KINDS[-1:], KINDS[:-1]], ids=["kill", "others"])
def test_what_came_stays(
    lab: Open, service: Emulator, kinds: Sequence[tuple[str, bool, str]]
) -> None:
    """With a note, in the file, too; what is asked then is answered, and the note goes."""
    waiting = "%%chat --background\necho:later"
    book = lab([LOAD, "", "import os\nprint(os.getpid())", waiting])
    for magic, is_killed, note in kinds:
        book.write(1, f"{magic}\necho:{WORDS}")
        process = int(book.run(2))
        book.run(0)
        service.settings = Settings(fault="hold", fault_after=60, credits=1000)
        book.start(1)
        book.until(SHOWN, "word-9 ")
        if "--background" in magic:
            book.run(3)
            book.until(WAITS, "Waiting for the reply to cell")
        end(book, process if is_killed else None)
        book.until(SHOWN, note)
        assert "word-9 " in book.shown(1)
        assert "word-149" not in book.shown(1)
        book.screenshot(f"end-{'kill' if is_killed else 'restart'}")
        (output,) = book.save()["cells"][1]["outputs"]
        html = "".join(output["data"]["text/html"])
        assert "word-9 " in html
        assert html.count(note) == 1
        if "--background" in magic:
            book.until(WAITS, WAITED)
            assert "Waiting" not in str(book.save()["cells"][3])
        service.settings = Settings()
        book.run(0)
        book.write(1, "%%chat\necho:again")
        assert book.run(1) == "again"
        assert note not in str(book.save()["cells"][1])
        # What the front end was about to hear of a kernel that was killed is its own error, and so
        # is a subshell that it asked for and did not get before the restart.
        errors = [each for each in book.front.heard.errors if SUBSHELL not in each]
        assert is_killed or errors == []
