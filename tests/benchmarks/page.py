"""How a long reply with formulas feels in a real JupyterLab: run by hand, prints figures.

``python tests/benchmarks/page.py`` lets a loopback server send 15 kB of prose, lists, code, a
table and forty formulas in some 900 fragments over six seconds, and watches the page: its long
tasks (the browser's word for what blocks the main thread for 50 ms and more), and when the
last fragment is on the screen. It does so three times, in JupyterLab and in Notebook 7.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "browser")]

import loopback  # noqa: E402 - found by the line above
import rig  # noqa: E402 - as above
import serving  # noqa: E402 - as above
from playwright.sync_api import sync_playwright  # noqa: E402 - stands with them

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SECONDS: Final = 6.0
LAST: Final = "the-very-last-words"
PART: Final = r"""
## The part of number {number}

The *sample mean* is a point estimate, and its standard error $s_{{{number}}} / \sqrt{{n}}$ says how
far it would move if the study were done again with **other** people, see `scipy.stats` and
[the docs](https://docs.scipy.org/doc/). With $n = {number}$ we have, at the usual level:

$$
\bar{{x}} \pm t_{{n-1, 1-\alpha/2}} \cdot \sqrt{{\frac{{\sum_i (x_i - \bar{{x}})^2}}{{n (n - 1)}}}}
$$

- the first point, in which $\hat\theta_{number} \sim N(\theta, \sigma^2)$ holds,
- the second point, which is longer than the first one and says nothing new at all.

| estimator | bias | variance |
|:---|---:|---:|
| mean | 0 | 1.{number} |
| median | 0.0{number} | 1.57 |

```python
def mean(values: list[float]) -> float:
    return sum(values) / len(values)  # the part of number {number}
```

The remaining sentences of this part are here for their length: they are ordinary prose, as a
model writes it between two formulas, and they make the reply as long as it is said to be. A
bootstrap draws with replacement from the sample, computes the statistic, and does so a thousand
times; the spread of what it finds is an estimate of the standard error, and needs no formula.
To know more, read on in the next part, which says the same in the same words.
Nothing that is said here depends on what was said before, so a reader who is in a hurry may skip
it; the figures at the end are about the page that shows these words, and not about the words.
"""
TEXT: Final = "".join(PART.format(number=number) for number in range(10)) + f"\n\n{LAST}"
WATCH: Final = """
  window.tasks = []; window.seen = 0; window.updates = 0;
  new PerformanceObserver(list => list.getEntries().forEach(
    one => window.tasks.push([Date.now(), one.duration]))).observe({entryTypes: ['longtask']});
  new MutationObserver(() => {
    window.updates += 1;
    if (!window.seen && notebook.widgets[1].outputArea.node.textContent.includes(given)) {
      window.seen = -1;
      requestAnimationFrame(() => { window.seen = Date.now(); });
    }
  }).observe(notebook.widgets[1].outputArea.node, {childList: true, subtree: true});
"""


class Paced:
    """A service that sends :data:`TEXT` at a steady pace, and notes when it sent the end."""

    def __init__(self) -> None:
        """Cut the reply into fragments as a tokenizer would."""
        self.fragments = [TEXT[at : at + 17] for at in range(0, len(TEXT), 17)]
        self.began = self.ended = 0.0

    def __call__(self, peer: loopback.Peer) -> None:
        """Answer the requests of one connection."""
        while peer.request():
            peer.send(loopback.head(headers={**loopback.EVENTS, "Transfer-Encoding": "chunked"}))
            self.began = start = time.time()
            for number, fragment in enumerate(self.fragments):
                due = start + SECONDS * number / len(self.fragments)
                threading.Event().wait(max(0.0, due - time.time()))
                peer.send(loopback.chunked(loopback.event(fragment)))
            self.ended = time.time()
            peer.send(loopback.chunked(loopback.DONE), loopback.CHUNKS_END)


def measure(browser: Browser, server: serving.Server, kind: rig.FrontEnd) -> None:
    """Ask three times in a front end, and print what the page went through."""
    service = Paced()
    with (
        browser.new_context(viewport={"width": 1200, "height": 900}) as context,
        loopback.Server(service) as listening,
    ):
        front = rig.Front(kind, server, context)
        setup = "%load_ext chatmagic\n%config ChatMagics.auth = 'none'\n"
        book = front.open([f"{setup}%chat_connect {listening.origin}", "1"])
        book.run(0)
        for _ in range(3):
            book.run(1, "1")
            book.js(WATCH, LAST)
            book.run(1, "%%chat --no-history\nGo on.")
            book.until("window.seen > 0")
            formulas = book.js("return document.querySelectorAll('mjx-container').length")
            tasks, seen, updates = book.js("return [window.tasks, window.seen, window.updates]")
            streaming = [size for when, size in tasks if when / 1000 < service.ended]
            after = [size for when, size in tasks if when / 1000 >= service.ended]
            print(  # noqa: T201 - figures are what this is for
                f"{kind}: {len(TEXT):,} characters, {formulas} formulas, {updates} updates; "
                f"longest task {max(streaming, default=0):.0f} ms while it streams, "
                f"{max(after, default=0):.0f} ms at its end; "
                f"the end is on the screen {seen - 1000 * service.ended:.0f} ms after it was sent"
            )
        book.close()


def main() -> None:
    """Print the figures of both front ends."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving.server(Path(folder), {}) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=list(rig.CHROMIUM)
        )
        for kind in ("lab", "notebook"):
            measure(browser, server, kind)
        browser.close()


if __name__ == "__main__":
    main()
