"""A page that is loaded again, and a notebook that is saved, while a reply comes lose nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from held import held
from rig import Book

from chatmagic.jupyter.page.drawing_loop import PARTIAL

SHOWN = "notebook.widgets[1].outputArea.node.innerText.includes(given)"
MORE = "notebook.widgets[1].outputArea.node.innerText.split('more').length"
NOTE = "Not complete yet."
VISIBLE = """Array.from(notebook.node.querySelectorAll('.chatmagic-partial'))
  .filter(each => each.checkVisibility()).length"""


SOON = "\nfrom chatmagic.jupyter.page import painting\npainting._SECONDS_BETWEEN_WHOLE = 0.3"


@pytest.mark.parametrize(
    ("front", "magic"), [("lab", "%%chat"), ("notebook7", "%%chat --background")]
)
def test_nothing_of_a_reply_that_comes_is_lost(
    request: pytest.FixtureRequest, front: str, magic: str
) -> None:
    """Under a busy kernel and an idle one, unsaved; in the place of an old reply.

    A save keeps what was painted, and says that it is not complete; the page does not.
    """
    opened: Callable[..., Book] = request.getfixturevalue(front)
    with held("One", ", two", ". $x$.", repeats=", more", behind=1) as service:
        book = opened([service.setup + SOON, f"{magic}\necho:old"])
        book.run_all()
        book.until(SHOWN, "old")
        book.write(1, f"{magic}\nCount.")
        book.save()
        book.start(1)
        book.until(SHOWN, "One")
        service.go(0)
        book.until(SHOWN, "two")
        book.until(f"{VISIBLE} === 0")
        (output,) = book.save()["cells"][1]["outputs"]
        html = "".join(output["data"]["text/html"])
        assert "two" in html
        assert html.count(PARTIAL) == 1
        before = book.shown(1).count("more")
        book.reload(busy=True)
        book.until(f"({MORE}) > given", before + 2)
        book.until(f"{VISIBLE} === 0")
        assert "old" not in book.shown(1)
        book.screenshot(f"reload-{front}-{len(magic)}")
        service.go()
        book.until("notebook.widgets[1].node.querySelector('mjx-container')")
        book.until("notebook.model.cells.get(1).outputs.get(0).metadata.chatmagic")
        saved = book.save()
    (output,) = saved["cells"][1]["outputs"]
    text = "".join(output["data"]["text/plain"])
    assert text.replace(", more", "") == "One, two. $x$."
    assert output["metadata"]["chatmagic"]["reply"]
    assert NOTE not in str(saved)
    assert book.front.heard.errors == []
