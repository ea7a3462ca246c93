"""How a long reply comes to the screen in a real JupyterLab, and what it costs the page.

A loopback server sends prose, lists, tables, code and formulas at a steady pace, in fragments of
five characters: 3,000 in 6 s, and 30,000 in 60 s. The page notes when it has drawn the output
anew, its long tasks (the browser's word for what blocks the main thread for 50 ms and more),
and what the kernel says to it. Each figure is divided by its limit.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "browser")]

import loopback  # noqa: E402 - found by the line above
import rig  # noqa: E402 - as below
from rows import OURS, Row, missing  # noqa: E402 - as above

LIMIT: Final = "the limit"
A_FRAGMENT: Final = 5
A_SECOND: Final = 500
"""Fragments a second."""
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
model writes it between two formulas. A bootstrap draws with replacement from the sample, computes
the statistic, and does so a thousand times; the spread of it is an estimate of the standard error.
"""
WATCH: Final = """
  const noted = window.noted = {
    drawn: [], tasks: [0], ours: [0], seen: 0, messages: 0, bytes: 0,
  };
  const observe = (kind, take) => new PerformanceObserver(list => list.getEntries().forEach(take))
    .observe({type: kind});
  observe('longtask', ({duration}) => noted.tasks.push(duration));
  // The page's code of ours has no address of the server.
  observe('long-animation-frame', ({scripts}) => scripts.forEach(({sourceURL, duration}) =>
    sourceURL.startsWith('blob:') && noted.ours.push(duration)));
  const output = notebook.widgets[1].outputArea.node;
  const channel = new MessageChannel();
  let due = false, end = false;
  channel.port1.onmessage = () => {  // behind the frame
    due = false;
    if (!noted.seen) noted.drawn.push(Date.now());
    if (end) noted.seen ||= Date.now();
  };
  new MutationObserver(() => {
    const reply = output.querySelector('.chatmagic-reply:not(:has(> .chatmagic-waiting))');
    end ||= Boolean(reply?.lastElementChild?.textContent.includes(given));
    if (reply && !due) requestAnimationFrame(() => channel.port2.postMessage(0));
    due ||= Boolean(reply);
  }).observe(output, {childList: true, subtree: true});
  panel.sessionContext.session.kernel.iopubMessage.connect((_, {header, content}) => {
    if (!/display_data$|^comm_msg$/.test(header.msg_type)) return;
    if (end) return;
    noted.messages += 1;
    noted.bytes += JSON.stringify(content).length;
  });
"""


class Paced:
    """A service that sends so many fragments at a steady pace, and notes when it sent the end."""

    def __init__(self, count: int) -> None:
        """Cut the reply into fragments as a tokenizer would."""
        size = count * A_FRAGMENT
        text = "".join(PART.format(number=number) for number in range(2 + 2 * size // len(PART)))
        text = f"{text[: size - len(LAST) - 2]}\n\n{LAST}"
        self.size = len(text)
        self.fragments = [text[at : at + A_FRAGMENT] for at in range(0, size, A_FRAGMENT)]
        self.began = self.ended = 0.0
        self.sent = threading.Event()

    def __call__(self, peer: loopback.Peer) -> None:
        """Answer the requests of one connection."""
        peer.wait_up_to(600)
        while peer.request():
            peer.send(loopback.head(headers={**loopback.EVENTS, "Transfer-Encoding": "chunked"}))
            self.began = start = time.time()
            for number, fragment in enumerate(self.fragments):
                if (early := start + number / A_SECOND - time.time()) > 0:
                    threading.Event().wait(early)
                self.ended = time.time()
                peer.send(loopback.chunked(loopback.event(fragment)))
            self.sent.set()
            peer.send(loopback.chunked(loopback.DONE), loopback.CHUNKS_END)


def rows() -> Iterator[Row]:
    """Ask in real pages, and return a row for each thing that a reader may notice."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        print("Left out, not installed: Chromium")  # noqa: T201 - figures are what this is for
    if missing(["jupyterlab", "playwright"]) or program is None:
        return
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        front = open_front(stack, Path(folder), program)
        for count in (3_000, 30_000):
            yield from measured(front, count)


def open_front(stack: ExitStack, folder: Path, program: str) -> rig.Front:
    """Return a JupyterLab in a browser, which ends with the stack."""
    import rig  # noqa: PLC0415 - the benchmarks without a page need no browser
    import serving  # noqa: PLC0415 - as above
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - as above

    server = stack.enter_context(serving.server(folder, {}))
    launcher = stack.enter_context(sync_playwright()).chromium
    browser = launcher.launch(executable_path=program, args=list(rig.CHROMIUM))
    stack.callback(browser.close)
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    stack.callback(context.close)
    return rig.Front("lab", server, context)


def measured(front: rig.Front, count: int) -> Iterator[Row]:
    """Ask once for so many fragments, which is the kernel's first question."""
    service = Paced(count)
    with loopback.Server(service) as listening:
        setup = "%load_ext chatmagic\n%config ChatMagics.auth = 'none'\n"
        book = front.open([f"{setup}%chat_connect {listening.origin}", "1"])
        book.run(0)
        book.js(WATCH, LAST)
        book.write(1, "%%chat --no-history\nGo on.")
        book.start(1)
        service.sent.wait()
        book.until("window.noted.seen > 0")
        book.ended(1)
        noted = book.js("return window.noted")
        for row in _rows(service, noted):
            yield row._replace(what=f"{row.what}; {count:,} fragments")
        book.close()


def _rows(service: Paced, noted: dict[str, Any]) -> Iterator[Row]:
    longest = max(after - before for before, after in itertools.pairwise(noted["drawn"]))
    yield _row("longest gap between two drawings", longest, 200, "ms")
    late = noted["seen"] - 1000 * service.ended
    yield _row("from the last fragment to the screen", late, 150, "ms")
    yield _row("longest piece of work of ours in the page", max(noted["ours"]), 50, "ms")
    yield _row("longest task of the page, the front end's too", max(noted["tasks"]), 50, "ms", "")
    seconds = service.ended - service.began
    yield _row("messages", noted["messages"] / seconds, 12, "a second")
    yield _row("bytes", noted["bytes"] / service.size, 8, "those of the text")


def _row(what: str, figure: float, limit: float, unit: str, target: str = "≤ 1") -> Row:
    return Row(what, {OURS: figure, LIMIT: limit}, unit, LIMIT, target)
