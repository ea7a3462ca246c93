"""A good reply in real pages: beautiful in both themes, and for everybody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import loopback
import pytest
from contrast import CONTRAST
from held import held
from logged import Emulator, Settings
from rig import Book, wait

Open = Callable[..., Book]

LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
REPLY: Final = (
    r"""# A title

## A part

Prose with **bold**, *italic*, ~~struck~~, `code` and [the docs](https://docs.python.org/3/).

1. first
2. second
   - a point below it

> A quotation.

```python
def mean(values: list[float]) -> float:
    return sum(values) / len(values)  # the average
```

The mean of $n$ numbers, for $5 or $6, is $\bar{x}$:

$$
\bar{x} = \frac{1}{n} \sum_{i=1}^{n} x_i
$$

| left | middle | right |
|:-----|:------:|------:|
| a    | b      | 1     |

"""
    f"| {' | '.join(f'column {n}' for n in range(40))} |\n|{'---|' * 40}\n"
    f"| {' | '.join('some words' for _ in range(40))} |\n\n"
    f"```\n{'a long line of code; ' * 40}\n```\n\n{'w' * 3000}\n\n$${' + '.join('x' * 300)}$$"
)
ASKED: Final = (
    "%%chat\nWhat is the standard error of the mean?\nUse Python, and one table.",
    "%%chat\nAnd if I ask four times as many people, in one sentence?",
)
PICTURED: Final = (
    r"""# The standard error

The **standard error** of the mean says how far $\bar{x}$ would move if the study were done again.
For $n$ independent values with standard deviation $s$ it is

$$
\mathrm{SE}(\bar{x}) = \frac{s}{\sqrt{n}}
$$

```python
import numpy as np

def standard_error(values):
    return np.std(values, ddof=1) / np.sqrt(len(values))  # ddof=1: a sample
```

| n | s | SE |
|--:|--:|--:|
| 25 | 2.0 | 0.40 |
| 100 | 2.0 | 0.20 |

More in [the NumPy manual](https://numpy.org/doc/stable/reference/generated/numpy.std.html).
""",
    r"Four times the people give **half** the standard error: it falls with $\sqrt n$, so that",
)
ROOT: Final = "document.querySelectorAll('.chatmagic')[given]"
WIDE: Final = """
  const root = document.querySelectorAll('.chatmagic')[given];
  const grown = [];
  for (let node = root.parentElement; node; node = node.parentElement) {
    if (node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== 'inline') {
      grown.push(node.className || node.localName);
    }
  }
  return grown;
"""
BOXES: Final = """
  return [...document.querySelectorAll('.chatmagic')[given].querySelectorAll('.chatmagic-scroll')]
    .map(box => ({
      name: box.getAttribute('aria-label'), role: box.getAttribute('role'), index: box.tabIndex,
      wide: box.scrollWidth > box.clientWidth, overflow: getComputedStyle(box).overflowX,
    }));
"""
MOVING: Final = """
  return [...document.querySelectorAll('.chatmagic, .chatmagic *')]
    .filter(node => !node.closest('mjx-container')).map(node => getComputedStyle(node))
    .filter(style => style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0)
    .map(style => style.cssText);
"""
"""What moves by itself: nothing, so that there is nothing to reduce."""
COLOURS: Final = """
  const code = document.querySelectorAll('.chatmagic')[given].querySelector('.highlight');
  const of = selector => getComputedStyle(code.querySelector(selector)).color;
  return ['pre code', '.k', '.c1'].map(of);
"""


@pytest.mark.release
def test_a_reply_is_beautiful_in_both_themes(lab: Open, service: Emulator) -> None:
    """All of Markdown, what is too wide in its own box, colours that can be read; so the usage."""
    cells = [f"%%chat\necho:{REPLY}", "%%chat\necho:x", "%chat_credits --usage"]
    book = lab(["%load_ext chatmagic", *cells])
    book.run(0)
    book.run(1)
    book.until("document.querySelectorAll('.chatmagic mjx-container').length === 4")
    for tag in ("h4", "h5", "ol", "ul", "blockquote", "strong", "em", "s", "table", "pre", "a"):
        assert book.page.locator(f".chatmagic {tag}").count() >= 1, tag
    assert book.page.locator(".chatmagic :is(h1, h2, h3)").count() == 0
    assert "$5 or $6" in book.shown(1)

    assert book.js(WIDE, 0) == []
    boxes = book.js(BOXES, 0)
    assert [box["name"] for box in boxes] == ["Code, python", "Table", "Table", "Code"]
    assert [box["wide"] for box in boxes] == [False, False, True, True]
    assert {(box["role"], box["index"], box["overflow"]) for box in boxes} == {("group", 0, "auto")}
    group = book.page.get_by_role("group", name="Reply")
    assert group.count() == 1

    book.run(2)
    service.settings = Settings(credits=3)
    book.run(2)
    book.run(3)
    shades = []
    for theme in (LIGHT, DARK):
        book.front.theme(theme)
        readable(book)
        colours = book.js(COLOURS, 0)
        assert len(set(colours)) == 3, (theme, colours)
        shades.append(colours)
    book.front.theme(LIGHT)
    assert shades[0] != shades[1]
    assert book.front.heard.fetched == []
    assert book.front.heard.errors == []


def readable(book: Book) -> None:
    """Fail if there is text in our outputs that is too pale."""
    for output in range(book.page.locator(".chatmagic").count()):
        assert book.js(f"return ({CONTRAST})({ROOT})", output) == [], output


RIGHT: Final = rb"""# \u0645\u0631\u062d\u0628\u0627

\u0646\u0635 \u0645\u0639 `code(x)` \u0648 $\bar{x}$.

An English paragraph.

1. \u0646\u0642\u0637\u0629
2. An English point.

> \u0627\u0642\u062a\u0628\u0627\u0633

| \u0627\u0633\u0645 | \u0642\u064a\u0645\u0629 |
|---|---|
| \u0648\u0627\u062d\u062f | 1 |

```python
x = 1
```
""".decode("raw_unicode_escape")
SIDES: Final = """
  const root = document.querySelectorAll('.chatmagic-reply')[given];
  const whole = root.getBoundingClientRect();
  const found = {};
  for (const name of ['h4', 'p', 'p + p', 'li', 'li + li', 'blockquote p', 'table', 'pre']) {
    const node = root.querySelector(name);
    const range = document.createRange();
    range.selectNodeContents(node);
    const {left, right} = range.getBoundingClientRect();
    const side = whole.right - right < left - whole.left ? 'right' : 'left';
    found[name] = `${side} ${getComputedStyle(node).direction}`;
  }
  const marks = getComputedStyle(root.querySelector('ol'));
  return {...found, marks: [marks.paddingLeft === '0px', marks.paddingRight !== '0px']};
"""


@pytest.mark.release
def test_words_from_the_right_stand_on_the_right(lab: Open) -> None:
    """Each block by its own direction, in a reply, in the history, and in the prompt there."""
    book = lab(["%load_ext chatmagic", f"%%chat\necho:{RIGHT}", "%chat_history 1"])
    for number in range(3):
        book.run(number)
    book.until("document.querySelectorAll('.chatmagic mjx-container').length === 2")
    for output in range(2):
        assert book.js(SIDES, output) == {
            "h4": "right rtl",
            "p": "right rtl",
            "p + p": "left ltr",
            "li": "right rtl",
            "li + li": "right rtl",
            "blockquote p": "right rtl",
            "table": "right rtl",
            "pre": "left ltr",
            "marks": [True, True],
        }
    prompt = book.page.locator(".chatmagic > pre[dir=auto]")
    assert prompt.evaluate("node => getComputedStyle(node).unicodeBidi") == "plaintext"
    book.screenshot("right-to-left")


@pytest.mark.release
def test_a_reply_is_for_everybody(notebook7: Open) -> None:
    """At 320 px and 200 %, by keyboard and names, drawn once, without motion."""
    off = "%load_ext chatmagic\n%config ChatMagics.stream = 'off'"
    word = f"%%chat\necho:{'w' * 200}"
    book = notebook7([off, f"%%chat\necho:{REPLY}", word, "%chat_history"])
    book.run(0)
    book.js("""
      window.drawn = [];
      const kernel = panel.sessionContext.session.kernel;
      kernel.iopubMessage.connect((_, {header}) => {
        if (/display_data$/.test(header.msg_type)) window.drawn.push(header.msg_type);
      });
    """)
    book.run(1)
    book.until("document.querySelectorAll('.chatmagic mjx-container').length === 4")
    shown = [kind for kind in book.js("return window.drawn") if kind == "display_data"]
    assert len(shown) == 1
    assert "update_display_data" not in book.js("return window.drawn")

    page = book.page
    group = page.get_by_role("group", name="Reply")
    said = group.aria_snapshot()
    for part in (
        'heading "A title" [level=4]',
        'heading "A part" [level=5]',
        'group "Code, python"',
        'group "Table"',
        'columnheader "left"',
        'link "the docs (docs.python.org)"',
        "blockquote",
        "math",
    ):
        assert part in said, said

    page.context.route("**/docs.python.org/**", lambda route: route.fulfill(body="there"))
    link = group.get_by_role("link", name="the docs")
    link.focus()
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    popup = opened.value
    popup.wait_for_load_state()
    assert popup.url == "https://docs.python.org/3/"
    assert popup.evaluate("[window.opener, document.referrer]") == [None, ""]
    popup.close()
    book.front.heard.fetched.clear()

    assert book.js(WIDE, 0) == []
    assert book.js(MOVING) == []
    page.set_viewport_size({"width": 640, "height": 900})
    wait(page, "innerWidth === 640")
    # A browser that zooms says so to the page; this style alone does not.
    page.evaluate("document.documentElement.style.zoom = '2'; dispatchEvent(new Event('resize'))")
    fits(book, 0)
    page.evaluate("document.documentElement.style.zoom = ''")
    page.set_viewport_size({"width": 320, "height": 900})
    wait(page, "innerWidth === 320")
    # In the history each turn's question and reply are on the screen at once, whatever the word.
    book.run(2)
    book.run(3)
    for output in range(3):
        fits(book, output)
    page.set_viewport_size({"width": 1200, "height": 900})


def fits(book: Book, output: int) -> None:
    """Wait until the page, which is laid out anew, is no wider for an output of ours."""
    book.until(f"(() => {{ {WIDE} }})().length === 0", output)


@pytest.mark.release
def test_a_streamed_cell_can_be_read_in_both_themes(lab: Open) -> None:
    """The README's pictures: a whole reply, and one that streams.

    While a reply comes, a line of its own says what went into the prompt.
    """
    go, end = threading.Event(), threading.Event()
    reset = {"X-RateLimit-Limit": "100", "X-RateLimit-Reset": "2026-01-02T00:00:00Z"}

    replies = enumerate(zip((*PICTURED, "Two."), (None, go, end), strict=True))

    def answer(peer: loopback.Peer) -> None:
        peer.wait_up_to(300)  # a page may take longer than a test without one
        while peer.request():
            number, (text, until) = next(replies)
            left = {"X-RateLimit-Remaining": str(97 - number)}
            headers = {**loopback.EVENTS, "Transfer-Encoding": "chunked", **reset, **left}
            peer.send(loopback.head(headers=headers), loopback.chunked(loopback.event(text)))
            assert until is None or until.wait(300)
            peer.send(loopback.chunked(loopback.DONE), loopback.CHUNKS_END)

    with loopback.Server(answer) as service:
        setup = f"%config ChatMagics.auth = 'none'\n%chat_connect {service.origin}"
        counted = "%%chat\nHow many?\n{{ rows }}"
        book = lab([f"%load_ext chatmagic\n{setup}\nrows = [1, 2]", *ASKED, counted])
        book.run(0)
        book.run(1)
        book.until("document.querySelectorAll('.chatmagic mjx-container').length === 4")
        book.page.set_viewport_size({"width": 800, "height": 840})
        book.js("app.shell.collapseLeft(); await notebook.scrollToItem(0)")
        book.write(0, "%load_ext chatmagic")
        book.js("notebook.widgets[0].outputArea.model.clear()")
        book.start(2)
        book.until("notebook.widgets[2].outputArea.node.innerText.includes('so that')")
        for theme, name in ((LIGHT, "reply-light"), (DARK, "reply-dark")):
            book.front.theme(theme)
            readable(book)
            book.js("document.activeElement.blur()")
            book.screenshot(name)
        book.page.set_viewport_size({"width": 1200, "height": 900})
        book.js("app.shell.expandLeft()")
        book.front.theme(LIGHT)
        go.set()
        book.until("notebook.widgets[2].outputArea.node.querySelector('.chatmagic-credits')")
        book.start(3)
        line = "rows: list of 2 items, sent as 6 characters"
        for words in ("Two.", line):
            book.until("notebook.widgets[3].outputArea.node.innerText.includes(given)", words)
        end.set()
        book.ended(3)
        assert "Two." in book.shown(3)
        assert line not in book.shown(3)


@pytest.mark.release
def test_thoughts_without_a_beginning_leave_the_reply(lab: Open) -> None:
    """Until they end they are drawn as the reply; then that is drawn anew, without them."""
    with held("I think.\n\nIt is *sky*.", "</think>\n\nThe sky ", "is **blue**.") as service:
        book = lab([service.setup, "%%chat\nWhat is blue?"])
        book.run(0)
        book.start(1)
        book.until("document.querySelector('.chatmagic-reply em')?.textContent === 'sky'")
        service.go(0)
        book.until("document.querySelector('.chatmagic-reply')?.textContent.includes('The sky')")
        assert "I think." not in book.shown(1)
        service.go(1, 2)
        book.until("document.querySelector('.chatmagic-reply strong')?.textContent === 'blue'")
        book.until("document.querySelector('.chatmagic details')?.textContent.includes('I think.')")
        assert book.page.locator(".chatmagic-reply em").count() == 0


def test_json_is_a_tree_that_folds(lab: Open) -> None:
    """By a click and by keys; its texts are neither HTML nor formulas."""
    value = '{"cities": [{"name": "Lima <b>$x$</b>", "people": 10}, null], "of": "Peru"}'
    failing = "%%chat --format json\necho:[1,\n2 3]"
    book = lab(["%load_ext chatmagic", f"%%chat --format json\necho:{value}", failing])
    for number in range(3):
        book.run(number)
    tree = book.page.locator(".chatmagic-json")
    assert tree.locator("details[open]").count() == 2
    assert "Lima" not in tree.inner_text()
    tree.locator("summary").nth(2).click()
    assert "Lima <b>$x$</b>" in tree.inner_text()
    assert tree.locator("b, mjx-container").count() == 0
    tree.locator("summary").nth(1).click()
    assert "Lima" not in tree.inner_text()
    tree.locator("summary").nth(1).press("Enter")
    assert "Lima" in tree.inner_text()
    assert "No JSON at line 2, column 3." in book.shown(2)
    assert "The reply is no JSON: line 2, column 3" in book.shown(2)
    book.screenshot("json")
