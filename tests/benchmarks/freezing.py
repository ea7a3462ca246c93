"""What replies of 1 MB cost a real JupyterLab's main thread, in seconds of its CPU.

Each kind is the last state of a reply that a page would be busy with for long, if it were shown as
it came. The cost of a cell with a short reply is taken off.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "browser")]

import rig  # noqa: E402 - as below
from page import open_front  # noqa: E402 - found by the lines above
from rows import OURS, Row, missing  # noqa: E402 - as above

LIMIT: Final = "the limit"
SECONDS: Final = 0.5
SIZE: Final = 1_000_000


def of_size(part: str, count: int = SIZE) -> str:
    """Return a text of so many bytes in UTF-8."""
    return part * (count // len(part.encode()))


RTL: Final = "\u05e9\u05dc\u05d5\u05dd "
KINDS: Final = {
    "combining marks in one line": ("markdown", of_size("\u0301")),
    "letters with marks in one line": ("markdown", of_size("a\u0301\u0302\u0303")),
    "emoji sequences": ("markdown", of_size("\U0001f469\u200d\U0001f469\u200d\U0001f467")),
    "one line from the right": ("markdown", of_size(RTL)),
    "one line from the right, as text": ("text", of_size(RTL)),
    "one line of letters": ("markdown", of_size("x")),
    "a tree of JSON": ("json", json.dumps([{"name": i, "list": [1, 2, 3]} for i in range(28_000)])),
    "JSON with one long text": ("json", json.dumps([RTL * 90_000], ensure_ascii=False)),
    "8,000 footnotes": (
        "markdown",
        "a[^1]\n\n" + "".join(f"[^{i}]: {'a note ' * 6}\n" for i in range(8_000)),
    ),
    "nesting": ("markdown", ("\n".join("> " * i + "a" for i in range(1, 18)) + "\n\n") * 290),
    "fences": ("markdown", "```python\nx = 1\n```\n\n" * 4_900),
    "pieces within lines": ("markdown", "**b** *i* `c` " * 1_400),
    "lines of code": ("markdown", "```\n" + "z = 1\n" * 83_000),
}
"""The format and the text of each kind; Markdown above 500,000 characters is shown as text."""
SHOW: Final = """
import json
from IPython.display import display
from chatmagic.render import reply_forms
format, text = json.load(open("kind.json"))
display({"text/html": reply_forms.reply_html(text, format)}, raw=True)
"""


def rows() -> Iterator[Row]:
    """Yield a row for each kind."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if missing(["jupyterlab", "playwright"]) or program is None:
        return
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        front = open_front(stack, Path(folder), program)
        idle = cost(front, "markdown", "a")
        for kind, (form, text) in KINDS.items():
            figure = cost(front, form, text) - idle
            yield Row(kind, {OURS: figure, LIMIT: SECONDS}, "s", LIMIT, "≤ 1")


def cost(front: rig.Front, form: str, text: str) -> float:
    """Return the seconds of CPU that the page's thread takes to show a reply."""
    book = front.open(["1", SHOW])
    (front.server.folder / "kind.json").write_text(json.dumps([form, text]), encoding="utf-8")
    book.run(0)
    session = book.page.context.new_cdp_session(book.page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def taken() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    before = taken()
    book.run(1)
    book.until("document.querySelector('.chatmagic-reply, .chatmagic-json')")
    book.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    after = taken()
    book.close()
    return after - before
