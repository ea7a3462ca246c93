"""Colours and sizes in pages that are not Jupyter's: text can be read in both themes of each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from comparison import code
from contrast import CODE, CONTRAST
from lessons import NOTEBOOKS, read
from looks import JUPYTER, PAGES, sheet
from playwright.sync_api import Page
from project import files
from rig import Tabs

from chatmagic.archive import output
from chatmagic.demo import LABEXTENSIONS
from chatmagic.models import Credits, Reply
from chatmagic.render import gauge

PALE: Final = f"() => ({CONTRAST})(document.body)"
WIDER: Final = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
"""By how many pixels the page is wider than its window."""
COLOURS: Final = """() => ['.k', '.s2', '.mi', '.c1', '.n']
  .map(one => getComputedStyle(document.querySelector(`.highlight ${one}`)).color)"""
"""The colours of a keyword, a string, a number, a comment and a name."""
NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)

GAUGE: Final = """<div class="cm-gauge" data-level="{}">
<div class="cm-bar"><div class="cm-fill" style="width: 58%"></div></div>
<span class="cm-words">58 of 100 credits left</span> <span class="cm-reset">resets in 3 h</span>
<span class="cm-requests">9 requests left</span></div>"""
PANEL: Final = """<div class="chatmagic-panel"><div class="cm-composer">
<div class="cm-banner">A banner.</div><div class="cm-row">
<textarea class="cm-input">A question</textarea><button class="cm-button cm-send">Send</button>
<button class="cm-button cm-stop">Stop</button></div><div class="cm-under">
<span class="cm-status">Sent.</span><span class="cm-wrong">Wrong.</span></div></div>
<div class="cm-frame"><div class="cm-log"><p class="cm-empty">Nothing yet.</p>
<article class="cm-turn"><div class="cm-prompt"><h3 class="cm-who">You</h3>
<div class="cm-text">Why?</div></div><div class="cm-notes">temperature 0.2</div>
<div class="cm-reply">Because.</div><div class="cm-foot"><span class="cm-meta">3 tokens</span>
<button class="cm-button">Copy</button></div></article><article class="cm-turn cm-failed">
<div class="cm-what"><strong>Failed</strong> Nothing was sent.</div></article>
<p class="cm-waiting">Waiting</p></div></div><details class="cm-settings" open>
<summary>Settings</summary><dl><dt>Model</dt><dd><input class="cm-model" value="m">
<input class="cm-model" placeholder="n"></dd></dl></details><div class="cm-head">
<span class="cm-title">Chat</span><span class="cm-badge">live</span>
<select class="cm-thread"><option>main</option></select></div></div>"""
"""The parts of the panel that have a colour of their own."""
EACH_TIME: Final = ("VS Code, dark", "Jupyter's, light")
"""The pages that each run looks at: one whose colours are named, and one of Jupyter's."""
EACH_PAGE: Final = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in EACH_TIME else pytest.mark.release)
        for name in (*PAGES, *JUPYTER)
    ],
)
WIDGETS: Final = PANEL + "".join(GAUGE.format(level) for level in ("ok", "low", "empty"))


@pytest.fixture
def page(tabs: Tabs) -> Iterator[Page]:
    """Give an empty page of the one browser."""
    opened = tabs.front("lab").tab()
    yield opened
    opened.close()


@EACH_PAGE
def test_the_panel_and_the_gauges_can_be_read(page: Page, name: str) -> None:
    """Each text has a contrast of 4.5, also where colours are forced, and in 320 pixels."""
    folder = LABEXTENSIONS / "chatmagic" / "page"
    sheets = "".join(path.read_text("utf-8") for path in sorted(folder.glob("*.css")))
    page.set_content(f"<style>{sheet(name)}{sheets}</style>{WIDGETS}")
    assert page.evaluate(PALE) == []
    page.set_viewport_size({"width": 320, "height": 600})
    assert page.evaluate(WIDER) <= 0
    page.emulate_media(forced_colors="active")
    assert page.evaluate(PALE) == []


TEXT: Final = """\
A reply with `code`, a [link](https://a.example), a formula $x^2$ and a list:

- [x] done
- *not* done

> A quotation.

| a | b |
|---|---|
| 1 | a word that is rather long |

```python
import os  # a comment
for name in os.environ:
    print(f"{name} is {len(name) + 1} characters long, and this line is longer than a page is")
```
"""
CREDITS: Final = [
    Credits(1000, left, 1000 - left, NOON + timedelta(days=1), NOON) for left in (900, 100, 0)
]


@pytest.fixture(scope="module")
def shown() -> str:
    """Give what cells show: all that the lessons saved, and replies with little credit left."""
    saved = [
        shown.data["text/html"]
        for path in files("*.ipynb", NOTEBOOKS)
        for cell in code(read(path))
        for shown in cell.outputs
        # A table of pandas is in the box of the notebook's page.
        if 'class="chatmagic' in shown.get("data", {}).get("text/html", "")
    ]
    replies = [output.bundle(Reply(TEXT, credits=credits))["text/html"] for credits in CREDITS]
    gauges = [gauge.large(credits, 10)[0] for credits in CREDITS]
    return "".join([*replies, *gauges, *saved])


@EACH_PAGE
def test_what_cells_show_can_be_read(page: Page, shown: str, name: str) -> None:
    """So can replies, the credits below them, and code, which has colours where none are styled."""
    page.set_content(f"<style>{sheet(name)}</style>{shown}")
    assert page.evaluate(PALE if name in JUPYTER else PALE.replace(CODE, "")) == []
    colours = page.evaluate(COLOURS)
    assert len(set(colours)) == len(colours)
    for width, zoom in ((320, 1), (640, 2)):
        page.set_viewport_size({"width": width, "height": 600})
        page.evaluate("zoom => { document.documentElement.style.zoom = zoom; }", zoom)
        assert page.evaluate(WIDER) <= 0
    page.emulate_media(forced_colors="active")
    assert page.evaluate(PALE) == []
