"""A page that is loaded again, and a notebook that is saved, while a reply comes lose nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from held import held
from rig import Book

from chatmagic.jupyter.page.reply_under_way import PARTIAL

SHOWN = "notebook.widgets[1].outputArea.node.innerText.includes(given)"
MORE = "notebook.widgets[1].outputArea.node.innerText.split('more').length"
NOTE = "Not complete yet."
VISIBLE = """Array.from(notebook.node.querySelectorAll('.chatmagic-partial'))
  .filter(each => each.checkVisibility()).length"""


SOON = "\nfrom chatmagic.jupyter.page import painting\npainting._SECONDS_BETWEEN_WHOLE = 0.3"


@pytest.mark.parametrize(
    ("front", "magic"),
    [
        ("lab", "%%chat"),
        pytest.param("notebook7", "%%chat --background", marks=pytest.mark.release),
    ],
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


@pytest.mark.release
def test_a_reply_in_a_widget_is_there_and_nowhere_else(lab: Callable[..., Book]) -> None:
    """Once, at its end: nothing updates a display there. Its cell gets no second one."""
    with held("One", ", two", ". Three.", repeats=", more", behind=1) as service:
        shows = "import ipywidgets\nout = ipywidgets.Output()\nout"
        asks = "with out:\n    %chat Count."
        book = lab([service.setup + SOON, shows, asks])
        book.run(0)
        book.run(1)
        book.start(2)
        service.go()
        book.ended(2)
        book.until(SHOWN, "Three.")
        saved = book.save()
    assert "Waiting" not in book.shown(1)
    assert saved["cells"][2]["outputs"] == []
    assert book.front.heard.errors == []


TOP = "notebook.widgets[given].node.getBoundingClientRect().top"
PLACES = f"return [{TOP}, notebook.outerNode.scrollHeight]"
GROWN = "notebook.outerNode.scrollHeight > given"


@pytest.mark.release
def test_a_prompt_keeps_its_place_while_its_reply_grows(lab: Callable[..., Book]) -> None:
    """After Shift+Enter the next cell is the active one, which the browser would keep in place."""
    at = 31
    with held("One\n\n", repeats="more\n\n", behind=0) as service:
        book = lab([service.setup, *["1"] * (at - 1), "%%chat\nCount.", "2"])
        book.run(0)
        book.select(at)
        book.js("await notebook.scrollToItem(given, 'start')", at)
        book.js("app.commands.execute('notebook:run-cell-and-select-next')")
        book.until("notebook.widgets[given].outputArea.node.innerText.includes('more')", at)
        # JupyterLab scrolls there when it has drawn the cells above, which may be later.
        book.until(f"{TOP} < window.innerHeight", at)
        top, height = book.js(PLACES, at)
        book.until(GROWN, height + 300)
        assert abs(book.js(PLACES, at)[0] - top) < 2
        service.go()
        book.ended(at)
        assert abs(book.js(PLACES, at)[0] - top) < 2
